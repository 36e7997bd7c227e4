"""Whether windows can be translucent: on an X screen without a compositor (VNC, ssh -X) what should be is black.

Qlementine's menus and tooltips have soft shadows, so such a screen gets Fusion, whose menus have plain edges.
"""

import ctypes
from typing import Any

from PySide6.QtWidgets import QApplication


def composited(application: QApplication) -> bool:
    """Whether a compositor runs. Only X can be without one."""
    native: Any = application.nativeInterface()
    if application.platformName() != "xcb" or native is None:
        return True
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:
        return True
    display = native.display()
    x11.XInternAtom.restype = x11.XGetSelectionOwner.restype = ctypes.c_ulong
    x11.XInternAtom.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    x11.XGetSelectionOwner.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
    # The compositor of a screen owns this selection (Extended Window Manager Hints, "_NET_WM_CM_Sn").
    name = x11.XInternAtom(display, b"_NET_WM_CM_S0", 0)
    return bool(x11.XGetSelectionOwner(display, name))

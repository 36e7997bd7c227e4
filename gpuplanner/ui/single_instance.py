"""One window for one person: a second start hands its files to the first and ends. Uses a local socket only."""

import getpass
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_WAIT_MS = 400
_AT_MOST = 1_000_000


def server_name(home: Path) -> str:
    """A name that this person's windows over this home share."""
    try:
        person = getpass.getuser()
    except (OSError, KeyError, ImportError):
        # In a container the number of a user need not have a name.
        person = ""
    whose = f"{person}\0{home}"
    return f"gpuplanner-{hashlib.sha256(whose.encode()).hexdigest()[:16]}"


def hand_over(name: str, files: Sequence[str]) -> bool:
    """Give files to the window that already runs. Tells whether there is one and it took them."""
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(_WAIT_MS):
        return False
    socket.write(json.dumps([str(Path(file).resolve()) for file in files]).encode() + b"\n")
    taken = socket.waitForBytesWritten(_WAIT_MS) and socket.waitForReadyRead(_WAIT_MS)
    socket.disconnectFromServer()
    return taken


class SingleInstance(QObject):
    """The first window's ear. `handed` carries the files of a second start; an empty list asks to be shown."""

    handed = Signal(list)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._connected)
        if not self._server.listen(name):
            # A window that was killed leaves its socket behind; nobody answered it, or we would not be here.
            QLocalServer.removeServer(name)
            self._server.listen(name)

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

    def _connected(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.readyRead.connect(lambda s=socket: self._read(s))
            socket.disconnected.connect(socket.deleteLater)
            if socket.bytesAvailable():
                self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            if socket.bytesAvailable() > _AT_MOST:
                socket.abort()
            return
        try:
            files = json.loads(bytes(socket.readLine().data()))
        except ValueError:
            socket.abort()
            return
        socket.write(b"ok\n")
        socket.flush()
        if isinstance(files, list):
            self.handed.emit([str(file) for file in files])

"""The frame around the places: rail, top bar, status bar, toasts, back and forward."""

"""How many nodes the machine that a person chose has: a field below its name. Knows no catalog."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpuplanner import quantities
from gpuplanner.engine.machine import Machine
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.number_field import NumberField
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.workload.machine_counts import MOST_GPUS, MOST_NODES

_WIDTH = 84


class NodesRow(QWidget):
    """`wanted` carries another number of nodes, `left` says that the person is done with it."""

    wanted = Signal(int)
    left = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._most = MOST_NODES
        name = msg("planui.nodes")
        self.field = NumberField(appearance, "", quantities.count(1, MOST_NODES), name=name)
        self.field.setFixedWidth(_WIDTH)
        self.field.changed.connect(self._changed)
        self.field.box.edit.editingFinished.connect(self.left)
        self._each = Label(appearance, "", ink=Ink.MUTED)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(Label(appearance, name, ink=Ink.MUTED), 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.field, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self._each, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addStretch(1)

    def show_machine(self, machine: Machine, *, found: bool) -> None:
        """Show how many nodes a machine has. Not of one that the search `found`, nor of slices: those work alone."""
        self.setVisible(not found and machine.slice is None)
        # A plan names bare GPUs by their number, which has a limit of its own.
        self._most = MOST_NODES if machine.instance is not None else MOST_GPUS // machine.gpus_per_node
        self.field.set_value(machine.nodes)
        self._each.say(msg("planui.nodes.each", gpus=machine.gpus_per_node))

    def _changed(self, nodes: float) -> None:
        self.wanted.emit(min(int(nodes), self._most))

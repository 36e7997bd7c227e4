"""Asks for a GPU type that the catalog has not: six fields of its datasheet, checked as they are typed."""

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.quantities import Quantity
from gpuplanner.store.own_gpus import NewGpu
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.number_field import NumberField
from gpuplanner.ui.fields.text_field import TextField
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox
from gpuplanner.ui.widgets.popup import Popup

_WIDTH = 420
_COLUMNS = 2


def _in(suffix: str) -> Quantity:
    return Quantity(suffix=lambda _display: suffix, above_least=True)


NUMBERS = {
    "memory": (_in("GB"), True),
    "bandwidth": (_in("GB/s"), True),
    "bf16": (_in("TFLOPS"), True),
    "pcie": (_in("GB/s"), True),
    "link_rate": (_in("GB/s"), False),
    "power": (_in("W"), False),
}
"""The numbers by field, and whether a GPU cannot be planned with without it."""
WORDS = {"name": True, "vendor": True, "capability": False}


def _empty(*, needed: bool) -> Message:
    """What stands in a field with nothing in it."""
    return msg("answers.card.needed" if needed else "answers.card.empty")


class NewGpuPopup(Popup):
    """`wanted` carries the GPU; whoever keeps it closes the pop-up, or says what is wrong with it."""

    wanted = Signal(object)

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(appearance, parent)
        self.setFixedWidth(_WIDTH)
        self.words = {
            name: TextField(appearance, msg(f"answers.newgpu.{name}"), empty=_empty(needed=needed))
            for name, needed in WORDS.items()
        }
        self.numbers = {
            name: NumberField(
                appearance,
                msg(f"answers.newgpu.{name}"),
                quantity,
                empty=_empty(needed=needed),
            )
            for name, (quantity, needed) in NUMBERS.items()
        }
        self.problem = NoticeBox(appearance, "", Verdict.WARN)
        self.problem.hide()
        self.keep = Button(appearance, msg("answers.newgpu.add"), ButtonKind.PRIMARY, small=True)
        self.keep.clicked.connect(self.take)
        self._lay_out()
        for word in self.words.values():
            word.changed.connect(self._changed)
            word.box.edit.returnPressed.connect(self.take)
        for number in self.numbers.values():
            number.changed.connect(self._changed)
            number.box.edit.returnPressed.connect(self.take)
        self._changed()

    def open_at(self, at: QPoint) -> None:
        """Show it with its upper left corner there."""
        self._fit()
        self.move(at)
        self.show()
        self.words["name"].box.edit.setFocus(Qt.FocusReason.PopupFocusReason)

    def take(self) -> None:
        """Hand the GPU over, if everything is there that it needs."""
        if self.keep.isEnabled():
            self.keep.setEnabled(False)
            self.wanted.emit(self._gpu())

    def refuse(self, why: Message) -> None:
        """Say why the GPU was not kept."""
        self.problem.say(why, Verdict.WARN)
        self.problem.show()
        self._changed()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def _fit(self) -> None:
        """As high as its parts are at its width: the least size of texts that wrap is that at a narrower one."""
        layout = self.layout()
        if layout is not None:
            self.resize(_WIDTH, layout.totalHeightForWidth(_WIDTH))

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        layout.setContentsMargins(14, 12, 14, 14)
        layout.setSpacing(8)
        layout.addWidget(Label(self._appearance, msg("answers.newgpu.title"), TextRole.STRONG))
        note = Label(self._appearance, msg("answers.newgpu.note"), TextRole.LABEL, Ink.MUTED, wrap=True)
        layout.addWidget(note)
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(10)
        for column in range(_COLUMNS):
            grid.setColumnStretch(column, 1)
        for at, field in enumerate((*self.words.values(), *self.numbers.values())):
            grid.addWidget(field, at // _COLUMNS, at % _COLUMNS, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(grid)
        layout.addWidget(self.problem)
        buttons = QHBoxLayout()
        buttons.addWidget(self.keep)
        buttons.addStretch(1)
        layout.addLayout(buttons)

    def _changed(self, _value: object = None) -> None:
        words = all(self.words[name].value().strip() for name, needed in WORDS.items() if needed)
        numbers = all(self.numbers[name].value() is not None for name, (_, needed) in NUMBERS.items() if needed)
        self.keep.setEnabled(words and numbers)

    def _gpu(self) -> NewGpu:
        words = {name: field.value().strip() for name, field in self.words.items()}
        values = {name: field.value() for name, field in self.numbers.items()}
        return NewGpu(
            name=words["name"],
            vendor=words["vendor"],
            memory_gb=values["memory"] or 0.0,
            memory_bandwidth_gb_per_s=values["bandwidth"] or 0.0,
            bf16_tflops=values["bf16"],
            pcie_gb_per_s=values["pcie"],
            link_gb_per_s=values["link_rate"],
            power_w=values["power"],
            compute_capability=words["capability"],
        )

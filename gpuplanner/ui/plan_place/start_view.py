"""What stands in the place of a plan before one is open: one thing to do, the sample, presets, and own plans."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gpuplanner.messages import MessageValue, msg
from gpuplanner.store.plans import ShelvedPlan
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.plan_place.captions import ago
from gpuplanner.ui.plan_titles import Titles
from gpuplanner.ui.tokens import GAP, RADIUS_FIELD
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card, line
from gpuplanner.ui.widgets.clickable import Clickable
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.workload.plan import WORKLOADS, Plan

_WIDTH = 860
_TILE_WIDTH = 330
_TILE_HEIGHT = 62
_ROW_HEIGHT = 44
MARKS_OF_KINDS = {
    "serving": "server",
    "training": "graduation-cap",
    "diffusion": "image",
    "diffusion-training": "palette",
    "vision": "eye",
    "speech": "mic",
    "rendering": "box",
    "transcoding": "film",
    "science": "atom",
    "by-hand": "sigma",
}
"""The icon of each kind of workload."""


class StartView(QWidget):
    """Each signal carries what it is about: a preset's name, or a plan's id."""

    newWanted = Signal()
    fileWanted = Signal()
    presetWanted = Signal(str)
    planWanted = Signal(str)
    pinToggled = Signal(str, bool)
    removeWanted = Signal(str, str)

    def __init__(self, appearance: Appearance, presets: Mapping[str, Plan], titles: Titles) -> None:
        super().__init__()
        self._appearance = appearance
        self._titles = titles
        self._rows: list[PlanRow] = []
        self._plans_card = Card(appearance, msg("planui.start.yours"), " ")
        self._plans_card.body.setSpacing(0)
        self._plans_card.hide()
        self.tiles = [Tile(appearance, name, presets[name].workload.kind) for name in by_kind(presets)]
        for tile in self.tiles:
            tile.clicked.connect(lambda _=False, wanted=tile.preset: self.presetWanted.emit(wanted))
        self._tile_grid = QGridLayout()
        self._tile_grid.setSpacing(10)
        presets_card = Card(appearance, msg("planui.start.presets"), msg("planui.start.presets.note"))
        presets_card.body.addLayout(self._tile_grid)
        column = QVBoxLayout()
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        column.addWidget(self._welcome())
        column.addWidget(self._plans_card)
        column.addWidget(presets_card)
        column.addStretch(1)
        inner = QWidget()
        inner.setLayout(column)
        inner.setMaximumWidth(_WIDTH)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(GAP + 2, GAP + 2, GAP + 2, GAP + 2)
        layout.addStretch(1)
        layout.addWidget(inner, 1000)
        layout.addStretch(1)
        self._columns = 0
        self._place()

    def show_plans(self, plans: Sequence[ShelvedPlan]) -> None:
        """Show other plans of the person."""
        while (item := self._plans_card.body.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._rows = []
        for position, plan in enumerate(plans):
            if position:
                self._plans_card.body.addWidget(line(self._appearance))
            row = PlanRow(self._appearance, plan, self._titles.of(plan.name))
            row.opened.connect(lambda wanted=plan.id: self.planWanted.emit(wanted))
            row.pinToggled.connect(lambda on, wanted=plan.id: self.pinToggled.emit(wanted, on))
            row.removed.connect(lambda wanted=plan: self.removeWanted.emit(wanted.id, wanted.name))
            self._plans_card.body.addWidget(row)
            self._rows.append(row)
        self._plans_card.note.say(msg("planui.start.yours.note"))
        self._plans_card.setVisible(bool(plans))

    def rows(self) -> Sequence["PlanRow"]:
        """The rows of the person's plans."""
        return tuple(self._rows)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _welcome(self) -> QWidget:
        card = Card(self._appearance, padding=22)
        title = Label(self._appearance, msg("planui.start.title"), TextRole.HEADLINE, wrap=True)
        says = Label(self._appearance, msg("planui.start.says"), ink=Ink.MUTED, wrap=True)
        self.new_button = Button(self._appearance, msg("planui.start.new"), ButtonKind.PRIMARY, icon="plus")
        self.new_button.clicked.connect(self.newWanted)
        sample = Button(self._appearance, msg("planui.start.sample"), icon="flag")
        sample.clicked.connect(lambda: self.presetWanted.emit("sample"))
        open_file = Button(self._appearance, msg("planui.start.open"), ButtonKind.QUIET, icon="folder-open")
        open_file.clicked.connect(self.fileWanted)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.new_button, sample, open_file):
            buttons.addWidget(button)
        buttons.addStretch(1)
        card.body.addWidget(title)
        card.body.addWidget(says)
        card.body.addSpacing(4)
        card.body.addLayout(buttons)
        return card

    def _place(self) -> None:
        columns = max(1, min(2, (min(self.width(), _WIDTH) - 60) // _TILE_WIDTH))
        if columns == self._columns:
            return
        self._columns = columns
        for position, tile in enumerate(self.tiles):
            self._tile_grid.addWidget(tile, position // columns, position % columns)
        for column in range(2):
            self._tile_grid.setColumnStretch(column, int(column < columns))


def by_kind(presets: Mapping[str, Plan]) -> list[str]:
    """The presets but the sample: kind by kind in their usual order, of one kind first what says the least."""
    kinds = [workload.model_fields["kind"].default for workload in WORKLOADS]
    names = [name for name, plan in presets.items() if not plan.sample]
    return sorted(names, key=lambda name: (kinds.index(presets[name].workload.kind), _said(presets[name])))


def _said(plan: Plan) -> int:
    """How many fields of its workload are not as they are without a word."""
    fields = type(plan.workload).model_fields.items()
    return sum(getattr(plan.workload, name) != field.get_default(call_default_factory=True) for name, field in fields)


class Tile(Clickable):
    """A preset: what it is, and of which kind."""

    def __init__(self, appearance: Appearance, preset: str, kind: str) -> None:
        super().__init__(appearance)
        self.preset = preset
        self._kind = kind
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        appearance.languageChanged.connect(self._render)
        self._render()

    def sizeHint(self) -> QSize:
        return QSize(_TILE_WIDTH, _TILE_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        border = tokens.line_strong if self.underMouse() else tokens.line
        rounded_box(painter, area, RADIUS_FIELD + 2, tokens.hover if self.underMouse() else tokens.card, border)
        badge = QRectF(12, (area.height() - 34) / 2, 34, 34)
        rounded_box(painter, badge, 8, tokens.primary_wash)
        draw_icon(painter, MARKS_OF_KINDS[self._kind], badge.adjusted(9, 9, -9, -9), tokens.primary_ink)
        words = area.adjusted(58, 0, -10, 0)
        painter.setFont(font(TextRole.STRONG))
        draw_text(painter, QRectF(words.left(), 12, words.width(), 20), self.text(), tokens.text)
        painter.setFont(font(TextRole.LABEL))
        note = self._appearance.text(f"planui.kind.{self._kind}")
        draw_text(painter, QRectF(words.left(), 32, words.width(), 18), note, tokens.muted)
        self.paint_focus(painter, area, RADIUS_FIELD + 2)

    def _render(self) -> None:
        self.setText(self._appearance.text(f"preset.{self.preset}"))
        self.setAccessibleName(self.text())
        self.setToolTip(self.text())
        self.update()


class PlanRow(QWidget):
    """One of the person's plans: its name, when it was worked on, a pin, and a way to remove it."""

    opened = Signal()
    pinToggled = Signal(bool)
    removed = Signal()

    def __init__(self, appearance: Appearance, plan: ShelvedPlan, title: MessageValue) -> None:
        super().__init__()
        self._appearance = appearance
        self.plan = plan
        self.setFixedHeight(_ROW_HEIGHT)
        self.button = _NameButton(appearance, title)
        self.button.clicked.connect(self.opened)
        when = Label(appearance, ago(plan.modified), TextRole.LABEL, Ink.MUTED)
        pin = Button(
            appearance,
            msg("planui.unpin" if plan.pinned else "planui.pin"),
            ButtonKind.QUIET,
            icon="pin",
            icon_only=True,
            small=True,
        )
        pin.setCheckable(True)
        pin.setChecked(plan.pinned)
        pin.clicked.connect(lambda: self.pinToggled.emit(not plan.pinned))
        remove = Button(appearance, msg("planui.remove"), ButtonKind.QUIET, icon="trash-2", icon_only=True, small=True)
        remove.clicked.connect(self.removed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 4)
        layout.setSpacing(8)
        layout.addWidget(self.button, 1)
        layout.addWidget(when)
        layout.addWidget(pin)
        layout.addWidget(remove)


class _NameButton(Clickable):
    def __init__(self, appearance: Appearance, name: MessageValue) -> None:
        super().__init__(appearance)
        self._name = name
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        appearance.languageChanged.connect(self._render)
        self._render()

    def sizeHint(self) -> QSize:
        return QSize(200, 34)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        draw_icon(painter, "file-text", QRectF(4, area.center().y() - 8, 16, 16), tokens.muted)
        painter.setFont(font(TextRole.BODY))
        ink = tokens.primary_ink if self.underMouse() else tokens.text
        draw_text(painter, area.adjusted(30, 0, -4, 0), self.text(), ink)
        self.paint_focus(painter)

    def _render(self) -> None:
        self.setText(self._appearance.said(self._name))
        self.setAccessibleName(self.text())
        self.update()

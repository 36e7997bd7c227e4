"""The panel at the right of the table: what is known of the chosen entry, with sources, remarks, rules and offers."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from gpuplanner.catalog.catalog import Rate
from gpuplanner.catalog.entries import Gpu, Remark, Rule
from gpuplanner.messages import Language, Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.details import Details
from gpuplanner.ui.catalog_place.fact_list import FactList, Item, Line, Saying, Title
from gpuplanner.ui.catalog_place.fact_words import FactWords
from gpuplanner.ui.catalog_place.link_row import LinkRow
from gpuplanner.ui.catalog_place.offers import Offer
from gpuplanner.ui.catalog_place.tables import CatalogTable, EntryRef
from gpuplanner.ui.catalog_place.wording import age_mark, joined, price_lines, source_text
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.painting import with_capital
from gpuplanner.ui.tokens import PADDING, Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.empty_state import EmptyState
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox
from gpuplanner.ui.widgets.scrolling import scrolling
from gpuplanner.units import show_money

_ABOVE_TITLE = 10
OFFERS_SHOWN = 6
RULES_SHOWN = 3
RULE_VERDICTS = {
    "holds": Verdict.PASS,
    "rule of thumb": Verdict.INFO,
    "qualify": Verdict.WARN,
    "contradicts": Verdict.FAIL,
    "wrong": Verdict.FAIL,
}
_RULE_ORDER = [Verdict.FAIL, Verdict.WARN, Verdict.INFO, Verdict.UNKNOWN, Verdict.PASS]


class DetailView(Card):
    """Signals carry what a person wants: another entry, a plan, a pin, what is similar, all offers of a GPU."""

    entryWanted = Signal(object)
    planWanted = Signal()
    pinWanted = Signal()
    similarWanted = Signal()
    offersWanted = Signal(str)

    def __init__(
        self, appearance: Appearance, today: Callable[[], date], rates: Callable[[], Mapping[str, Rate]]
    ) -> None:
        super().__init__(appearance, padding=0)
        self._appearance = appearance
        self._today = today
        self._rates = rates
        self._details: Details | None = None
        self._with_all_rules = False
        self._same = False
        self.name = Label(appearance, "", TextRole.TITLE, wrap=True, selectable=True)
        self.name.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.about = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.sources = Button(appearance, msg("catalogui.sources.show"), ButtonKind.QUIET, small=True)
        self.sources.setCheckable(True)
        self.sources.clicked.connect(self._toggle_sources)
        self.plan = Button(appearance, msg("catalogui.plan"), ButtonKind.PRIMARY)
        self.plan.clicked.connect(self.planWanted)
        self.pin = Button(appearance, msg("catalogui.compare"))
        self.pin.setCheckable(True)
        self.pin.clicked.connect(self.pinWanted)
        self.similar = Button(appearance, msg("catalogui.similar"))
        self.similar.clicked.connect(self.similarWanted)
        self.links: list[LinkRow] = []
        self._content = QWidget()
        self.facts = FactList(appearance, msg("catalogui.facts"))
        self.rules = FactList(appearance, msg("catalogui.rules"))
        self.more_rules = Button(appearance, "", ButtonKind.QUIET, small=True)
        self.more_rules.clicked.connect(self._toggle_rules)
        self._warnings, self._others = _column(8), _column(2)
        column = QVBoxLayout(self._content)
        column.setContentsMargins(PADDING, 6, PADDING, PADDING)
        column.setSpacing(4)
        for part in (self._warnings, self.facts, self._others, self.rules, self.more_rules):
            if part is self.rules:
                column.addSpacing(_ABOVE_TITLE)
            column.addLayout(part) if isinstance(part, QVBoxLayout) else column.addWidget(part)
        column.addStretch(1)
        self.area = scrolling(self._content)
        self._nothing = EmptyState(appearance, "info", msg("catalogui.detail.none"), msg("catalogui.detail.none.says"))
        self._nothing.says.setFixedWidth(240)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._filled())
        self._stack.addWidget(self._nothing)
        self.body.addWidget(self._stack)
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(0, 14, 0, 0)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)
        self.show_details(None)

    def show_details(self, details: Details | None) -> None:
        """Show another entry, or what this panel is for."""
        changed = details is None or self._details is None or details.ref != self._details.ref
        self._details = details
        self._with_all_rules = self._with_all_rules and not changed
        self._same = not changed
        self._stack.setCurrentIndex(0 if details is not None else 1)
        self._render()
        self._same = True
        if changed:
            self.area.verticalScrollBar().setValue(0)

    def show_pinned(self, *, pinned: bool) -> None:
        """Whether the entry is in the comparison."""
        self.pin.say(msg("catalogui.compare.pinned" if pinned else "catalogui.compare"))
        self.pin.setChecked(pinned)

    # --- Laying out ---------------------------------------------------------------------------------------------------

    def _filled(self) -> QWidget:
        titles = QVBoxLayout()
        titles.setSpacing(3)
        titles.addWidget(self.name)
        titles.addWidget(self.about)
        head = QHBoxLayout()
        head.setContentsMargins(PADDING, 0, PADDING - 6, 0)
        head.addLayout(titles, 1)
        head.addWidget(self.sources, 0, Qt.AlignmentFlag.AlignTop)
        foot = FlowLayout(across=8, down=6)
        foot.setContentsMargins(PADDING, 8, PADDING, PADDING - 2)
        for button in (self.plan, self.pin, self.similar):
            foot.addWidget(button)
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(self.area, 1)
        layout.addLayout(foot)
        return page

    def _render(self) -> None:
        details = self._details
        self.links = []
        if details is None:
            return
        self.name.say(details.name)
        self.about.say(joined(self._appearance, [_said(part) for part in details.about]))
        self.plan.setEnabled(details.plannable)
        self.plan.explain(None if details.plannable else msg("catalogui.plan.not"))
        _empty(self._warnings)
        for remark in details.warnings:
            self._warnings.addWidget(self._remark(remark, Verdict.WARN))
        # The list begins with a title, which wants the same air as those within it.
        self._warnings.setContentsMargins(0, 0, 0, _ABOVE_TITLE if details.warnings else 0)
        words = FactWords(self._appearance, self._today, self._rates())
        items: list[Item] = []
        for group in details.groups:
            items.append(Title(self._appearance.text(group.title)))
            items += [line for row in group.rows for line in words.lines(row)]
        if details.sources:
            items.append(Title(self._appearance.text("catalogui.sources")))
            items += [Line(source_text(source, self._appearance), "") for source in details.sources]
        self.facts.set_items(items, keep_open=self._same)
        _empty(self._others)
        for remark in details.notes:
            self._others.addWidget(self._remark(remark, Verdict.INFO))
        self._show_gpus(details.gpus, certain=len(details.gpus) == 1)
        if details.offers is not None:
            self._show_offers(details.offers, details.ref.id)
        self._show_rules(details.rules)

    def _title(self, title: Message, note: str = "") -> None:
        self._others.addSpacing(_ABOVE_TITLE)
        list_ = FactList(self._appearance, title)
        list_.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # Shown before it has a parent it would be a window of its own for a moment.
        self._others.addWidget(list_)
        list_.set_items([Title(self._appearance.text(title), note)])

    def _remark(self, remark: Remark, verdict: Verdict) -> NoticeBox:
        chinese = self._appearance.language is Language.CHINESE
        box = NoticeBox(self._appearance, with_capital(remark.text_zh if chinese else remark.text_en), verdict)
        box.setToolTip(source_text(remark.source, self._appearance))
        return box

    def _show_gpus(self, gpus: Sequence[Gpu], *, certain: bool) -> None:
        if not gpus:
            return
        self._title(msg("catalogui.gpu_of" if certain else "catalogui.gpus_may_be"))
        for gpu in gpus:
            row = LinkRow(self._appearance, gpu.name, "›", gpu.vendor if certain else "")
            ref = EntryRef(CatalogTable.GPUS, gpu.id)
            row.clicked.connect(lambda _checked=False, wanted=ref: self.entryWanted.emit(wanted))
            self._add_link(row)

    def _show_offers(self, offers: Sequence[Offer], gpu_id: str) -> None:
        self._title(msg("catalogui.offers"), note=f"{len(offers):,}" if offers else "")
        if not offers:
            self._others.addWidget(
                Label(self._appearance, msg("catalogui.offers.none"), TextRole.LABEL, Ink.MUTED, wrap=True)
            )
        for offer in offers[:OFFERS_SHOWN]:
            self._add_link(self._offer(offer))
        if len(offers) > OFFERS_SHOWN:
            everything = Button(
                self._appearance, msg("catalogui.offers.all", count=len(offers)), ButtonKind.QUIET, small=True
            )
            everything.clicked.connect(lambda: self.offersWanted.emit(gpu_id))
            self._others.addWidget(everything)

    def _offer(self, offer: Offer) -> LinkRow:
        appearance, instance, price = self._appearance, offer.instance, offer.price
        count = f" ×{instance.gpu_count}" if instance.gpu_count and instance.gpu_count > 1 else ""
        where, value, each, tip = [instance.provider], appearance.text("catalogui.price.unknown"), "", ""
        if not offer.certain:
            where.append(appearance.text("catalogui.offers.perhaps"))
        if price is not None:
            age = age_mark(price.date, self._today())
            where.append(price.region or appearance.text("catalogui.price.no_region"))
            where.append(price.date or appearance.text("catalogui.price.no_date"))
            if age is not None and price.date:
                where.append(appearance.text("catalogui.price.old", age=age))
            tip = "\n".join(price_lines(price, appearance, self._today()))
            value = f"{price.per_hour:,.2f} {price.currency}/h"
        if offer.usd_per_hour is not None:
            value = f"{show_money(offer.usd_per_hour, appearance.display)}/h"
        if offer.usd_per_gpu is not None and (instance.gpu_count or 1) > 1:
            money = show_money(offer.usd_per_gpu, appearance.display)
            each = appearance.text("catalogui.offers.each", price=money.number)
        row = LinkRow(appearance, f"{instance.name}{count}", value, joined(appearance, where), each, tip)
        ref = EntryRef(CatalogTable.INSTANCES, instance.id)
        row.clicked.connect(lambda: self.entryWanted.emit(ref))
        return row

    def _show_rules(self, rules: Sequence[Rule]) -> None:
        worst_first = sorted(
            rules, key=lambda rule: _RULE_ORDER.index(RULE_VERDICTS.get(rule.verdict, Verdict.UNKNOWN))
        )
        shown = worst_first if self._with_all_rules else worst_first[:RULES_SHOWN]
        title = Title(self._appearance.text("catalogui.rules"), f"{len(rules):,}")
        self.rules.set_items([title, *map(self._saying, shown)] if rules else [], keep_open=self._same)
        self.more_rules.setVisible(len(rules) > RULES_SHOWN)
        fewer = msg("catalogui.rules.fewer")
        self.more_rules.say(fewer if self._with_all_rules else msg("catalogui.rules.all", count=len(rules)))

    def _saying(self, rule: Rule) -> Saying:
        chinese = self._appearance.language is Language.CHINESE
        return Saying(
            _verdict(rule),
            self._appearance.text(f"catalogui.rule.{rule.verdict.replace(' ', '_')}"),
            rule.claim_zh if chinese else rule.claim_en,
            rule.reason_zh if chinese else rule.reason_en,
            source_text(rule.source, self._appearance),
        )

    def _add_link(self, row: LinkRow) -> None:
        self._others.addWidget(row)
        self.links.append(row)

    def _toggle_rules(self) -> None:
        self._with_all_rules = not self._with_all_rules
        self._render()

    def _toggle_sources(self) -> None:
        opened = self.sources.isChecked()
        for facts in (self.facts, self.rules):
            facts.open_all(opened=opened)
        self.sources.say(msg("catalogui.sources.hide" if opened else "catalogui.sources.show"))


def _verdict(rule: Rule) -> Verdict:
    return RULE_VERDICTS.get(rule.verdict, Verdict.UNKNOWN)


def _said(part: object) -> Message | str:
    return part if isinstance(part, Message) else str(part)


def _column(spacing: int) -> QVBoxLayout:
    column = QVBoxLayout()
    column.setSpacing(spacing)
    return column


def _empty(column: QVBoxLayout) -> None:
    while (item := column.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()

"""A page with every widget of the kit on it, as the places use them: for pictures and for checks of all of them."""

from pathlib import Path
from types import MappingProxyType, SimpleNamespace

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner import quantities
from gpuplanner.facts import Source
from gpuplanner.figures import Certainty, Figure, exact
from gpuplanner.messages import Language, msg
from gpuplanner.store.settings import RATES
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fields.field import Field
from gpuplanner.ui.fields.number_field import NumberField
from gpuplanner.ui.fields.text_field import CheckField, TextField
from gpuplanner.ui.places import Context, Heading, Page, PageAction, Place
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.table.columns import Column, Look, number_column
from gpuplanner.ui.table.source import ListSource, PlainRow
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.chart import Chart
from gpuplanner.ui.widgets.chart_axes import Axis
from gpuplanner.ui.widgets.chart_series import Series, SeriesKind
from gpuplanner.ui.widgets.chip import Chip
from gpuplanner.ui.widgets.empty_state import EmptyState
from gpuplanner.ui.widgets.figure_label import FigureLabel
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.key_value import KeyValueList, Row
from gpuplanner.ui.widgets.notice_box import NoticeBox
from gpuplanner.ui.widgets.segmented import Option, Segmented
from gpuplanner.ui.widgets.stacked_bar import BarPart, StackedBar
from gpuplanner.ui.widgets.verdict_tag import VerdictTag
from gpuplanner.units import GB, GIB, Unit
from tests.ui.text_column import text_column

WORDS = MappingProxyType(
    {
        "name": ("Chat assistant, 200 users", "客服助手，200 个用户"),
        "saved": ("saved · edited just now", "已保存 · 刚刚编辑"),
        "what": ("What to run", "运行什么"),
        "kind": ("Kind", "类型"),
        "serve": ("Serve", "推理"),
        "train": ("Train", "训练"),
        "tune": ("Fine-tune", "微调"),
        "other": ("Other", "其他"),
        "weights": ("Weights", "权重"),
        "kv": ("KV cache", "KV 缓存"),
        "activations": ("Activations", "激活值"),
        "graphs": ("Graphs and NCCL", "CUDA 图与 NCCL"),
        "context": ("CUDA context", "CUDA 上下文"),
        "free": ("Free", "空闲"),
        "memory": ("Memory a GPU", "每卡显存"),
        "peak": ("by component, at peak (decode, 64 sequences)", "按组成，峰值时（解码，64 个序列）"),
        "concurrent": ("Concurrent requests", "并发请求数"),
        "budget": ("Budget a month", "每月预算"),
        "machines": ("Machines that carry it", "能够运行的机器"),
        "verdict": ("Verdict", "结论"),
        "note": (
            "The common saying “FP16 about 780 TFLOPS” has no reading: 312 dense, 624 sparse.",
            "常见说法“FP16 约 780 TFLOPS”没有任何口径对应：稠密 312，稀疏 624。",
        ),
    }
)


class GalleryPage(Page):
    """Looks like a plan and a catalog at once."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._look = context.appearance
        columns = QHBoxLayout(self)
        columns.setContentsMargins(GAP + 2, GAP + 2, GAP + 2, GAP + 2)
        columns.setSpacing(GAP)
        columns.addWidget(self._wizard(), 0)
        columns.addLayout(self._results(), 1)
        columns.addWidget(self._details(), 0)

    def say(self, key: str) -> str:
        return WORDS[key][self._look.language is Language.CHINESE]

    def heading(self) -> Heading:
        return Heading(
            self.say("name"),
            self.say("saved"),
            actions=(
                PageAction("back", msg("ui.back"), lambda: None, icon="undo-2", shortcut="Ctrl+Z"),
                PageAction("reset", msg("settings.reset_all"), lambda: None),
                PageAction("go", msg("ui.forward"), lambda: None, ButtonKind.PRIMARY),
            ),
        )

    def panes(self):
        return (self.kind, self.table)

    def _wizard(self) -> Card:
        look = self._look
        card = Card(look, self.say("what"))
        card.setFixedWidth(272)
        options = [Option(key, self.say(key)) for key in ("serve", "train", "tune")]
        self.kind = Field(look, self.say("kind"), Segmented(look, options, "serve"))
        self.users = NumberField(look, self.say("concurrent"), quantities.count(1))
        self.users.set_value(64)
        self.budget = NumberField(look, self.say("budget"), quantities.money(), empty=msg("ui.table.missing"))
        self.wrong = NumberField(look, self.say("memory"), quantities.memory())
        self.wrong.set_value(80 * GB)
        self.wrong.set_problem(msg("ui.field.not_a_number", text="8o GB"))
        versions = [Option(str(n), f"vLLM 0.{n}", "flags…") for n in range(8, 16)]
        box = ChoiceBox(look, versions)
        box.choose("10")
        server = Field(look, "Server", box)
        self.name = TextField(look, self.say("machines"), empty=msg("ui.palette.hint"))
        self.check = CheckField(look, msg("ui.help.marks"))
        for field in (self.kind, self.users, self.budget, self.wrong, server, self.name, self.check):
            card.body.addWidget(field)
        card.body.addStretch(1)
        return card

    def _results(self) -> QVBoxLayout:
        look = self._look
        column = QVBoxLayout()
        column.setSpacing(GAP)
        column.addWidget(self._numbers())
        memory = Card(look, self.say("memory"), self.say("peak"))
        self.bar = StackedBar(look, msg("ui.term.vram"))
        sizes = (("weights", 33.0), ("kv", 28.6), ("activations", 3.9), ("graphs", 2.1), ("context", 1.3))
        self.bar.set_parts(
            [BarPart(key, self.say(key), size, f"{size}") for key, size in sizes], 79.6, (self.say("free"), "10.7 GiB")
        )
        memory.body.addWidget(self.bar)
        column.addWidget(memory)
        over = Card(look)
        self.over = StackedBar(look, msg("ui.term.vram"))
        parts = [BarPart(f"{i}", f"Part {i}", 20 - i, f"{20 - i}") for i in range(7)]
        self.over.set_parts([*parts, BarPart("rest", self.say("other"), 6, "6", rest=True)], 90)
        over.body.addWidget(self.over)
        column.addWidget(over)
        column.addWidget(self._table(), 1)
        return column

    def _numbers(self) -> Card:
        look = self._look
        card = Card(look)
        row = QHBoxLayout()
        row.setSpacing(8)
        for verdict, word in (
            (Verdict.PASS, msg("fit.fits")),
            (Verdict.WARN, msg("fit.tight")),
            (Verdict.FAIL, msg("fit.does_not_fit")),
            (Verdict.UNKNOWN, msg("ui.verdict.unknown")),
        ):
            row.addWidget(VerdictTag(look, verdict, word))
        row.addStretch(1)
        card.body.addLayout(row)
        numbers = QHBoxLayout()
        calibrated = Figure(0.031, Unit.SECOND, Certainty.CALIBRATED, 0.027, 0.036)
        for label, figure, note in (
            (self.say("memory"), exact(68.9 * GIB, Unit.BYTE), ""),
            ("TPOT", calibrated, ""),
            ("TTFT", Figure(0.9, Unit.SECOND, Certainty.CALIBRATED, 0.6, 1.4), ""),
            (self.say("budget"), None, msg("ui.table.missing")),
        ):
            numbers.addWidget(FigureLabel(look, label, figure, note))
        card.body.addLayout(numbers)
        return card

    def _table(self) -> Card:
        look = self._look
        card = Card(look, self.say("machines"), "23 / 546")
        chips = QWidget()
        flow = FlowLayout(chips)
        for says in ("≥ 16 GB", "A100|H100", self.say("machines")):
            flow.addWidget(Chip(look, says))
        card.body.addWidget(chips)

        def verdict(value, appearance):
            kind, word = value
            return Look(appearance.text(word), verdict=kind)

        columns = [
            text_column("name", msg("ui.palette.results"), width=190),
            number_column("memory", msg("ui.term.vram"), lambda d: d.memory.value, lambda _d: GIB),
            number_column("bandwidth", msg("ui.term.hbm"), lambda _d: "GB/s", lambda _d: GB, significant=4),
            number_column("price", msg("settings.currency"), lambda d: f"{d.currency}/h"),
            Column("verdict", msg("ui.help.marks"), verdict, width=120, sortable=False),
        ]
        rows = [
            PlainRow(f"gpu{n}", (name, gib * GIB, rate * GB, price, (kind, word)))
            for n, (name, gib, rate, price, kind, word) in enumerate(
                (
                    ("H100 SXM5 80GB", 80, 3350, 2.99, Verdict.PASS, msg("fit.fits")),
                    ("H200 SXM 141GB", 141, 4800, 3.79, Verdict.PASS, msg("fit.fits")),
                    ("A100 SXM4 80GB", 80, 2039, 1.79, Verdict.WARN, msg("fit.tight")),
                    ("L40S", 48, 864, None, Verdict.FAIL, msg("fit.does_not_fit")),
                    ("Ascend 910B2 昇腾", 64, 1600, None, Verdict.UNKNOWN, msg("ui.verdict.unknown")),
                )
            )
        ]
        self.table = DataTable(look, self._context.settings, "gallery", columns, msg("ui.palette.results"))
        self.table.set_source(ListSource([column.id for column in columns], rows))
        self.table.choose("gpu2")
        card.body.addWidget(self.table, 1)
        return card

    def _details(self) -> Card:
        look = self._look
        card = Card(look, "A100 SXM4 80GB")
        card.setFixedWidth(300)
        card.body.addWidget(
            KeyValueList(
                look,
                [
                    Row("FP16 / BF16", "312 TFLOPS", msg("ui.term.dense")),
                    Row("2:4", "624 TFLOPS"),
                    Row(msg("ui.term.vram"), "80 GB · 79.3 GiB"),
                    Row("NVLink 3", "300 · 600 GB/s"),
                ],
            )
        )
        card.body.addWidget(NoticeBox(look, self.say("note"), Verdict.WARN))
        card.body.addWidget(NoticeBox(look, self.say("note"), Verdict.INFO, closable=True))
        row = QHBoxLayout()
        row.addWidget(Button(look, msg("settings.reset_layout"), ButtonKind.PRIMARY))
        row.addWidget(Button(look, msg("settings.reset"), small=True))
        row.addStretch(1)
        card.body.addLayout(row)
        card.body.addWidget(self._chart())
        card.body.addStretch(1)
        return card

    def _chart(self) -> Chart:
        sizes = [2.0**power for power in range(16, 35, 2)]
        expected = [480 * size / (size + 2.0**24) for size in sizes]
        measured = [value * 0.68 for value in expected]
        low, high = [value * 0.85 for value in expected], [value * 1.05 for value in expected]
        self.chart = Chart(
            self._look,
            msg("ui.term.busbw"),
            Axis("", log=True, is_bytes=True),
            Axis(msg("ui.term.busbw"), "GB/s"),
        )
        self.chart.set_series(
            [
                Series("H100 NVSwitch", sizes, expected, SeriesKind.EXPECTED, low, high),
                Series("nccl-tests", sizes, measured),
            ]
        )
        return self.chart


class EmptyPage(Page):
    """A page with nothing on it yet."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.state = EmptyState(
            context.appearance,
            "scale",
            msg("ui.help.glossary"),
            msg("ui.term.gib.meaning"),
            (msg("ui.open.title"), lambda: None),
            (msg("ui.help.title"), lambda: None),
        )
        layout = QVBoxLayout(self)
        layout.addWidget(self.state)

    def heading(self) -> Heading:
        return Heading("A plan with a name that goes on and on until there is no room left for it " * 2)


def gallery_places() -> tuple[Place, ...]:
    """The gallery as a place, and two more so that the rail is filled."""
    return (
        Place("gallery", "sliders-horizontal", msg("ui.palette.results"), GalleryPage),
        Place("empty", "database", msg("ui.help.glossary"), EmptyPage),
        Place("third", "scale", msg("ui.notices.title"), lambda _context: Page()),
    )


def small_workspace(settings: Settings) -> SimpleNamespace:
    """What the shell asks of a workspace: a catalog to count, and rates, a person's own before them."""
    catalog = SimpleNamespace(
        date="2026-11-30", gpus=_some(151), instances=_some(546), models=_some(155), problems=(), hash="0"
    )

    def rate(per_usd: float, date: str = "2026-11-20", *, user: bool = False) -> SimpleNamespace:
        return SimpleNamespace(per_usd=per_usd, date=date, source=Source("x", "A bank", from_memory=True, user=user))

    def rates() -> dict[str, SimpleNamespace]:
        own = {code: rate(r["per_usd"], r["date"], user=True) for code, r in settings.get(RATES).items()}
        return {"CNY": rate(7.12), "EUR": rate(0.86), **own}

    return SimpleNamespace(
        catalog=catalog, rates=rates, home=Path("home"), catalog_changed=lambda: None, read_own_measurements=lambda: ()
    )


def _some(count: int) -> dict[str, SimpleNamespace]:
    """So many entries of the catalog, none of them a person's own."""
    return {str(number): SimpleNamespace(user=False) for number in range(count)}

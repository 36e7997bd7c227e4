import csv
import io
import threading

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetricsF, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from gpuplanner.messages import Language, Translator, msg
from gpuplanner.store.settings import LANGUAGE, MEMORY
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.table.columns import Column, Look, Order, SortKey, figure_column, number_column
from gpuplanner.ui.table.copying import CopyFormat, table_text
from gpuplanner.ui.table.header import DataHeader
from gpuplanner.ui.table.menus import cell_menu, header_menu
from gpuplanner.ui.table.model import LOOK, PAGE
from gpuplanner.ui.table.shape import load_shape, usual_shape
from gpuplanner.ui.table.source import ListSource, PlainRow, Slice
from gpuplanner.ui.table.view import DataTable
from gpuplanner.units import GB, GIB, Display, MemoryConvention, Unit
from tests.ui.screenshots import picture
from tests.ui.stalls import watch_stalls
from tests.ui.text_column import text_column

COLUMNS = [
    text_column("name", msg("ui.palette.results")),
    number_column(
        "memory",
        msg("ui.term.vram"),
        lambda display: display.memory.value,
        lambda display: GIB if display.memory is MemoryConvention.GIB else GB,
    ),
    number_column("price", msg("settings.currency"), lambda display: f"{display.currency}/h"),
    text_column("note", msg("ui.notices.title"), shown=False),
]
IDS = [column.id for column in COLUMNS]
ROWS = [
    PlainRow("h100", ("H100", 80 * GIB, 2.99, "x")),
    PlainRow("t4", ("T4", 16 * GIB, None, "y")),
    PlainRow("a100", ("a100", 80 * GIB, 1.79, None)),
    PlainRow("l40s", ("L40S", 48 * GIB, None, "z|z")),
]


def ids(source, *keys):
    return [row.id for row in source.fetch(keys, 0, 100).rows]


# --- Order and sources ----------------------------------------------------------------------------------------------


def test_clicking_goes_up_down_and_back():
    order = Order().clicked("a", also=False)
    assert order == Order((SortKey("a"),))
    order = order.clicked("a", also=False)
    assert order == Order((SortKey("a", descending=True),))
    assert order.clicked("a", also=False) == Order()
    assert order.clicked("b", also=False) == Order((SortKey("b"),))


def test_shift_adds_a_key():
    order = Order().clicked("a", also=False).clicked("b", also=True).clicked("b", also=True)
    assert order == Order((SortKey("a"), SortKey("b", descending=True)))
    assert (order.rank("a"), order.rank("b"), order.rank("c")) == (1, 2, 0)
    assert order.clicked("b", also=True) == Order((SortKey("a"),))


def test_missing_values_come_last_either_way():
    source = ListSource(IDS, ROWS)
    assert ids(source, SortKey("price")) == ["a100", "h100", "t4", "l40s"]
    assert ids(source, SortKey("price", descending=True)) == ["h100", "a100", "t4", "l40s"]


def test_several_keys_and_words_regardless_of_case():
    source = ListSource(IDS, ROWS)
    assert ids(source, SortKey("memory", descending=True), SortKey("price")) == ["a100", "h100", "l40s", "t4"]
    assert ids(source, SortKey("name")) == ["a100", "h100", "l40s", "t4"]
    assert ids(source, SortKey("gone")) == ["h100", "t4", "a100", "l40s"]


# --- The view -------------------------------------------------------------------------------------------------------


@pytest.fixture
def make(appearance, settings, qtbot):
    def table(rows=ROWS, jobs=None, source=None):
        view = DataTable(appearance, settings, "test", COLUMNS, msg("ui.palette.results"), jobs)
        qtbot.addWidget(view)
        view.resize(700, 300)
        view.show()
        view.set_source(source or ListSource(IDS, rows))
        return view

    return table


def cell(view, row, column):
    return view.rows.index(row, IDS.index(column)).data()


def header(view, column):
    return view.rows.headerData(IDS.index(column), Qt.Orientation.Horizontal)


def test_units_stand_in_the_header_and_follow_the_person(make, appearance):
    view = make()
    assert header(view, "memory") == "GPU memory (VRAM)\nGiB"
    assert cell(view, 0, "memory") == "80"
    appearance.choose(MEMORY, "GB")
    assert header(view, "memory") == "GPU memory (VRAM)\nGB"
    assert cell(view, 0, "memory") == "85.9"
    appearance.choose(LANGUAGE, "zh_CN")
    assert header(view, "memory") == "显存\nGB"
    assert cell(view, 1, "price") == "—"


def test_rows_do_not_wrap_and_are_not_sized_by_their_content(make):
    view = make()
    assert not view.wordWrap()
    assert view.verticalHeader().sectionResizeMode(0).name == "Fixed"
    assert {view.rowHeight(row) for row in range(4)} == {30}


def test_the_columns_share_what_is_left(make):
    view = make()
    for width in (700, 1400):
        view.resize(width, 300)
        shown = [view.columnWidth(IDS.index(column.id)) for column in view.columns.shown()]
        assert sum(shown) == view.viewport().width()
        if width == 1400:  # no gulf between a name and its numbers: every column is wider than it has to be
            assert shown[0] < 2 * max(shown[1:])


def test_words_get_the_room_they_need_before_the_rest_is_shared(appearance, settings, qtbot):
    columns = [text_column("name", msg("ui.palette.results"), width=80), text_column("long", msg("ui.back"), width=60)]
    table = DataTable(appearance, settings, "words", columns, msg("ui.palette.results"))
    qtbot.addWidget(table)
    table.resize(420, 200)
    table.show()
    words = "RTX PRO 6000 Blackwell Server"
    table.set_source(ListSource(["name", "long"], [PlainRow("x", ("X", words))]))
    assert table.columnWidth(1) >= QFontMetricsF(font(TextRole.NUMBER)).horizontalAdvance(words) + 16


def test_columns_yield_where_it_is_narrow_and_come_back(appearance, settings, qtbot):
    columns = [
        text_column("name", msg("ui.palette.results"), width=120),
        text_column("more", msg("ui.back"), width=120, yields=True),
        text_column("least", msg("ui.forward"), width=120, yields=True),
    ]
    table = DataTable(appearance, settings, "yield", columns, msg("ui.palette.results"))
    qtbot.addWidget(table)
    table.resize(500, 200)
    table.show()

    def ids():
        return [column.id for column in table.columns.shown()]

    assert ids() == ["name", "more", "least"]
    table.resize(300, 200)
    assert ids() == ["name", "more"]
    table.resize(180, 200)
    assert ids() == ["name"]
    # What a person asks for stays, whatever the room, and a yielded column is not kept as hidden.
    table.columns.show("least", shown=True)
    assert ids() == ["name", "least"]
    qtbot.wait(400)
    assert settings.kept("window.table.yield")["hidden"] == []
    table.resize(500, 200)
    assert ids() == ["name", "more", "least"]
    table.columns.show("more", shown=False)
    qtbot.wait(400)
    table.resize(510, 200)
    assert ids() == ["name", "least"]


def test_no_row_is_cut_in_half(make, appearance):
    view = make([PlainRow(str(i), (f"row {i}", 1.0 * GIB, 1.0, "")) for i in range(60)])
    view.resize(700, 42 + 30 * 5 + 17)
    half = view.viewport().height() - 8

    def painted_below_the_last_whole_row():
        image = picture(view.viewport())
        return {image.pixelColor(x, half).name() for x in range(image.width())}

    assert view.rowAt(half) >= 0, "a row begins there"
    assert painted_below_the_last_whole_row() == {appearance.tokens.card.lower()}
    view.setCurrentIndex(view.model().index(40, 0))
    assert view.rowViewportPosition(view.rowAt(1)) == 0, "the first row is whole after scrolling too"
    assert painted_below_the_last_whole_row() == {appearance.tokens.card.lower()}


def test_no_number_of_a_later_page_is_cut(make):
    rows = [PlainRow(f"row {number}", ("X", GIB, 1.0, "")) for number in range(2 * PAGE)]
    rows[-1] = PlainRow("long", ("X", 10**36 * GIB, 1.0, ""))
    view = make(rows)
    section = IDS.index("memory")
    before = view.columnWidth(section)
    assert cell(view, 2 * PAGE - 1, "memory") is None
    needed = QFontMetricsF(font(TextRole.NUMBER)).horizontalAdvance(cell(view, 2 * PAGE - 1, "memory")) + 16
    assert before < needed <= view.columnWidth(section)


def test_no_number_is_cut(make):
    wide = [PlainRow("x", ("X", 123_456_789 * GIB, 1234567.0, "")), *ROWS]
    view = make(wide)
    section = IDS.index("memory")
    needed = QFontMetricsF(font(TextRole.NUMBER)).horizontalAdvance("123,456,789") + 16
    assert view.columnWidth(section) >= needed
    # A person's own width is theirs.
    view.horizontalHeader().resizeSection(section, 60)
    view.set_source(ListSource(IDS, wide))
    assert view.columnWidth(section) == 60


def test_a_click_on_the_header_sorts_and_shift_adds(make, qtbot):
    view = make()
    bar = view.horizontalHeader()

    def click(column, shift=False):
        at = bar.viewport().rect().center()
        at.setX(bar.sectionViewportPosition(IDS.index(column)) + 30)
        keys = Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier
        QTest.mouseClick(bar.viewport(), Qt.MouseButton.LeftButton, keys, at)

    click("price")
    assert [cell(view, row, "name") for row in range(4)] == ["a100", "H100", "T4", "L40S"]
    click("price")
    assert view.rows.order == Order((SortKey("price", descending=True),))
    click("memory", shift=True)
    assert view.rows.order.rank("memory") == 2


def test_the_current_row_stays_current_when_the_rows_change(make):
    view = make()
    chosen: list[object] = []
    view.rowChosen.connect(chosen.append)
    view.choose("a100")
    view.sort_by(Order((SortKey("price"),)))
    assert view.current_id() == "a100"
    view.set_source(ListSource(IDS, ROWS[1:]))
    assert view.current_id() == "a100"
    assert chosen == ["a100"]


def test_enter_opens_and_space_ticks(make, appearance, settings, qtbot):
    view = make()
    opened: list[object] = []
    view.rowOpened.connect(opened.append)
    view.choose("t4")
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert opened == ["t4"]
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.current_id() == "a100"

    ticks = Column("tick", msg("ui.help.marks"), lambda value, _appearance: Look(check=bool(value)))
    other = DataTable(appearance, settings, "ticks", [ticks], msg("ui.help.marks"))
    qtbot.addWidget(other)
    other.show()
    other.set_source(ListSource(["tick"], [PlainRow("a", (False,)), PlainRow("b", (True,))]))
    ticked = []
    other.checkClicked.connect(lambda row, column: ticked.append((row, column)))
    other.choose("b")
    QTest.keyClick(other, Qt.Key.Key_Space)
    assert ticked == [("b", "tick")]


def test_a_click_on_a_tick_ticks_and_chooses_nothing(appearance, settings, qtbot):
    ticks = Column("tick", msg("ui.help.marks"), lambda value, _appearance: Look("words", check=bool(value)))
    table = DataTable(appearance, settings, "ticks", [ticks], msg("ui.help.marks"))
    qtbot.addWidget(table)
    table.resize(300, 200)
    table.show()
    table.set_source(ListSource(["tick"], [PlainRow("a", (False,)), PlainRow("b", (True,))]))
    heard: list[object] = []
    table.choose("b")
    table.rowChosen.connect(heard.append)
    table.rowOpened.connect(heard.append)
    ticked = []
    table.checkClicked.connect(lambda row, _column: ticked.append(row))
    row = table.visualRect(table.rows.index(0, 0))
    tick, words = QPoint(row.left() + 14, row.center().y()), QPoint(row.left() + 60, row.center().y())
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=tick)
    assert ticked == ["a"]
    QTest.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=tick)
    QTest.mouseRelease(table.viewport(), Qt.MouseButton.LeftButton, pos=tick)
    assert ticked == ["a", "a"]
    assert heard == []
    assert [i.row() for i in table.selectionModel().selectedRows()] == [1]
    # A press on the words that ends on the tick is none of it, nor is one that leaves the tick.
    ticked.clear()
    QTest.mousePress(table.viewport(), Qt.MouseButton.LeftButton, pos=tick)
    QTest.mouseRelease(table.viewport(), Qt.MouseButton.LeftButton, pos=words)
    assert ticked == heard == []
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=words)
    assert ticked == []
    assert heard == ["a"]


def test_columns_are_chosen_and_kept(make, settings, qtbot):
    view = make()
    assert [column.id for column in view.columns.shown()] == ["name", "memory", "price"]
    view.columns.show("note", shown=True)
    view.columns.show("memory", shown=False)
    view.horizontalHeader().moveSection(view.horizontalHeader().visualIndex(IDS.index("price")), 0)
    view.horizontalHeader().resizeSection(IDS.index("note"), 233)
    view.sort_by(Order((SortKey("price", descending=True),)))
    qtbot.waitUntil(lambda: "window.table.test" in settings.values)
    again = make()
    assert [column.id for column in again.columns.shown()] == ["price", "name", "note"]
    assert again.columnWidth(IDS.index("note")) == 233
    assert again.rows.order == Order((SortKey("price", descending=True),))
    assert cell(again, 0, "name") == "H100"
    again.reset_columns()
    assert [column.id for column in again.columns.shown()] == ["name", "memory", "price"]
    assert again.rows.order == Order()


def test_the_last_column_cannot_be_hidden(make):
    view = make()
    for column in IDS:
        view.columns.show(column, shown=False)
    assert len(view.columns.shown()) == 1


@pytest.mark.parametrize(
    "kept",
    [
        None,
        "nonsense",
        {"order": 3, "hidden": None, "widths": [], "sort": "x"},
        {"order": ["gone", "price"], "hidden": IDS, "widths": {"name": "wide"}, "sort": [["gone", True], 1]},
    ],
)
def test_a_kept_shape_that_makes_no_sense_is_the_usual_one(settings, kept):
    settings.keep("window.table.test", kept)
    shape = load_shape(settings, "test", COLUMNS)
    assert set(shape.order) == set(IDS)
    assert shape.hidden == usual_shape(COLUMNS).hidden
    assert shape.sort == Order()


def test_every_menu_can_be_opened_and_holds_all_that_can_be_done(make, appearance):
    view = make()
    done: list[object] = []
    view.set_column_action(msg("ui.help.search"), done.append)
    said = [action.text() for action in header_menu(view, appearance, COLUMNS[1]).actions()]
    assert said[0] == "Search the glossary"
    assert said[2:4] == ["Sort ascending", "Sort descending"]
    assert "Notices" in said
    menu = cell_menu(view, appearance, COLUMNS[2])
    menu.actions()[0].trigger()
    assert done == ["price"]
    next(action for action in menu.actions() if action.text() == "Sort descending").trigger()
    assert view.rows.order == Order((SortKey("price", descending=True),))
    copies = next(inner for inner in menu.findChildren(QMenu) if inner.title() == "Copy table")
    copies.actions()[-1].trigger()
    assert QGuiApplication.clipboard().text().startswith("| Results |")
    assert [action.text() for action in cell_menu(view, appearance, None).actions() if action.text()] == [
        "Copy table", "Columns…",
    ]  # fmt: skip


def test_the_column_menu_shows_and_hides(make):
    view = make()
    menu = view.column_menu()
    action = next(a for a in menu.actions() if a.text() == "Notices")
    assert not action.isChecked()
    action.trigger()
    assert "note" in [column.id for column in view.columns.shown()]
    menu.deleteLater()


# --- Copying --------------------------------------------------------------------------------------------------------


def written(format_, rows=ROWS, note=""):
    columns = [COLUMNS[0], COLUMNS[1], COLUMNS[2], COLUMNS[3]]
    cells = [row.cells for row in rows]
    return table_text(columns, cells, format_, Display(), Translator(Language.ENGLISH), note)


def test_csv_can_be_read_back():
    rows = list(csv.reader(io.StringIO(written(CopyFormat.CSV))))
    assert rows[0] == ["Results", "GPU memory (VRAM) (GiB)", "Currency (USD/h)", "Notices"]
    assert rows[1] == ["H100", "80", "2.99", "x"]
    assert rows[2] == ["T4", "16", "", "y"]


def test_numbers_are_written_for_programs():
    big = [PlainRow("x", ("a", 1234567 * GIB, 0.5, ""))]
    assert written(CopyFormat.TSV, big).splitlines()[1] == "a\t1234567\t0.5\t"


def test_markdown_aligns_and_escapes():
    lines = written(CopyFormat.MARKDOWN, note="only two").splitlines()
    assert lines[1] == "| --- | ---: | ---: | --- |"
    assert lines[5] == "| L40S | 48 |  | z\\|z |"
    assert lines[-1] == "only two"


def test_a_cell_that_looks_like_a_formula_stays_text():
    evil = [PlainRow("x", ("=1+1", -5.0 * GIB, None, "@x"))]
    assert written(CopyFormat.CSV, evil).splitlines()[1] == "'=1+1,-5,,'@x"


def test_copies_are_what_is_shown(make, qapp):
    view = make()
    view.columns.show("memory", shown=False)
    view.sort_by(Order((SortKey("price"),)))
    view.set_note(lambda: "price ≥ 1")
    counted: list[object] = []
    view.copied.connect(counted.append)
    view.copy_table(CopyFormat.TSV)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines == ["Results\tCurrency (USD/h)", "a100\t1.79", "H100\t2.99", "T4\t", "L40S\t", "# price ≥ 1"]
    view.choose("h100")
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().splitlines()[1:2] == ["H100\t2.99"]
    view.copy_cell()
    assert QGuiApplication.clipboard().text() == "H100"
    assert counted == [4, 1]


# --- Paging ---------------------------------------------------------------------------------------------------------


class ManyRows:
    """A hundred thousand rows, made when they are asked for."""

    total = 100_000

    def __init__(self):
        self.threads = set()
        self.offsets = []

    def fetch(self, order, offset, limit):
        self.threads.add(threading.get_ident())
        self.offsets.append(offset)
        numbers = list(range(offset, min(offset + limit, self.total)))
        if order and order[0].descending:
            numbers = [self.total - 1 - n for n in numbers]
        return Slice([PlainRow(str(n), (f"GPU {n}", n * GIB, float(n), "")) for n in numbers], self.total)


@pytest.mark.alone
def test_pages_come_beside_the_window_and_only_those_in_sight(make, jobs, qtbot):
    source = ManyRows()
    with watch_stalls() as stalls:
        view = make(jobs=jobs, source=source)
        stalls.pump_until(lambda: view.rows.total == 100_000)
        view.scrollToBottom()
        stalls.pump_until(lambda: cell(view, 99_999, "name") == "GPU 99999")
        view.sort_by(Order((SortKey("price", descending=True),)))
        stalls.pump_until(lambda: cell(view, 0, "name") == "GPU 99999")
    assert threading.get_ident() not in source.threads
    assert len(set(source.offsets)) < 8
    assert stalls.quick_cpu_ms < 50


def test_old_rows_stay_until_the_new_ones_are_there(make, jobs, qtbot):
    view = make(jobs=jobs)
    qtbot.waitUntil(lambda: view.rows.total == 4)
    released = threading.Event()

    class Slow:
        def fetch(self, order, offset, limit):
            released.wait(5)
            return Slice([PlainRow("new", ("New", None, None, None))], 1)

    view.set_source(Slow())
    assert cell(view, 0, "name") == "H100"
    released.set()
    qtbot.waitUntil(lambda: view.rows.total == 1)
    assert cell(view, 0, "name") == "New"


def test_a_row_on_the_way_is_shown_as_such(make, jobs, qtbot):
    view = make(jobs=jobs, source=ManyRows())
    qtbot.waitUntil(lambda: view.rows.total == 100_000)
    far = view.rows.index(50 * PAGE, 0)
    assert far.data(LOOK) is None
    qtbot.waitUntil(lambda: far.data(LOOK) is not None)


def test_another_page_that_comes_first_takes_no_row_away(make, jobs, qtbot):
    """Of a row that was chosen by where it stands nothing is known until its own page is here."""
    view = make(jobs=jobs, source=ManyRows())
    qtbot.waitUntil(lambda: view.rows.total == 100_000)
    chosen: list[str] = []
    view.rowChosen.connect(chosen.append)
    view.choose_at(50 * PAGE, "the row")
    view.rows.dataChanged.emit(view.rows.index(0, 0), view.rows.index(PAGE - 1, 0))
    assert chosen == []


def test_a_source_that_fails_says_so(make, jobs, qtbot):
    class Broken:
        def fetch(self, order, offset, limit):
            raise OSError("gone")

    view = make(jobs=jobs)
    qtbot.waitUntil(lambda: view.rows.total == 4)
    failures: list[object] = []
    view.rows.failed.connect(failures.append)
    view.set_source(Broken())
    qtbot.waitUntil(lambda: bool(failures))
    assert view.rows.total == 4


def test_a_screen_reader_hears_title_value_and_unit(make):
    view = make()
    index = view.rows.index(0, IDS.index("memory"))
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "GPU memory (VRAM) 80 GiB"
    assert view.accessibleName() == "Results"


def test_a_figure_column_says_its_unit_in_each_cell(appearance):
    column = figure_column("time", msg("ui.term.ttft"), Unit.SECOND)
    assert column.look(0.031, appearance).text == "31.0 ms"
    assert column.look(None, appearance).missing


def test_the_header_is_ours(make):
    view = make()
    assert isinstance(view.horizontalHeader(), DataHeader)
    assert view.horizontalHeader().sizeHint().height() == 42


def test_a_column_that_is_put_away_comes_back_and_is_not_kept_as_hidden(appearance, settings, qtbot):
    columns = [text_column("name", msg("ui.palette.results"), width=90), text_column("more", msg("ui.back"), width=90)]
    table = DataTable(appearance, settings, "room", columns, msg("ui.palette.results"))
    qtbot.addWidget(table)
    table.resize(300, 200)
    table.show()
    table.columns.put_away("more", away=True)
    assert [column.id for column in table.columns.shown()] == ["name"]
    table.columns.changed()
    qtbot.wait(400)
    assert settings.kept("window.table.room")["hidden"] == []
    table.columns.put_away("more", away=False)
    assert [column.id for column in table.columns.shown()] == ["name", "more"]
    assert table.horizontalHeader().length() == table.viewport().width()


def test_a_held_column_is_always_shown_and_a_whole_one_has_its_words(appearance, settings, qtbot):
    more = {"width": 90, "yields": True}
    columns = [
        text_column("name", msg("ui.palette.results"), width=90, whole=True),
        text_column("speed", msg("ui.back"), **more),
        text_column("price", msg("ui.forward"), **more),
        text_column("count", msg("ui.chip.remove"), shown=False, **more),
    ]
    table = DataTable(appearance, settings, "held", columns, msg("ui.palette.results"))
    qtbot.addWidget(table)
    table.resize(330, 200)
    table.show()
    ids = [column.id for column in columns]
    table.set_source(ListSource(ids, [PlainRow("a", ("8 x H100 SXM5 80GB NVLink", "1", "2", "3"))]))

    def shown():
        return [column.id for column in table.columns.shown()]

    for held, others in (("price", ["name", "price"]), ("count", ["name", "count"]), ("speed", ["name", "speed"])):
        table.columns.hold(held)
        assert held in shown()
        assert set(others) <= set(shown())
        words = QFontMetricsF(font(TextRole.NUMBER)).horizontalAdvance("8 x H100 SXM5 80GB NVLink")
        assert table.columnWidth(0) >= words + 16
    table.columns.hold("count")
    table.columns.changed()
    qtbot.wait(400)
    assert settings.kept("window.table.held")["hidden"] == ["count"], "that it is held is not kept"
    table.columns.show("count", shown=False)
    assert "count" not in shown(), "what a person hides is hidden"

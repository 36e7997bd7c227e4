import threading
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gpuplanner.catalog.search import EntryKind
from gpuplanner.messages import msg
from gpuplanner.store.settings import LANGUAGE, THEME
from gpuplanner.ui.catalog_place.place import EntryProvider
from gpuplanner.ui.palette.items import PaletteItem, match
from gpuplanner.ui.palette.providers import SettingProvider
from gpuplanner.ui.palette.search import PaletteSearch


class Fruits:
    """A provider with a fixed list; a slow one waits until it is released."""

    in_background = False

    def __init__(self, names=("apple", "banana", "cherry"), group="ui.help.title"):
        self.group = msg(group)
        self.names = names
        self.released = threading.Event()
        self.threads = set()

    def find(self, query):
        self.threads.add(threading.get_ident())
        if self.in_background:
            self.released.wait(5)
        return [PaletteItem(name, name, self.released.set, score=match(query, name)) for name in self.names]


@pytest.mark.parametrize(
    ("query", "text", "hit"),
    [
        ("h100", "NVIDIA H100 SXM5", True),
        ("sxm h100", "NVIDIA H100 SXM5", True),
        ("Ｈ１００", "NVIDIA H100 SXM5", True),
        ("h200", "NVIDIA H100 SXM5", False),
        ("pretrain", "Pre-train a 7B model", True),
        ("pre-train", "Pretrain a 7B model", True),
        ("sxm4", "A100-SXM4-40GB", True),
        ("显存", "显存", True),
        ("cafe", "Café", True),
        ("", "anything", True),
    ],
)
def test_matching(query, text, hit):
    assert (match(query, text) > 0) is hit


def test_the_better_match_comes_first():
    texts = ["dark", "set it to dark", "Darknet-53", "set a darkness", "endarken"]
    assert sorted(texts, key=lambda text: -match("dark", text)) == texts
    assert match("gpu", "", "GPU") == 1


@pytest.fixture
def view(open_session):
    session = open_session()
    return session.window.palette_view


def titles(view):
    return [item.title for item in view.items()]


def test_it_opens_by_key_and_gives_the_focus_back(view, open_session, qtbot):
    window = view.window()
    window.rail.focus_current()
    before = QApplication.focusWidget()
    assert before is not None
    QTest.keyClick(before, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert view.isVisible()
    assert view._field.hasFocus()
    QTest.keyClick(view._field, Qt.Key.Key_Escape)
    assert not view.isVisible()
    assert QApplication.focusWidget() is before


def test_an_empty_query_offers_what_can_be_done_here(view):
    view.open()
    assert "Reset all settings" in titles(view)
    assert "Go to Glossary" in titles(view)


def test_it_finds_in_both_languages(view, settings):
    view.open("深色")
    assert titles(view) == ["Theme, Dark"]
    view._field.setText("vram")
    assert "GPU memory (VRAM)" in titles(view)
    view._field.setText("显存")
    assert titles(view)[0] == "GPU memory (VRAM)"


def test_a_command_with_the_very_word_comes_before_an_entry_that_begins_so(appearance):
    hit = SimpleNamespace(kind=EntryKind.MODEL, id="darknet-53", detail="", title=lambda _language: "Darknet-53")
    index = SimpleNamespace(search=lambda *_asked: [hit])
    entries = EntryProvider(appearance, SimpleNamespace(index=index), lambda _location: None).find("dark")
    commands = [item for item in SettingProvider(appearance).find("dark") if item.id == f"setting.{THEME.key}.dark"]
    assert 0 < entries[0].score < commands[0].score


def test_it_works_by_keyboard_alone(view):
    appearance = view._appearance
    view.open()
    QTest.keyClicks(view._field, "theme")
    assert titles(view) == ["Theme, As the system", "Theme, Dark"] or titles(view)[:2] == [
        "Theme, Dark",
        "Theme, As the system",
    ]
    while view._list.currentIndex().data(Qt.ItemDataRole.UserRole).title != "Theme, Dark":
        QTest.keyClick(view._field, Qt.Key.Key_Down)
    QTest.keyClick(view._field, Qt.Key.Key_Return)
    assert appearance.chosen(THEME) == "dark"
    assert not view.isVisible()


def test_up_and_down_pass_over_headings_and_go_round(view):
    view.open()
    count = len(view.items())
    seen = []
    for _ in range(count):
        seen.append(view._list.currentIndex().data(Qt.ItemDataRole.UserRole).id)
        QTest.keyClick(view._field, Qt.Key.Key_Down)
    assert seen == [item.id for item in view.items()]
    assert view._list.currentIndex().data(Qt.ItemDataRole.UserRole).id == seen[0]
    QTest.keyClick(view._field, Qt.Key.Key_Up)
    assert view._list.currentIndex().data(Qt.ItemDataRole.UserRole).id == seen[-1]


def test_nothing_found_is_said(view):
    view.open("zzzz qqqq")
    assert view.items() == []
    assert view._nothing.isVisible()
    QTest.keyClick(view._field, Qt.Key.Key_Return)
    assert view.isVisible()


def test_nothing_found_is_said_when_all_have_answered(view, qtbot):
    slow = Fruits(("durian",))
    slow.in_background = True
    view._search.add(slow)
    view.open("zzzz qqqq")
    assert view._nothing.text() == "Searching…"
    slow.released.set()
    qtbot.waitUntil(lambda: view._nothing.text().startswith("Nothing found"))


def test_it_follows_the_language(view):
    view.open("dark")
    view._appearance.choose(LANGUAGE, "zh_CN")
    assert titles(view) == ["主题：深色"]
    assert view._field.placeholderText() == "搜索或执行任何操作"


def test_a_click_beside_it_closes_it(view):
    view.open()
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.rect().bottomLeft())
    assert not view.isVisible()


def test_the_best_is_chosen_as_answers_come_until_a_person_moves(view, qtbot):
    slow = Fruits(("Theme zebra", "theme"))
    slow.in_background = True
    view._search.add(slow)
    view.open("theme")

    def chosen():
        return view._list.currentIndex().data(Qt.ItemDataRole.UserRole).title

    assert chosen() == "Theme, Dark"
    slow.released.set()
    qtbot.waitUntil(lambda: "theme" in titles(view))
    assert chosen() == "theme"
    slow.released.clear()
    view._field.setText("them")
    QTest.keyClick(view._field, Qt.Key.Key_Down)
    moved_to = chosen()
    slow.released.set()
    qtbot.waitUntil(lambda: view._search._jobs.busy == 0)
    assert chosen() == moved_to


def test_a_slow_provider_does_not_hold_up_the_others(jobs, qtbot):
    search = PaletteSearch(jobs)
    quick, slow = Fruits(), Fruits(("blueberry",), "ui.help.marks")
    slow.in_background = True
    search.add(quick)
    search.add(slow)
    search.ask("b")
    assert [found.items[0].title for found in search.found] == ["banana"]
    slow.released.set()
    qtbot.waitUntil(lambda: len(search.found) == 2)
    assert threading.get_ident() not in slow.threads
    assert quick.threads == {threading.get_ident()}


def test_answers_to_an_older_query_are_dropped(jobs, qtbot):
    search = PaletteSearch(jobs)
    slow = Fruits()
    slow.in_background = True
    search.add(slow)
    search.ask("apple")
    search.ask("cherry")
    slow.released.set()
    qtbot.waitUntil(lambda: bool(search.found))
    assert [item.title for item in search.found[0].items] == ["cherry"]


def test_a_group_shows_its_best(jobs):
    search = PaletteSearch(jobs)
    search.add(Fruits(tuple(f"fruit {n}" for n in range(30))))
    search.ask("fruit")
    assert len(search.found[0].items) == 6

"""A GPU that the catalog has not, typed into the Catalog: checked, kept among the person's own, taken back."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from gpuplanner.catalog.overlays import overlay_files
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.messages import Language, msg
from gpuplanner.paths import shipped
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.catalog_place.adding_gpus import AddingGpus
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.places import Context
from tests.ui.checks import clipped, missing_glyphs
from tests.ui.screenshots import picture

pytestmark = pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)
SIX = {"name": "Example X9", "vendor": "NVIDIA", "memory": "48", "bandwidth": "1200", "bf16": "250", "pcie": "60"}


@dataclass
class Home:
    home: Path


@pytest.fixture
def told():
    return Notices()


@pytest.fixture
def adding(appearance, settings, jobs, told, tmp_path, qtbot, shipped_catalog):
    page = QWidget()
    qtbot.addWidget(page)
    page.resize(900, 700)
    page.show()
    context = Context(appearance, settings, jobs, told, lambda _wanted: None, Home(tmp_path / "home"))
    made = AddingGpus(context, page, lambda: shipped_catalog)
    made.ask()
    yield made
    if made.popup is not None:
        made.popup.close()


def type_in(popup, **fields):
    for name, text in fields.items():
        edit = (popup.words.get(name) or popup.numbers[name]).box.edit
        edit.setText(text)
        edit.textEdited.emit(text)


def test_six_fields_make_an_entry_that_can_be_taken_back(adding, told, tmp_path, qtbot):
    type_in(adding.popup, **{name: text for name, text in SIX.items() if name != "pcie"})
    assert not adding.popup.keep.isEnabled()
    type_in(adding.popup, pcie="60")
    assert adding.popup.keep.isEnabled()
    adding.popup.keep.click()
    qtbot.waitUntil(lambda: bool(told.kept), timeout=20_000)
    assert [notice.message.id for notice in told.kept] == ["answers.newgpu.kept"]
    files = overlay_files(tmp_path / "home" / "overlays")
    gpu = load_catalog(shipped("catalogs"), files).gpus["nvidia-example-x9"]
    assert gpu.user
    qtbot.waitUntil(lambda: adding.popup is None)
    told.kept[-1].action.run()
    assert overlay_files(tmp_path / "home" / "overlays") == ()


def test_what_cannot_be_is_said_in_the_pop_up_which_stays(adding, told, tmp_path, qtbot):
    type_in(adding.popup, **SIX | {"name": "H100 SXM5 80GB"})
    adding.popup.take()
    qtbot.waitUntil(lambda: adding.popup.problem.isVisibleTo(adding.popup), timeout=20_000)
    assert adding.popup.keep.isEnabled()
    type_in(adding.popup, name="Example X9", bandwidth="9999999")
    adding.popup.take()
    qtbot.waitUntil(adding.popup.keep.isEnabled, timeout=20_000)
    assert not told.kept
    assert overlay_files(tmp_path / "home" / "overlays") == ()


@pytest.mark.parametrize("language", Language)
def test_it_reads_in_both_languages(adding, appearance, language, screenshots_dir, qtbot):
    appearance.choose(LANGUAGE, language.value)
    type_in(adding.popup, **SIX)
    qtbot.waitUntil(lambda: clipped(adding.popup) == [], timeout=3000)
    assert missing_glyphs(adding.popup) == []
    assert picture(adding.popup).save(str(screenshots_dir / f"new-gpu-{language.value}.png"))


@pytest.mark.parametrize("language", Language)
def test_the_popup_is_as_high_as_its_parts(adding, appearance, qtbot, language):
    appearance.choose(LANGUAGE, language)
    popup = adding.popup

    def fits() -> bool:
        layout = popup.layout()
        parts = [layout.itemAt(at).geometry() for at in range(layout.count()) if not layout.itemAt(at).isEmpty()]
        gaps = {after.top() - before.bottom() - 1 for before, after in pairwise(parts)}
        return gaps == {layout.spacing()} and popup.height() == layout.totalHeightForWidth(popup.width())

    qtbot.waitUntil(fits)
    before = popup.height()
    type_in(popup, bf16="abc")
    popup.refuse(msg("model.file.missing", file="somewhere"))
    qtbot.waitUntil(lambda: popup.height() > before and fits())
    title = popup.layout().itemAt(0).geometry()
    assert title.height() <= QFontMetricsF(font(TextRole.STRONG)).height() + 6

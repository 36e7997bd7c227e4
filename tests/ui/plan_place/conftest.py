"""The Plan page over an engine by hand, and what tests do with it again and again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.ui.notices import Notices
from gpuplanner.ui.places import Context, Location
from gpuplanner.ui.plan_place import outcome
from gpuplanner.ui.plan_place.page import PlanPage
from gpuplanner.workspace import Workspace
from tests.ui.plan_place.by_hand import FakeWorkspace


@pytest.fixture
def workspace(tmp_path, shipped_catalog, shipped_efficiencies) -> Iterator[FakeWorkspace]:
    """The real catalog and a store in an empty folder, with an engine by hand."""
    made = FakeWorkspace(tmp_path / "home", shipped_catalog, shipped_efficiencies)
    yield made
    made.close()


@pytest.fixture(scope="module")
def real(tmp_path_factory) -> Iterator[Workspace]:
    """The real engine over a store in an empty folder."""
    made = Workspace(tmp_path_factory.mktemp("home"))
    yield made
    made.store.close()


@pytest.fixture
def went() -> list[Location]:
    """Where the page asked to go."""
    return []


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch, request) -> None:
    """Search and explanation follow at once, so that tests need not wait; those of stalls take the real pauses."""
    if "stalls" not in request.module.__name__:
        monkeypatch.setattr(outcome, "SEARCH_AFTER_MS", 0)
        monkeypatch.setattr(outcome, "EXPLAIN_AFTER_MS", 0)


@pytest.fixture
def open_page(qtbot, appearance, settings, jobs, workspace, went) -> Iterator[Callable[..., PlanPage]]:
    """Makes a Plan page as the window would, shown, with the catalog read."""
    made: list[PlanPage] = []

    def make(
        path: str = "", size: tuple[int, int] = (1250, 820), store: FakeWorkspace | Workspace | None = None
    ) -> PlanPage:
        notices = Notices()
        context = Context(appearance, settings, jobs, notices, went.append, store or workspace)
        page = PlanPage(context)
        page.setProperty("notices", notices)
        made.append(page)
        page.resize(*size)
        page.show()
        if path:
            page.visit(path)
        qtbot.waitUntil(lambda: page.presenter.facts.catalog is not None)
        return page

    yield make
    for page in made:
        page.close_page()
        page.close()
        page.deleteLater()


@pytest.fixture
def page(open_page, settled) -> Any:
    """The page with a serving preset worked out."""
    shown = open_page("preset/chat-70b")
    settled(shown)
    return shown


@pytest.fixture
def settled(qtbot) -> Callable[[PlanPage], None]:
    """Waits until estimate and search are those of the plan as it is."""

    def wait(page: PlanPage) -> None:
        outcome = page.presenter.outcome

        def done() -> bool:
            worked, searched = outcome.worked, outcome.searched
            known = worked.current and (worked.explained or worked.problem is not None)
            return known and searched is not None and searched.current and page.machines.is_filled

        qtbot.waitUntil(done, timeout=5000)

    return wait


@pytest.fixture
def said() -> Callable[[PlanPage], list[str]]:
    """The ids of what a page told."""
    return lambda page: [notice.message.id for notice in page.property("notices").kept]


@pytest.fixture
def data_dir() -> Path:
    """Small files in the formats that people have."""
    return Path(__file__).resolve().parents[2] / "data"

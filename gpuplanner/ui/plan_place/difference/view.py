"""The open plan beside another one of the person's."""

from PySide6.QtCore import Signal

from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.difference.comparing import Comparing
from gpuplanner.ui.plan_place.difference.table import DifferenceTable
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.workload.plan import Plan


class DifferenceView(Card):
    """`closed` asks to go back to the plan."""

    closed = Signal()

    def __init__(self, appearance: Appearance, table: DifferenceTable, comparing: Comparing) -> None:
        super().__init__(appearance, msg("planui.difference"), " ")
        self.table = table
        self._comparing = comparing
        comparing.done.connect(table.show_results)
        self.close_button = Button(appearance, msg("planui.difference.close"), ButtonKind.QUIET, icon="x", small=True)
        self.close_button.clicked.connect(self.closed)
        self.title_row.addWidget(self.close_button)
        self.body.addWidget(table)

    def show_plans(self, mine: Plan, other: Plan, titles: tuple[MessageValue, MessageValue]) -> None:
        """Show how two plans differ; what they come to follows."""
        self.table.show_plans(mine, other, titles)
        count = self.table.differing()
        self.note.say(msg("planui.difference.count", count=count) if count else msg("planui.difference.none"))
        self._comparing.compare(mine, other)

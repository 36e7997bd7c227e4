"""The questions that wait for an answer, as cards below one another. Answers none itself."""

from collections.abc import Callable, Mapping

from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.machines_place.asking import Pending
from gpuplanner.ui.machines_place.question_card import QuestionCard

Answer = Callable[[Pending, str | None], object]


class Questions(QWidget):
    """Without a question it is not there."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self.cards: list[QuestionCard] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self.hide()

    def show_questions(self, answers: Mapping[Pending, Answer]) -> None:
        """Show these, each with who takes its answer. A new one gets the keyboard, unless somebody types."""
        if [each.pending for each in self.cards] == list(answers):
            return
        for each in self.cards:
            self._column.removeWidget(each)
            each.hide()
            each.deleteLater()
        self.cards = [QuestionCard(self._appearance, pending) for pending in answers]
        for each in self.cards:
            each.answered.connect(lambda text, pending=each.pending: answers[pending](pending, text))
            self._column.addWidget(each)
        self.setVisible(bool(self.cards))
        for each in self.cards:
            each.show()  # The keyboard goes to what is in sight only.
        typing = QApplication.focusWidget()
        # Whoever types somewhere would answer with what was meant for there.
        if self.cards and self.isVisible() and not (isinstance(typing, QLineEdit) and typing.text()):
            self.cards[0].focus()

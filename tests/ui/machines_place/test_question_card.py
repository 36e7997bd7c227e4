"""Questions as cards: a fingerprint is seen whole in the narrowest column, and copied; what is typed is hidden."""

import asyncio

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit

from gpuplanner.probe.transports.askpass import Asked, Question
from gpuplanner.ui.machines_place.asking import Busy, Pending
from gpuplanner.ui.machines_place.question_card import QuestionCard
from tests.ui.checks import clipped, missing_glyphs, nameless
from tests.ui.screenshots import each_look, settle

WIDTH = 372
"""Of the middle column in the smallest window."""
FINGERPRINT = "SHA256:Q3sYbJk8t0h0V3Qe0z1bFJkD9g2a7rYQvK7mQm2i8Ls"
KEY = (
    "The authenticity of host '[node-07.example.org]:2222 ([203.0.113.7]:2222)' can't be established.\n"
    f"ED25519 key fingerprint is {FINGERPRINT}.\nAre you sure you want to continue connecting (yes/no/[fingerprint])?"
)


@pytest.fixture
def made(appearance, qtbot):
    def make(question: Question | Busy) -> QuestionCard:
        loop = asyncio.new_event_loop()
        card = QuestionCard(appearance, Pending(question, loop.create_future()))
        loop.close()
        qtbot.addWidget(card)
        card.resize(WIDTH, 260)
        card.show()
        settle()
        card.resize(WIDTH, card.heightForWidth(WIDTH))
        settle()
        return card

    return make


@pytest.mark.parametrize("question", [Question(Asked.HOST_KEY, KEY, "node"), Busy(sure=True),
                                      *(Question(kind, "root@node's words:", "node") for kind in Asked)])  # fmt: skip
def test_nothing_of_a_question_is_cut_in_any_look(made, appearance, question):
    card = made(question)
    for look in each_look(appearance):
        for check in (clipped, missing_glyphs, nameless):
            assert check(card) == [], look


def test_the_fingerprint_is_copied_and_accepting_is_not_where_the_keyboard_is(made, qtbot):
    card = made(Question(Asked.HOST_KEY, KEY, "node"))
    assert card.copy is not None
    card.copy.click()
    assert QGuiApplication.clipboard().text() == FINGERPRINT
    card.activateWindow()
    card.focus()
    qtbot.waitUntil(card.no.hasFocus)
    assert made(Question(Asked.HOST_KEY, "a key without one", "node")).copy is None


@pytest.mark.parametrize("kind", [Asked.PASSWORD, Asked.PASSPHRASE, Asked.CODE])
def test_what_is_typed_is_hidden_sent_once_and_gone(made, kind):
    card = made(Question(kind, "Enter it:", "node"))
    sent: list[object] = []
    card.answered.connect(sent.append)
    assert card.box is not None
    assert card.box.edit.echoMode() is QLineEdit.EchoMode.Password
    card.box.edit.setText("a secret")
    card.yes.click()
    assert sent == ["a secret"]
    assert card.box.edit.text() == ""
    card.no.click()
    assert sent == ["a secret", None]


def test_a_key_that_waits_to_be_touched_has_nothing_to_accept(made):
    card = made(Question(Asked.TOUCH, "Confirm user presence", "node"))
    assert card.yes.isHidden()
    assert not card.no.isHidden()

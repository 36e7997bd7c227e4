"""What a banner over the plan says, and what it offers to do. No widget."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.messages import Message
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.tokens import Verdict


@dataclass(frozen=True, slots=True)
class Banner:
    """A sentence that stays until it no longer holds or is closed."""

    id: str
    message: Message
    verdict: Verdict
    actions: Sequence[NoticeAction] = ()
    closable: bool = True

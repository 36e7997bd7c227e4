"""A card where a module was sold: PCIe or NVL in the place of SXM, by the names that the driver prints."""

import re

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.saying import label, named, text
from gpuplanner.messages import msg

_CARD = re.compile(r"\b(?:PCIe|PCIE|NVL)\b")
_MODULES = ("SXM", "OAM")


def card_for_module(looking: Looking) -> Signs | None:
    """Cards although modules were promised."""
    promised = looking.promised.gpu
    if promised is None or looking.promised.said_by is None or not promised.form_factor.upper().startswith(_MODULES):
        return None
    cards = [gpu for gpu in looking.evidence.gpus if gpu.name and _CARD.search(gpu.name)]
    if not cards:
        return None
    return Signs(
        Certainty.SHOWN,
        lines_of(cards, "name"),
        {
            "gpus": text(named([label(gpu) for gpu in cards])),
            "name": text(cards[0].name or ""),
            "promised": text(promised.name),
        },
        ask=msg("check.ask.other_gpu", gpu=promised.name),
    )


CAUSES = (Cause("card_for_module", card_for_module),)

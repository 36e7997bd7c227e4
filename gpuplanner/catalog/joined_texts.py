"""Many texts as one, so that those with a given part are found by one search. Knows nothing of what the texts are."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class JoinedTexts:
    """Texts that are searched inside, in their order."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._joined = "\n".join(texts)
        lengths = np.fromiter((len(text) + 1 for text in texts), dtype=np.int64, count=len(texts))
        self._starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))

    def having(self, part: str) -> npt.NDArray[np.int64]:
        """The places of the texts that have `part` (not empty, on one line) in them, in order."""
        pieces = np.fromiter(map(len, self._joined.split(part)), dtype=np.int64)
        found_at = np.cumsum(pieces + len(part))[:-1] - len(part)
        return np.unique(np.searchsorted(self._starts, found_at, side="right") - 1)

"""No text makes a parser fail or hang: own recordings cut, doubled, shuffled and with random bytes in them."""

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output

DATA = Path(__file__).resolve().parents[1] / "data" / "probe"
FILES = sorted(str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file() and path.suffix != ".yaml")
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
"""Beside the checkout, where it lies; only the long run (`make fuzz`) goes over it."""
LONG = int(os.environ.get("GPUPLANNER_FUZZ", "0"))
OF_THE_CORPUS = sorted(path for path in CORPUS.glob("*/*") if path.is_file()) if LONG else []
LARGEST_BYTES = 2_000_000
"""Of a recording that is mutated: above that it is the time of reading it that is measured."""
LONGEST_S = 2.0
FEW = settings(max_examples=max(6, LONG), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def mutated(content: bytes, seed: int) -> bytes:
    """The content with some of its lines cut, doubled, swapped or filled with what does not belong there."""
    chance = random.Random(seed)
    lines = content.split(b"\n")
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        other = chance.randrange(len(lines))
        match chance.randrange(7):
            case 0:
                lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
            case 1:
                lines.insert(other, lines[at])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] += bytes(chance.randrange(256) for _ in range(chance.randint(1, 40)))
            case 4:
                lines[at] = lines[at].replace(b"0", b"9" * 400)
            case 5:
                lines = lines[: at + 1]
            case _:
                lines[at] = lines[at].replace(b" ", b"\t") * 3
    return b"\n".join(lines)


@pytest.mark.parametrize("file", FILES)
@given(seed=st.integers(0, 2**32))
@FEW
def test_a_damaged_recording_is_read_or_left(file: str, seed: int) -> None:
    inspect(Output.of(mutated((DATA / file).read_bytes(), seed), file))


if OF_THE_CORPUS:

    @pytest.mark.parametrize("path", OF_THE_CORPUS, ids=lambda path: f"{path.parent.name}/{path.name}")
    def test_a_damaged_output_of_the_corpus_is_read_or_left_in_time(path: Path) -> None:
        content = path.read_bytes()[:LARGEST_BYTES]
        for seed in range(LONG):
            began = time.process_time()
            inspect(Output.of(mutated(content, seed), path.name)).evidence.as_data()
            assert time.process_time() - began < LONGEST_S, f"seed {seed}"


@given(content=st.binary(max_size=2_000))
def test_any_bytes_are_read_or_left(content: bytes) -> None:
    inspect(Output.of(content, "bytes"))


@given(
    words=st.lists(
        st.text(max_size=30)
        | st.sampled_from(["|", "GPU 0:", "# gpu pid", "index, name", "Link 0:", "<nvidia_smi_log>", "{", "\n"])
    )
)
def test_any_words_are_read_or_left(words: list[str]) -> None:
    inspect(Output.of(" ".join(words), "words"))

"""No text makes a parser fail or hang: own recordings cut, doubled, shuffled and with random bytes in them."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output

DATA = Path(__file__).resolve().parents[1] / "data" / "probe"
FILES = sorted(str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file() and path.suffix != ".yaml")
FEW = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


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

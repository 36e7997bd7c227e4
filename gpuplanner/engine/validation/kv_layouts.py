"""What a server keeps of a model's cache on its fullest GPU, in each way that the model may be laid out. Pure.

A log seldom says how the model was divided. Where it prints what one request reserves, the layouts that reserve just
that much are few: their stage with the most cache, whose kinds of layers alternate, and a drafting layer beside the
model's own, which keeps a cache like any other.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuplanner.catalog.architecture import LayerGroup, ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.serving_inputs import ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_memory import longest_request_tokens, reserved_sequence_bytes, sequence_bytes
from gpuplanner.engine.serving_model import model_numbers

TENSOR_DEGREES = (1, 2, 4, 8, 16)
MOST_STAGES = 8
MOST_DRAFT_LAYERS = 1


@dataclass(frozen=True, slots=True)
class Layout:
    """How a model is divided, and how many drafting layers run behind its own."""

    tensor_parallel: int = 1
    stages: int = 1
    draft_layers: int = 0

    @property
    def gpus(self) -> int:
        """GPUs that it takes."""
        return self.tensor_parallel * self.stages


@dataclass(frozen=True, slots=True)
class Kept:
    """The cache of one GPU: its layers as numbers."""

    numbers: ModelNumbers
    way: WayNumbers
    server: ServerNumbers

    @property
    def bytes_per_token(self) -> float:
        """What one more token takes."""
        return float(sequence_bytes(self.numbers, self.way, self.numbers.layers, 1.0, with_state=False))

    def request_bytes(self, length: float) -> float:
        """What the server sets aside for one request of `length` tokens."""
        return float(reserved_sequence_bytes(self.numbers, self.server, self.way, self.numbers.layers, length))

    def longest_tokens(self, pool_bytes: float) -> float:
        """The longest request that a pool holds."""
        return float(longest_request_tokens(self.numbers, self.server, self.way, self.numbers.layers, pool_bytes))


def kept_by(
    model: ModelArchitecture,
    layout: Layout,
    formats: tuple[str | None, str],
    server: ServerNumbers,
    efficiencies: Efficiencies,
) -> Kept:
    """The cache of the stage that keeps most of it. `formats`: of the weights and of the cache."""
    way = WayNumbers(float(layout.tensor_parallel), 1.0, 1.0)
    stages = (Kept(model_numbers(stage, *formats, efficiencies), way, server) for stage in stages_of(model, layout))
    return max(stages, key=lambda kept: kept.bytes_per_token)


def stages_of(model: ModelArchitecture, layout: Layout) -> Iterator[ModelArchitecture]:
    """The layers of each pipeline stage, as vLLM divides them; drafting layers run on the last one.

    Of layers whose order is not told, no more than one stage can be made.
    """
    if layout.stages > 1 and not can_be_staged(model):
        return
    first = 0
    for stage, count in enumerate(_stage_layers(model.layers, layout.stages)):
        last = stage == layout.stages - 1
        groups = tuple(_between(model.groups, first, first + count))
        if last and layout.draft_layers:
            groups = _with_drafts(groups, layout.draft_layers)
        yield model.model_copy(update={"groups": groups})
        first += count


def can_be_staged(model: ModelArchitecture) -> bool:
    """Whether it is known which layers come one after the other."""
    return len(model.groups) == 1 or all(group.places for group in model.groups)


def possible_layouts(model: ModelArchitecture) -> Iterator[Layout]:
    """The layouts that a server may have been started with, those of the fewest GPUs first."""
    stages = min(MOST_STAGES, model.layers) if can_be_staged(model) else 1
    found = (
        Layout(tensor, stage, drafts)
        for drafts in range(MOST_DRAFT_LAYERS + 1)
        for tensor in TENSOR_DEGREES
        for stage in range(1, stages + 1)
    )
    yield from sorted(found, key=lambda layout: (layout.draft_layers, layout.gpus, layout.stages))


def _stage_layers(layers: int, stages: int) -> list[int]:
    """Layers of each stage: what remains goes one each to the stages before the last.

    vLLM, distributed/utils.py, get_pp_indices.
    """
    counts = [layers // stages] * stages
    for place in range(2, layers % stages + 2):
        counts[-place] += 1
    return counts


def _between(groups: tuple[LayerGroup, ...], first: int, end: int) -> Iterator[LayerGroup]:
    """The layers from `first` to before `end`."""
    for group in groups:
        if not group.places:
            yield group.model_copy(update={"count": min(group.count, end - first)})
            continue
        places = tuple(place for place in group.places if first <= place < end)
        if places:
            yield group.model_copy(update={"count": len(places), "places": places})


def _with_drafts(groups: tuple[LayerGroup, ...], drafts: int) -> tuple[LayerGroup, ...]:
    """With drafting layers, which attend as the model's own layers of full attention do."""
    attending = [group for group in groups if group.attention.cache_elements_per_token and not group.attention.window]
    if not attending:
        return groups
    most = attending[-1]
    return tuple(g.model_copy(update={"count": g.count + drafts}) if g is most else g for g in groups)

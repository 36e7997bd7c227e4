"""What a server keeps of a model's cache on its fullest GPU, in each way that the model may be laid out. Pure.

A log seldom says how the model was divided. Where it prints what one request reserves, the layouts that reserve just
that much are few: their stage with the most cache, whose kinds of layers alternate, and a drafting layer beside the
model's own, which keeps a cache like any other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from gpuplanner.catalog.architecture import LayerGroup, ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.formulas import hybrid_pool
from gpuplanner.engine.formulas.kv_cache import cache_bytes_per_token, state_bytes_per_sequence
from gpuplanner.engine.serving_inputs import ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_memory import longest_request_tokens, reserved_sequence_bytes, sequence_bytes
from gpuplanner.engine.serving_model import model_numbers

TENSOR_DEGREES = (1, 2, 4, 8, 16)
MOST_STAGES = 8
MOST_DRAFT_LAYERS = 1
NEARLY_EQUAL = 1.25
"""vLLM, kv_cache_utils.py: groups are as large as the larger kind of layers where it is no larger than this."""


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
    """The cache of one GPU: its layers as numbers, and how many of them are recurrent."""

    numbers: ModelNumbers
    way: WayNumbers
    server: ServerNumbers
    recurrent_layers: float = 0.0

    @property
    def bytes_per_token(self) -> float:
        """What one more token takes."""
        return float(sequence_bytes(self.numbers, self.way, self.numbers.layers, 1.0, with_state=False))

    def request_bytes(self, length: float) -> float:
        """What the server sets aside for one request of `length` tokens."""
        pages = self._pages()
        if pages is None:
            needed = reserved_sequence_bytes(self.numbers, self.server, self.way, self.numbers.layers, length)
            return float(needed)
        taken = hybrid_pool.request_pages(length, pages.tokens, pages.attention_groups, pages.recurrent_groups, 1.0)
        return float(taken * pages.size)

    def longest_tokens(self, pool_bytes: float) -> float:
        """The longest request that a pool holds."""
        pages = self._pages()
        if pages is None:
            return float(longest_request_tokens(self.numbers, self.server, self.way, self.numbers.layers, pool_bytes))
        return float(
            hybrid_pool.longest_in_pages(
                pool_bytes, pages.size, pages.tokens, pages.attention_groups, pages.recurrent_groups, 1.0
            )
        )

    def _pages(self) -> "_Pages | None":
        """How attention and recurrent layers share the pool; None where all layers are of one kind."""
        if not self.recurrent_layers or len(self.numbers.cache) != 1 or self.numbers.cache[0].window < inf:
            return None
        cache = self.numbers.cache[0]
        ranks = self.way.tensor_parallel
        a_layer = cache_bytes_per_token(cache.elements / cache.layers, cache.bits, cache.shards, ranks)
        state = state_bytes_per_sequence(
            self.numbers.state_bytes / self.recurrent_layers, self.numbers.state_shards, ranks
        )
        tokens = hybrid_pool.page_tokens(state, a_layer, self.server.block_tokens)
        fewer, more = sorted((cache.layers, self.recurrent_layers))
        layers = more if more < NEARLY_EQUAL * fewer else fewer
        return _Pages(
            float(tokens),
            float(hybrid_pool.page_bytes(tokens, a_layer, layers)),
            -(-cache.layers // layers),
            -(-self.recurrent_layers // layers),
        )


@dataclass(frozen=True, slots=True)
class _Pages:
    tokens: float
    size: float
    attention_groups: float
    recurrent_groups: float


def kept_by(
    model: ModelArchitecture,
    layout: Layout,
    formats: tuple[str | None, str],
    server: ServerNumbers,
    efficiencies: Efficiencies,
) -> Kept:
    """The cache of the stage that keeps most of it. `formats`: of the weights and of the cache."""
    way = WayNumbers(float(layout.tensor_parallel), 1.0, 1.0)
    stages = (
        Kept(model_numbers(stage, *formats, efficiencies), way, server, float(_recurrent(stage)))
        for stage in stages_of(model, layout)
    )
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


def _recurrent(model: ModelArchitecture) -> int:
    return sum(group.count for group in model.groups if group.attention.state_bytes)

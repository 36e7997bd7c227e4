"""What a serving estimate is computed from, as plain numbers: model, GPU, server, load, way. Types only, no look-ups.

Each field is a float, or an array with one element for each configuration of a search. A search makes the numbers of
each machine and server once (`serving_lookup.gpu_numbers`, `server_numbers`), stacks them with `stack`, and picks a row
for each configuration with `take`; the model's numbers stay floats, since one search is over one model and precision.
Everything is in base units: bytes, seconds, FLOP/s, tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpuplanner.engine.formulas.elementwise import Number

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class CacheLayers:
    """All layers of one kind that keep a cache for each token.

    `elements`: numbers kept for one token in all of them; `bits`: their size; `window`: how far back they look
    (infinite for full attention); `attended`: how many tokens a sparse attention reads at most; `flops_per_pair`: for
    one new token and one earlier one while decoding, `prefill_flops_per_pair` in a prompt, all these layers; `heads`:
    query heads of all these layers.
    """

    layers: float
    elements: float
    bits: float
    shards: float
    window: float
    attended: float
    flops_per_pair: float
    prefill_flops_per_pair: float
    heads: float


@dataclass(frozen=True, slots=True)
class ModelNumbers:
    """A model in one weight and one KV precision. Bytes and parameters are of the whole model.

    `encoder_heads`: query heads of the layer of an encoder that has most of them; 0 for what keeps a cache. `draft`:
    how its tokens are drafted; None where each pass gives one. `recurrent_layers`: those that keep a state, no cache.
    `routed_traffic_bytes`: what a token's copies move that its experts read and write; `expert_tile_padding`: rows that
    the tiles of a prompt's expert matrices are filled up with on average.
    """

    layers: float
    moe_layers: float
    hidden: float
    vocabulary: float
    attention_bytes: float
    mlp_bytes: float
    expert_bytes: float
    copied_bytes: float
    head_bytes: float
    embedding_bytes: float
    beside_bytes: float
    attention_parameters: float
    mlp_parameters: float
    head_parameters: float
    active_expert_parameters: float
    experts: float
    experts_per_token: float
    cache: tuple[CacheLayers, ...]
    state_bytes: float
    state_shards: float
    split_activation_bytes: float
    whole_activation_bytes: float
    attention_split_bytes: float
    attention_whole_bytes: float
    mlp_pass_tokens: float
    split_traffic_bytes: float
    whole_traffic_bytes: float
    profile_bytes: float
    activation_bytes: float
    encoder_heads: float = 0.0
    draft: "DraftNumbers | None" = None
    recurrent_layers: float = 0.0
    routed_traffic_bytes: float = 0.0
    expert_tile_padding: float = 0.0


@dataclass(frozen=True, slots=True)
class DraftNumbers:
    """How a model's next tokens are drafted for it to verify them.

    `draft_tokens`: of one step; `drafter_passes`: passes that they take; `runs`: what drafts as a pass meets it, None
    where tokens are looked up; `holds`: as memory does, without what it shares with the model; `lookup_s`: time of the
    CPU for each request of a step; `reads_prompt`: whether what drafts has to read prompts too.
    """

    draft_tokens: Number
    acceptance_rate: Number
    drafter_passes: Number
    lookup_s: Number
    runs: ModelNumbers | None = None
    holds: ModelNumbers | None = None
    reads_prompt: bool = False


@dataclass(frozen=True, slots=True)
class GpuNumbers:
    """One GPU of a machine with what its kernels and links reach for one weight precision and server.

    `pair_bytes`: bytes moved for each pair of tokens and head of a prompt; 0 with flash attention.
    """

    memory_bytes: Number
    usable_bytes: Number
    hbm_bytes_per_s: Number
    hbm_share: Number
    cache_share: Number
    flop_per_s: Number
    utilisation: Number
    padding_tokens: Number
    expert_padding_tokens: Number
    overlap_loss: Number
    attention_flop_per_s: Number
    attention_utilisation: Number
    pair_bytes: Number
    layer_s: Number
    moe_layer_s: Number
    prompt_layer_s: Number
    prompt_moe_layer_s: Number
    gpus_per_node: Number
    link_bytes_per_s: Number
    link_efficiency: Number
    link_efficiency_growth: Number
    link_latency_s: Number
    link_latency_growth: Number
    network_bytes_per_s: Number
    network_efficiency: Number
    network_latency_s: Number
    send_bytes_per_s: Number
    send_latency_s: Number
    all_to_all_efficiency: Number
    all_to_all_efficiency_growth: Number
    all_to_all_latency_s: Number
    all_to_all_latency_growth: Number
    network_all_to_all_efficiency: Number
    network_all_to_all_latency_s: Number
    network_send_efficiency: Number
    network_send_latency_s: Number


@dataclass(frozen=True, slots=True)
class ServerNumbers:
    """A server's flags and overheads, its defaults filled in.

    `whole`: 1 where the pool is taken whole at the start, 0 where only what the slots need; `admits_whole`: 1 where a
    request is let in only when its last token will fit too; `shares_step`: 1 where prompts are computed in the same
    pass as decode steps (chunked prefill), 0 where each has a pass of its own; `static_batches`: 1 where all requests
    of a batch begin together; `stages_overlap`: 1 where pipeline
    stages work at once on different requests; `copies_dense`: 1 where groups that attend to requests of their own each
    hold the dense MLPs and the output projection, 0 where these are split over all ranks. `shared_pages`: 1
    where attention and recurrent layers share pages of one size. `offline_share`: what a list of requests reaches of
    the steady rate. `offload_bytes`: weights that each GPU leaves in host memory. They are read
    over PCIe in every pass, or, where `computes_on_host` is 1, worked on by the CPU in passes of fewer than
    `host_batch_rows` rows. `convoy_prompts`: see `formulas.serving_waiting.prompts_ahead`; 0 unless lengths are equal.
    `balance_steps`: for how many steps a prompt waits at most until each group that attends for itself has one too.
    """

    memory_share: Number
    free_share: Number
    counts_activations: Number
    whole: Number
    admits_whole: Number
    context_bytes: Number
    peer_bytes: Number
    graph_layer_bytes: Number
    logit_bytes: Number
    score_bytes: Number
    embedding_on_gpu: Number
    max_batched_tokens: Number
    max_sequences: Number
    block_tokens: Number
    cache_copies: Number
    window_blocks: Number
    shares_step: Number
    stages_overlap: Number
    copies_dense: Number
    shared_pages: Number
    step_s: Number
    sequence_s: Number
    request_s: Number
    static_batches: Number
    burst_share: Number
    offline_share: Number
    offload_bytes: Number
    pcie_bytes_per_s: Number
    pcie_efficiency: Number
    computes_on_host: Number
    host_batch_rows: Number
    host_memory_bytes_per_s: Number
    host_memory_share: Number
    host_flop_per_s: Number
    convoy_prompts: Number = 0.0
    balance_steps: Number = 0.0


@dataclass(frozen=True, slots=True)
class LoadNumbers:
    """What clients ask for. `concurrency` is infinite for work that waits in line (offline throughput).

    `request_per_s`: None when `concurrency` clients each wait for their answer before they ask again.
    """

    input_tokens: Number
    output_tokens: Number
    prefix_tokens: Number
    max_length: Number
    concurrency: Number
    request_per_s: Number | None


@dataclass(frozen=True, slots=True)
class WayNumbers:
    """Parallel degrees. `tensor_parallel`: all ranks that share a stage's layers; `attention_ranks`: groups of them
    that attend to requests of their own; `expert_parallel`: ranks over which whole experts are spread, 1 where each
    expert is split over all ranks; `prefill_workers`: replicas that only read prompts, 0 where each does all,
    `prefill_tensor_parallel` ranks of each, 0 where it has as many as the others.
    """

    tensor_parallel: Number
    pipeline_parallel: Number
    replicas: Number
    attention_ranks: Number = 1.0
    expert_parallel: Number = 1.0
    prefill_workers: Number = 0.0
    prefill_tensor_parallel: float = 0.0

    @property
    def answering(self) -> Number:
        """Replicas that give answers."""
        return self.replicas - self.prefill_workers if self.apart else self.replicas

    @property
    def reading(self) -> "WayNumbers":
        """The way of a worker that only reads prompts; groups that attend for themselves are of those that answer."""
        if not self.prefill_tensor_parallel:
            return self
        return replace(
            self,
            tensor_parallel=self.prefill_tensor_parallel,
            prefill_tensor_parallel=0.0,
            attention_ranks=1.0,
            expert_parallel=1.0,
        )

    @property
    def gpus(self) -> Number:
        """GPUs of all replicas."""
        answering = self.answering * self.tensor_parallel
        reading = self.prefill_workers * (self.prefill_tensor_parallel or self.tensor_parallel)
        return (answering + reading) * self.pipeline_parallel

    @property
    def apart(self) -> bool:
        """Whether prompts and answers have workers of their own, in any configuration."""
        return not (isinstance(self.prefill_workers, float) and self.prefill_workers == 0.0)

    @property
    def plain(self) -> bool:
        """Whether nothing but tensor parallelism divides the ranks of a stage, in no configuration."""
        groups, experts = self.attention_ranks, self.expert_parallel
        return isinstance(groups, float) and isinstance(experts, float) and groups == experts == 1.0


def stack(numbers: Sequence[T], equal_as_floats: bool = False) -> T:
    """One value with arrays instead of floats, an element for each of `numbers` (all of one type).

    `equal_as_floats`: what is the same in all of them stays a float, which arithmetic does not have to go through.
    """
    kind = type(numbers[0])
    names = [field.name for field in fields(numbers[0])]
    # All fields of one value at once: by field and value it takes as long as the formulas of a block of small machines.
    read = chain.from_iterable(map(attrgetter(*names), numbers))
    table = np.fromiter(read, np.float64, len(numbers) * len(names)).reshape(-1, len(names)).T
    equal = (table == table[:, :1]).all(axis=1) if equal_as_floats else np.zeros(len(names), dtype=bool)
    return kind(
        **{
            name: float(column[0]) if same else np.ascontiguousarray(column)
            for name, column, same in zip(names, table, equal, strict=True)
        }
    )


def take(numbers: T, index: NDArray[Any]) -> T:
    """The rows `index` of a value made by `stack`."""
    columns = {f.name: getattr(numbers, f.name) for f in fields(numbers)}
    return type(numbers)(**{n: c[index] if isinstance(c, np.ndarray) else c for n, c in columns.items()})


def at(numbers: T, row: int) -> T:
    """One configuration of a value whose fields may be arrays."""
    columns = {f.name: getattr(numbers, f.name) for f in fields(numbers)}
    return type(numbers)(**{n: c[row].item() if isinstance(c, np.ndarray) else c for n, c in columns.items()})

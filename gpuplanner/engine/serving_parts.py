"""What the time between two tokens goes to: operators and what limits each, as parts of an estimate."""

from gpuplanner.engine.estimate import Limit, Part
from gpuplanner.engine.formulas import serving_time
from gpuplanner.engine.serving_figures import Spreads, time_figure
from gpuplanner.engine.serving_inputs import GpuNumbers, WayNumbers
from gpuplanner.engine.serving_numbers import ServingNumbers


def step_parts(result: ServingNumbers, gpu: GpuNumbers, way: WayNumbers, spreads: Spreads) -> tuple[Part, ...]:
    """The parts of the mean time between two tokens; parts that take no time are left out."""
    step = result.step
    reading = serving_time.exposed_seconds(step.weights_s, step.compute_s, gpu.overlap_loss)
    multiplying = serving_time.exposed_seconds(step.compute_s, step.weights_s, gpu.overlap_loss)
    attention = Limit.HBM if step.cache_s >= step.attention_s else Limit.COMPUTE
    link = Limit.NETWORK if way.tensor_parallel > gpu.gpus_per_node else Limit.LINK
    prompts = serving_time.between_tokens_seconds(result.tpot_s, step.total_s)
    named = (
        ("weights_read", reading, Limit.HBM),
        ("multiply", multiplying, Limit.COMPUTE),
        ("cache_read", step.attention_s, attention),
        ("between", step.between_s, Limit.HBM),
        ("exchange", step.exchange_s, link),
        ("dispatch", step.dispatch_s, link),
        ("fetch", step.fetch_s, Limit.LINK),
        ("host_layers", step.host_layers_s, Limit.CPU),
        ("drafting", step.drafting_s, Limit.HBM),
        ("launch", step.launch_s, Limit.LATENCY),
        ("host", step.host_s, Limit.CPU),
        ("prompts", prompts, _prompt_limit(result, link)),
    )
    return tuple(Part(name, time_figure(value, spreads.token), limit) for name, value, limit in named if value)


def _prompt_limit(result: ServingNumbers, link: Limit) -> Limit:
    """What prompts spend most of their time on."""
    prefill = result.prefill
    spent = {
        Limit.COMPUTE: float(prefill.compute_s + prefill.attention_s),
        Limit.HBM: float(prefill.weights_s),
        link: float(prefill.exchange_s + prefill.dispatch_s + prefill.fetch_s),
        Limit.LATENCY: float(prefill.launch_s),
    }
    return max(spent, key=lambda limit: spent[limit])

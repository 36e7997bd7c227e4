"""What each question of `ask`, and a new GPU, take on the command line, as people type it there. Asks nothing."""

from collections.abc import Callable

from gpuplanner.cli.parser import Parser, refused
from gpuplanner.messages import msg, shortened

Text = Callable[..., str]
STORAGES = ("local", "network", "object", "shared")
SHAPES = ("office-hours", "evening", "flat")
LARGEST = 1e12


def number(low: float = 0.0, high: float = LARGEST) -> Callable[[str], float]:
    """The type of an option that takes a number within bounds."""

    def read(given: str) -> float:
        try:
            value = float(given)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            shown = {"given": shortened(given, 40), "low": f"{low:g}", "high": f"{high:,.0f}"}
            raise refused(msg("answers.option.not_a_number", **shown))
        return value

    return read


def whole(low: int, high: int) -> Callable[[str], int]:
    """The type of an option that takes a count within bounds."""

    def read(given: str) -> int:
        value = number(low, high)(given)
        if not value.is_integer():
            raise refused(msg("answers.option.not_whole", given=shortened(given, 40), low=low, high=f"{high:,}"))
        return int(value)

    return read


def rates(given: str) -> tuple[float, ...]:
    """Numbers with commas between them."""
    return tuple(number()(one.strip()) for one in given.split(","))


SOME = 1e-3
"""The least that an amount is which cannot be nothing."""


def load(parser: Parser, text: Text) -> None:
    """How the weights are read, and how long the rest of a start takes."""
    _storage(parser, text)
    parser.add_argument("--process-start", type=number(), metavar="S", help=text("answers.help.process_start"))
    parser.add_argument("--engine-start", type=number(), metavar="S", help=text("answers.help.engine_start"))


def checkpoints(parser: Parser, text: Text) -> None:
    """How often GPUs fail, and what a checkpoint and a failure cost in time."""
    _failures(parser, text)
    share = number(0.5, 0.999999)
    parser.add_argument("--probability", type=share, default=0.99, metavar="P", help=text("answers.help.probability"))


def energy(parser: Parser, text: Text) -> None:
    """What surrounds the GPUs, and the price of electricity."""
    parser.add_argument("--pue", type=number(1.0, 5.0), metavar="X", help=text("answers.help.pue"))
    parser.add_argument("--host-watts", type=number(0, 1e5), metavar="W", help=text("answers.help.host_watts"))
    parser.add_argument("--usd-per-kwh", type=number(0, 100), metavar="USD", help=text("answers.help.usd_per_kwh"))


def cost(parser: Parser, text: Text) -> None:
    """Prices and amounts of a whole job."""
    _hourly(parser, text)
    parser.add_argument("--hours", type=number(SOME, 1e6), metavar="H", help=text("answers.help.hours"))
    parser.add_argument("--idle", type=number(0, 99), metavar="PERCENT", help=text("answers.help.idle"))
    parser.add_argument("--storage-gb", type=number(), metavar="GB", help=text("answers.help.storage_gb"))
    parser.add_argument("--storage-price", type=number(), metavar="USD", help=text("answers.help.storage_price"))
    parser.add_argument("--egress-gb", type=number(), metavar="GB", help=text("answers.help.egress_gb"))
    parser.add_argument("--egress-price", type=number(), metavar="USD", help=text("answers.help.egress_price"))
    _failures(parser, text)


def nvlink(parser: Parser, text: Text) -> None:
    """The question takes nothing but the plan."""


def day(parser: Parser, text: Text) -> None:
    """The load of a day, and what a replica costs and takes to start."""
    parser.add_argument("--peak", type=number(SOME, 1e6), metavar="RATE", help=text("answers.help.peak"))
    parser.add_argument("--shape", choices=SHAPES, default=SHAPES[0], help=text("answers.help.shape"))
    parser.add_argument("--rates", type=rates, default=(), metavar="R,R,…", help=text("answers.help.rates"))
    parser.add_argument(
        "--reserve", type=number(0, 90), default=0, metavar="PERCENT", help=text("answers.help.reserve")
    )
    parser.add_argument("--least", type=whole(0, 1_000_000), default=1, metavar="N", help=text("answers.help.least"))
    parser.add_argument("--start", type=number(), metavar="S", help=text("answers.help.start"))
    _storage(parser, text)
    _hourly(parser, text)


def split(parser: Parser, text: Text) -> None:
    """What the node costs."""
    _hourly(parser, text)


def slices(parser: Parser, text: Text) -> None:
    """What the whole GPU costs."""
    parser.add_argument("--usd-per-hour", type=number(SOME), metavar="USD", help=text("answers.help.usd_per_gpu_hour"))


def how_shown(parser: Parser, text: Text) -> None:
    """Whether the derivation of each figure is shown, and how deep."""
    parser.add_argument("--explain", action="store_true", help=text("answers.help.explain"))
    parser.add_argument("--depth", type=whole(1, 100), default=2, metavar="N", help=text("cli.help.depth"))


def _storage(parser: Parser, text: Text) -> None:
    parser.add_argument("--storage", choices=STORAGES, default=STORAGES[0], help=text("answers.help.storage"))
    parser.add_argument("--storage-rate", type=number(SOME), metavar="GB/S", help=text("answers.help.storage_rate"))
    parser.add_argument("--readers", type=whole(1, 1024), metavar="N", help=text("answers.help.readers"))


def _hourly(parser: Parser, text: Text) -> None:
    parser.add_argument("--usd-per-hour", type=number(SOME), metavar="USD", help=text("answers.help.usd_per_hour"))


def _failures(parser: Parser, text: Text) -> None:
    parser.add_argument("--write-rate", type=number(SOME), metavar="GB/S", help=text("answers.help.write_rate"))
    parser.add_argument("--stall", type=number(SOME), metavar="S", help=text("answers.help.stall"))
    parser.add_argument("--failure-days", type=number(SOME), metavar="D", help=text("answers.help.failure_days"))
    parser.add_argument("--restart-minutes", type=number(), metavar="MIN", help=text("answers.help.restart"))
    parser.add_argument("--repair-hours", type=number(SOME), metavar="H", help=text("answers.help.repair"))


def new_gpu(parser: Parser, text: Text) -> None:
    """Six fields of a GPU, and what makes estimates on it better."""
    parser.add_argument("text", nargs="+", metavar="NAME", help=text("answers.help.gpu_name"))
    parser.add_argument("--vendor", required=True, metavar="NAME", help=text("answers.help.gpu_vendor"))
    parser.add_argument("--memory-gb", type=number(), required=True, metavar="GB", help=text("answers.help.gpu_memory"))
    bandwidth = text("answers.help.gpu_bandwidth")
    parser.add_argument("--bandwidth", type=number(), required=True, metavar="GB/S", help=bandwidth)
    parser.add_argument("--bf16-tflops", type=number(), metavar="TFLOPS", help=text("answers.help.gpu_bf16"))
    parser.add_argument("--fp16-tflops", type=number(), metavar="TFLOPS", help=text("answers.help.gpu_fp16"))
    parser.add_argument("--pcie", type=number(), metavar="GB/S", help=text("answers.help.gpu_pcie"))
    generations = tuple(range(1, 7))
    parser.add_argument("--pcie-generation", type=int, choices=generations, help=text("answers.help.gpu_generation"))
    parser.add_argument("--link", default="", metavar="NAME", help=text("answers.help.gpu_link"))
    parser.add_argument("--link-rate", type=number(), metavar="GB/S", help=text("answers.help.gpu_link_rate"))
    parser.add_argument("--power", type=number(), metavar="W", help=text("answers.help.gpu_power"))
    parser.add_argument("--architecture", default="", metavar="NAME", help=text("answers.help.gpu_architecture"))
    parser.add_argument("--compute-capability", default="", metavar="X.Y", help=text("answers.help.gpu_capability"))
    parser.add_argument("--source", default="", metavar="TEXT", help=text("answers.help.gpu_source"))

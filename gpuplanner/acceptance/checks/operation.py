"""How the GPUs run: what holds their clocks back, limits of clocks and power, temperature, performance state."""

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import is_data_centre
from gpuplanner.acceptance.saying import absence, absent, each_gpu, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import msg
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.units import percent

SW_POWER, HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x4, 0x8, 0x20, 0x40, 0x80
_HARDWARE = HW_SLOWDOWN | HW_THERMAL | POWER_BRAKE
_COUNTED = ("hw_thermal_slowdown", "hw_power_brake_slowdown")


def throttle(asked: Asked) -> Judgement | None:
    """Nothing but idleness or the power limit holds the clocks back."""

    def one(gpu: Gpu) -> Judgement | None:
        reasons, lines = gpu.throttle_reasons, lines_of([gpu], "throttle_reasons", "throttle_microseconds")
        if reasons is None:
            return absent(absence(gpu, "throttle_reasons"), "nvidia-smi -q -d PERFORMANCE")
        measured = text(f"0x{reasons:x}")
        if reasons & _HARDWARE:
            heat = reasons & HW_THERMAL
            brake = reasons & POWER_BRAKE
            reason = (
                msg("check.throttle.hardware_heat")
                if heat
                else msg("check.throttle.power_brake")
                if brake
                else msg("check.throttle.hardware")
            )
            return Judgement(
                Verdict.FAIL,
                reason,
                None,
                measured,
                msg("check.do.cooling") if heat else msg("check.do.power_supply"),
                msg("check.ask.throttle"),
                lines,
            )
        if reasons & SW_THERMAL:
            return Judgement(
                Verdict.WARN,
                msg("check.throttle.heat"),
                None,
                measured,
                msg("check.do.cooling"),
                msg("check.ask.throttle"),
                lines,
            )
        counted = gpu.throttle_microseconds or {}
        if any(counted.get(name, 0) > 0 for name in _COUNTED):
            return Judgement(
                Verdict.WARN,
                msg("check.throttle.was"),
                None,
                measured,
                msg("check.do.cooling"),
                msg("check.ask.throttle"),
                lines,
            )
        if reasons & SW_POWER:
            return Judgement(Verdict.PASS, msg("check.throttle.power_limit"), None, measured, lines=lines)
        return Judgement(Verdict.PASS, msg("check.throttle.none"), None, measured, lines=lines)

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q -d PERFORMANCE")


def clocks(asked: Asked) -> Judgement | None:
    """Nobody set the clocks lower than the GPU comes."""

    def one(gpu: Gpu) -> Judgement | None:
        fields = ("clock_application_graphics_mhz", "clock_default_graphics_mhz", "clock_max_graphics_mhz")
        now, usual, most = (getattr(gpu, name) for name in fields)
        lines = lines_of([gpu], *fields)
        if now is None:
            if most is not None and absence(gpu, fields[0]):
                return Judgement(Verdict.SKIPPED, msg("check.clocks.no_applications"), lines=lines)
            return absent(absence(gpu, *fields), "nvidia-smi -q -d CLOCK")
        whole = usual if usual is not None else most
        if whole is None:
            return absent(absence(gpu, *fields[1:]), "nvidia-smi -q -d CLOCK")
        expected, measured = text(f"{whole:.0f} MHz"), text(f"{now:.0f} MHz")
        if now < whole:
            return Judgement(
                Verdict.WARN,
                msg("check.clocks.lowered"),
                expected,
                measured,
                msg("check.do.clocks"),
                msg("check.ask.limits"),
                lines,
            )
        return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q -d CLOCK")


def power_limit(asked: Asked) -> Judgement | None:
    """The power limit is the GPU's own, and the platform does not cap it further."""
    promised = asked.promised.gpu
    fields = ("power_limit_w", "power_limit_default_w", "power_draw_w", "throttle_reasons")

    def one(gpu: Gpu) -> Judgement | None:
        limit, lines = gpu.power_limit_w, lines_of([gpu], *fields)
        if limit is None:
            return absent(absence(gpu, "power_limit_w"), "nvidia-smi -q -d POWER")
        usual = gpu.power_limit_default_w or (promised.power_w if promised else None)
        measured = text(f"{limit:.0f} W")
        if usual is None:
            return absent(absence(gpu, "power_limit_default_w"), "nvidia-smi -q -d POWER")
        expected = text(f"{usual:.0f} W")
        busy = (gpu.utilization_percent or 0) >= asked.rule["busy_percent"]
        capped = busy and (gpu.throttle_reasons or 0) & SW_POWER and gpu.power_draw_w is not None
        if capped and gpu.power_draw_w is not None and gpu.power_draw_w < asked.rule["capped_share"] * limit:
            return Judgement(
                Verdict.FAIL,
                msg("check.power.capped"),
                text(f"{limit:.0f} W"),
                text(f"{gpu.power_draw_w:.0f} W"),
                msg("check.do.power_supply"),
                msg("check.ask.limits"),
                lines,
            )
        if gpu.power_limit_default_w is None:
            # Boards of one name come with several defaults, so that the catalog's figure is only a hint.
            fine = limit >= asked.rule["catalog_share"] * usual
            return Judgement(
                Verdict.PASS if fine else Verdict.WARN,
                msg("check.as_expected") if fine else msg("check.power.below_catalog", share=percent(limit / usual)),
                expected,
                measured,
                None if fine else msg("check.do.would_tell", command="nvidia-smi -q -d POWER"),
                None if fine else msg("check.ask.limits"),
                lines,
            )
        if limit < asked.rule["fail_share"] * usual:
            return Judgement(
                Verdict.FAIL,
                msg("check.power.much_lower", share=percent(limit / usual)),
                expected,
                measured,
                msg("check.do.power_limit"),
                msg("check.ask.limits"),
                lines,
            )
        if limit < usual:
            return Judgement(
                Verdict.WARN,
                msg("check.power.lower", share=percent(limit / usual)),
                expected,
                measured,
                msg("check.do.power_limit"),
                msg("check.ask.limits"),
                lines,
            )
        return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q -d POWER")


def temperature(asked: Asked) -> Judgement | None:
    """Far enough below the temperature at which the GPU slows down."""
    rule = asked.rule

    def one(gpu: Gpu) -> Judgement | None:
        now = gpu.temperature_c
        lines = lines_of(
            [gpu],
            "temperature_c",
            "temperature_margin_c",
            "temperature_slowdown_c",
            "temperature_memory_c",
            "temperature_memory_max_c",
        )
        if now is None:
            return absent(absence(gpu, "temperature_c"), "nvidia-smi -q -d TEMPERATURE")
        if now <= 0:
            # What a vGPU and a broken sensor print: no GPU in an air that people breathe is that cold.
            return Judgement(
                Verdict.CANNOT_TELL,
                msg("check.temp.no_sensor"),
                None,
                text(f"{now:.0f} °C"),
                msg("check.do.would_tell", command="nvidia-smi -q -d TEMPERATURE"),
                lines=lines_of([gpu], "temperature_c"),
            )
        memory, hottest = gpu.temperature_memory_c, gpu.temperature_memory_max_c
        hot_memory = memory is not None and memory >= (hottest or rule["memory_fail_from_c"])
        margin = _margin(gpu)
        usual = text(f"≤ {rule['warn_above_c']:.0f} °C")
        measured, expected = text(f"{now:.0f} °C"), usual
        if margin is not None:
            # Degrees below its own limit, which differs from GPU to GPU as the temperature does not.
            measured = msg("check.temp.now", now=f"{now:.0f} °C", margin=f"{margin:.0f} °C")
            expected = msg("check.temp.apart", margin=f"{rule['margin_c']:.0f} °C")
        do, ask = msg("check.do.cooling"), msg("check.ask.throttle")
        if hot_memory and hottest is not None:
            most, hot = text(f"< {hottest:.0f} °C"), text(f"{memory:.0f} °C")
            return Judgement(Verdict.FAIL, msg("check.temp.memory_at_limit"), most, hot, do, ask, lines)
        if (margin is not None and margin <= 0) or (margin is None and now >= rule["fail_from_c"]):
            return Judgement(Verdict.FAIL, msg("check.temp.at_limit"), expected, measured, do, ask, lines)
        idle = (gpu.utilization_percent or 0) < 50 and gpu.utilization_percent is not None
        if margin is not None and margin < rule["margin_c"]:
            return Judgement(
                Verdict.WARN,
                msg("check.temp.near_limit", margin=f"{margin:.0f} °C"),
                expected,
                measured,
                do,
                ask,
                lines,
            )
        if now > rule["warn_above_c"] and (idle or margin is None):
            return Judgement(Verdict.WARN, msg("check.temp.warm"), usual, measured, do, ask, lines)
        return Judgement(Verdict.PASS, msg("check.temp.fine"), expected, measured, lines=lines)

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q -d TEMPERATURE")


def _margin(gpu: Gpu) -> float | None:
    """Degrees up to where it slows down, None where it does not say."""
    if gpu.temperature_margin_c is not None:
        return gpu.temperature_margin_c - (gpu.temperature_slowdown_margin_c or 0)
    if gpu.temperature_slowdown_c is not None and gpu.temperature_c is not None:
        return gpu.temperature_slowdown_c - gpu.temperature_c
    return None


def pstate(asked: Asked) -> Judgement | None:
    """At work a GPU is in its highest performance state."""

    def one(gpu: Gpu) -> Judgement | None:
        lines = lines_of([gpu], "pstate", "utilization_percent")
        if gpu.pstate is None:
            return absent(absence(gpu, "pstate"), "nvidia-smi -q -d PERFORMANCE")
        if gpu.utilization_percent is None:
            return absent(absence(gpu, "utilization_percent"), "nvidia-smi -q -d UTILIZATION")
        measured = text(f"{gpu.pstate}, {percent(gpu.utilization_percent / 100)}")
        if gpu.utilization_percent < asked.rule["busy_percent"]:
            return Judgement(Verdict.PASS, msg("check.pstate.idle"), None, measured, lines=lines)
        # GeForce computes in P2 by design; it lowers the memory clock a little.
        highest = {"P0", "P1"} if is_data_centre(gpu) else {"P0", "P1", "P2"}
        if gpu.pstate in highest:
            return Judgement(Verdict.PASS, msg("check.as_expected"), text("P0"), measured, lines=lines)
        return Judgement(
            Verdict.WARN,
            msg("check.pstate.low"),
            text("P0"),
            measured,
            msg("check.do.watch"),
            msg("check.ask.throttle"),
            lines,
        )

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q")


def persistence(asked: Asked) -> Judgement | None:
    """The driver stays loaded between programs."""

    def one(gpu: Gpu) -> Judgement | None:
        lines, said = lines_of([gpu], "persistence_mode"), gpu.persistence_mode
        if said is None:
            if gpu.driver_model == "WDDM":
                return Judgement(Verdict.SKIPPED, msg("check.persist.windows"), lines=lines)
            return absent(absence(gpu, "persistence_mode"), "nvidia-smi -q")
        if said == "Enabled":
            return Judgement(Verdict.PASS, msg("check.as_expected"), text("Enabled"), text(said), lines=lines)
        return Judgement(
            Verdict.WARN, msg("check.persist.off"), text("Enabled"), text(said), msg("check.do.persist"), lines=lines
        )

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q")


CHECKS = (
    Check("throttle", throttle),
    Check("clocks", clocks),
    Check("power.limit", power_limit),
    Check("temp", temperature),
    Check("pstate", pstate),
    Check("persist", persistence),
)

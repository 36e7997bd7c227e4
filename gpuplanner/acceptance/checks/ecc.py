"""Memory errors: whether they are corrected and counted, what was counted, and what was taken out of use."""

from dataclasses import replace

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import is_before_ampere, is_data_centre
from gpuplanner.acceptance.saying import absence, absent, each_gpu, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.gpu import Gpu

_QUERY = "nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT"


def mode(asked: Asked) -> Judgement | None:
    """Errors are corrected where the GPU can do it."""

    def one(gpu: Gpu) -> Judgement | None:
        expected, lines = text("Enabled"), lines_of([gpu], "ecc_mode", "ecc_mode_pending")
        if gpu.ecc_mode is None:
            if is_data_centre(gpu) is False and "ecc_mode" in gpu.absent:
                return Judgement(Verdict.SKIPPED, msg("check.ecc.has_none"), lines=lines)
            return absent(absence(gpu, "ecc_mode"), _QUERY, expected)
        measured = text(gpu.ecc_mode)
        if gpu.ecc_mode_pending not in {None, gpu.ecc_mode}:
            pending = text(f"{gpu.ecc_mode} → {gpu.ecc_mode_pending}")
            return Judgement(Verdict.WARN, msg("check.ecc.pending"), expected, pending, lines=lines)
        if gpu.ecc_mode == "Enabled":
            return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)
        if is_data_centre(gpu) is False:
            return Judgement(Verdict.SKIPPED, msg("check.ecc.off_as_delivered"), None, measured, lines=lines)
        return Judgement(Verdict.WARN, msg("check.ecc.off"), expected, measured, msg("check.do.ecc_on"), lines=lines)

    return each_gpu(asked.evidence.gpus, one, _QUERY)


def _not_counted(gpu: Gpu, field: str) -> Judgement:
    if gpu.ecc_mode == "Disabled":
        return Judgement(Verdict.SKIPPED, msg("check.ecc.not_counted"), lines=lines_of([gpu], "ecc_mode"))
    if is_data_centre(gpu) is False and gpu.ecc_mode is None and field in gpu.absent:
        return Judgement(Verdict.SKIPPED, msg("check.ecc.has_none"), lines=lines_of([gpu], field))
    return absent(absence(gpu, field), _QUERY)


def volatile(asked: Asked) -> Judgement | None:
    """No error since the driver was loaded that could not be corrected."""
    most = int(asked.rule["most"])

    def one(gpu: Gpu) -> Judgement | None:
        value = gpu.ecc_uncorrected_volatile
        if value is None:
            return _not_counted(gpu, "ecc_uncorrected_volatile")
        lines = lines_of([gpu], "ecc_uncorrected_volatile")
        if value <= most:
            return Judgement(Verdict.PASS, msg("check.ecc.none"), text(most), text(value), lines=lines)
        return Judgement(
            Verdict.FAIL,
            msg("check.ecc.uncorrected"),
            text(most),
            text(value),
            msg("check.do.reset"),
            msg("check.ask.health"),
            lines,
        )

    return each_gpu(asked.evidence.gpus, one, _QUERY)


def sram(asked: Asked) -> Judgement | None:
    """Few errors in caches and registers over the GPU's life."""
    warn_above, fail_above = asked.rule["warn_above"], asked.rule["fail_above"]

    def one(gpu: Gpu) -> Judgement | None:
        value, exceeded = gpu.ecc_sram_uncorrected_aggregate, gpu.ecc_sram_threshold_exceeded
        lines = lines_of([gpu], "ecc_sram_uncorrected_aggregate", "ecc_sram_threshold_exceeded")
        expected = text(f"≤ {warn_above:.0f}")
        if exceeded:
            return Judgement(
                Verdict.FAIL,
                msg("check.ecc.sram_exceeded"),
                expected,
                text(value if value is not None else "threshold exceeded"),
                ask=msg("check.ask.replace"),
                lines=lines,
            )
        if value is None:
            return _not_counted(gpu, "ecc_sram_uncorrected_aggregate")
        if value > fail_above:
            return Judgement(
                Verdict.FAIL,
                msg("check.ecc.sram_many"),
                expected,
                text(value),
                ask=msg("check.ask.replace"),
                lines=lines,
            )
        if value > warn_above:
            return Judgement(
                Verdict.WARN, msg("check.ecc.sram_some"), expected, text(value), msg("check.do.watch"), lines=lines
            )
        return Judgement(Verdict.PASS, msg("check.ecc.none"), expected, text(value), lines=lines)

    return each_gpu(asked.evidence.gpus, one, _QUERY)


def corrected(asked: Asked) -> Judgement | None:
    """Not so many corrected errors that more must follow."""
    warn_from, fail_from = asked.rule["warn_from"], asked.rule["fail_from"]

    def one(gpu: Gpu) -> Judgement | None:
        value = gpu.ecc_corrected_volatile
        if value is None:
            return _not_counted(gpu, "ecc_corrected_volatile")
        verdict = Verdict.FAIL if value >= fail_from else Verdict.WARN if value >= warn_from else Verdict.PASS
        fine = verdict is Verdict.PASS
        return Judgement(
            verdict,
            msg("check.ecc.corrected_few") if fine else msg("check.ecc.corrected_many"),
            text(f"< {warn_from:,.0f}"),
            text(f"{value:,}"),
            None if fine else msg("check.do.watch"),
            None if fine else msg("check.ask.health"),
            lines_of([gpu], "ecc_corrected_volatile"),
        )

    return each_gpu(asked.evidence.gpus, one, _QUERY)


_BEYOND_REPAIR = (
    ("unrepairable_memory", "Unrepairable Memory", msg("check.remap.unrepairable")),
    ("remap_failed", "Remapping Failure Occurred", msg("check.remap.failed")),
)
_WAITS_FOR_RESET = (
    ("remap_pending", "Remapped Rows Pending", msg("check.remap.pending")),
    ("channel_repair_pending", "Channel Repair Pending", msg("check.remap.channel_pending")),
    ("tpc_repair_pending", "TPC Repair Pending", msg("check.remap.tpc_pending")),
)
"""Flags of a GPU by field, the tool's words for them, and what is said where one is set."""


def _flagged(gpu: Gpu, field: str, said: str, judgement: Judgement) -> Judgement:
    """A judgement for a flag that is set: its own words are what was expected and what is, and no count of rows."""
    return replace(judgement, expected=text(f"{said}: No"), measured=text(f"{said}: Yes"), lines=lines_of([gpu], field))


def remapped(asked: Asked) -> Judgement | None:
    """Repairs of memory: none waits, none failed, few rows were bad (Ampere and later)."""
    warn_above, fail_above = asked.rule["warn_above"], asked.rule["fail_above"]
    fields = ("remap_failed", "remap_pending", "remapped_uncorrectable", "remapped_correctable")

    def one(gpu: Gpu) -> Judgement | None:
        for field, said, reason in _BEYOND_REPAIR:
            if getattr(gpu, field):
                return _flagged(gpu, field, said, Judgement(Verdict.FAIL, reason, ask=msg("check.ask.replace")))
        lines, bad = lines_of([gpu], *fields), gpu.remapped_uncorrectable
        measured = text(bad if bad is not None else "–")
        expected = text(f"≤ {warn_above:.0f}")
        if bad is not None and bad > fail_above:
            return Judgement(
                Verdict.FAIL, msg("check.remap.many"), expected, measured, ask=msg("check.ask.replace"), lines=lines
            )
        for field, said, reason in _WAITS_FOR_RESET:
            if getattr(gpu, field):
                return _flagged(gpu, field, said, Judgement(Verdict.WARN, reason, do=msg("check.do.reset")))
        if bad is not None and bad > warn_above:
            return Judgement(
                Verdict.WARN,
                msg("check.remap.several"),
                expected,
                measured,
                msg("check.do.watch"),
                msg("check.ask.health"),
                lines,
            )
        if gpu.remap_failed is None or gpu.remap_pending is None:
            if is_before_ampere(gpu) or (is_data_centre(gpu) is False and absence(gpu, *fields)):
                return Judgement(Verdict.SKIPPED, msg("check.remap.not_on_this"), lines=lines)
            return absent(absence(gpu, *fields), _QUERY)
        return Judgement(Verdict.PASS, msg("check.remap.fine"), expected, measured, lines=lines)

    return each_gpu(asked.evidence.gpus, one, _QUERY)


def retired(asked: Asked) -> Judgement | None:
    """Pages of memory that were taken out of use (before Ampere)."""
    warn_above, fail_above = asked.rule["warn_above"], asked.rule["fail_above"]
    fields = ("retired_double_bit", "retired_single_bit", "retired_pending")

    def one(gpu: Gpu) -> Judgement | None:
        lines, single, double = lines_of([gpu], *fields), gpu.retired_single_bit, gpu.retired_double_bit
        expected = text(f"≤ {warn_above:.0f}, 0")

        def say(verdict: Verdict, reason: Message, do: Message | None = None, ask: Message | None = None) -> Judgement:
            return Judgement(verdict, reason, expected, text(f"{single}, {double}"), do, ask, lines)

        pending = Judgement(Verdict.WARN, msg("check.retired.pending"), do=msg("check.do.reset"))

        if single is None or double is None:
            known = gpu.remap_failed is not None or (gpu.architecture and not is_before_ampere(gpu))
            if known or (is_data_centre(gpu) is False and absence(gpu, *fields)):
                return Judgement(Verdict.SKIPPED, msg("check.retired.not_on_this"), lines=lines)
            return absent(absence(gpu, *fields), _QUERY)
        if double > 0 or single > fail_above:
            return say(Verdict.FAIL, msg("check.retired.many"), ask=msg("check.ask.replace"))
        if gpu.retired_pending:
            return _flagged(gpu, "retired_pending", "Pending Page Blacklist", pending)
        if single > warn_above:
            return say(Verdict.WARN, msg("check.retired.several"), msg("check.do.watch"))
        return say(Verdict.PASS, msg("check.retired.fine"))

    return each_gpu(asked.evidence.gpus, one, _QUERY)


CHECKS = (
    Check("ecc.mode", mode),
    Check("ecc.volatile", volatile),
    Check("ecc.sram_agg", sram),
    Check("ecc.corr", corrected),
    Check("mem.remap", remapped),
    Check("mem.retired", retired),
)

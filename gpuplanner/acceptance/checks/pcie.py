"""The GPUs' PCIe links: width at any time, generation while data moves, replays, the window into memory."""

import re

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import above, gpus_on_bus, is_data_centre
from gpuplanner.acceptance.saying import absence, absent, each_gpu, of_all, text
from gpuplanner.acceptance.verdicts import Verdict, worst
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.probe.evidence.record import Seen

_HALF = 8
_HALF_IS_USUAL = re.compile(r"\b(?:T4|A10G|L40S)\b")
"""Boards that clouds sell in slots of eight lanes, which DCGM tolerates."""
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""Of PCIe by GT/s of a lane, as `lspci` prints them."""
_QUERY = "nvidia-smi -q | grep -A14 'GPU Link Info'"


def _worse(
    reason: Message, expected: Message, measured: Message, lines: tuple[Seen, ...], *, warn: bool = False
) -> Judgement:
    """A link that does less than card and slot can, or has errors: the card wants to be seated again."""
    verdict = Verdict.WARN if warn else Verdict.FAIL
    return Judgement(verdict, reason, expected, measured, msg("check.do.reseat"), msg("check.ask.pcie"), lines)


def _slot(reason: Message, expected: Message, measured: Message, lines: tuple[Seen, ...]) -> Judgement:
    """A slot that can do less than the card: it wants another one."""
    do, ask = msg("check.do.other_slot"), msg("check.ask.pcie")
    return Judgement(Verdict.WARN, reason, expected, measured, do, ask, lines)


def width(asked: Asked) -> Judgement | None:
    """All lanes that card and slot have are in use."""
    promised = asked.promised.gpu
    lanes = promised.pcie_lanes if promised else None

    def one(gpu: Gpu) -> Judgement | None:
        now, most = gpu.pcie_width_current, gpu.pcie_width_max
        lines = lines_of([gpu], "pcie_width_current", "pcie_width_max")
        if now is None or most is None:
            return absent(absence(gpu, "pcie_width_current", "pcie_width_max"), _QUERY)
        measured = text(f"×{now}")
        if now < most:
            usual = now >= _HALF and _HALF_IS_USUAL.search(gpu.name or "")
            return _worse(msg("check.pcie.narrow"), text(f"×{most}"), measured, lines, warn=bool(usual))
        if lanes is not None and most < lanes:
            return _slot(msg("check.pcie.narrow_slot"), text(f"×{lanes}"), measured, lines)
        return Judgement(Verdict.PASS, msg("check.as_expected"), text(f"×{most}"), measured, lines=lines)

    return _surer(each_gpu(asked.evidence.gpus, one, _QUERY), _by_bus(asked))


def _surer(found: Judgement | None, on_bus: Judgement | None) -> Judgement | None:
    """What the GPUs say of their links or what the bus says, the worse of both; one that cannot be told gives way."""
    if on_bus is None or (
        found is not None and worst((found.verdict, on_bus.verdict)) is found.verdict != Verdict.CANNOT_TELL
    ):
        return found
    return on_bus


def _by_bus(asked: Asked) -> Judgement | None:
    """The same from the PCI tree: of each GPU and of the bridges above it, of which the narrowest counts."""
    found = []
    for gpu in gpus_on_bus(asked.evidence):
        links = [
            each
            for each in (gpu, *above(asked.evidence, gpu))
            if each.link_width is not None and each.link_width_max is not None
        ]
        if not links or links[0] is not gpu:
            continue
        most = gpu.link_width_max or 0
        narrow = [each for each in links if (each.link_width or 0) < min(most, each.link_width_max or 0)]
        narrowest = min(links, key=lambda each: each.link_width or 0)
        lines = lines_of(narrow or [gpu], "link_width", "link_width_max")
        expected, measured = text(f"×{most}"), text(f"×{narrowest.link_width}")
        judgement = (
            _worse(msg("check.pcie.narrow"), expected, measured, lines)
            if narrow
            else Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)
        )
        found.append((gpu.bus_id or "?", judgement))
    return of_all(found, many=len(found) > 1)


def _generations_by_bus(asked: Asked) -> Judgement | None:
    """The generation from the PCI tree: what card and slot can do; what the link does now counts only under load."""
    found = []
    for gpu in gpus_on_bus(asked.evidence):
        now, most = _generation(gpu.link_gt_per_s), _generation(gpu.link_gt_per_s_max)
        if now is None or most is None:
            continue
        over = [bridge for bridge in above(asked.evidence, gpu) if _generation(bridge.link_gt_per_s_max) is not None]
        slowest = min(over, key=lambda bridge: bridge.link_gt_per_s_max or 0, default=gpu)
        slot = _generation(slowest.link_gt_per_s_max) or most
        lines = lines_of([gpu, *over], "link_gt_per_s", "link_gt_per_s_max")
        if slot < most:
            lines = lines_of([slowest, gpu], "link_gt_per_s_max")
            judgement = _slot(msg("check.pcie.slow_slot"), text(most), text(slot), lines)
        else:
            reason = msg("check.pcie.idle") if now < most else msg("check.as_expected")
            judgement = Judgement(Verdict.PASS, reason, text(most), text(now), lines=lines)
        found.append((gpu.bus_id or "?", judgement))
    return of_all(found, many=len(found) > 1)


def _generation(gt_per_s: float | None) -> int | None:
    return _GENERATIONS.get(gt_per_s) if gt_per_s is not None else None


def generation(asked: Asked) -> Judgement | None:
    """The generation that card and slot have together; a lower one counts only while a copy runs."""
    promised = asked.promised.gpu
    wanted = promised.pcie_generation if promised else None

    copied: dict[int | None, Bandwidth] = {}
    for row in asked.evidence.bandwidths:
        index = row.target if row.path == "host_to_device" else row.source
        if row.pcie_gen is not None and row.path in {"host_to_device", "device_to_host"}:
            slowest = copied.get(index)
            if slowest is None or row.pcie_gen < (slowest.pcie_gen or 0):
                copied[index] = row

    def one(gpu: Gpu) -> Judgement | None:
        now, most, card = gpu.pcie_gen_current, gpu.pcie_gen_max, gpu.pcie_gen_gpu_max or wanted
        lines = lines_of([gpu], "pcie_gen_current", "pcie_gen_max", "pcie_gen_gpu_max", "pcie_gen_host_max")
        if now is None or most is None:
            return absent(absence(gpu, "pcie_gen_current", "pcie_gen_max"), _QUERY)
        expected, measured = text(most), text(now)
        loaded = copied.get(gpu.index)
        if loaded is not None and loaded.pcie_gen is not None:
            # A copy ran: what the link did meanwhile counts, and not what it does when idle.
            now, measured, lines = loaded.pcie_gen, text(loaded.pcie_gen), (*lines_of([loaded], "pcie_gen"), *lines)
            if now < most:
                return _worse(msg("check.pcie.slow_under_load"), expected, measured, lines)
        moved = (gpu.pcie_received_kib_per_s or 0) + (gpu.pcie_sent_kib_per_s or 0)
        if now < most and moved * 1024 >= asked.rule["busy_mb_per_s"] * 1e6:
            return _worse(msg("check.pcie.slow_under_load"), expected, measured, lines)
        if card is not None and most < card:
            return _slot(msg("check.pcie.slow_slot"), text(card), text(most), lines)
        if now < most:
            return Judgement(Verdict.PASS, msg("check.pcie.idle"), expected, measured, lines=lines)
        return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)

    return _surer(each_gpu(asked.evidence.gpus, one, _QUERY), _generations_by_bus(asked))


def replays(asked: Asked) -> Judgement | None:
    """Few packets had to be sent again since boot, and the kernel reports no errors of the bus."""
    warn_above = asked.rule["warn_above"]
    errors = [event for event in asked.evidence.events if event.kind == "aer"]
    if errors:
        count = sum(event.count for event in errors)
        lines = lines_of(errors, "kind", "said")
        return _worse(msg("check.pcie.aer", count=count), text(0), text(count), lines, warn=True)

    def one(gpu: Gpu) -> Judgement | None:
        value, expected = gpu.pcie_replays, text(f"≤ {warn_above:.0f}")
        if value is None:
            return absent(absence(gpu, "pcie_replays"), "nvidia-smi -q", expected)
        lines = lines_of([gpu], "pcie_replays", "pcie_replay_rollovers")
        if value > warn_above or (gpu.pcie_replay_rollovers or 0) > 0:
            return Judgement(
                Verdict.WARN,
                msg("check.pcie.replays"),
                expected,
                text(value),
                msg("check.do.replays"),
                msg("check.ask.pcie"),
                lines,
            )
        reason = msg("check.pcie.few_replays") if value else msg("check.pcie.no_replays")
        return Judgement(Verdict.PASS, reason, expected, text(value), lines=lines)

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q")


def window(asked: Asked) -> Judgement | None:
    """Whether others on the bus reach the whole memory of the GPU."""
    small = asked.rule["small_mib"]

    def one(gpu: Gpu) -> Judgement | None:
        size, memory = gpu.bar1_total_mib, gpu.memory_total_mib
        if size is None:
            return absent(absence(gpu, "bar1_total_mib"), "nvidia-smi -q -d MEMORY")
        lines, measured = lines_of([gpu], "bar1_total_mib", "memory_total_mib"), text(f"{size:,.0f} MiB")
        if memory is not None and size >= memory:
            return Judgement(Verdict.PASS, msg("check.bar1.whole"), None, measured, lines=lines)
        if size <= small and is_data_centre(gpu) is False:
            return Judgement(
                Verdict.PASS, msg("check.bar1.no_resizable"), None, measured, msg("check.do.resizable_bar"), lines=lines
            )
        return Judgement(Verdict.PASS, msg("check.bar1.part"), None, measured, lines=lines)

    return each_gpu(asked.evidence.gpus, one, "nvidia-smi -q -d MEMORY")


CHECKS = (
    Check("pcie.width", width),
    Check("pcie.gen", generation),
    Check("pcie.replay", replays),
    Check("bar1", window),
)

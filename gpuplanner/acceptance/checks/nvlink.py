"""The GPUs' NVLinks: how many are up, how fast each signals, what errors they counted."""

from collections import defaultdict

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import NVLINK, gpu_pairs, is_divided, is_module, matrix_lines, path_matrix
from gpuplanner.acceptance.saying import absence, absent, not_read, of_all, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.gpu import Gpu, NvLink
from gpuplanner.probe.evidence.record import Seen
from gpuplanner.units import percent

_STATUS, _ERRORS = "nvidia-smi nvlink -s", "nvidia-smi nvlink -e"


def by_gpu(asked: Asked) -> dict[str, list[NvLink]]:
    """The links by what their GPU is called, in its order."""
    links: dict[str, list[NvLink]] = defaultdict(list)
    for link in asked.evidence.nvlinks:
        name = str(link.gpu_index) if link.gpu_index is not None else (link.gpu_uuid or "?")[:16]
        links[name].append(link)
    return links


def _gpu(asked: Asked, links: list[NvLink]) -> Gpu | None:
    index, uuid = links[0].gpu_index, links[0].gpu_uuid
    return next(
        (
            gpu
            for gpu in asked.evidence.gpus
            if (index is not None and gpu.index == index) or (uuid is not None and gpu.uuid == uuid)
        ),
        None,
    )


def _lanes(asked: Asked) -> int | None:
    return asked.promised.gpu.nvlink_lanes if asked.promised.gpu else None


def _by_bridge(asked: Asked) -> bool:
    promised = asked.promised.gpu
    return bool(promised and promised.link_is_bridge)


def _divided(asked: Asked) -> bool:
    return any(is_divided(gpu) for gpu in asked.evidence.gpus) or bool(asked.evidence.mig_devices)


def _hidden(expected: Message | None, lines: tuple[Seen, ...] = ()) -> Judgement:
    return Judgement(
        Verdict.CANNOT_TELL, msg("check.nvlink.hidden_by_mig"), expected, do=msg("check.do.without_mig"), lines=lines
    )


def lanes(asked: Asked) -> Judgement | None:
    """As many links up as this GPU has, and none of them inactive."""
    wanted = _lanes(asked)
    expected = text(wanted) if wanted else None
    links = {
        name: told
        for name, each in by_gpu(asked).items()
        if (told := [link for link in each if link.active is not None or "active" in link.absent])
    }
    if not links:
        if not wanted:
            return None
        if _divided(asked):
            return _hidden(expected)
        return _from_matrix(asked, wanted) or not_read(_STATUS, expected)
    counts = {name: sum(link.active is True for link in each) for name, each in links.items()}
    most = max(counts.values())
    found = []
    for name, each in links.items():
        judgement = _one_gpu(asked, each, wanted, most)
        if judgement is not None:
            found.append((name, judgement))
    return of_all(found, many=len(links) > 1)


def _one_gpu(asked: Asked, links: list[NvLink], wanted: int | None, most: int) -> Judgement | None:
    lines = lines_of([link for link in links if link.active is not True] or links[:1], "active", "gb_per_s")
    up, down = sum(link.active is True for link in links), sum(link.active is False for link in links)
    whole = down == 1 and up == 0 and links[0].link is None
    gpu = _gpu(asked, links)
    expected = text(wanted or up + down if not whole else wanted or "–")
    if up == down == 0:
        if (gpu is not None and is_divided(gpu)) or _divided(asked):
            return _hidden(expected, lines)
        if not wanted:
            return None
        return absent(absence(links[0], "active"), _STATUS, expected)
    if up == 0 and not (gpu is not None and is_module(gpu)) and (_by_bridge(asked) or not wanted):
        if not wanted and len(asked.evidence.gpus) < 2:
            return None
        if _divided(asked):
            return _hidden(expected, lines)
        return Judgement(
            Verdict.WARN,
            msg("check.nvlink.no_bridge"),
            expected,
            text(0),
            msg("check.do.bridge"),
            msg("check.ask.nvlink"),
            lines,
        )
    do, ask = msg("check.do.nvlink"), msg("check.ask.nvlink")
    if _divided(asked) and up == 0:
        return _hidden(expected, lines)
    if down:
        reason = msg("check.nvlink.all_inactive") if up == 0 else msg("check.nvlink.inactive", count=down)
        return Judgement(Verdict.FAIL, reason, expected, text(up), do, ask, lines)
    if wanted and up < wanted:
        return Judgement(Verdict.FAIL, msg("check.nvlink.fewer"), expected, text(up), do, ask, lines)
    if up < most:
        return Judgement(Verdict.FAIL, msg("check.nvlink.fewer_than_others"), text(most), text(up), do, ask, lines)
    reason = msg("check.as_expected") if wanted else msg("check.nvlink.none_inactive")
    return Judgement(Verdict.PASS, reason, expected, text(up), lines=lines)


def _from_matrix(asked: Asked, wanted: int) -> Judgement | None:
    """The count as the matrix of paths gives it, where every pair has all links between it (through switches)."""
    matrix = path_matrix(asked.evidence)
    pairs = gpu_pairs(matrix) if matrix else {}
    counts = [int(match[1]) for path in pairs.values() if (match := NVLINK.match(path))]
    if not counts or len(counts) < len(pairs) or matrix is None:
        return None
    expected, lines = text(wanted), matrix_lines(matrix)
    if min(counts) >= wanted:
        return Judgement(Verdict.PASS, msg("check.nvlink.by_matrix"), expected, text(f"NV{min(counts)}"), lines=lines)
    if len(pairs) >= 15:
        return Judgement(
            Verdict.FAIL,
            msg("check.nvlink.fewer"),
            expected,
            text(f"NV{min(counts)}"),
            msg("check.do.nvlink"),
            msg("check.ask.nvlink"),
            lines,
        )
    return None


def speed(asked: Asked) -> Judgement | None:
    """The links of a GPU together reach the rate of its data sheet, and none signals slower than the others."""
    links = {
        name: rated
        for name, each in by_gpu(asked).items()
        if (rated := [link for link in each if link.gb_per_s is not None and link.active is not False])
    }
    promised = asked.promised.gpu
    if not links:
        wanted = _lanes(asked)
        if not wanted:
            return None
        if _divided(asked):
            return _hidden(None)
        return not_read(_STATUS)
    fastest = max(link.gb_per_s or 0 for each in links.values() for link in each)
    found = []
    for name, each in links.items():
        rates = [link.gb_per_s or 0 for link in each]
        # Newer drivers print what the wires signal ("26.562"), of which the coding takes a part; 25 and 50 are data.
        whole = sum(rates) * (asked.rule["data_share"] if fastest % 5 else 1.0)
        measured = text(f"{whole:.0f} GB/s ({len(rates)} × {min(rates):g})")
        slow = [link for link in each if (link.gb_per_s or 0) < fastest]
        if slow:
            judgement = Judgement(
                Verdict.FAIL,
                msg("check.nvlink.slow_link", count=len(slow)),
                text(f"{fastest:g} GB/s"),
                measured,
                msg("check.do.nvlink"),
                msg("check.ask.nvlink"),
                lines_of(slow, "gb_per_s"),
            )
        elif promised is None or promised.link_bytes_per_s is None or not promised.nvlink_lanes:
            judgement = Judgement(
                Verdict.PASS, msg("check.nvlink.equal"), None, measured, lines=lines_of(each[:1], "gb_per_s")
            )
        else:
            wanted_rate = promised.link_bytes_per_s / 1e9
            fine = whole >= wanted_rate * (1 - asked.rule["tolerance_share"])
            judgement = Judgement(
                Verdict.PASS if fine else Verdict.FAIL,
                msg("check.as_expected")
                if fine
                else msg("check.nvlink.less_together", share=percent(whole / wanted_rate)),
                text(f"{wanted_rate:.0f} GB/s"),
                measured,
                None if fine else msg("check.do.nvlink"),
                None if fine else msg("check.ask.nvlink"),
                lines_of(each[:1], "gb_per_s"),
            )
        found.append((name, judgement))
    return of_all(found, many=len(links) > 1)


def errors(asked: Asked) -> Judgement | None:
    """No link had to recover, and few packets came damaged."""
    counted = {
        name: told
        for name, each in by_gpu(asked).items()
        if (told := [link for link in each if any(value is not None for value in _counts(link))])
    }
    if not counted:
        has_links = _lanes(asked) or any(link.active for link in asked.evidence.nvlinks)
        return not_read(_ERRORS) if has_links and not _divided(asked) else None
    rule, found = asked.rule, []
    for name, each in counted.items():
        replay = sum(link.replay_errors or 0 for link in each)
        recovery = sum(link.recovery_errors or 0 for link in each)
        crc = sum(link.crc_errors or 0 for link in each)
        bad = recovery > rule["recovery_above"] or crc > rule["crc_above"]
        verdict = Verdict.FAIL if bad else Verdict.WARN if replay + crc >= rule["warn_from"] else Verdict.PASS
        fine = verdict is Verdict.PASS
        hit = [link for link in each if any(_counts(link))] or each[:1]
        found.append(
            (
                name,
                Judgement(
                    verdict,
                    msg("check.nvlink.no_errors") if fine else msg("check.nvlink.errors"),
                    text(f"< {rule['warn_from']:.0f}"),
                    msg("check.nvlink.counted", replay=replay, recovery=recovery, crc=crc),
                    None if fine else msg("check.do.nvlink"),
                    None if fine else msg("check.ask.nvlink"),
                    lines_of(hit, "recovery_errors", "crc_errors", "replay_errors"),
                ),
            )
        )
    return of_all(found, many=len(counted) > 1)


def _counts(link: NvLink) -> tuple[int | None, int | None, int | None]:
    return link.replay_errors, link.recovery_errors, link.crc_errors


CHECKS = (Check("nvlink.lanes", lanes), Check("nvlink.speed", speed), Check("nvlink.err", errors))

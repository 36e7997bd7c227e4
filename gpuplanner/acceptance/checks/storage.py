"""Disks: of what kind, how full, how fast."""

from collections.abc import Callable

from gpuplanner.acceptance.check import Asked, Check, CheckRule, Judgement, lines_of
from gpuplanner.acceptance.expected_rates import is_read_in_a_row, of_disk_reads
from gpuplanner.acceptance.saying import not_measured, not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.host import Disk
from gpuplanner.units import percent

_PASSING = frozenset(
    {
        "tmpfs",
        "devtmpfs",
        "squashfs",
        "overlay",
        "iso9660",
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "efivarfs",
        "vfat",
        "erofs",
    }
)
"""File systems that hold no data, or of whose fullness nothing follows; `overlay` counts at "/"."""
_NO_DISKS = ("zram", "loop", "ram", "sr", "fd")
_NETWORK = ("nfs", "nfs4", "cifs", "ceph", "fuse.s3fs", "fuse.gcsfuse", "fuse.juicefs", "9p", "virtiofs")
_PARALLEL = ("lustre", "gpfs", "beegfs", "weka", "wekafs")


def _is_network_disk(disk: Disk) -> bool:
    name = (disk.name or "").rsplit("/", 1)[-1]
    return disk.transport == "virtio" or name.startswith(("vd", "xvd", "rbd", "nbd"))


def kind(asked: Asked) -> Judgement | None:
    """There is a disk that can feed GPUs: NVMe, or a parallel file system."""
    disks = [
        disk
        for disk in asked.evidence.disks
        if disk.kind in {"disk", None} and disk.size_bytes != 0 and not (disk.name or "").startswith(_NO_DISKS)
    ]
    parallel = [mount for mount in asked.evidence.mounts if mount.kind in _PARALLEL]
    if not disks and not parallel:
        return not_read("lsblk -o NAME,TYPE,ROTA,TRAN,MODEL,SIZE")
    lines = (*lines_of(disks, "transport", "rotational", "name"), *lines_of(parallel, "kind"))[:12]
    fast = [disk for disk in disks if disk.transport == "nvme" or (disk.name or "").startswith("nvme")]
    measured = text(
        ", ".join(f"{disk.name} {disk.model or disk.transport or ''}".strip() for disk in disks[:6]) or parallel[0].kind
    )
    expected = text("NVMe")
    if fast or parallel:
        return Judgement(Verdict.PASS, msg("check.disk.fast"), expected, measured, lines=lines)
    network = [disk for disk in disks if _is_network_disk(disk)]
    turning = [disk for disk in disks if disk.rotational and disk not in network]
    if network:
        return Judgement(
            Verdict.WARN,
            msg("check.disk.network"),
            expected,
            measured,
            msg("check.do.disk_speed"),
            msg("check.ask.disk"),
            lines,
        )
    if any(mount.kind in _NETWORK for mount in asked.evidence.mounts) and not disks:
        return Judgement(
            Verdict.WARN,
            msg("check.disk.network"),
            expected,
            measured,
            msg("check.do.disk_speed"),
            msg("check.ask.disk"),
            lines,
        )
    if turning and len(turning) == len(disks):
        return Judgement(
            Verdict.FAIL,
            msg("check.disk.turns"),
            expected,
            measured,
            msg("check.do.disk_speed"),
            msg("check.ask.disk"),
            lines,
        )
    if all(disk.rotational is None for disk in disks):
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.disk.unknown"),
            expected,
            measured,
            msg("check.do.would_tell", command="lsblk -d -o NAME,ROTA,TRAN,MODEL"),
            lines=lines,
        )
    return Judgement(Verdict.PASS, msg("check.disk.solid"), expected, measured, lines=lines)


def space(asked: Asked) -> Judgement | None:
    """No file system is nearly full."""
    mounts = [
        mount
        for mount in asked.evidence.mounts
        if mount.used_percent is not None
        and (mount.kind not in _PASSING or mount.target == "/")
        and not (mount.target or "").startswith(("/boot", "/snap", "/run", "/dev", "/sys", "/proc"))
    ]
    warn, fail = asked.rule["warn_from_percent"], asked.rule["fail_from_percent"]
    expected = text(f"< {percent(warn / 100)}")
    if not mounts:
        return not_read("df -B1", expected)
    fullest = max(mounts, key=lambda mount: mount.used_percent or 0)
    used = fullest.used_percent or 0
    measured, lines = text(f"{fullest.target}: {percent(used / 100)}"), lines_of([fullest], "used_percent", "target")
    verdict = Verdict.FAIL if used >= fail else Verdict.WARN if used >= warn else Verdict.PASS
    fine = verdict is Verdict.PASS
    return Judgement(
        verdict,
        msg("check.disk.room") if fine else msg("check.disk.full"),
        expected,
        measured,
        None if fine else msg("check.do.disk_room"),
        lines=lines,
    )


def _few_spares(disk: Disk, least: float | None) -> bool:
    return disk.spare_percent is not None and least is not None and disk.spare_percent < least


_COMPLAINTS: tuple[tuple[Verdict, Message, tuple[str, ...], Callable[[Disk, CheckRule], bool]], ...] = (
    (Verdict.FAIL, msg("check.disk.failing"), ("healthy",), lambda disk, _: disk.healthy is False),
    (
        Verdict.FAIL,
        msg("check.disk.critical"),
        ("critical_warning",),
        lambda disk, _: (disk.critical_warning or 0) > 0,
    ),
    (
        Verdict.FAIL,
        msg("check.disk.no_spares"),
        ("spare_percent", "spare_threshold_percent"),
        lambda disk, _: _few_spares(disk, disk.spare_threshold_percent),
    ),
    (Verdict.WARN, msg("check.disk.media_errors"), ("media_errors",), lambda disk, _: (disk.media_errors or 0) > 0),
    (
        Verdict.WARN,
        msg("check.disk.worn"),
        ("used_percent",),
        lambda disk, rule: (disk.used_percent or 0) >= rule["worn_from_percent"],
    ),
    (
        Verdict.WARN,
        msg("check.disk.few_spares"),
        ("spare_percent",),
        lambda disk, rule: _few_spares(disk, rule["spare_below_percent"]),
    ),
)
"""What a disk says of itself, the gravest first: the verdict, the words, the fields that say it, and when."""


def health(asked: Asked) -> Judgement | None:
    """No disk says that it is failing or worn."""
    told = [
        disk
        for disk in asked.evidence.disks
        if any(
            value is not None
            for value in (disk.healthy, disk.critical_warning, disk.media_errors, disk.used_percent, disk.spare_percent)
        )
    ]
    if not told:
        return not_read("sudo smartctl -a /dev/nvme0n1", None)
    for verdict, reason, fields, objects in _COMPLAINTS:
        ill = [disk for disk in told if objects(disk, asked.rule)]
        if ill:
            names = ", ".join(disk.name or disk.model or "?" for disk in ill)
            ask = msg("check.ask.disk_health")
            return Judgement(verdict, reason, None, text(names), ask=ask, lines=lines_of(ill, *fields))
    if all(disk.healthy is None and disk.critical_warning is None for disk in told):
        return not_read("sudo smartctl -H /dev/nvme0n1", None)
    return Judgement(
        Verdict.PASS,
        msg("check.disk.well"),
        None,
        text(f"{len(told)}"),
        lines=lines_of(told, "healthy", "critical_warning"),
    )


def speed(asked: Asked) -> Judgement | None:
    """Reading in a row is as fast as promised."""
    rates = [rate for rate in asked.evidence.disk_rates if rate.gb_per_s is not None and is_read_in_a_row(rate)]
    if not rates:
        return not_measured("B, C")
    best = max(rates, key=lambda rate: rate.gb_per_s or 0)
    have = best.gb_per_s or 0
    wanted = of_disk_reads(asked.promised, asked.rule["least_gb_per_s"]).rate
    share = have / wanted
    verdict = Verdict.PASS if share >= 1 else Verdict.WARN if share >= asked.rule["warn_share"] else Verdict.FAIL
    fine = verdict is Verdict.PASS
    lines = lines_of([best], "gb_per_s", "job")
    if best.direct is False and fine:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.disk.through_cache"),
            text(f"{wanted:g} GB/s"),
            text(f"{have:.2f} GB/s"),
            msg("check.do.would_tell", command="fio --direct=1"),
            lines=lines,
        )
    return Judgement(
        verdict,
        msg("check.as_expected") if fine else msg("check.less", share=percent(share)),
        text(f"{wanted:g} GB/s"),
        text(f"{have:.2f} GB/s"),
        ask=None if fine else msg("check.ask.disk"),
        lines=lines,
    )


CHECKS = (Check("disk.kind", kind), Check("disk.free", space), Check("disk.health", health), Check("disk.speed", speed))

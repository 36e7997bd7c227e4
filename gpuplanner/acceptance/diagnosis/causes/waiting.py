"""GPUs that wait: for processors, for storage, or for the program that feeds them, by samples of their work."""

from collections import defaultdict
from statistics import fmean

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.saying import text
from gpuplanner.probe.evidence.host import Mount
from gpuplanner.probe.evidence.measured import Sample
from gpuplanner.units import percent

_NETWORK_FILES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "lustre", "ceph", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.juicefs",
     "beegfs", "gpfs", "wekafs", "9p", "fuse.glusterfs", "fuse.rclone", "virtiofs"}
)  # fmt: skip
_HOME_OF_DATA = (
    "/data",
    "/mnt",
    "/home",
    "/workspace",
    "/datasets",
    "/models",
    "/scratch",
    "/root",
    "/storage",
    "/shared",
)


def quota(looking: Looking) -> Signs | None:
    """A container may use a part of the processors that its programs count."""
    cpu = looking.evidence.cpu
    if cpu is None or cpu.quota_cpus is None:
        return None
    counted = max(cpu.allowed_cpus or 0, cpu.cpus or 0)
    if cpu.quota_cpus >= counted:
        return None
    return Signs(
        Certainty.SHOWN,
        lines_of([cpu], "quota_cpus", "allowed_cpus", "cpus"),
        {"quota": text(f"{cpu.quota_cpus:g}"), "counted": counted},
    )


def _waits(looking: Looking) -> dict[int | None, list[Sample]]:
    """The GPUs that work in bursts with pauses between them, by their samples."""
    rule = looking.rule
    by_gpu: defaultdict[int | None, list[Sample]] = defaultdict(list)
    for sample in looking.evidence.samples:
        if sample.utilization_percent is not None:
            by_gpu[sample.gpu_index].append(sample)
    found = {}
    for index, samples in by_gpu.items():
        shares = [sample.utilization_percent or 0 for sample in samples]
        pauses = sum(share <= rule["pause_percent"] for share in shares)
        works = max(shares) >= rule["burst_percent"]
        if len(shares) >= rule["least_samples"] and works and pauses and fmean(shares) < rule["busy_percent"]:
            found[index] = samples
    return found


def _mean(waits: dict[int | None, list[Sample]]) -> str:
    return percent(fmean(each.utilization_percent or 0 for samples in waits.values() for each in samples) / 100)


def _some(waits: dict[int | None, list[Sample]]) -> list[Sample]:
    """A few samples of one GPU that show a pause and a burst."""
    samples = next(iter(waits.values()))
    least = min(samples, key=lambda each: each.utilization_percent or 0)
    most = max(samples, key=lambda each: each.utilization_percent or 0)
    return [least, most]


def processors(looking: Looking) -> Signs | None:
    """The GPUs pause while the processors are full, or there are too few of them."""
    waits, cpu = _waits(looking), looking.evidence.cpu
    if not waits or cpu is None:
        return None
    full = (cpu.busy_share or 0) >= looking.rule["cpu_full_share"]
    few = looking.failed("cpu.count")
    if not full and few is None:
        return None
    shown = (
        *lines_of(_some(waits), "utilization_percent"),
        *lines_of([cpu], "busy_share"),
        *(few.lines if few else ()),
    )
    return Signs(
        Certainty.LIKELY,
        shown[:12],
        {"share": text(_mean(waits)), "busy": text(percent(cpu.busy_share or 0))},
        sentence="cause" if full else "few",
    )


def _far_mounts(looking: Looking) -> list[Mount]:
    return [
        mount
        for mount in looking.evidence.mounts
        if (mount.kind or "").lower() in _NETWORK_FILES
        and (mount.target or "") != "/"
        and (mount.target or "").startswith(_HOME_OF_DATA)
    ]


def storage(looking: Looking) -> Signs | None:
    """The GPUs pause while the processors do not, and the data lie on slow or far storage."""
    waits, cpu = _waits(looking), looking.evidence.cpu
    full = cpu is not None and (cpu.busy_share or 0) >= looking.rule["cpu_full_share"]
    if not waits or full:
        return None
    slow, far = looking.failed("disk.speed"), _far_mounts(looking)
    if slow is None and not far:
        return None
    shown = (
        *lines_of(_some(waits), "utilization_percent"),
        *(slow.lines if slow else ()),
        *lines_of(far, "kind", "source", "target"),
    )
    where = (far[0].target if far else None) or "–"
    return Signs(
        Certainty.LIKELY,
        shown[:12],
        {"share": text(_mean(waits)), "where": text(where), "rate": (slow.measured if slow else None) or text("–")},
        sentence="slow" if slow else "cause",
    )


def feeding(looking: Looking) -> Signs | None:
    """The GPUs work in bursts, and nothing that was read says what they wait for."""
    waits, cpu = _waits(looking), looking.evidence.cpu
    if not waits:
        return None
    full = cpu is not None and (cpu.busy_share or 0) >= looking.rule["cpu_full_share"]
    if full or looking.failed("cpu.count") or looking.failed("disk.speed") or _far_mounts(looking):
        return None
    return Signs(
        Certainty.POSSIBLE,
        lines_of(_some(waits), "utilization_percent"),
        {"share": text(_mean(waits))},
    )


def launches(looking: Looking) -> Signs | None:
    """Always busy, yet with little power and hardly any memory traffic: many small kernels."""
    rule = looking.rule
    by_gpu: defaultdict[int | None, list[Sample]] = defaultdict(list)
    for sample in looking.evidence.samples:
        if None not in {sample.utilization_percent, sample.memory_percent, sample.power_w}:
            by_gpu[sample.gpu_index].append(sample)
    for index, samples in by_gpu.items():
        gpu = next((gpu for gpu in looking.evidence.gpus if gpu.index == index), None)
        promised = looking.promised.gpu
        limit = (gpu.power_limit_w if gpu else None) or (promised.power_w if promised else None)
        if limit is None or len(samples) < rule["least_samples"]:
            continue
        busy = fmean(each.utilization_percent or 0 for each in samples)
        power = fmean(each.power_w or 0 for each in samples) / limit
        memory = fmean(each.memory_percent or 0 for each in samples)
        if busy >= rule["busy_percent"] and power < rule["power_share"] and memory < rule["memory_percent"]:
            return Signs(
                Certainty.LIKELY,
                (
                    *lines_of(samples[:3], "utilization_percent", "power_w"),
                    *lines_of([gpu] if gpu else [], "power_limit_w"),
                ),
                {
                    "busy": text(percent(busy / 100)),
                    "power": text(percent(power)),
                    "memory": text(percent(memory / 100)),
                },
            )
    return None


CAUSES = (
    Cause("cgroup_quota", quota),
    Cause("waits_for_processors", processors),
    Cause("waits_for_storage", storage),
    Cause("works_in_bursts", feeding),
    Cause("small_kernels", launches),
)

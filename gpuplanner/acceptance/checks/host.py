"""The computer around the GPUs: processors, memory, limits, the clock. Limits of a container count, not its host's."""

from gpuplanner.acceptance.check import Asked, Check, Judgement, lines_of
from gpuplanner.acceptance.gpu_traits import gpus_on_bus, is_guest, matrix_lines, path_matrix
from gpuplanner.acceptance.saying import not_read, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.record import Seen
from gpuplanner.units import GIB, MIB, percent

_UNLIMITED = -1.0


def _in_container(asked: Asked) -> bool:
    system = asked.evidence.system
    return bool(system and system.container and system.container != "none")


def processors(asked: Asked) -> Judgement | None:
    """As many processors as promised, by the tightest of what the machine has, the affinity and the group allow."""
    cpu, wanted = asked.evidence.cpu, asked.promised.cpus
    expected = text(_count(wanted)) if wanted else None
    known = [value for value in (cpu.cpus, cpu.allowed_cpus, cpu.quota_cpus) if value] if cpu else []
    if cpu is None or not known:
        return not_read("nproc; lscpu; cat /sys/fs/cgroup/cpu.max", expected)
    have, lines = min(known), lines_of([cpu], "cpus", "allowed_cpus", "quota_cpus", "quota_unlimited")
    measured = text(_count(have))
    limited = cpu.quota_cpus is not None or cpu.quota_unlimited is not None or cpu.allowed_cpus is not None
    if _in_container(asked) and not limited:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.container.limits_unknown"),
            expected,
            measured,
            msg("check.do.would_tell", command="nproc; cat /sys/fs/cgroup/cpu.max"),
            lines=lines,
        )
    do, ask = msg("check.do.cpus"), msg("check.ask.cpus")
    if wanted:
        if have >= wanted:
            return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)
        some = have >= asked.rule["warn_share"] * wanted
        return Judgement(
            Verdict.WARN if some else Verdict.FAIL,
            msg("check.cpus.fewer", share=percent(have / wanted)),
            expected,
            measured,
            do,
            ask,
            lines,
        )
    gpus = len(asked.evidence.gpus)
    if not gpus:
        return Judgement(
            Verdict.CANNOT_TELL, msg("check.nothing_promised"), None, measured, msg("check.do.promise"), lines=lines
        )
    each = have / gpus
    if each < asked.rule["least_per_gpu"]:
        return Judgement(
            Verdict.WARN,
            msg("check.cpus.few_per_gpu", count=_count(each)),
            text(f"≥ {_count(asked.rule['least_per_gpu'] * gpus)}"),
            measured,
            do,
            ask,
            lines,
        )
    return Judgement(Verdict.PASS, msg("check.cpus.per_gpu", count=_count(each)), None, measured, lines=lines)


def _count(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def steal(asked: Asked) -> Judgement | None:
    """The host gives its processors to this machine when it wants them."""
    cpu = asked.evidence.cpu
    value = cpu.steal_share if cpu else None
    if cpu is None or value is None:
        return not_read("cat /proc/stat; sleep 3; cat /proc/stat")
    warn, fail = asked.rule["warn_from_share"], asked.rule["fail_above_share"]
    verdict = Verdict.FAIL if value > fail else Verdict.WARN if value >= warn else Verdict.PASS
    fine = verdict is Verdict.PASS
    return Judgement(
        verdict,
        msg("check.steal.none") if fine else msg("check.steal.some"),
        text(f"< {percent(warn)}"),
        text(percent(value, 1)),
        ask=None if fine else msg("check.ask.steal"),
        lines=lines_of([cpu], "steal_share"),
    )


def governor(asked: Asked) -> Judgement | None:
    """The processors are not held at low clocks."""
    cpu = asked.evidence.cpu
    found = cpu.governors if cpu else None
    if cpu is None or not found:
        if is_guest(asked.evidence):
            return Judgement(Verdict.SKIPPED, msg("check.governor.guest"))
        return not_read("cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")
    measured, lines = text(", ".join(sorted(found))), lines_of([cpu], "governors")
    if "powersave" in found:
        return Judgement(
            Verdict.WARN,
            msg("check.governor.saves"),
            text("performance"),
            measured,
            msg("check.do.governor"),
            lines=lines,
        )
    return Judgement(Verdict.PASS, msg("check.as_expected"), text("performance"), measured, lines=lines)


def numa(asked: Asked) -> Judgement | None:
    """The GPUs are spread over the sockets, and the kernel knows at which each of them is."""
    evidence = asked.evidence
    nodes: dict[str, int] = {}
    lines: tuple[Seen, ...] = ()
    for gpu in evidence.gpus:
        if gpu.numa_node is not None and gpu.index is not None:
            nodes[str(gpu.index)] = gpu.numa_node
    lines = lines_of(evidence.gpus, "numa_node")
    matrix = path_matrix(evidence)
    if not nodes and matrix is not None:
        for name, node in matrix.numa_affinity.items():
            if name.startswith("GPU") and node.isdigit():
                nodes[name[3:]] = int(node)
        lines = matrix_lines(matrix)
    if not nodes:
        of_bus = [device for device in gpus_on_bus(evidence) if device.numa_node is not None]
        nodes = {device.bus_id or "?": device.numa_node for device in of_bus if device.numa_node is not None}
        lines = lines_of(of_bus, "numa_node")
    if not nodes:
        return not_read("nvidia-smi topo -m; cat /sys/bus/pci/devices/*/numa_node")
    sockets = evidence.cpu.sockets if evidence.cpu else None
    measured = text(", ".join(f"{gpu}: {node}" for gpu, node in sorted(nodes.items())[:16]))
    if any(node < 0 for node in nodes.values()):
        if sockets == 1 or is_guest(evidence):
            return Judgement(Verdict.PASS, msg("check.numa.unknown_in_guest"), None, measured, lines=lines)
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.numa.unknown"),
            None,
            measured,
            msg("check.do.would_tell", command="lscpu; nvidia-smi topo -m"),
            lines=lines,
        )
    if len(nodes) > 1 and len(set(nodes.values())) == 1 and sockets == 2:
        return Judgement(Verdict.WARN, msg("check.numa.one_socket"), None, measured, msg("check.do.slots"), lines=lines)
    return Judgement(Verdict.PASS, msg("check.numa.known"), None, measured, lines=lines)


def memory(asked: Asked) -> Judgement | None:
    """As much main memory as promised, or as the group allows where that is less."""
    held, wanted = asked.evidence.memory, asked.promised.ram_bytes
    expected = _gib(wanted) if wanted else None
    known = [value for value in (held.total_bytes, held.cgroup_limit_bytes) if value] if held else []
    if held is None or not known:
        return not_read("cat /proc/meminfo /sys/fs/cgroup/memory.max", expected)
    have, lines = min(known), lines_of([held], "total_bytes", "cgroup_limit_bytes", "cgroup_unlimited")
    measured = _gib(have)
    if _in_container(asked) and held.cgroup_limit_bytes is None and held.cgroup_unlimited is None:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.container.limits_unknown"),
            expected,
            measured,
            msg("check.do.would_tell", command="cat /sys/fs/cgroup/memory.max"),
            lines=lines,
        )
    ask = msg("check.ask.ram")
    if wanted:
        share = have / wanted
        verdict = (
            Verdict.PASS
            if share >= asked.rule["pass_share"]
            else Verdict.WARN
            if share >= asked.rule["warn_share"]
            else Verdict.FAIL
        )
        fine = verdict is Verdict.PASS
        reason = msg("check.as_expected") if fine else msg("check.less", share=percent(share))
        return Judgement(verdict, reason, expected, measured, ask=None if fine else ask, lines=lines)
    sizes = [gpu.memory_total_mib for gpu in asked.evidence.gpus if gpu.memory_total_mib]
    if not sizes:
        return Judgement(
            Verdict.CANNOT_TELL, msg("check.nothing_promised"), None, measured, msg("check.do.promise"), lines=lines
        )
    least = sum(sizes) * MIB * asked.rule["gpu_memory_factor"]
    if have < least:
        return Judgement(Verdict.WARN, msg("check.ram.less_than_gpus"), _gib(least), measured, ask=ask, lines=lines)
    return Judgement(Verdict.PASS, msg("check.ram.enough"), None, measured, lines=lines)


def _gib(size: float) -> Message:
    return text(f"{size / GIB:,.0f} GiB")


def swap(asked: Asked) -> Judgement | None:
    """No swap: a program that gets into it stalls its GPUs."""
    held = asked.evidence.memory
    total = held.swap_total_bytes if held else None
    if held is None or total is None:
        return not_read("cat /proc/swaps")
    lines, measured = lines_of([held], "swap_total_bytes", "swap_free_bytes"), _gib(total)
    if total == 0:
        return Judgement(Verdict.PASS, msg("check.swap.none"), text(0), measured, lines=lines)
    used = total - (held.swap_free_bytes if held.swap_free_bytes is not None else total)
    if used > GIB:
        return Judgement(
            Verdict.WARN,
            msg("check.swap.used", size=f"{used / GIB:,.1f} GiB"),
            text(0),
            measured,
            msg("check.do.swap"),
            lines=lines,
        )
    return Judgement(Verdict.WARN, msg("check.swap.on"), text(0), measured, msg("check.do.swap"), lines=lines)


def limits(asked: Asked) -> Judgement | None:
    """Shared memory, locked memory and open files are enough for data loaders and for fast networks."""
    held, rule = asked.evidence.limits, asked.rule
    mount = next((mount for mount in asked.evidence.mounts if mount.target == "/dev/shm"), None)  # noqa: S108 (a name that is compared, no file of ours)
    shm = (held.shm_bytes if held else None) or (mount.size_bytes if mount else None)
    locked, files = (held.locked_bytes, held.open_files) if held else (None, None)
    if shm is None and locked is None and files is None:
        return not_read("df -B1 /dev/shm; ulimit -a")
    lines = (
        *lines_of([held] if held else [], "shm_bytes", "locked_bytes", "open_files"),
        *lines_of([mount] if mount else [], "size_bytes"),
    )[:12]
    measured = text(
        f"{_size(shm)}, {_size(locked)}, {'–' if files is None else '∞' if files == _UNLIMITED else f'{files:,.0f}'}"
    )
    expected = text(f"≥ {rule['shm_gib']:.0f} GiB, ≥ {rule['locked_gib']:.0f} GiB, ≥ {rule['open_files']:,.0f}")
    if shm is not None and shm <= rule["shm_fail_mib"] * MIB:
        return Judgement(
            Verdict.FAIL if asked.promised.training else Verdict.WARN,
            msg("check.shm.docker"),
            expected,
            measured,
            msg("check.do.shm"),
            lines=lines,
        )
    if shm is not None and shm < rule["shm_gib"] * GIB:
        return Judgement(Verdict.WARN, msg("check.shm.small"), expected, measured, msg("check.do.shm"), lines=lines)
    if locked is not None and locked != _UNLIMITED and locked < rule["locked_gib"] * GIB:
        return Judgement(Verdict.WARN, msg("check.shm.locked"), expected, measured, msg("check.do.locked"), lines=lines)
    if files is not None and files != _UNLIMITED and files < rule["open_files"]:
        return Judgement(Verdict.WARN, msg("check.shm.files"), expected, measured, msg("check.do.files"), lines=lines)
    if None in {shm, locked, files}:
        return Judgement(
            Verdict.CANNOT_TELL,
            msg("check.shm.not_all"),
            expected,
            measured,
            msg("check.do.would_tell", command="df -B1 /dev/shm; ulimit -a"),
            lines=lines,
        )
    return Judgement(Verdict.PASS, msg("check.as_expected"), expected, measured, lines=lines)


def _size(size: float | None) -> str:
    if size is None:
        return "–"
    if size == _UNLIMITED:
        return "∞"
    return f"{size / GIB:,.1f} GiB" if size >= GIB else f"{size / MIB:,.1f} MiB"


def drift(asked: Asked) -> Judgement | None:
    """The clock goes right: certificates, logs of several nodes and leases depend on it."""
    system = asked.evidence.system
    offset = system.clock_offset_s if system else None
    if system is None or offset is None:
        return not_read("chronyc tracking")
    warn, fail = asked.rule["warn_from_s"], asked.rule["fail_from_s"]
    away = abs(offset)
    verdict = Verdict.FAIL if away >= fail else Verdict.WARN if away >= warn else Verdict.PASS
    fine = verdict is Verdict.PASS
    return Judgement(
        verdict,
        msg("check.as_expected") if fine else msg("check.drift.off"),
        text(f"< {warn:g} s"),
        text(f"{offset:+.1f} s"),
        None if fine else msg("check.do.clock"),
        lines=lines_of([system], "clock_offset_s"),
    )


def uptime(asked: Asked) -> Judgement | None:
    """How long it runs, and whether an update waits for a reboot."""
    system = asked.evidence.system
    if system is None or (system.uptime_s is None and system.reboot_required is None):
        return not_read("cat /proc/uptime; ls /var/run/reboot-required")
    lines = lines_of([system], "uptime_s", "reboot_required")
    measured = text(f"{system.uptime_s / 86400:.1f} d") if system.uptime_s is not None else None
    if system.reboot_required:
        return Judgement(Verdict.WARN, msg("check.uptime.reboot"), None, measured, msg("check.do.reboot"), lines=lines)
    return Judgement(Verdict.PASS, msg("check.uptime.none"), None, measured, lines=lines)


CHECKS = (
    Check("cpu.count", processors),
    Check("cpu.steal", steal),
    Check("cpu.gov", governor),
    Check("numa", numa),
    Check("ram", memory),
    Check("swap", swap),
    Check("shm", limits),
    Check("clock.drift", drift),
    Check("uptime", uptime),
)

"""Short outputs about the system as a whole: release, kernel, its command line, uptime, services, Secure Boot, swap.

Most are a line or two; those that have no form of their own are known by the command that printed them.
"""

import re
from collections.abc import Callable

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Cpu, HostMemory, KernelModule, Service, System
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import SECTION, sections
from gpuplanner.probe.values import Reading, number, whole, words

_RELEASE = re.compile(r'^PRETTY_NAME="?([^"\n]{1,200})"?$')
_UNAME = re.compile(r"^Linux (\S{1,253}) (\d\S{1,100}) #\d")
_BOOT = re.compile(r"^(?:BOOT_IMAGE=|initrd=|root=)\S{1,400}( .*)?$")
_UPTIME = re.compile(r"^(\d{1,12}\.\d{2}) \d{1,14}\.\d{2}$")
_SECURE_BOOT = re.compile(r"^SecureBoot (enabled|disabled)$")
_NAMED = re.compile(r"^Id=\S")
_SERVICE = re.compile(r"^(Id|LoadState|ActiveState)=(\S{0,200})$")
_SWAPS = re.compile(r"^Filename[ \t]{1,60}Type[ \t]{1,40}Size[ \t]{1,40}Used")
_SWAP = re.compile(r"^(/\S{1,300})[ \t]{1,60}\w{2,12}[ \t]{1,40}(\d{1,16})[ \t]{1,40}(\d{1,16})")
_GOVERNOR = re.compile(r"/cpufreq/scaling_governor$")
_MODINFO = re.compile(r"^(filename|version|license):[ \t]{1,40}(\S.{0,300})$")
_MANAGER = re.compile(
    r"^(?:Fabric Manager version is|nv-fabricmanager version)[ \t]{0,4}:[ \t]{0,4}(\d[\d.]{1,30})", re.IGNORECASE
)
_STATES = {"active": "active", "inactive": "inactive", "failed": "failed", "activating": "activating"}
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("PRETTY_NAME=", _RELEASE),
    ("Linux ", _UNAME),
    ("BOOT_IMAGE=", _BOOT),
    ("initrd=", _BOOT),
    ("root=", _BOOT),
    ("SecureBoot ", _SECURE_BOOT),
    ("Filename", _SWAPS),
)
"""Each with a literal that its lines have: a text without it is not cut into lines and searched."""


def recognise(output: Output) -> int:
    """By a line of one of the forms."""
    if _command(output) in {"nproc", "uptime"}:
        return CERTAIN
    text = output.text
    if any(literal in text and output.has(form, literal) for literal, form in _FORMS) or output.has(
        _MANAGER, "anager version", "anager Version"
    ):
        return CERTAIN
    if ("LoadState=" in text or "ActiveState=" in text) and output.has(_NAMED, "Id="):
        return CERTAIN
    if "scaling_governor" in text and any(_GOVERNOR.search(match[1]) for _, match in output.matching(SECTION, "==> ")):
        return CERTAIN
    return CERTAIN if "filename:" in text and _modinfo(output) else NO


def _command(output: Output) -> str:
    if output.command == ("nproc",):
        return "nproc"
    return "uptime" if output.command[-1:] == ("/proc/uptime",) else ""


def _modinfo(output: Output) -> bool:
    found = {match[1] for _, match in output.matching(_MODINFO, "filename:", "license:")}
    return {"filename", "license"} <= found


def parse(output: Output) -> Parsed:
    """Each form for itself; a file may hold several."""
    system, software, cpu, memory = (Reading(output) for _ in range(4))
    looked: set[str] = set()
    for pattern, reading, field, convert in _single(system, software):
        for line, match in output.matching(pattern):
            reading.take(field, match[1], convert, line)
    for line, match in output.matching(_UNAME):
        system.take("hostname", match[1], words, line)
        system.take("kernel", match[2], words, line)
    for line, match in output.matching(_BOOT):
        system.take("kernel_command_line", match[0], words, line)
    for line, match in output.matching(_SECURE_BOOT):
        system.put("secure_boot", match[1] == "enabled", line)
    if _command(output) == "nproc" and output.lines:
        cpu.take("allowed_cpus", output.lines[0].text, whole, output.lines[0])
    _governors(output, cpu)
    if output.has(_SWAPS):
        _swaps(output, memory)
        looked.add("swap")
    services = _services(output)
    looked |= {"services"} if services else set()
    return Parsed(
        Evidence(
            system=system.made(System) if system else None,
            software=software.made(Software) if software else None,
            cpu=cpu.made(Cpu) if cpu else None,
            memory=memory.made(HostMemory) if memory else None,
            services=services,
            modules=_module(output),
            looked_for=frozenset(looked),
        )
    )


def _single(
    system: Reading, software: Reading
) -> tuple[tuple[re.Pattern[str], Reading, str, Callable[[str], object]], ...]:
    return (
        (_RELEASE, system, "os", words),
        (_UPTIME, system, "uptime_s", number),
        (_MANAGER, software, "fabric_manager_version", words),
    )


def _governors(output: Output, cpu: Reading) -> None:
    counts: dict[str, int] = {}
    for path, lines in sections(output):
        if _GOVERNOR.search(path) and lines:
            name = words(lines[0].text)
            counts[name] = counts.get(name, 0) + 1
            cpu.put("governors", counts, lines[0])


def _swaps(output: Output, memory: Reading) -> None:
    """Sizes of /proc/swaps are in 1,024 bytes; no row is no swap."""
    rows = list(output.matching(_SWAP))
    line = rows[0][0] if rows else next(output.matching(_SWAPS))[0]
    total = sum(int(match[2]) for _, match in rows) * 1024.0
    memory.put("swap_total_bytes", total, line)
    memory.put("swap_free_bytes", total - sum(int(match[3]) for _, match in rows) * 1024.0, line)


def _services(output: Output) -> tuple[Service, ...]:
    """`systemctl show`: a block of lines a service; one that is not installed is "absent"."""
    services: list[Service] = []
    reading = Reading(output)
    values: dict[str, str] = {}

    def close() -> None:
        nonlocal reading
        if "name" in reading:
            services.append(reading.made(Service))
        reading = Reading(output)
        values.clear()

    for line in output.lines:
        match = _SERVICE.match(line.text)
        if not match:
            if not line.text.strip():
                close()
            continue
        if match[1] in values:
            close()
        values[match[1]] = match[2]
        if match[1] == "Id":
            reading.put("name", match[2].removesuffix(".service"), line)
        elif match[1] == "LoadState" and match[2] == "not-found":
            reading.put("state", "absent", line)
        elif match[1] == "ActiveState":
            reading.put("state", _STATES.get(match[2], "other"), line)
    close()
    return tuple(services)


def _module(output: Output) -> tuple[KernelModule, ...]:
    if not _modinfo(output):
        return ()
    reading = Reading(output)
    fields = {"version": "version", "license": "licence"}
    for line, match in output.matching(_MODINFO):
        if match[1] in fields:
            reading.take(fields[match[1]], match[2], words, line)
        else:
            name = match[2].rsplit("/", 1)[-1].split(".")[0]
            reading.put("name", name.replace("-", "_"), line)
    return (reading.made(KernelModule),) if "name" in reading else ()


PARSER = Parser("system-files", recognise, parse)

"""What tells a virtual machine or a container: systemd-detect-virt, the firmware's names, marks in the file system."""

import re

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import Cpu, System
from gpuplanner.probe.output import Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser
from gpuplanner.probe.parsers.colon_table import sections
from gpuplanner.probe.values import Reading, words

_DMI = re.compile(r"/sys/class/dmi/id/\w")
_HYPERVISOR = re.compile(r"^hypervisor$")
_MARKS = re.compile(r"(?:^|['\" ])(/\.dockerenv|/run/\.containerenv|/var/run/reboot-required)\b")
_LITERALS = ("/.dockerenv", "/run/.containerenv", "/var/run/reboot-required")
_FIELDS = {
    "sys_vendor": "vendor",
    "product_name": "product",
    "board_name": "board",
    "bios_version": "bios",
    "chassis_asset_tag": "cloud",
}
_CONTAINERS = frozenset(
    {
        "docker",
        "podman",
        "lxc",
        "lxc-libvirt",
        "systemd-nspawn",
        "openvz",
        "rkt",
        "wsl",
        "proot",
        "pouch",
        "container-other",
    }
)

_WORD = re.compile(r"[a-z][a-z0-9-]{1,30}$")
"""As systemd-detect-virt answers; what else a program of that name prints is no answer."""


def recognise(output: Output) -> int:
    """By paths that nothing else prints, or by the command where it is known."""
    text = output.text
    if _asked(output) or ("/sys/class/dmi/id/" in text and output.has(_DMI, "/sys/class/dmi/id/")):
        return CERTAIN
    if any(mark in text for mark in _LITERALS) and output.has(_MARKS, *_LITERALS):
        return CERTAIN
    return CERTAIN if len(output.first(4)) < 4 and output.has(_HYPERVISOR) else NO


def _asked(output: Output) -> str:
    """The option of systemd-detect-virt, where that is the command."""
    return output.command[1] if len(output.command) == 2 and output.command[0] == "systemd-detect-virt" else ""


def parse(output: Output) -> Parsed:
    """Vendor and product of the firmware, the kind of hypervisor, the kind of container."""
    system, cpu = Reading(output), Reading(output)
    looked: set[str] = set()
    if asked := _asked(output):
        word = output.lines[0].text.strip() if output.lines else ""
        if _WORD.match(word):
            looked.add("container" if asked == "-c" else "virtualization")
            system.put("container" if asked == "-c" or word in _CONTAINERS else "virtualization", word, output.lines[0])
    for path, lines in sections(output):
        field = _FIELDS.get(path.rsplit("/", 1)[-1])
        if field and lines:
            system.take(field, lines[0].text, words, lines[0])
    for line in output.lines:
        missing = "No such file" in line.text
        if _HYPERVISOR.match(line.text):
            cpu.put("hypervisor_flag", True, line)
        for mark in _MARKS.findall(line.text):
            looked.add("reboot" if mark.endswith("required") else "container")
            if not missing and mark.endswith("required"):
                system.put("reboot_required", True, line)
            elif not missing:
                system.put("container", "docker" if "docker" in mark else "podman", line)
    found = {"system": system.made(System) if system else None, "cpu": cpu.made(Cpu) if cpu else None}
    return Parsed(Evidence(**found, looked_for=frozenset(looked)))


PARSER = Parser("virt-detect", recognise, parse)

"""`nvidia-smi -q`, whole or in parts (`-d …`, an excerpt), with the labels of old and new drivers. Judges nothing."""

import re
from dataclasses import replace
from itertools import islice

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.output import Line, Output, at_line_start
from gpuplanner.probe.parsers import CERTAIN, LIKELY, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_labels import SECTIONS
from gpuplanner.probe.parsers.nvidia_tree import GpuTree
from gpuplanner.probe.parsers.nvidia_values import HEAD_FIELDS, MOST_GPUS, Head, count_or_none, each_once, plain_label

_GPU = re.compile(r"^[ \t]{0,40}GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])[ \t]{0,10}$")
_LABEL = re.compile(r"^([ \t]{0,60})(\S[^:\n]{0,80})(?::[ \t]?(.*))?$")
_WORDS = "|".join(sorted(re.sub("_", "[^a-z0-9\\n]{1,3}", name) for name in SECTIONS))
_INITIALS = "".join(sorted({name[0].upper() for name in SECTIONS} | {"v"}))
"""The tool writes all but "vGPU …" with a capital; other texts have the same words without."""
_SECTION = at_line_start(rf"[ \t]{{0,40}}(?-i:(?=[{_INITIALS}]))({_WORDS})[ \t]{{0,60}}(?:: .*)?$", re.IGNORECASE)
_MOST_EXCERPTS = 20
_EXCERPT = 3_000
"""Characters of a section without a GPU's line above that are read to see whether it is one."""
_TITLE = "NVSMI LOG"
_HEADS = frozenset(HEAD_FIELDS) | {"timestamp", "attached_gpus"}
_OF_A_HOST = "Active vGPUs"
"""`nvidia-smi vgpu -q` prints a tree of its own, in which a vGPU's memory stands where a GPU's does here."""


def recognise(output: Output) -> int:
    """Certain by the title or a GPU's line with a section below; likely by such a section alone."""
    if _OF_A_HOST in output.text:
        return NO
    if _TITLE in output.text or ("Attached GPUs" in output.text and "Driver Version" in output.text):
        return CERTAIN
    sections = list(islice(output.starting(_SECTION), _MOST_EXCERPTS))
    if not sections:
        return NO
    if output.has(_GPU, "GPU "):
        return CERTAIN
    excerpts = (match.string[match.start() + 1 : match.start() + _EXCERPT] for _, match in sections)
    return LIKELY if any(parse(replace(output, text=excerpt)).evidence.gpus for excerpt in excerpts) else NO


def parse(output: Output) -> Parsed:
    """GPUs with slices and processes, the versions, and a problem where fewer GPUs stand there than are attached."""
    log = _Log(output)
    for line in output.lines:
        log.read(line)
    return log.parsed()


class _Log:
    """Reads line after line; a label belongs to the nearest one above that is indented less."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._heads: list[Head] = [Head(output)]
        self._attached: list[tuple[int, Line] | None] = [None]
        self._gpus: list[list[GpuTree]] = [[]]
        self._above: list[tuple[int, str]] = []
        self._margin = -1
        self._open = True

    def read(self, line: Line) -> None:
        if _TITLE in line.text:
            self._new_log()
        elif gpu := _GPU.match(line.text):
            self._above = []
            self._open = True
            self._margin = len(line.text) - len(line.text.lstrip())
            if len(self._gpus[-1]) < MOST_GPUS:
                self._gpus[-1].append(GpuTree(self._output, gpu[1], line))
        elif label := _LABEL.match(line.text):
            indent, words, value = label.groups()
            if name := plain_label(words):
                self._take(len(indent.expandtabs(8)), name, (value or "").strip(), line)

    def _new_log(self) -> None:
        if self._gpus[-1]:
            self._heads.append(Head(self._output))
            self._attached.append(None)
            self._gpus.append([])
        self._above = []
        self._open = True

    def _take(self, indent: int, label: str, value: str, line: Line) -> None:
        if indent <= self._margin or (not self._gpus[-1] and label in _HEADS):
            self._at_margin(label, value, line)
            return
        while self._above and self._above[-1][0] >= indent:
            self._above.pop()
        path = (*(above for _, above in self._above[:12]), label)
        self._above.append((indent, label))
        tree = self._tree(path, line)
        if tree is None:
            return
        if label == "mig_device" and not value:
            tree.new_slice()
        if path[:-1] == ("processes",) and label in {"gpu_instance_id", "process_id"}:
            self._process(tree, label)
        if value:
            tree.take(path, value, line)

    def _at_margin(self, label: str, value: str, line: Line) -> None:
        """The head of a log; any other line there ends the GPU, since another tool's text may follow."""
        self._above = []
        if label == "timestamp" and value:
            self._new_log()
            self._heads[-1].printed(value, line)
        elif label == "attached_gpus" and self._attached[-1] is None:
            number = count_or_none(value)
            self._attached[-1] = None if number is None else (number, line)
        elif not self._heads[-1].take(label, value, line):
            self._open = False

    def _process(self, tree: GpuTree, label: str) -> None:
        """A process begins with its instance where there is one, else with its number."""
        begins = label == "gpu_instance_id" or not tree.instance_named
        tree.instance_named = label == "gpu_instance_id"
        if begins:
            tree.new_process()

    def _tree(self, path: tuple[str, ...], line: Line) -> GpuTree | None:
        """The GPU of a line; an excerpt that begins below a GPU's line is of one that is not named."""
        gpus = self._gpus[-1]
        if self._margin < 0 and len(path) == 1:
            return None
        if not gpus and path[0] in SECTIONS and len(path) > 1:
            gpus.append(GpuTree(self._output, "", line))
            self._open = True
        return gpus[-1] if gpus and self._open else None

    def parsed(self) -> Parsed:
        gpus, slices, processes, problems = [], [], [], []
        for head, attached, trees in zip(self._heads, self._attached, self._gpus, strict=True):
            whole_list = attached is not None and attached[0] == len(trees)
            if attached is not None and attached[0] > len(trees):
                at = self._output.lines[-1].number
                problems.append(Problem(at, msg("probe.nvidia.fewer_gpus", attached=attached[0], found=len(trees))))
                for tree in trees:
                    tree.reading.put("of_attached", *attached)
            for index, tree in enumerate(trees):
                gpu, parts, running = tree.made(index if whole_list else None, head)
                gpus.append(gpu)
                slices += parts
                processes += running
        kept, more = each_once(gpu for gpu in gpus if gpu.read() or gpu.absent)
        evidence = Evidence(
            gpus=kept,
            mig_devices=tuple(slices),
            processes=tuple(processes),
            software=self._heads[0].software(),
            looked_for=frozenset({"gpus"}),
        )
        return Parsed(evidence, (*problems, *more))


PARSER = Parser("nvidia-smi-q", recognise, parse)

"""`nvidia-smi -q -x`: the tree of `-q` as XML, of any version of its DTD, also cut off. Judges nothing.

Hostile XML is harmless: only what stands between the root's tags is given to the reader, so that no document type,
hence no entity and no DTD, is ever seen; depth, length of a text and number of GPUs are bounded.
"""

import re
from xml.parsers import expat

from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu, MigDevice, Process
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import CERTAIN, NO, Parsed, Parser, Problem
from gpuplanner.probe.parsers.nvidia_tree import GpuTree
from gpuplanner.probe.parsers.nvidia_values import MOST_GPUS, Head, count_or_none, each_once, plain_label

_ROOT = "<nvidia_smi_log"
_END = "</nvidia_smi_log>"
_OPENS = re.compile(r"<nvidia_smi_log[ >]")
_DEEPEST = 12
_LONGEST_TEXT = 2_000
_MOST_DOCUMENTS = 64


def recognise(output: Output) -> int:
    """Certain by the root of the document."""
    return CERTAIN if _OPENS.search(output.text) else NO


def parse(output: Output) -> Parsed:
    """All GPUs of all documents; where one is broken, what stands before the place, and the place."""
    gpus: list[Gpu] = []
    slices: list[MigDevice] = []
    processes: list[Process] = []
    problems: list[Problem] = []
    documents: list[_Document] = []
    software = None
    text = output.text
    begin = text.find(_ROOT)
    for _ in range(_MOST_DOCUMENTS):
        if begin < 0:
            break
        following = text.find(_ROOT, begin + 1)
        end = text.find(_END, begin)
        stop = end + len(_END) if end >= 0 else following if following >= 0 else len(text)
        document = _Document(output, text.count("\n", 0, begin))
        documents.append(document)
        problems += document.read(text[begin:stop])
        for record, parts, running in document.records():
            gpus.append(record)
            slices += parts
            processes += running
        software = software or document.head.software()
        begin = text.find(_ROOT, stop)
    kept, more = each_once(gpus)
    evidence = Evidence(
        gpus=kept,
        mig_devices=tuple(slices),
        processes=tuple(processes),
        software=software,
        looked_for=_looked_for(documents),
    )
    return Parsed(evidence, (*problems, *more))


def _looked_for(documents: "list[_Document]") -> frozenset[str]:
    """What may be judged by its absence: of damaged XML that no GPU was read of nothing, of a part no processes."""
    told = {"gpus"} if any(document.tells_of_gpus for document in documents) else set()
    if documents and all(document.tells_of_processes for document in documents):
        told.add("processes")
    return frozenset(told)


class _Document:
    """One document: elements below `gpu` go to its tree, the others to the head."""

    def __init__(self, output: Output, lines_before: int) -> None:
        self._output = output
        self._before = lines_before
        self._reader = expat.ParserCreate("utf-8")
        self._reader.StartElementHandler = self._start
        self._reader.EndElementHandler = self._end
        self._reader.CharacterDataHandler = self._characters
        self._path: list[str] = []
        self._too_deep = 0
        self._text = ""
        self._leaf = False
        self._line = 1
        self._trees: list[GpuTree] = []
        self._read_whole = 0
        self._with_processes = 0
        self._whole = False
        self._attached: int | None = None
        self._attached_at: Line | None = None
        self.head = Head(output)

    def read(self, text: str) -> list[Problem]:
        """Read the document; the problem where it ends too early or is no XML."""
        try:
            self._reader.Parse(text.encode("utf-8", "replace"), True)
        except expat.ExpatError as error:
            return [Problem(self._before + error.lineno, msg("probe.nvidia.broken_xml", found=self._read_whole))]
        self._whole = True
        found = len(self._trees)
        if self._attached is not None and self._attached > found:
            said = msg("probe.nvidia.fewer_gpus", attached=self._attached, found=found)
            return [Problem(self._at(self._line).number, said)]
        return []

    @property
    def tells_of_gpus(self) -> bool:
        """Whether a GPU stands here, or the whole document says that none is attached."""
        return bool(self._trees) or (self._whole and self._attached == 0)

    @property
    def tells_of_processes(self) -> bool:
        """Whether the whole document lists the processes of each GPU that is attached, be it none."""
        found = len(self._trees)
        return self._whole and 0 < found == self._with_processes and (self._attached or 0) <= found

    def records(self) -> list[tuple[Gpu, list[MigDevice], list[Process]]]:
        """The GPUs; their place tells their index where all that are attached stand there."""
        all_there = self._attached == len(self._trees)
        if self._attached_at is not None and (self._attached or 0) > len(self._trees):
            for tree in self._trees:
                tree.reading.put("of_attached", self._attached, self._attached_at)
        if self._trees and not self._whole and (self._attached is None or self._attached > self._read_whole):
            self._trees[-1].reading.put("breaks_off", True, self._at(self._line))
        return [tree.made(index if all_there else None, self.head) for index, tree in enumerate(self._trees)]

    def _at(self, line: int) -> Line:
        lines = self._output.lines
        number = min(self._before + line, len(lines))
        return lines[number - 1]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._path) == _DEEPEST:
            self._too_deep += 1
            self._leaf = False
            return
        self._line = self._reader.CurrentLineNumber
        self._text = ""
        self._leaf = True
        self._path.append(plain_label(tag[:60]))
        if self._path[1:] == ["gpu"] and len(self._trees) < MOST_GPUS:
            self._trees.append(GpuTree(self._output, attributes.get("id", "")[:40], self._at(self._line)))
        elif self._trees and self._path[1:2] == ["gpu"]:
            if tag == "mig_device":
                self._trees[-1].new_slice()
            elif tag == "process_info":
                self._trees[-1].new_process()

    def _characters(self, text: str) -> None:
        if self._leaf and len(self._text) < _LONGEST_TEXT:
            self._text += text[:_LONGEST_TEXT]

    def _end(self, _tag: str) -> None:
        if self._too_deep:
            self._too_deep -= 1
            return
        path = self._path[1:]
        text = self._text.strip() if self._leaf else ""
        if self._trees and path == ["gpu"]:
            self._read_whole += 1
        elif self._trees and path == ["gpu", "processes"] and not text:
            self._with_processes += 1
        if text:
            line = self._at(self._line)
            if path[:1] == ["gpu"] and self._trees:
                if len(path) > 1:
                    self._trees[-1].take(path[1:], text, line)
            elif path == ["attached_gpus"]:
                self._attached, self._attached_at = count_or_none(text), line
            elif path == ["timestamp"]:
                self.head.printed(text, line)
            elif len(path) == 1:
                self.head.take(path[0], text, line)
        self._leaf = False
        self._path.pop()


PARSER = Parser("nvidia-smi-xml", recognise, parse)

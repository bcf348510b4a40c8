"""What is left in the sources of jobs that they no longer declare.

A document may be commented out, indented into a text, or get another kind, and its file a name or a folder that is not
read, such as that of a submodule that is not checked out. Each is an easy slip, and its job would end without a word: the
others still compile. So before a rendered file goes, its job is looked for: as text in what is read, and as a document
in what git calls new. To end a job, remove that text, or the rendered file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from trainc.emit.name_hash import job_in
from trainc.findings import CompileError
from trainc.kube.documents import Json, identity_of
from trainc.kube.names import JOB_KINDS
from trainc.options import Limits
from trainc.output.ownership import is_marked
from trainc.project.dialects import LEGACY_KINDS, is_sweep, is_trainer_document
from trainc.reading.document import Document
from trainc.reading.files import NEAR_NAME, READ_SUFFIXES, TEMPLATE_SUFFIXES, Exclude, is_overlay_folder
from trainc.reading.opening import is_below, read_file, repository_above
from trainc.reading.yaml_reader import read_documents
from trainc.startup.patterns import pattern

_NAME = pattern(r"""(?:^|[\s{,#"'])name["']?[ \t]*:[ \t]*(?:[&!]\S+[ \t]+)*["']?([A-Za-z0-9][-A-Za-z0-9.]*)""")
_METADATA = pattern(r"""["']?metadata["']?[ \t]*:""")
_KIND = pattern(r"""(?:^|[{,][ \t]*)["']?kind["']?[ \t]*:[ \t]*["']?(\w+)""")
_OURS = pattern(r"""(?:^|[{,][ \t]*)["']?apiVersion["']?[ \t]*:[ \t]*["']?[\w.]*(?:kubeflow\.org|jobset\.x-k8s\.io)/""")
_BEFORE_TEXT = pattern(r"[ \t]*(#[# \t]*)?(?:- )*")
_WHOLE_FILE = pattern(r"""(?m)^[ \t]*["']?kind["']?[ \t]*:[ \t]*["']?(?:TrainJob|TrainingJob|Sweep)\b""")
# Files that show a job to readers or make one, and copies that editors and git leave.
_OTHER_TEXTS = (
    *(".md", ".rst", ".adoc", ".html", ".py", ".ipynb", ".sh", ".go", ".js", ".ts", ".log"),
    *("~", ".swp", ".orig", ".rej"),
)
_MOST_BYTES = 1_000_000  # Of a file that is not the source of the job.
# Of all lines that are looked at for the names in a file. What is not looked at counts as a job: it is not removed.
_MOST_STEPS = 500_000


Elsewhere: TypeAlias = Callable[[Json, str], bool]


class Remains(NamedTuple):
    """Where the text of a job is, from line 1, and what it has become: a sentence's end, and what brings it back."""

    file: str
    line: int
    why: str
    remedy: str


_COMMENT = "where it is a comment", "remove the comment signs"
_PART = "where it is part of another document", "indent it as a document of its own"
_OTHER_KIND = "where it is not a TrainJob", "restore its apiVersion and kind"
_MISNAMED = (
    "in a file that is not read",
    "give the file a name that ends in .yaml, .yml or .json and does not start with a dot",
)


def find_remains(
    outputs: Mapping[str, str], paths: Sequence[str], exclude: Exclude, limits: Limits, is_elsewhere: Elsewhere
) -> dict[str, Remains]:
    """Return what is left of jobs, by the paths of their outputs.

    `outputs` has for each the path of its source, which need not exist. `paths` and `exclude` are those of the build.
    `is_elsewhere` says of a TrainJob in a file that another build reads it.
    """
    by_source: dict[str, list[str]] = {}
    for output, source in outputs.items():
        by_source.setdefault(os.path.realpath(source), []).append(output)
    absent = {source: submodule for source in by_source if (submodule := _submodule(source)) is not None}
    found = {output: remains for source, remains in absent.items() for output in by_source[source]}
    looked = _add_texts(
        found, outputs, by_source, _files(paths, {*map(os.path.dirname, outputs.values())}, exclude), limits
    )
    new = _new_files([*by_source]) if len(found) < len(outputs) else ()
    for file in new:
        if os.path.realpath(file) not in looked and not exclude(file) and file.endswith(READ_SUFFIXES):
            for document in read_documents(_text_at(file, _MOST_BYTES).encode(), file, limits)[0]:
                place = document.locate(("metadata", "name"))
                if place is not None and not is_elsewhere(document.data, file):
                    remains = Remains(file, place.line, *_aside(file))
                    found = dict.fromkeys(_moved(document, outputs), remains) | found
    return found


def _add_texts(
    found: dict[str, Remains],
    outputs: Mapping[str, str],
    by_source: Mapping[str, Sequence[str]],
    files: Iterable[str],
    limits: Limits,
) -> set[str]:
    """Add what has the text of jobs in files that are read, or look like it, and return these files."""
    by_name: dict[str, list[str]] = {}
    for output in outputs:
        by_name.setdefault(job_in(output), []).append(output)
    looked: set[str] = set()
    for file in files:
        looked.add(os.path.realpath(file))
        text = _text_at(file, limits.file_bytes if os.path.realpath(file) in by_source else _MOST_BYTES)
        of_file = by_source.get(os.path.realpath(file), [])

        def named(name: str, of_file: Sequence[str] = of_file) -> list[str]:
            # An overlay may have added to the name.
            return [*by_name.get(name, ()), *(one for one in of_file if name in job_in(one))]

        for line, name, why in _hits(file, text, lambda name: bool(named(name)), limits):
            for output in named(name):
                found.setdefault(output, Remains(file, line, *why))
        if not _is_read(file) and (match := _WHOLE_FILE.search(text)):
            line = text.count("\n", 0, match.start()) + 1
            renamed = [one for source, of_it in by_source.items() if _is_renamed(source, file) for one in of_it]
            for one in renamed:
                found.setdefault(one, Remains(file, line, *_MISNAMED))
    return looked


def _moved(document: Document, outputs: Mapping[str, str]) -> Iterator[str]:
    """Yield the outputs whose jobs a document declares, if it was moved here."""
    space, name = identity_of(document.data)
    sweeps, is_job = is_sweep(document.data), document.data.get("kind") in {*JOB_KINDS, "JobSet"}
    for output, source in outputs.items() if sweeps or is_job else ():
        job, folder = job_in(output), os.path.dirname(output)
        if os.path.basename(source) == os.path.basename(document.file):
            # An overlay may have added to the name, and trials have numbers.
            same = sweeps or job.startswith(f"{name}-") or job.endswith(f"-{name}") or job == name
        else:
            same = job == name and (space == folder or "" in {space, folder})
        if same:
            yield output


def _aside(file: str) -> tuple[str, str]:
    folders = os.path.relpath(os.path.dirname(os.path.abspath(file))).split(os.sep)
    if any(part.startswith(".") and part.strip(".") for part in folders):
        return "in a hidden folder, which is not read", "move it to a folder without a dot at its start"
    if is_overlay_folder(os.path.dirname(file)):
        return "in the folder of an overlay", "move it out of that folder, or name it under `resources` there"
    return "in a file that is not among the sources", "move it back, or add its folder to `sources` in trainc.yaml"


def _new_files(sources: Sequence[str]) -> Iterator[str]:
    """Yield the files that have come since the sources were as they were."""
    from trainc.reading.git import new_files

    by_top: dict[str, list[str]] = {}
    for source in sources:
        by_top.setdefault(repository_above(source) or "", []).append(source)
    for top, of_one in by_top.items():
        with suppress(CompileError):
            yield from map(os.path.relpath, new_files(top, of_one) if top else ())


def _submodule(source: str) -> Remains | None:
    """Return where git names the submodule that has a source and is not checked out; None if there is none."""
    top = repository_above(source) or ""
    file = os.path.join(top, ".gitmodules")
    for number, line in enumerate(_text_at(file, _MOST_BYTES, "path").split("\n"), start=1) if top else ():
        key, _, path = (part.strip() for part in line.partition("="))
        folder = os.path.join(top, path)
        if key == "path" and is_below(source, folder) and not os.path.lexists(os.path.join(folder, ".git")):
            why = f"in the submodule {path}, which is not checked out"
            return Remains(os.path.relpath(file), number, why, f"run `git submodule update --init {path}`")
    return None


def _text_at(file: str, most: int, word: str = "name") -> str:
    """Return the text of a file in which there may be jobs of people; empty for any other."""
    try:
        data = read_file(file, most)
    except (OSError, ValueError):
        return ""
    text = data.decode(errors="replace") if b"\0" not in data and word.encode() in data else ""
    return "" if is_marked(text) else text


def _is_read(file: str) -> bool:
    return file.endswith(READ_SUFFIXES) and not os.path.basename(file).startswith(".")


def _is_renamed(source: str, file: str) -> bool:
    """Return whether a file may be a source that has got another ending, or a dot at its start."""
    folder, name = os.path.split(os.path.realpath(file))
    stem = os.path.basename(source).partition(".")[0]
    return folder == os.path.dirname(source) and not os.path.exists(source) and name.lstrip("._").startswith(f"{stem}.")


def _files(paths: Iterable[str], folders: Collection[str], exclude: Exclude) -> Iterator[str]:
    """Yield the files at or below `paths` and in `folders`; of those that are not read, others than in these by name only."""
    seen: set[str] = set()
    real_folders = {*map(os.path.realpath, folders)}
    for path in [*paths, *sorted(folders)]:
        if os.path.isfile(path) and path not in seen:
            seen.add(path)
            yield path
        for folder, below, files in os.walk(path):
            is_of_source = os.path.realpath(folder) in real_folders
            below[:] = sorted(
                name
                for name in below
                if not (
                    name.startswith(".") or exclude(inside := os.path.join(folder, name)) or is_overlay_folder(inside)
                )
            )
            if path in folders and path not in paths:
                below.clear()
            for name in sorted(files):
                file = os.path.join(folder, name)
                if file in seen or exclude(file) or name.endswith(_OTHER_TEXTS) or name.startswith("#"):
                    continue
                if name.endswith(READ_SUFFIXES) or is_of_source or NEAR_NAME.search(name):
                    seen.add(file)
                    yield file


def _hits(
    file: str, text: str, is_wanted: Callable[[str], bool], limits: Limits
) -> Iterator[tuple[int, str, tuple[str, str]]]:
    """Yield the places where a file has a job that it does not declare: line, name, and what it has become."""
    lines, is_read = _Lines(text.split("\n")), _is_read(file)
    names: dict[int, bool] | None = None
    for index, line in enumerate(lines.texts):
        match = _NAME.search(line) if "name" in line else None
        if match is None or not is_wanted(match[1]):
            continue
        is_comment = lines.place(index)[0]
        if is_read and not is_comment and file.endswith(TEMPLATE_SUFFIXES):  # What its conditions leave out.
            continue
        if not lines.has_job(index, match.start(1)):
            continue
        if not is_read:
            yield index + 1, match[1], _MISNAMED
        elif is_comment:
            yield index + 1, match[1], _COMMENT
        else:
            names = _names(text, file, limits) if names is None else names
            if not names.get(index + 1):
                yield index + 1, match[1], _OTHER_KIND if index + 1 in names else _PART


def _names(text: str, file: str, limits: Limits) -> dict[int, bool]:
    """Return the lines with the names of documents, and whether these are ours."""
    names: dict[int, bool] = {}
    for document in read_documents(text.encode(), file, limits)[0]:
        if (place := document.locate(("metadata", "name"))) is not None:
            data = document.data
            names[place.line] = is_trainer_document(data) or is_sweep(data) or data.get("kind") == "JobSet"
    return names


class _Lines:
    """The lines of a file, each with its place: whether it is a comment, and where its text begins."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._places: dict[int, tuple[bool, int]] = {}
        # Whether the mapping that a line begins at a column says that it is a job.
        self._is_job: dict[tuple[int, int], bool] = {}
        self._steps = 0

    def place(self, number: int) -> tuple[bool, int]:
        self._steps += 1
        if number not in self._places:
            self._places[number] = _place(self.texts[number])
        return self._places[number]

    def has_job(self, index: int, at: int) -> bool:
        """Return whether the name in a line, at a column, is that of a job, also if that would take too long to see."""
        if self._steps > _MOST_STEPS:
            return True
        (is_comment, indent), line, top = self.place(index), self.texts[index], index
        if (match := _METADATA.search(line[:at])) is not None:
            if match.start() != indent and line[indent] != "{":
                return False
        else:
            parent = next(self._above(index, indent), None)
            if parent is None or self.place(parent)[0] is not is_comment:
                return False
            top, indent = parent, self.place(parent)[1]
            if not _METADATA.match(self.texts[top], indent):
                return False
        if (top, indent) not in self._is_job:
            around = (top, *self._siblings(top, -1, indent), *self._siblings(top, 1, indent))
            self._is_job[top, indent] = any(_is_mark(self.texts[number][indent:]) for number in around)
        return self._is_job[top, indent]

    def _above(self, index: int, indent: int) -> Iterator[int]:
        """Yield the lines above one that are less indented than it, or of the other sort."""
        is_comment = self.place(index)[0]
        for number in range(index - 1, -1, -1):
            is_other, place = self.place(number)
            if self.texts[number].strip() and (is_other is not is_comment or place < indent):
                yield number

    def _siblings(self, top: int, step: int, indent: int) -> Iterator[int]:
        """Yield the lines of the mapping that a line belongs to, upward or downward from it."""
        is_comment, number = self.place(top)[0], top
        is_first = _is_item(self.texts[top], indent)
        while 0 <= (number := number + step) < len(self.texts) and not (step < 0 and is_first):
            line = self.texts[number]
            is_other, place = self.place(number)
            if not line.strip() or (is_other and not is_comment):
                continue
            if is_other is not is_comment or place < indent or line.startswith("---", place):
                return
            is_first = place == indent and _is_item(line, indent)
            if is_first and step > 0:
                return
            yield number


def _is_item(line: str, indent: int) -> bool:
    """Return whether a list's item begins in a line right before its text."""
    return line[:indent].endswith("- ")


def _is_mark(line: str) -> bool:
    """Return whether a line, from the indentation of a document on, says that the document is a job."""
    if "runtimeRef" in line:
        return True
    if line[:1].isspace():
        return False
    kind = _KIND.search(line)
    named = "" if kind is None else kind[1]
    is_job = "train" in named.lower() and not named.lower().endswith("runtime")
    return is_job or named in LEGACY_KINDS or named == "Sweep" or _OURS.search(line) is not None


def _place(line: str) -> tuple[bool, int]:
    """Return whether a line is a comment, and where its text begins."""
    match = _BEFORE_TEXT.match(line)
    assert match is not None
    return match[1] is not None, match.end()

"""From paths to documents: the thin layer that reads files for the pure pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from trainc.features import added
from trainc.findings import Diagnostic, Finding, Source, has_errors
from trainc.kube.documents import Json, identity_of, items, mapping, value_at
from trainc.kube.names import JOB_KINDS
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Limits, Options
from trainc.project.dialects import is_sweep, is_trainer_document
from trainc.reading.catalog import Catalog, find
from trainc.reading.document import TEXT_FILE, Document
from trainc.reading.files import Exclude, read_paths, shown_path
from trainc.reading.opening import is_inside, read_file, root_around
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias

if TYPE_CHECKING:
    from trainc.compilation import CompiledJob
    from trainc.pipeline.session import Outcome, Session
    from trainc.project.configuration import Selection
    from trainc.project.overlays.stack import Loaded

AnyPath: TypeAlias = "str | os.PathLike[str]"
# Called with what is being done, how much of it is done, and the total if it is known.
Step: TypeAlias = Callable[[str, int, "int | None"], None]


# Whether a TrainJob, as it is written in a file, is meant.
Choice: TypeAlias = Callable[[Json, str], bool]
# Reads the documents of a file, and its problems.
Read: TypeAlias = Callable[[str], "tuple[list[Document], list[Diagnostic]]"]


class Tally(Protocol):
    """What is counted over the trials of sweeps while they are compiled."""

    @property
    def bases(self) -> Sequence[tuple[tuple[str, str], Document]]:
        """Return the namespace and name of each base that must not have been a job, with the sweep."""

    def add(self, job: CompiledJob) -> None:
        """Count a job."""

    def without_repetitions(self, diagnostics: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        """Skip what was said of an earlier trial."""

    def diagnostics(self) -> list[Diagnostic]:
        """Return what there is to say of all trials."""


class Expansion(Protocol):
    """The sweeps of an input. `documents` are what they need beside the input.

    `failed` are the files of those of which trials are missing because of errors.
    """

    failed: set[str]

    @property
    def documents(self) -> list[Document]:
        """The documents."""

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with the sweeps."""

    @property
    def bases(self) -> Container[int]:
        """The ids of the documents from which trials are made."""

    def select(self, select: Selection, elsewhere: Choice) -> tuple[list[Document], list[Document]]:
        """Leave out the sweeps with bases that are not selected; return those selected nowhere, and elsewhere."""

    def expand(self, documents: Sequence[Document]) -> tuple[list[Document], list[Diagnostic], Tally]:
        """Return the input, after overlays, with trials instead of their bases."""


# What an overlay finds in no document.
_MISSING_IN_OVERLAYS = ("ImageNotUsed", "PatchTargetMissing")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read: the documents to compile, the runtimes of each additional source, and diagnostics.

    `catalog` is trainc's catalog with the overlays applied. `files` are those in which there is a TrainJob, a runtime or a
    sweep, also if an overlay deletes it, `unselected` the jobs and sweeps that no environment selects, `elsewhere`
    those that only others do, `sweeps` the files of sweeps, `failed_sweeps` those of which trials are missing because of errors, `jobsets` the JobSets that are sources themselves, and `unread` those with errors because of which documents may be missing. Sweeps are expanded: `documents`
    has their trials, and `tally` counts them. `step` is told how much has been read, and then how much is compiled.
    """

    documents: list[Document]
    runtime_sources: list[list[Document]]
    diagnostics: list[Diagnostic]
    catalog: Catalog = find
    files: frozenset[str] = frozenset()
    tally: Tally | None = None
    step: Step | None = None
    unselected: tuple[Document, ...] = ()
    elsewhere: tuple[Document, ...] = ()
    sweeps: frozenset[str] = frozenset()
    failed_sweeps: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    jobsets: tuple[Document, ...] = ()

    @property
    def all_documents(self) -> list[Document]:
        """All documents, including those of the runtime sources."""
        return [document for source in (self.documents, *self.runtime_sources) for document in source]

    def outcomes(self, session: Session) -> Iterator[Outcome]:
        """Yield what a session makes of the documents: one outcome for the whole, one per TrainJob, and one per JobSet."""
        yield from session.compile_each()
        if self.jobsets:
            from trainc.pipeline.raw_jobsets import outcomes_of

            yield from (outcome for _, outcome in outcomes_of(session))


def read_inputs(  # noqa: PLR0913 - the last ones go by their names
    paths: Sequence[AnyPath],
    runtimes: Sequence[AnyPath] = (),
    options: Options = Options(),
    *,
    overlays: Sequence[Loaded] = (),
    extra_documents: Sequence[Document] = (),
    stdin: BinaryIO | None = None,
    skip: AnyPath | None = None,
    step: Step | None = None,
    exclude: Exclude = Exclude(),
    everything: bool = False,
    select: Selection | None = None,
    elsewhere: Choice = lambda _job, _file: False,
    used: Sequence[str] = (),
    is_part: bool = False,
) -> Inputs:
    """Read all inputs and apply the overlays.

    `paths` are read first, then each folder of `runtimes` as a separate source, then the folders of `overlays`.

    - `extra_documents` are added to the documents of `paths`.
    - `stdin` is read for the path `-`.
    - `skip` is a folder that is not entered.
    - `step` is called for each file of `paths`, and then for each job that is compiled.
    - `select` chooses among the TrainJobs as they are written, and among sweeps by their bases; `elsewhere` tells which
      of the others belong to another environment.
    - `is_part` is true of a part of the jobs for which the overlays are: the others may be what their patches are about.
    - `used` are folders that are read for something else, too.
    - `exclude` and `everything` decide which files are read: with `everything`, also foreign ones.
    """
    values: dict[str, Any] = {}
    if overlays:
        from trainc.project.overlays.stack import values_of

        values = values_of(overlays)
    documents, diagnostics = read_paths(
        paths,
        options.limits,
        stdin=stdin,
        skip=skip,
        values=values,
        step=step,
        exclude=exclude,
        everything=everything,
        used=used,
    )
    unread = frozenset(d.source.file for d in diagnostics if d.source is not None and d.severity == "error")
    sources: list[list[Document]] = []
    for folder in (*runtimes, *(folder for overlay in overlays for folder in overlay.all_runtimes)):
        source, problems = read_paths([folder], options.limits, values=values, exclude=exclude)
        sources.append(source)
        diagnostics += problems
        unread |= {d.source.file for d in problems if d.source is not None and d.severity == "error"}
    is_part = is_part or has_errors(diagnostics)
    files = files_of_ours(documents, *sources)
    documents = [*extra_documents, *_without_overlay_resources(documents, overlays)]
    resources = [document for overlay in overlays for loaded in overlay.in_order for document in loaded.resources]
    sweeps = [document for document in (*documents, *resources) if is_sweep(document.data)]
    files_of_sweeps = frozenset(sweep.file for sweep in sweeps)
    expansion, catalog, tally = None, find, None
    if sweeps:
        files |= files_of_sweeps
        documents = [document for document in documents if not is_sweep(document.data)]

        def read_path(path: str) -> tuple[list[Document], list[Diagnostic]]:
            return read_paths([path], options.limits, values=values)

        expansion, problems = expansion_of(sweeps, [*documents, *resources], read_path, options)
        # A file with errors may have been read before.
        diagnostics += [problem for problem in problems if problem not in diagnostics]
        unread |= {d.source.file for d in problems if d.source is not None and d.severity == "error"} - files_of_sweeps
        documents += [] if expansion is None else expansion.documents
    unselected, selected_elsewhere = list[Document](), list[Document]()
    if select:
        unselected, selected_elsewhere = ([], []) if expansion is None else expansion.select(select, elsewhere)
        bases = () if expansion is None else expansion.bases
        rejected = [d for d in documents if _is_job(d) and id(d) not in bases and not select(d.data, d.file)]
        others = [d for d in documents if d.data.get("kind") == "JobSet" and not select(d.data, d.file)]
        left_out = {id(document) for document in (*rejected, *others)}
        if others:
            from trainc.pipeline.raw_jobsets import raw_jobsets

            rejected += [d for d in raw_jobsets(documents, options.namespace) if id(d) in left_out]
        selected_elsewhere += [d for d in rejected if elsewhere(d.data, d.file)]
        unselected += [d for d in rejected if not elsewhere(d.data, d.file)]
        documents = [document for document in documents if id(document) not in left_out]
    if overlays:
        from trainc.project.overlays.stack import Stack

        stack = Stack(overlays, documents, sources, find, options.release or NEWEST_RELEASE)
        documents, sources, catalog = stack.documents, stack.sources, stack.catalog
        # What a document has that cannot be read, or that no environment selects, is no mistake of a patch.
        names = {identity_of(document.data)[1] for document in selected_elsewhere}
        diagnostics += [
            d
            for d in stack.diagnostics(elsewhere=names)
            if not (is_part or unselected) or d.code not in _MISSING_IN_OVERLAYS
        ]
        files |= files_of_ours(documents)
    if expansion is not None:
        documents, problems, tally = expansion.expand([d for d in documents if not is_sweep(d.data)])
        diagnostics += problems
    return Inputs(
        with_files(documents, options.limits),
        sources,
        diagnostics,
        catalog,
        files,
        tally,
        step,
        unselected=tuple(unselected),
        elsewhere=tuple(selected_elsewhere),
        sweeps=files_of_sweeps,
        failed_sweeps=files_of_sweeps if expansion is None else frozenset(expansion.failed),
        unread=unread,
    )


def expansion_of(
    sweeps: Sequence[Document], documents: Sequence[Document], read_path: Read, options: Options
) -> tuple[Expansion | None, list[Diagnostic]]:
    """Return the sweeps of an input, and what is wrong with them; None if this installation has no sweeps."""
    for read_sweeps in added("expand"):
        expansion: Expansion = read_sweeps(sweeps, documents, read_path, options.limits)
        return expansion, expansion.diagnostics
    message = "this installation of trainc cannot expand sweeps"
    hint = "install trainc with its feature `sweeps`, or exclude this file in trainc.yaml"
    finding = Finding("InvalidSweep", "error", message, hint, ("kind",))
    return None, [sweep.diagnose(finding) for sweep in sweeps]


def _is_job(document: Document) -> bool:
    return document.data.get("kind") in JOB_KINDS and is_trainer_document(document.data)


def files_of_ours(*sources: Sequence[Document]) -> frozenset[str]:
    """Return the files in which there is a TrainJob or runtime, whether valid or not."""
    return frozenset(d.file for documents in sources for d in documents if is_trainer_document(d.data))


def _without_overlay_resources(documents: Sequence[Document], overlays: Sequence[Loaded]) -> list[Document]:
    """Return the documents without those of files that an overlay reads too, so that no file is read twice."""
    overlay_files = {os.path.realpath(file) for overlay in overlays for file in overlay.resource_files}
    if not overlay_files:
        return list(documents)
    return [document for document in documents if os.path.realpath(document.file) not in overlay_files]


# The configuration files that the command of a TrainJob names and that the repository holds beside it.
#
# A relative path is looked up in the folder of the job's file, and in each folder above it up to the root of the
# repository; the nearest one counts. What the command itself makes, changes or fetches is not looked up: see `_MADE`.

_SUFFIXES = (".yaml", ".yml", ".json", ".toml")
_PATH = pattern(r"(?<![\w./${}~-])(?:\./)?(?:[\w-][\w.-]*/){0,9}[\w-][\w.-]*\.(?:ya?ml|json|toml)(?![\w./${}-])")
# With one of these, a file of the repository may not be the one in the pod.
_MAKERS = "git wget curl cp mv sed tee rsync aws gsutil gcloud huggingface-cli hf envsubst s5cmd azcopy".split()
_MADE = pattern(rf"<<|[^|]>|\b(?:{'|'.join(_MAKERS)})\b")
_MOST_FILES, _MOST_PARTS = 8, 10
_IN_NAMES = dict.fromkeys(map(ord, "._-"))


def with_files(documents: Iterable[Document], limits: Limits) -> list[Document]:
    """Return documents of which the TrainJobs have the files that their commands name, as documents with a text."""
    upward: dict[str, list[str]] = {}
    roots: dict[str, str] = {}

    def read(path: str, folder: str) -> Document | None:
        file = next(filter(os.path.isfile, (os.path.join(parent, path) for parent in upward[folder])), None)
        return _document(file, path) if file and (limits.allow_outside or is_inside(file, roots[folder])) else None

    result = []
    for document in documents:
        if paths := _paths_named(document):
            folder = os.path.dirname(document.file) or os.curdir
            if folder not in upward:
                roots[folder] = root_around(folder)
                upward[folder] = [*_up_to(folder, roots[folder])]
            found = (read(path, folder) for path in paths)
            document = replace(document, siblings=tuple(file for file in found if file is not None))  # noqa: PLW2901
        result.append(document)
    return result


def _paths_named(document: Document) -> list[str]:
    if document.data.get("kind") not in JOB_KINDS or not document.file:
        return []
    trainer = mapping(value_at(document.data, ("spec", "trainer")))
    words = [str(word) for key in ("command", "args") for word in items(trainer.get(key))]
    if not any(suffix in word for word in words for suffix in _SUFFIXES):
        return []
    text = " ".join(words)
    if any(maker in text for maker in ("<<", ">", *_MAKERS)) and _MADE.search(text):
        return []
    named = [path for word in text.split() if any(suffix in word for suffix in _SUFFIXES) for path in _paths_in(word)]
    return [*dict.fromkeys(map(os.path.normpath, named))][:_MOST_FILES]


def _paths_in(word: str) -> list[str]:
    before, _, path = word.rpartition("=")
    parts = path.removeprefix("./").split("/")
    plain = path.endswith(_SUFFIXES) and all(part[:1] not in ("", ".") for part in parts) and len(parts) <= _MOST_PARTS
    if plain and "." not in before and "".join(parts).translate(_IN_NAMES).isalnum():
        return [path]
    return [match[0] for match in _PATH.finditer(word)]


def _up_to(folder: str, root: str) -> Iterator[str]:
    while is_inside(folder, root):
        yield folder
        folder = os.path.join(folder, os.pardir)


def _document(file: str, path: str) -> Document | None:
    from trainc.reading.settings import LIMITS  # It is large, and few jobs have such a file.

    shown = shown_path(os.path.normpath(file))
    try:
        text = read_file(file, LIMITS.document_bytes).decode()
    except (OSError, ValueError):
        return None
    return Document({"kind": TEXT_FILE, "metadata": {"name": path}, "text": text}, shown, lambda _: Source(shown, 1, 1))

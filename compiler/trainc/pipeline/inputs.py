"""From paths to documents: the thin layer that reads files for the pure pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from trainc.findings import Diagnostic
from trainc.kube.releases import NEWEST_RELEASE
from trainc.options import Options
from trainc.project.dialects import is_trainer_document
from trainc.reading.catalog import Catalog, find
from trainc.reading.document import Document
from trainc.reading.files import Exclude, read_paths
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from trainc.project.overlays.load import Loaded

AnyPath: TypeAlias = "str | os.PathLike[str]"
# Called with what is being done, how much of it is done, and the total if it is known.
Step: TypeAlias = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read: the documents to compile, the runtimes of each additional source, and diagnostics.

    `catalog` is trainc's catalog with the overlays applied. `files` are those in which there is a TrainJob or runtime,
    also if an overlay deletes it.
    """

    documents: list[Document]
    runtime_sources: list[list[Document]]
    diagnostics: list[Diagnostic]
    catalog: Catalog = find
    files: frozenset[str] = frozenset()

    @property
    def read(self) -> list[Document]:
        """All documents, including those of the runtime sources."""
        return [document for source in (self.documents, *self.runtime_sources) for document in source]


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
) -> Inputs:
    """Read all inputs and apply the overlays.

    `paths` are read first, then each folder of `runtimes` as a separate source, then the folders of `overlays`.

    - `extra_documents` are added to the documents of `paths`.
    - `stdin` is read for the path `-`.
    - `skip` is a folder that is not entered.
    - `step` is called for each file of `paths`.
    - `exclude` and `everything` decide which files are read: with `everything`, also foreign ones.
    """
    values: dict[str, Any] = {}
    if overlays:
        from trainc.project.overlays.load import values_of

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
    )
    sources: list[list[Document]] = []
    for folder in (*runtimes, *(folder for overlay in overlays for folder in overlay.all_runtimes)):
        found, problems = read_paths([folder], options.limits, values=values, exclude=exclude)
        sources.append(found)
        diagnostics += problems
    files = files_of_ours(documents, *sources)
    if not overlays:
        return Inputs([*extra_documents, *documents], sources, diagnostics, files=files)
    from trainc.project.overlays.load import apply_overlays

    documents = [*extra_documents, *_without_overlay_resources(documents, overlays)]
    overlaid = apply_overlays(overlays, documents, sources, find, options.release or NEWEST_RELEASE)
    diagnostics += overlaid.diagnostics
    files |= files_of_ours(overlaid.documents)
    return Inputs(overlaid.documents, overlaid.sources, diagnostics, overlaid.catalog, files)


def files_of_ours(*sources: Sequence[Document]) -> frozenset[str]:
    """Return the files in which there is a TrainJob or runtime, whether valid or not."""
    return frozenset(d.file for documents in sources for d in documents if is_trainer_document(d.data))


def _without_overlay_resources(documents: Sequence[Document], overlays: Sequence[Loaded]) -> list[Document]:
    """Return the documents without those of files that an overlay reads too, so that no file is read twice."""
    overlay_files = {os.path.realpath(file) for overlay in overlays for file in overlay.resource_files}
    return [document for document in documents if os.path.realpath(document.file) not in overlay_files]

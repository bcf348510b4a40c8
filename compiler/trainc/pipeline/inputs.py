"""From paths to inputs: the thin shell that reads files for the pure pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from trainc.api.releases import NEWEST_RELEASE
from trainc.diagnostics import Diagnostic
from trainc.options import Options
from trainc.reading.catalog import Catalog, find
from trainc.reading.document import Document
from trainc.reading.file_filter import Exclude
from trainc.reading.files import read_paths
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from trainc.overlays.loaded import Loaded

AnyPath: TypeAlias = "str | os.PathLike[str]"
# Told what is being done, how much of it is done, and of how much, where that is known.
Step: TypeAlias = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read: the documents to compile, the runtimes of each further source, and what is wrong with them.

    `catalog` is trainc's own, as the overlays leave it.
    """

    documents: list[Document]
    runtime_sources: list[list[Document]]
    diagnostics: list[Diagnostic]
    catalog: Catalog = find

    @property
    def read(self) -> list[Document]:
        """Every document, whatever it is for."""
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
    """Read `paths`, then each folder of `runtimes` as a source of its own, then what `overlays` add, and apply them.

    `extra_documents` is input that stands in no file; `-` is `stdin`; `skip` is not entered, and what `exclude`
    says is left out, as are foreign files unless `everything` is wanted; `step` is told of each file of `paths`.
    """
    values: dict[str, Any] = {}
    if overlays:
        from trainc.overlays.loaded import values_of

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
    if not overlays:
        return Inputs([*extra_documents, *documents], sources, diagnostics)
    from trainc.overlays.stack import apply_overlays

    documents = [*extra_documents, *_without_overlay_resources(documents, overlays)]
    overlaid = apply_overlays(overlays, documents, sources, find, options.release or NEWEST_RELEASE)
    diagnostics += overlaid.diagnostics
    return Inputs(overlaid.documents, overlaid.sources, diagnostics, overlaid.catalog)


def _without_overlay_resources(documents: Sequence[Document], overlays: Sequence[Loaded]) -> list[Document]:
    """The documents less those of files that an overlay brings as well: a file is read once."""
    overlay_files = {os.path.realpath(file) for overlay in overlays for file in overlay.resource_files}
    return [document for document in documents if os.path.realpath(document.file) not in overlay_files]

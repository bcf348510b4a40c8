"""Overlays one upon the other: each works on what the ones before it have left, and the last one wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from trainc.diagnostics import Diagnostic
from trainc.frontend.document import Document
from trainc.frontend.intake import Catalog
from trainc.frontend.overlays.apply import Layer
from trainc.frontend.overlays.edited import Edited, identity
from trainc.frontend.overlays.loaded import Loaded

_DELETED = "an overlay deletes it"


@dataclass(frozen=True, slots=True)
class Overlaid:
    """What goes on to the schema stage. `catalog` gives runtimes that the overlays have passed over, too."""

    documents: list[Document]
    sources: list[list[Document]]
    catalog: Catalog
    diagnostics: list[Diagnostic]


def apply_overlays(
    overlays: Sequence[Loaded],
    documents: Sequence[Document],
    sources: Sequence[Sequence[Document]],
    catalog: Catalog,
    release: str,
) -> Overlaid:
    """Documents and runtimes after all overlays, in order. A base changes its own resources and no others.

    The catalog's runtimes pass through every overlay when a TrainJob asks for them, so that an overlay can patch them
    and change their images.
    """
    stack = _Stack()
    current = [Edited.of(document) for document in documents]
    further = [[Edited.of(document) for document in source] for source in sources]
    for overlay in overlays:
        current, layer = stack.build(overlay, current)
        further = [layer.apply(source) for source in further]
    overlaid_catalog = stack.catalog(catalog)
    everything = [*current, *(document for source in further for document in source)]
    shipped = [overlaid_catalog(name, release) for name in _cluster_runtimes(current, everything)]
    everything += [Edited.of(document) for document in shipped if isinstance(document, Document)]
    return Overlaid(
        [document.finished() for document in current],
        [[document.finished() for document in source] for source in further],
        overlaid_catalog,
        stack.diagnostics(everything),
    )


class _Stack:
    """Layers in the order in which they apply."""

    def __init__(self) -> None:
        self._layers: list[Layer] = []

    def build(self, overlay: Loaded, documents: Sequence[Edited]) -> tuple[list[Edited], Layer]:
        """`documents` and the overlay's resources after it, and its layer."""
        gathered = list(documents)
        for base in overlay.bases:
            gathered += self.build(base, ())[0]
        gathered += [Edited.of(document) for document in overlay.resources]
        layer = Layer(overlay.overlay, overlay.patches)
        self._layers.append(layer)
        return layer.apply(gathered), layer

    def catalog(self, catalog: Catalog) -> Catalog:
        """The catalog as seen through all layers; each runtime passes through them once."""
        known: dict[tuple[str, str], Document | Callable[[], str]] = {}

        def find(name: str, release: str) -> Document | Callable[[], str]:
            if (name, release) not in known:
                answer = catalog(name, release)
                known[name, release] = self._through(answer) if isinstance(answer, Document) else answer
            return known[name, release]

        return find

    def diagnostics(self, documents: Sequence[Edited]) -> list[Diagnostic]:
        """What was wrong on the way, and what met nothing."""
        return [d for layer in self._layers for d in (*layer.diagnostics, *layer.unused(documents))]

    def _through(self, runtime: Document) -> Document | Callable[[], str]:
        documents = [Edited.of(runtime)]
        for layer in self._layers:
            documents = layer.apply(documents)
        return documents[0].finished() if documents else lambda: _DELETED


def _cluster_runtimes(jobs: Sequence[Edited], known: Sequence[Edited]) -> Iterator[str]:
    """Names of cluster runtimes that jobs refer to and no document is."""
    here = {identity(d.data)[1] for d in known if d.data.get("kind") == "ClusterTrainingRuntime"}
    names = (_runtime_name(job.data) for job in jobs)
    yield from dict.fromkeys(name for name in names if name and name not in here)


def _runtime_name(data: dict[str, object]) -> str | None:
    """The cluster runtime that a document as written refers to."""
    spec = data.get("spec")
    reference = spec.get("runtimeRef") if isinstance(spec, dict) else None
    if not isinstance(reference, dict) or reference.get("kind", "ClusterTrainingRuntime") != "ClusterTrainingRuntime":
        return None
    name = reference.get("name")
    return name if isinstance(name, str) else None

"""Applies a stack of overlays: each one sees the result of those before it, and the last one wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from trainc.diagnostics import Diagnostic
from trainc.overlays.apply import Layer, Use
from trainc.overlays.edited import Edited, identity
from trainc.overlays.loaded import Loaded
from trainc.reading.catalog import Catalog, NotFound
from trainc.reading.document import Document
from trainc.startup.records import dataclass

_DELETED = "an overlay deletes it"


@dataclass(frozen=True, slots=True)
class Overlaid:
    """The documents for the schema stage. `catalog` returns the catalog's runtimes with overlays applied."""

    documents: list[Document]
    sources: list[list[Document]]
    catalog: Catalog
    diagnostics: list[Diagnostic]


@dataclass(frozen=True, slots=True)
class Passed:
    """Documents after a stack of overlays.

    `uses` are the parts of overlays that matched them, and `runtimes` the cluster runtimes that they refer to. `failed`
    means that a patch could not be applied to one of them.
    """

    documents: list[Document]
    uses: frozenset[Use]
    runtimes: tuple[str, ...]
    failed: bool


def apply_overlays(
    overlays: Sequence[Loaded],
    documents: Sequence[Document],
    sources: Sequence[Sequence[Document]],
    catalog: Catalog,
    release: str,
) -> Overlaid:
    """Apply all overlays in order to documents and runtimes. A base only changes its own resources.

    Catalog runtimes that a TrainJob refers to pass through every overlay too, so that overlays can patch them and
    change their images.
    """
    stack = Stack(overlays, documents, sources, catalog, release)
    return Overlaid(stack.documents, stack.sources, stack.catalog, stack.diagnostics())


class Stack:
    """The layers in order of application, and the input after applying them."""

    def __init__(
        self,
        overlays: Sequence[Loaded],
        documents: Sequence[Document],
        sources: Sequence[Sequence[Document]],
        catalog: Catalog,
        release: str,
    ) -> None:
        self._catalog = catalog
        self._release = release
        self._layers: list[Layer] = []
        self._uses: set[Use] = set()
        self._shipped: dict[str, tuple[Document | Callable[[], NotFound], set[Use]]] = {}
        current = [Edited.of(document) for document in documents]
        further = [[Edited.of(document) for document in source] for source in sources]
        self._outermost: list[Layer] = []
        for overlay in overlays:
            current, layer = self._build(overlay, current)
            further = [layer.apply(source, self._uses) for source in further]
            self._outermost.append(layer)
        self._current, self._further = current, further

    @property
    def documents(self) -> list[Document]:
        """The input and the resources of overlays."""
        return [document.finished() for document in self._current]

    @property
    def sources(self) -> list[list[Document]]:
        """The additional sources of runtimes."""
        return [[document.finished() for document in source] for source in self._further]

    def catalog(self, name: str, release: str) -> Document | Callable[[], NotFound]:
        """Return a catalog runtime after all layers; `release` must be that of the compilation."""
        assert release == self._release
        return self._through(name)[0]

    def more(self, documents: Iterable[Document]) -> Passed:
        """Apply the layers that the input passes through to additional documents."""
        uses: set[Use] = set()
        known = len(self._problems())
        edited = [Edited.of(document) for document in documents]
        for layer in self._outermost:
            edited = layer.apply(edited, uses)
        failed = len(self._problems()) > known
        finished = [document.finished() for document in edited]
        return Passed(finished, frozenset(uses), tuple(_runtime_names(edited)), failed)

    def diagnostics(self, uses: Iterable[Use] = (), runtimes: Iterable[str] = ()) -> list[Diagnostic]:
        """Return all problems, and unused patches and images.

        `uses` and `runtimes` come from documents that were passed to `more`.
        """
        used = {*self._uses, *uses}
        known = [*self._current, *(document for source in self._further for document in source)]
        here = {identity(d.data)[1] for d in known if d.data.get("kind") == "ClusterTrainingRuntime"}
        for name in dict.fromkeys((*_runtime_names(self._current), *runtimes)):
            if name not in here:
                answer, met = self._through(name)
                used |= met
                known += [Edited.of(answer)] if isinstance(answer, Document) else []
        return [d for layer in self._layers for d in (*layer.diagnostics, *layer.unused(known, used))]

    def _problems(self) -> list[Diagnostic]:
        return [problem for layer in self._layers for problem in layer.diagnostics]

    def _build(self, overlay: Loaded, documents: Sequence[Edited]) -> tuple[list[Edited], Layer]:
        """Apply an overlay to `documents`, its bases and its resources; return the result and its layer."""
        gathered = list(documents)
        for base in overlay.bases:
            gathered += self._build(base, ())[0]
        gathered += [Edited.of(document) for document in overlay.resources]
        layer = Layer(overlay.overlay, overlay.patches, len(self._layers))
        self._layers.append(layer)
        return layer.apply(gathered, self._uses), layer

    def _through(self, name: str) -> tuple[Document | Callable[[], NotFound], set[Use]]:
        """Return a catalog runtime after all layers and what matched it; computed once per runtime."""
        if name not in self._shipped:
            answer, uses = self._catalog(name, self._release), set[Use]()
            if isinstance(answer, Document):
                documents = [Edited.of(answer)]
                for layer in self._layers:
                    documents = layer.apply(documents, uses)
                answer = documents[0].finished() if documents else lambda: NotFound(_DELETED)
            self._shipped[name] = answer, uses
        return self._shipped[name]


def _runtime_names(documents: Iterable[Edited]) -> Iterator[str]:
    """Yield the names of cluster runtimes that documents refer to, before schema defaults."""
    for document in documents:
        spec = document.data.get("spec")
        reference = spec.get("runtimeRef") if isinstance(spec, dict) else None
        if isinstance(reference, dict) and reference.get("kind", _CLUSTER) == _CLUSTER:
            name = reference.get("name")
            if isinstance(name, str) and name:
                yield name


_CLUSTER = "ClusterTrainingRuntime"

"""Overlays one upon the other: each works on what the ones before it have left, and the last one wins."""

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
    """What goes on to the schema stage. `catalog` gives runtimes that the overlays have passed over, too."""

    documents: list[Document]
    sources: list[list[Document]]
    catalog: Catalog
    diagnostics: list[Diagnostic]


@dataclass(frozen=True, slots=True)
class Passed:
    """Documents that have passed through a stack: what of it met them, and the cluster runtimes that they refer to.

    `failed` is whether a patch could not be applied to one of them.
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
    """Documents and runtimes after all overlays, in order. A base changes its own resources and no others.

    The catalog's runtimes pass through every overlay when a TrainJob asks for them, so that an overlay can patch them
    and change their images.
    """
    stack = Stack(overlays, documents, sources, catalog, release)
    return Overlaid(stack.documents, stack.sources, stack.catalog, stack.diagnostics())


class Stack:
    """Layers in the order in which they apply, and the input after them."""

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
        """The input and what the overlays bring."""
        return [document.finished() for document in self._current]

    @property
    def sources(self) -> list[list[Document]]:
        """The further sources of runtimes."""
        return [[document.finished() for document in source] for source in self._further]

    def catalog(self, name: str, release: str) -> Document | Callable[[], NotFound]:
        """The catalog as seen through all layers, for the one release of the compilation."""
        assert release == self._release
        return self._through(name)[0]

    def more(self, documents: Iterable[Document]) -> Passed:
        """Further documents of the input, after the layers that the input passes through."""
        uses: set[Use] = set()
        known = len(self._problems())
        edited = [Edited.of(document) for document in documents]
        for layer in self._outermost:
            edited = layer.apply(edited, uses)
        failed = len(self._problems()) > known
        finished = [document.finished() for document in edited]
        return Passed(finished, frozenset(uses), tuple(_runtime_names(edited)), failed)

    def diagnostics(self, uses: Iterable[Use] = (), runtimes: Iterable[str] = ()) -> list[Diagnostic]:
        """What was wrong on the way, and what met nothing; `uses` and `runtimes` are those of further documents."""
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
        """`documents` and the overlay's resources after it, and its layer."""
        gathered = list(documents)
        for base in overlay.bases:
            gathered += self._build(base, ())[0]
        gathered += [Edited.of(document) for document in overlay.resources]
        layer = Layer(overlay.overlay, overlay.patches, len(self._layers))
        self._layers.append(layer)
        return layer.apply(gathered, self._uses), layer

    def _through(self, name: str) -> tuple[Document | Callable[[], NotFound], set[Use]]:
        """A runtime of the catalog after all layers, and what of them met it; each passes once."""
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
    """The cluster runtimes that documents as written refer to."""
    for document in documents:
        spec = document.data.get("spec")
        reference = spec.get("runtimeRef") if isinstance(spec, dict) else None
        if isinstance(reference, dict) and reference.get("kind", _CLUSTER) == _CLUSTER:
            name = reference.get("name")
            if isinstance(name, str) and name:
                yield name


_CLUSTER = "ClusterTrainingRuntime"

"""The data model of an explanation: each field with the chain of origins that set it and their inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.findings import Path, Source
from trainc.kube.documents import FieldPath, Json, Leaf, Leaves, Manifest, leaf_count, leaves
from trainc.startup.records import dataclass, field

Kind: TypeAlias = Literal[
    "runtime", "overlay", "patch", "trainjob", "plugin", "default", "admission", "deviation", "delivery", "kept"
]


# Of an explanation; a field takes about two kilobytes.
MOST_RECORDED = 4_000


class Recorded:
    """Which fields an explanation records: all, of very many the first ones of each mapping and list, and what `is_named`."""

    def __init__(self, documents: Sequence[Json], is_named: Callable[[str], bool] | None = None) -> None:
        most = 2 * MOST_RECORDED
        while most > 1 and sum(leaf_count(data, most) for data in documents) > MOST_RECORDED:
            most //= 2
        self._most, self._is_named = most, is_named or frozenset[str]().__contains__
        # The names of fields of which not all is recorded.
        self._partial: set[str] = set()

    def has(self, number: int, step: str | int) -> bool:
        """Return whether an item of a mapping or a list is recorded, by its number and its key, name or index."""
        return number < self._most or self._is_named(str(step))

    def marks(self, path: Path, number: int, item: Any) -> bool:
        """Return whether an item of an input is, by the path of the mapping or list, its number, and its key or itself."""
        steps = [number, *(item.values() if isinstance(item, Mapping) else [item])]
        if number < self._most or any(self._is_named(str(step)) for step in steps if isinstance(step, str | int)):
            return True
        self._partial.update(step for step in path[-1:] if isinstance(step, str))
        return False

    def is_partial(self, path: FieldPath) -> bool:
        """Return whether a value without a mark may be one that is not recorded."""
        return not self._partial.isdisjoint(path)


@dataclass(frozen=True, slots=True)
class InputDocument:
    """An input document: `raw` as read, `data` after conversion and schema defaulting.

    `raw_path` maps a path in `data` to the path in `raw`, which `locate` resolves to a position in a file. `before` is
    the document before overlays were applied, if any were.
    """

    label: str
    file: str
    raw: Mapping[str, Any]
    data: Mapping[str, Any]
    raw_path: Callable[[Path], Path] = field(compare=False)
    locate: Callable[[Path], Source | None] = field(compare=False)
    before: InputDocument | None = None
    # What is asked of the raw document again and again, once: names of the items of its lists, and its leaves.
    names: dict[tuple[int, object], list[str | int]] = field(default_factory=dict, compare=False, repr=False)
    leaves: Leaves = field(default_factory=dict, compare=False, repr=False)

    def leaf(self, path: FieldPath) -> Leaf | None:
        """The leaf at a path of the document as read."""
        if not self.leaves:
            self.leaves.update(leaves(self.raw))
        return self.leaves.get(path)


@dataclass(frozen=True, slots=True)
class Input:
    """A field of a document, or the rule that supplied a value because no document did.

    `object` is a name such as "TrainJob team-a/llm". For a rule it is empty, or "JobSet" if the rule belongs to another
    field of the JobSet. `index` is the path in the notation of diagnostics.
    """

    object: str
    path: FieldPath
    index: Path
    value: Any
    source: Source | None = None
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who set a field, and to which value.

    `by` is the plugin, the field manager of the patch, or the document; `at` is the extension point of a plugin; `rule`
    names a default or states why the value was chosen; `deviation` is an id from ir.deviations.
    """

    kind: Kind
    by: str
    value: Any
    at: str = ""
    rule: str = ""
    deviation: str = ""
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectName:
    """The identity of an output object."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, manifest: Manifest) -> ObjectName:
        """The identity of a manifest."""
        metadata = manifest["metadata"]
        return cls(manifest["apiVersion"], manifest["kind"], metadata.get("namespace", ""), metadata["name"])

    def __str__(self) -> str:
        return f"{self.kind} {'/'.join(filter(None, (self.namespace, self.name)))}"


@dataclass(frozen=True, slots=True)
class ExplainedField:
    """A leaf of the output. `origins` is never empty and starts with the most recent."""

    path: FieldPath
    index: Path
    value: Any
    origins: tuple[Origin, ...]

    @property
    def origin(self) -> Origin:
        """The most recent origin."""
        return self.origins[0]


@dataclass(frozen=True, slots=True)
class ExplainedObject:
    """An output object with its leaves, in document order; so many more are left out, of which no origins are recorded."""

    name: ObjectName
    fields: tuple[ExplainedField, ...]
    left_out: int = 0
    manifest: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The origins of every field of one job's objects."""

    job: str
    runtime: str
    source: Source | None
    release: str
    semantics: str
    objects: tuple[ExplainedObject, ...]

    def prefix(self, chosen: ExplainedObject) -> str:
        """The prefix for fields of an object: empty for the JobSet, and including the name if the kind is ambiguous."""
        kind = chosen.name.kind
        if kind == "JobSet":
            return ""
        same = sum(1 for o in self.objects if o.name.kind == kind)
        return f"{kind}:" if same == 1 else f"{kind}/{chosen.name.name}:"

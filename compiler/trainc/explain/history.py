"""The history of an object's leaves: every step that wrote a leaf is recorded, even if the value stayed the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.explain.model import ExplainedField, Input, InputDocument, Kind, Origin, Recorded
from trainc.findings import Path
from trainc.ir.provenance import Made, made_of, plain
from trainc.kube.documents import FieldPath, Item, Leaf, Leaves, path_exists, value_at, with_item_names

Attribute: TypeAlias = Callable[[Leaf], Origin]
# Identifies an object across renames: its apiVersion, its kind, and its ordinal among objects of that kind.
Key: TypeAlias = tuple[str, str, int]


class History:
    """The origins of every leaf of one object, step by step; `leaves` are those after the latest step."""

    def __init__(self, recorded: Recorded) -> None:
        self.leaves: Leaves = {}
        self._recorded = recorded
        self._origins: dict[FieldPath, list[Origin]] = {}

    def step(self, after: Leaves, attribute: Attribute, skip: Callable[[FieldPath], bool] | None = None) -> None:
        """Record a step, attributing to it the leaves that it changed, and those that it wrote with the same value.

        The second are those with another mark. A leaf that existed and that `skip` is true of is not attributed.
        """
        before = self.leaves
        for path, leaf in after.items():
            if path in before and ((skip is not None and skip(path)) or _is_same(before[path].value, leaf.value)):
                continue
            if made_of(leaf.value) is None and self._recorded.is_partial(path):
                continue
            self._origins.setdefault(path, []).append(attribute(leaf))
        self.leaves = after

    def set_by(self, after: Leaves, attribute: Attribute) -> None:
        """Record a step on plain values, in which only what changed can be told."""
        before = self.leaves
        for path, leaf in after.items():
            if path not in before or before[path].value != leaf.value:
                self._origins.setdefault(path, []).append(attribute(leaf))
        self.leaves = after

    def fields(self) -> tuple[ExplainedField, ...]:
        """Every leaf that is recorded, with its origins, most recent first."""
        known = ((path, leaf) for path, leaf in self.leaves.items() if path in self._origins)
        pairs = ((leaf, tuple(reversed(self._origins[path]))) for path, leaf in known)
        return tuple(ExplainedField(leaf.path, leaf.index, plain(leaf.value), origins) for leaf, origins in pairs)


def _is_same(before: Any, after: Any) -> bool:
    """Return whether a step left a value alone: it is equal, and was not made anew of something."""
    return before is after or (before == after and made_of(before) == made_of(after))


def with_keys(manifests: Sequence[dict[str, Any]]) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Each object with the key under which its history is stored."""
    seen: dict[tuple[str, str], int] = {}
    for manifest in manifests:
        kind = (manifest["apiVersion"], manifest["kind"])
        yield (*kind, seen.get(kind, 0)), manifest
        seen[kind] = seen.get(kind, 0) + 1


def inputs_of(made: Made | None, documents: Mapping[str, InputDocument]) -> tuple[tuple[Input, ...], str, str]:
    """Return the fields that a value was made from, the rule where none decides, and the deviation.

    That a schema filled a field in is worth saying only where nothing else made the value.
    """
    if made is None:
        return (), "", ""
    inputs = [input_of(documents[name], path) for name, path in made.fields]
    fields = tuple({(given.object, given.index): given for given in inputs if not given.rule}.values())
    defaults = (given.rule for given in inputs if given.rule and not (fields and given.rule.startswith("default of")))
    return fields, "; ".join(dict.fromkeys((*defaults, *made.rules))), made.deviation


def input_of(document: InputDocument, index: Path) -> Input:
    """A field of a document as an input; the rule of its default if the document as read lacks the field."""
    raw_index = document.raw_path(index)
    value = value_at(document.raw, raw_index)
    if value is not None or path_exists(document.raw, raw_index):
        path = with_item_names(document.raw, raw_index, document.names)
        return Input(document.label, path, raw_index, value, document.locate(raw_index))
    rule = f"default of {document.label.partition(' ')[0]} {schema_path(index)}"
    if index == ("metadata", "namespace"):
        rule = "--namespace, for a TrainJob that sets none"
    return Input("", (), (), value_at(document.data, index), rule=rule)


def schema_path(path: FieldPath) -> str:
    """A path with every list item written as `[]`."""
    return "".join("[]" if isinstance(s, int | Item) else f".{s}" for s in path).removeprefix(".")


def by_document(document: InputDocument, leaf: Leaf, index: Path, kind: Kind = "runtime") -> Origin:
    """The origin of a leaf found in the document at `index`, or filled in there by its schema.

    A position in a different file belongs to an overlay, which replaced the field before the document was validated.
    """
    origin_input = input_of(document, index)
    if origin_input.rule:
        return Origin("default", document.label, plain(leaf.value), rule=origin_input.rule)
    if origin_input.source is not None and origin_input.source.file != document.file:
        return Origin("overlay", origin_input.source.file, plain(leaf.value), inputs=(origin_input,))
    return Origin(kind, document.label, plain(leaf.value), inputs=(origin_input,))


def before_overlays(document: InputDocument, leaf: Leaf, index: Path) -> Origin | None:
    """The origin of a leaf before an overlay replaced it; None if no overlay did, or the field did not exist before."""
    origin_input = input_of(document, index)
    overlaid = origin_input.source is not None and origin_input.source.file != document.file
    if document.before is None or origin_input.rule or not overlaid:
        return None
    earlier = document.before.leaf(origin_input.path)
    if earlier is None:
        return None
    was = input_of(document.before, earlier.index)
    return Origin("runtime", document.label, earlier.value, inputs=(was,))


def by_copy(document: InputDocument, leaf: Leaf, index: Path, kind: Kind = "runtime") -> Origin:
    """The origin of a leaf that was copied from the document; from `index`, if its value is none that can tell."""
    made = made_of(leaf.value)
    return by_document(document, leaf, made.fields[0][1] if made is not None else index, kind)

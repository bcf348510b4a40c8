"""The history of an object's leaves: every step that wrote a leaf is recorded, even if the value stayed the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.explain.model import ExplainedField, Input, InputDocument, Kind, Origin, matches, parse
from trainc.findings import Path
from trainc.ir.trainjob import Patch
from trainc.kube.documents import (
    ITEM_KEYS,
    FieldPath,
    Item,
    Leaf,
    Leaves,
    leaves,
    path_exists,
    value_at,
    with_item_names,
)
from trainc.plugins.plugin import Plugin
from trainc.plugins.registry import load_attribute
from trainc.plugins.rows import FixedRule, JobSetField, Ref, Row, Situation, TemplateField, TrainJobField
from trainc.startup.records import dataclass, replace

Attribute: TypeAlias = Callable[[Leaf], Origin]
# Identifies an object across renames: its apiVersion, its kind, and its ordinal among objects of that kind.
Key: TypeAlias = tuple[str, str, int]

_OF_TEMPLATE = ("runtime", "overlay", "patch", "default")
# Plugins replace items of these lists as a whole, so the plugin that sets a part of an item also sets its name.
_REPLACED_WHOLE = ("env", "volumes", "volumeMounts", "ports")


class History:
    """The origins of every leaf of one object, step by step; `leaves` are those after the latest step."""

    def __init__(self) -> None:
        self.leaves: Leaves = {}
        self._origins: dict[FieldPath, list[Origin]] = {}

    def origin(self, path: FieldPath) -> Origin | None:
        """The most recent origin of a leaf; None if there is no such leaf."""
        return self._origins[path][-1] if path in self.leaves else None

    def template_origin(self, path: FieldPath) -> Origin | None:
        """The most recent origin before the TrainJob's settings were merged; None if the leaf did not exist."""
        origins = (origin for origin in reversed(self._origins.get(path, ())) if origin.kind in _OF_TEMPLATE)
        return next(origins, None)

    def step(
        self, after: Leaves, attribute: Attribute, overwritten: Iterable[FieldPath] = (), *, whole_items: bool = False
    ) -> None:
        """Record a step, attributing to it the leaves that changed and those that it rewrote with the same value.

        `whole_items` means that the step replaces list items including their names. All leaves are attributed before
        any is recorded, so that `attribute` can look up the previous origins of the others.
        """
        before = self.leaves
        changed = [p for p, leaf in after.items() if p not in before or before[p].value != leaf.value]
        paths = dict.fromkeys((*changed, *(path for path in overwritten if path in after)))
        if whole_items:
            touched = (*paths, *(path for path in before if path not in after))
            paths |= dict.fromkeys(key for path in touched for key in _item_keys(path) if key in after)
        attributed = [(path, attribute(after[path])) for path in paths]
        for path, origin in attributed:
            self._origins.setdefault(path, []).append(origin)
        self.leaves = after

    def fields(self) -> tuple[ExplainedField, ...]:
        """Every leaf with its origins, most recent first."""
        pairs = ((leaf, tuple(reversed(self._origins[path]))) for path, leaf in self.leaves.items())
        return tuple(ExplainedField(leaf.path, leaf.index, leaf.value, origins) for leaf, origins in pairs)


def _item_keys(path: FieldPath) -> Iterable[FieldPath]:
    for i, step in enumerate(path[1:], start=1):
        if isinstance(step, Item) and path[i - 1] in _REPLACED_WHOLE:
            yield (*path[: i + 1], ITEM_KEYS[str(path[i - 1])])


def with_keys(manifests: Sequence[dict[str, Any]]) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Each object with the key under which its history is stored."""
    seen: dict[tuple[str, str], int] = {}
    for manifest in manifests:
        kind = (manifest["apiVersion"], manifest["kind"])
        yield (*kind, seen.get(kind, 0)), manifest
        seen[kind] = seen.get(kind, 0) + 1


@dataclass(frozen=True, slots=True)
class Sources:
    """The documents behind one job, and the origins of JobSet fields: latest, and before the TrainJob's settings."""

    trainjob: InputDocument
    runtime: InputDocument
    origin_of: Callable[[FieldPath], Origin | None]
    template_origin_of: Callable[[FieldPath], Origin | None]

    def inputs(self, refs: Iterable[Ref]) -> tuple[Input, ...]:
        """The references as inputs, without duplicates."""
        inputs: dict[tuple[str, Path, str], Input] = {}
        for ref in refs:
            for origin_input in self._resolve(ref):
                inputs.setdefault((origin_input.object, origin_input.index, origin_input.rule), origin_input)
        return tuple(inputs.values())

    def is_set(self, path: FieldPath) -> bool:
        """Return whether the JobSet has a field at this point."""
        return self.origin_of(path) is not None

    def _resolve(self, ref: Ref) -> tuple[Input, ...]:
        if isinstance(ref, FixedRule):
            return (Input("", (), (), None, rule=ref.rule),)
        if isinstance(ref, JobSetField | TemplateField):
            origin = self.origin_of(ref.path) if isinstance(ref, JobSetField) else self.template_origin_of(ref.path)
            if origin is None or origin.inputs:
                return origin.inputs if origin else ()
            return (Input("JobSet", ref.path, (), origin.value, rule=origin.rule),)
        document = self.trainjob if isinstance(ref, TrainJobField) else self.runtime
        return (input_of(document, ref.path),)


def input_of(document: InputDocument, index: Path) -> Input:
    """A field of a document as an input; the rule of its default if the document as read lacks the field."""
    raw_index = document.raw_path(index)
    value = value_at(document.raw, raw_index)
    if value is not None or path_exists(document.raw, raw_index):
        return Input(
            document.label, with_item_names(document.raw, raw_index), raw_index, value, document.locate(raw_index)
        )
    rule = f"default of {document.label.partition(' ')[0]} {schema_path(index)}"
    if index == ("metadata", "namespace"):
        rule = "--namespace, for a TrainJob that sets none"
    return Input("", (), (), value_at(document.data, index), rule=rule)


def schema_path(path: FieldPath) -> str:
    """A path with every list item written as `[]`."""
    return "".join("[]" if isinstance(s, int | Item) else f".{s}" for s in path).removeprefix(".")


POINTS: Mapping[str, str] = {
    "enforce_ml_policy": "EnforceMLPolicy",
    "enforce_pod_group_policy": "EnforcePodGroupPolicy",
    "pre_build_sync": "PreBuildSync",
    "build": "Build",
}


def by_document(document: InputDocument, leaf: Leaf, index: Path, kind: Kind = "runtime") -> Origin:
    """The origin of a leaf found in the document at `index`, or filled in there by its schema.

    A position in a different file belongs to an overlay, which replaced the field before the document was validated.
    """
    origin_input = input_of(document, index)
    if origin_input.rule:
        return Origin("default", document.label, leaf.value, rule=origin_input.rule)
    if origin_input.source is not None and origin_input.source.file != document.file:
        return Origin("overlay", origin_input.source.file, leaf.value, inputs=(origin_input,))
    return Origin(kind, document.label, leaf.value, inputs=(origin_input,))


def before_overlays(document: InputDocument, leaf: Leaf, index: Path) -> Origin | None:
    """The origin of a leaf before an overlay replaced it; None if no overlay did, or the field did not exist before."""
    origin_input = input_of(document, index)
    overlaid = origin_input.source is not None and origin_input.source.file != document.file
    if document.before is None or origin_input.rule or not overlaid:
        return None
    earlier = leaves(document.before.raw).get(origin_input.path)
    if earlier is None:
        return None
    was = input_of(document.before, earlier.index)
    return Origin("runtime", document.label, earlier.value, inputs=(was,))


def by_patch(trainjob: InputDocument, patch: Patch, trainjob_paths: Mapping[FieldPath, Path], leaf: Leaf) -> Origin:
    """The origin of a leaf set by a patch. A leaf that is only a side effect points to the patch as a whole."""
    origin_input = input_of(trainjob, trainjob_paths.get(leaf.path, patch.path))
    name = patch.manager or f"{patch.path[1]}[{patch.path[2]}]"
    return Origin("patch", name, leaf.value, inputs=(origin_input,))


def by_label(leaf: Leaf) -> Origin:
    """The origin of an ancestor label that the runtime lacks but that follows from the names of its jobs."""
    rule = "inferred from the names of the job and its container"
    return Origin("deviation", "ancestor labels", leaf.value, rule=rule, deviation="ancestor-label-injection")


def by_plugin(plugin: Plugin, point: str, situation: Situation, sources: Sources, leaf: Leaf) -> Origin:
    """The origin of a leaf set by a plugin: the inputs that its rows declare, or the value that it copied unchanged."""
    s = replace(situation, path=leaf.path, value=leaf.value)
    row, origin = row_for(rows_of(plugin, point), s), Origin("plugin", plugin.name, leaf.value, POINTS[point])
    if row is None:
        return origin
    inputs, deviation = sources.inputs(row.refs(s)), row.deviation(s)
    fields = tuple(i for i in inputs if not i.rule)
    # A rule of another JobSet field is used only if there is nothing more specific.
    rule = "; ".join(dict.fromkeys(i.rule for i in inputs if i.rule and not (i.object and fields)))
    if row.verbatim and not fields and rule.startswith("default of"):
        return Origin("default", sources.trainjob.label, origin.value, rule=rule)
    if row.verbatim and len(fields) == 1:
        kind: Kind = "trainjob" if fields[0].object == sources.trainjob.label else "runtime"
        return Origin(kind, fields[0].object, origin.value, "", rule, deviation, fields)
    return replace(origin, rule=rule, deviation=deviation, inputs=fields)


def rows_of(plugin: Plugin, point: str) -> tuple[Row, ...]:
    """The rows in which a plugin describes the fields it sets at an extension point."""
    rows: tuple[Row, ...] = load_attribute(plugin.explain, "ROWS").get(point, ()) if plugin.explain else ()
    return rows


def row_for(rows: Iterable[Row], s: Situation) -> Row | None:
    """The first row that applies to the leaf, or None."""
    return next((row for row in rows if matches(parse(row.pattern), s.path)), None)

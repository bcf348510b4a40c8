"""Attribute a leaf to its origin, given the step that set it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trainc.api.field_path import FieldPath, Leaf, leaves
from trainc.diagnostics import Path
from trainc.explain.model import InputDocument, Kind, Origin
from trainc.explain.query import matches, parse
from trainc.explain.sources import Sources, input_of
from trainc.ir.trainjob import Patch
from trainc.plugins.plugin import Plugin
from trainc.plugins.registry import loaded
from trainc.plugins.rows import Row, Situation
from trainc.startup.records import replace

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
    given = input_of(document, index)
    if given.rule:
        return Origin("default", document.label, leaf.value, rule=given.rule)
    if given.source is not None and given.source.file != document.file:
        return Origin("overlay", given.source.file, leaf.value, inputs=(given,))
    return Origin(kind, document.label, leaf.value, inputs=(given,))


def before_overlays(document: InputDocument, leaf: Leaf, index: Path) -> Origin | None:
    """The origin of a leaf before an overlay replaced it; None if no overlay did, or the field did not exist before."""
    given = input_of(document, index)
    overlaid = given.source is not None and given.source.file != document.file
    if document.before is None or given.rule or not overlaid:
        return None
    earlier = leaves(document.before.raw).get(given.path)
    if earlier is None:
        return None
    was = input_of(document.before, earlier.index)
    return Origin("runtime", document.label, earlier.value, inputs=(was,))


def by_patch(trainjob: InputDocument, patch: Patch, written: Mapping[FieldPath, Path], leaf: Leaf) -> Origin:
    """The origin of a leaf set by a patch. A leaf that is only a side effect points to the patch as a whole."""
    given = input_of(trainjob, written.get(leaf.path, patch.path))
    name = patch.manager or f"{patch.path[1]}[{patch.path[2]}]"
    return Origin("patch", name, leaf.value, inputs=(given,))


def by_label(leaf: Leaf) -> Origin:
    """The origin of an ancestor label that the runtime lacks but that follows from the names of its jobs."""
    rule = "inferred from the names of the job and its container"
    return Origin("deviation", "ancestor labels", leaf.value, rule=rule, deviation="ancestor-label-injection")


def by_plugin(plugin: Plugin, point: str, situation: Situation, sources: Sources, leaf: Leaf) -> Origin:
    """The origin of a leaf set by a plugin, with the inputs that the plugin's rows declare."""
    s = replace(situation, path=leaf.path, value=leaf.value)
    row = row_for(rows_of(plugin, point), s)
    if row is None:
        return Origin("plugin", plugin.name, leaf.value, POINTS[point])
    return _from_row(row, Origin("plugin", plugin.name, leaf.value, POINTS[point]), s, sources)


def rows_of(plugin: Plugin, point: str) -> tuple[Row, ...]:
    """The rows in which a plugin describes the fields it sets at an extension point."""
    rows: tuple[Row, ...] = loaded(plugin.explain, "ROWS").get(point, ()) if plugin.explain else ()
    return rows


def row_for(rows: Iterable[Row], s: Situation) -> Row | None:
    """The first row that applies to the leaf, or None."""
    return next((row for row in rows if matches(parse(row.pattern), s.path)), None)


def _from_row(row: Row, origin: Origin, s: Situation, sources: Sources) -> Origin:
    """`origin` completed with the inputs that a row declares, or with the value that was copied unchanged."""
    inputs = sources.inputs(row.refs(s))
    deviation = row.deviation(s)
    written = tuple(i for i in inputs if not i.rule)
    # A rule of another JobSet field is used only if there is nothing more specific.
    rules = [i.rule for i in inputs if i.rule and not (i.object and written)]
    rule = "; ".join(dict.fromkeys(rules))
    if row.verbatim and not written and rule.startswith("default of"):
        return Origin("default", sources.trainjob.label, origin.value, rule=rule)
    if row.verbatim and len(written) == 1:
        kind: Kind = "trainjob" if written[0].object == sources.trainjob.label else "runtime"
        return Origin(kind, written[0].object, origin.value, "", rule, deviation, written)
    return replace(origin, rule=rule, deviation=deviation, inputs=written)

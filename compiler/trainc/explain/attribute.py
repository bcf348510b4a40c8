"""From a step and a leaf that it set to the origin of that leaf."""

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
    """A leaf that the document has at `index`, or that its schema filled in there.

    A position in another file is an overlay's: the field was written over before the document was checked.
    """
    given = input_of(document, index)
    if given.rule:
        return Origin("default", document.label, leaf.value, rule=given.rule)
    if given.source is not None and given.source.file != document.file:
        return Origin("overlay", given.source.file, leaf.value, inputs=(given,))
    return Origin(kind, document.label, leaf.value, inputs=(given,))


def before_overlays(document: InputDocument, leaf: Leaf, index: Path) -> Origin | None:
    """Who had set a leaf that an overlay wrote over; None where no overlay did, or nothing was there before."""
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
    """A leaf that a patch set; one that it only brought about points to the patch as a whole."""
    given = input_of(trainjob, written.get(leaf.path, patch.path))
    name = patch.manager or f"{patch.path[1]}[{patch.path[2]}]"
    return Origin("patch", name, leaf.value, inputs=(given,))


def by_label(leaf: Leaf) -> Origin:
    """An ancestor label that the runtime does not have and its jobs' names make plain."""
    rule = "inferred from the names of the job and its container"
    return Origin("deviation", "ancestor labels", leaf.value, rule=rule, deviation="ancestor-label-injection")


def by_plugin(plugin: Plugin, point: str, situation: Situation, sources: Sources, leaf: Leaf) -> Origin:
    """A leaf that a plugin set, with what its rows say it read."""
    s = replace(situation, path=leaf.path, value=leaf.value)
    row = row_for(rows_of(plugin, point), s)
    if row is None:
        return Origin("plugin", plugin.name, leaf.value, POINTS[point])
    return _from_row(row, Origin("plugin", plugin.name, leaf.value, POINTS[point]), s, sources)


def rows_of(plugin: Plugin, point: str) -> tuple[Row, ...]:
    """What a plugin says of the fields that it sets at an extension point."""
    rows: tuple[Row, ...] = loaded(plugin.explain, "ROWS").get(point, ()) if plugin.explain else ()
    return rows


def row_for(rows: Iterable[Row], s: Situation) -> Row | None:
    """The first row that speaks for the leaf of a situation."""
    return next((row for row in rows if matches(parse(row.pattern), s.path)), None)


def _from_row(row: Row, origin: Origin, s: Situation, sources: Sources) -> Origin:
    """`origin` with what a row says was read, or what was carried over as it is."""
    inputs = sources.inputs(row.refs(s))
    deviation = row.deviation(s)
    written = tuple(i for i in inputs if not i.rule)
    # A rule behind another field of the JobSet says something only where nothing else does.
    rules = [i.rule for i in inputs if i.rule and not (i.object and written)]
    rule = "; ".join(dict.fromkeys(rules))
    if row.verbatim and not written and rule.startswith("default of"):
        return Origin("default", sources.trainjob.label, origin.value, rule=rule)
    if row.verbatim and len(written) == 1:
        kind: Kind = "trainjob" if written[0].object == sources.trainjob.label else "runtime"
        return Origin(kind, written[0].object, origin.value, "", rule, deviation, written)
    return replace(origin, rule=rule, deviation=deviation, inputs=written)

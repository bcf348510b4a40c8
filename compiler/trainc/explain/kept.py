"""A job that is kept as built: which fields of its rendered file differ from what compiling gives, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainc.explain.history import with_keys
from trainc.explain.model import ExplainedField, ExplainedObject, Explanation, ObjectName, Origin
from trainc.explain.text import format_position, format_value, source_json
from trainc.findings import Source
from trainc.findings.text import escape_line
from trainc.kube.documents import FieldPath, Manifest, format_field, leaves
from trainc.startup.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Change:
    """A field of an object of this kind: its value in the file and after a rebuild, None for a field that is not there.

    `sources` are the lines that set it, or that set fields next to one that is no longer there. They are never those of
    the TrainJob, which is the same.
    """

    kind: str
    path: FieldPath
    in_file: Any
    rebuilt: Any
    sources: tuple[Source, ...]


def changes(rebuilt: Explanation, manifests: Sequence[Manifest]) -> Iterator[Change]:
    """Yield the fields in which a rebuild differs from the objects of a kept file, apart from hashes in names."""
    names = _names(rebuilt, manifests)
    was = dict(with_keys(manifests))
    for key, described in _keyed_objects(rebuilt):
        before, now = leaves(was.pop(key)) if key in was else {}, leaves(described.manifest)
        explained = {field.path: field for field in described.fields}
        for path, leaf in now.items():
            value = _with_new_names(before[path].value, names) if path in before else None
            if path not in before or value != leaf.value:
                sources = _sources(rebuilt, explained[path]) if path in explained else ()
                yield Change(described.name.kind, path, value, leaf.value, sources)
        for path, leaf in before.items():
            if path not in now:
                sources = _sources_near(rebuilt, described, path)
                yield Change(described.name.kind, path, _with_new_names(leaf.value, names), None, sources)
    for manifest in was.values():
        yield Change(manifest["kind"], (), manifest["metadata"]["name"], None, ())


def as_in_file(rebuilt: Explanation, manifests: Sequence[Manifest]) -> Explanation:
    """Return the explanation of the objects of a kept file. A field that a rebuild changes comes from an earlier build."""
    names = _names(rebuilt, manifests)
    described = dict(_keyed_objects(rebuilt))
    objects = []
    for key, manifest in with_keys(manifests):
        explained = {field.path: field for field in described[key].fields} if key in described else {}
        now = leaves(described[key].manifest) if key in described else {}
        fields: list[ExplainedField] = []
        kept = leaves(manifest)
        for path, leaf in kept.items():
            if path not in now or now[path].value != _with_new_names(leaf.value, names):
                rule = f"a rebuild gives {format_value(now[path].value)}" if path in now else "a rebuild removes it"
                origin = Origin("kept", "kept as built", leaf.value, rule=rule)
                fields.append(ExplainedField(path, leaf.index, leaf.value, (origin,)))
            elif path in explained:
                fields.append(replace(explained[path], index=leaf.index, value=leaf.value))
        objects.append(ExplainedObject(ObjectName.of(manifest), tuple(fields), len(kept) - len(fields), manifest))
    return replace(rebuilt, objects=tuple(objects))


def _keyed_objects(explanation: Explanation) -> Iterator[tuple[tuple[str, str, int], ExplainedObject]]:
    names = (described.name for described in explanation.objects)
    keys = (key for key, _ in with_keys([{"apiVersion": name.api_version, "kind": name.kind} for name in names]))
    return zip(keys, explanation.objects, strict=True)


def _names(rebuilt: Explanation, manifests: Sequence[Manifest]) -> dict[str, str]:
    """Map the JobSet's name in the file to the one after a rebuild, if a content hash tells them apart."""
    before = [manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == "JobSet"]
    after = [described.name.name for described in rebuilt.objects if described.name.kind == "JobSet"]
    return {old: new for old, new in zip(before, after, strict=False) if old != new}


def _with_new_names(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new)
    return value


def _sources(explanation: Explanation, field: ExplainedField) -> tuple[Source, ...]:
    sources = (origin_input.source for origin_input in field.origin.inputs if origin_input.object != explanation.job)
    return tuple(dict.fromkeys(source for source in sources if source is not None))


def _sources_near(rebuilt: Explanation, described: ExplainedObject, path: FieldPath) -> tuple[Source, ...]:
    """Return the lines of the field next to one that no longer exists, as far as lines set one there."""
    for length in range(len(path) - 1, 0, -1):
        below = (_sources(rebuilt, field) for field in described.fields if field.path[:length] == path[:length])
        if sources := next(filter(None, below), None):
            return sources
    return ()


def sources_of(differences: Iterable[Change]) -> list[Source]:
    """Return the lines of files that set what has changed, without duplicates."""
    return list(dict.fromkeys(source for change in differences for source in change.sources if source.origin == "file"))


_SHOWN = 10


def changes_text(file: str, differences: Sequence[Change]) -> str:
    """Describe what a rebuild of a kept file changes, in lines that precede the explanation of the rebuild."""
    count = "1 field" if len(differences) == 1 else f"{len(differences)} fields"
    lines = [f"{escape_line(file)} is kept as built. Below is what a rebuild gives, which changes {count}:"]
    for change in differences[:_SHOWN]:
        before, after = ("none" if value is None else format_value(value) for value in (change.in_file, change.rebuilt))
        positions = ", ".join(filter(None, map(format_position, change.sources)))
        lines.append(f"  {_path_text(change)}: {before} -> {after}" + (f"  ({positions})" if positions else ""))
    lines += [f"  and {len(differences) - _SHOWN} more"] if len(differences) > _SHOWN else []
    return "\n".join(lines) + "\n\n"


def _path_text(change: Change) -> str:
    field = escape_line(format_field(change.path))
    return field if change.kind == "JobSet" else f"{change.kind}:{field}"


def changes_json(file: str, differences: Sequence[Change]) -> dict[str, Any]:
    """Return the same as JSON-serializable data: the file, and the changes with both values."""
    described = [
        {
            "path": _path_text(change),
            "kept": change.in_file,
            "rebuilt": change.rebuilt,
            "sources": [*map(source_json, change.sources)],
        }
        for change in differences
    ]
    return {"file": file, "changes": described}

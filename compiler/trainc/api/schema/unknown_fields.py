"""Explains unknown and misplaced fields: what was probably meant, and where it belongs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.api.schema.advice import suggest_variable
from trainc.api.schema.known_fields import release_hint
from trainc.api.schema.misplaced_fields import placement_hint
from trainc.api.schema.shapes import ListOf, Shape, Struct, definition
from trainc.api.schema.walking import Node, nodes
from trainc.diagnostics import Finding, Path, Severity, format_path
from trainc.diagnostics.near_names import near_names

_POD_FIELDS = ("containers", "initContainers")
# Structs that are often mistaken for a PodSpec: the code, and the relative path where the PodSpec belongs.
_NOT_A_POD_SPEC = {
    "jobset.JobSetSpec": (
        "PodSpecInsteadOfJobSetSpec",
        "this is a PodSpec, and a JobSetSpec is expected here",
        "move its fields to replicatedJobs[].template.spec.template.spec",
    ),
    "batch.JobSpec": (
        "PodSpecInsteadOfJobSpec",
        "this is a PodSpec, and a JobSpec is expected here",
        "move its fields one level down, to template.spec",
    ),
}
# Names for a field in other tools, in lower case.
_SYNONYMS = {
    ("trainer.Trainer", word): hint
    for words, hint in (
        ("replicas workers workerreplicas numworkers worldsize parallelism", "use numNodes for the number of pods"),
        ("gpus gpu numgpus gpuspernode", 'write resourcesPerNode: {limits: {"nvidia.com/gpu": 8}}'),
        ("nprocpernode processespernode slots", "use numProcPerNode"),
        ("entrypoint", "use command, and args for its arguments"),
    )
    for word in words.split()
}
_LONGEST_AMOUNT = 20
_AT_A_GLANCE = 12  # The longest list of names that is useful in a hint.
_DEEPEST_SEARCH = 5
# Per object. More unknown fields than this are not typos, but another kind of document.
_MOST_HINTS = 200


def unknown_fields(root: Node, release: str, severity: Severity) -> Iterator[Finding]:
    """Report every field of the document that the release does not have."""
    for node in nodes(root, release):
        if isinstance(node.shape, Struct) and isinstance(node.value, dict):
            known = definition(release, node.shape.definition).fields
            unknown = [name for name in node.value if name not in known]
            if unknown:
                yield from _findings_for(node, node.shape.definition, unknown, release, severity)


def _findings_for(node: Node, owner: str, unknown: list[Any], release: str, severity: Severity) -> Iterator[Finding]:
    pod_field = next((name for name in _POD_FIELDS if name in unknown), None)
    if owner in _NOT_A_POD_SPEC and pod_field is not None:
        code, message, hint = _NOT_A_POD_SPEC[owner]
        yield Finding(code, severity, message, hint=hint, path=(*node.path, pod_field))
        pod_fields = definition(release, "core.PodSpec").fields
        unknown = [name for name in unknown if name not in pod_fields]
    for name in unknown[:_MOST_HINTS]:
        yield _explain_one(node, owner, str(name), release, severity)
    for name in unknown[_MOST_HINTS:]:
        message = f"Trainer {release} has no field {name} here"
        yield Finding(
            "UnknownField",
            severity,
            message,
            hint="see the help for the first unknown fields",
            path=(*node.path, str(name)),
        )


def _explain_one(node: Node, owner: str, name: str, release: str, severity: Severity) -> Finding:
    path = (*node.path, name)
    if owner == "trainer.MLPolicy" and name == "tensorflow":
        message = "no Trainer release has a TensorFlow policy"
        hint = "remove it and set TF_CONFIG in the command, or use torch, jax, xgboost or mpi (Horovod)"
        return Finding("UnsupportedFramework", severity, message, hint=hint, path=path)
    dropped = "; it is dropped" if severity == "warning" else ""
    hint = (
        _other_word(owner, name, node.value)
        or _inner_hint(node, owner, name, release)
        or release_hint(owner, name, release)
        or _spelling_hint(owner, name, release)
        or _outer_hint(node, name, release)
        or placement_hint(owner, name, node.value.get(name), release)
        or _deeper_hint(owner, name, release)
        or _known_hint(owner, release)
    )
    return Finding(
        "UnknownField", severity, f"Trainer {release} has no field {name} here{dropped}", hint=hint, path=path
    )


def _inner_hint(node: Node, owner: str, name: str, release: str) -> str:
    """Suggest indentation for a field next to its parent: `spec:` is empty, and its fields are in the same column."""
    fields = definition(release, owner).fields
    inside = [f for f, shape in fields.items() if isinstance(shape, Struct) and name in _fields(shape, release)]
    present = [field for field in inside if field in node.value]
    if len(present or inside) != 1:
        return ""
    return indent_hint((*node.path, name), (*node.path, (present or inside)[0]))


def indent_hint(field: Path, parent: Path) -> str:
    """Return the hint for a field that is next to its parent."""
    return f"indent {field[-1]} under {parent[-1]}"


def _outer_hint(node: Node, name: str, release: str) -> str:
    """Suggest moving a field out to an enclosing struct that has it."""
    for path, owner in reversed(node.structs):
        if name in definition(release, owner).fields:
            return (
                f"move it out, to {format_path((*path, name))}" if path else "move it to the top level of the document"
            )
    return ""


def _spelling_hint(owner: str, name: str, release: str) -> str:
    known = list(definition(release, owner).fields)
    same = [field for field in known if field.lower() == name.replace("_", "").replace("-", "").lower()]
    near = same or near_names(name, known, limit=1)
    return f"did you mean {near[0]}?" if near else ""


def _other_word(owner: str, name: str, siblings: dict[str, Any]) -> str:
    """Return a hint for a field name from another tool."""
    if owner == "core.EnvVar" and "name" not in siblings and "value" not in siblings:
        return suggest_variable(siblings)
    if owner == "core.ResourceRequirements":
        amount = siblings.get(name)
        return f"put it under limits: limits: {{{name}: {amount}}}" if _is_amount(amount) else ""
    return _SYNONYMS.get((owner, name.replace("_", "").replace("-", "").lower()), "")


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float | str) and len(str(value)) <= _LONGEST_AMOUNT


def _deeper_hint(owner: str, name: str, release: str) -> str:
    """Suggest the least deeply nested place below `owner` that has the field."""
    level: list[tuple[str, Shape]] = [("", Struct(owner))]
    for _ in range(_DEEPEST_SEARCH):
        deeper = [child for place, shape in level for child in _children(place, shape, release)]
        for place, shape in deeper:
            if isinstance(shape, Struct) and name in _fields(shape, release):
                return f"move it to {place}.{name}"
        level = deeper
    return ""


def _known_hint(owner: str, release: str) -> str:
    """List the known fields if there are not too many."""
    known = definition(release, owner).fields
    return f"choose one of {', '.join(known)}" if 0 < len(known) <= _AT_A_GLANCE else ""


def _children(place: str, shape: Shape, release: str) -> Iterator[tuple[str, Shape]]:
    if isinstance(shape, Struct):
        for field, inner in definition(release, shape.definition).fields.items():
            dot = f"{place}.{field}" if place else field
            yield (f"{dot}[]", inner.item) if isinstance(inner, ListOf) else (dot, inner)


def _fields(shape: Struct, release: str) -> Mapping[str, Shape]:
    return definition(release, shape.definition).fields

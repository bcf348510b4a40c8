"""Explains unknown and misplaced fields: what was probably meant, and where it belongs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import is_not
from typing import Any, TypeAlias

from trainc.findings import TEMPLATE_HINT, Finding, Path, Severity, format_path, suggest, write
from trainc.findings.text import near_names
from trainc.kube.names import is_dns1123_label
from trainc.schema.descriptions import HINTS
from trainc.schema.field_homes import placement_hint, planned_hint, release_hint
from trainc.schema.shapes import ListOf, MapOf, Scalar, Shape, Struct, definition, is_integer
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# Walks a document along with its schema, to explain why it was rejected.


Ancestors: TypeAlias = tuple[tuple[Path, str], ...]

_SINGLE = str | int | float


@dataclass(frozen=True, slots=True)
class Node:
    """A value that the schema covers: `key` is its "group.Definition.field", `structs` are the enclosing structs."""

    value: Any
    shape: Shape
    path: Path
    key: str
    structs: Ancestors = ()


def nodes(node: Node, release: str) -> Iterator[Node]:
    """Yield `node` and everything below it, as far as the types match the schema; few of them exist at a time."""
    yield node
    path, structs = node.path, node.structs
    match node.shape, node.value:
        case Struct(name), dict() as value:
            structs = (*structs, (path, name))
            for field, shape in definition(release, name).fields.items():
                if field in value:
                    yield from nodes(Node(value[field], shape, (*path, field), f"{name}.{field}", structs), release)
        case ListOf(shape), list() as value:
            for index, item in enumerate(value):
                yield from nodes(Node(item, shape, (*path, index), f"{node.key}[]", structs), release)
        case MapOf(shape), dict() as value:
            for name, item in value.items():
                yield from nodes(Node(item, shape, (*path, str(name)), f"{node.key}{{}}", structs), release)


def without_nulls(value: Any, shape: Shape | str, release: str) -> Any:
    """Return a value without null entries in mappings, which the API server prunes; `shape` may be the name of a struct.

    Only recurses as far as the schema. Where the schema has neither a mapping nor a list, only scalars of the value are
    kept: the rest does not matter, and could be nested too deeply for recursion.
    """
    match Struct(shape) if isinstance(shape, str) else shape, value:
        case Struct(name), dict():
            fields = definition(release, name).fields
            copy = {
                n: without_nulls(v, fields[n], release) if n in fields else v for n, v in value.items() if v is not None
            }
            return copy if len(copy) < len(value) or any(map(is_not, copy.values(), value.values())) else value
        case ListOf(inner), list():
            items = [without_nulls(item, inner, release) for item in value]
            return items if any(map(is_not, items, value)) else value
        case MapOf(inner), dict():
            return {n: without_nulls(item, inner, release) for n, item in value.items() if item is not None}
        case Scalar("any"), _:
            return value
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if isinstance(item, _SINGLE)}
    return [item for item in value if isinstance(item, _SINGLE)] if isinstance(value, list) else value


def without_unknown(value: Any, shape: Shape, release: str) -> Any:
    """Return a copy without unknown fields."""
    match shape, value:
        case Struct(name), dict():
            fields = definition(release, name).fields
            return {n: without_unknown(item, fields[n], release) for n, item in value.items() if n in fields}
        case ListOf(item), list():
            return [without_unknown(v, item, release) for v in value]
        case MapOf(shape), dict():
            return {n: without_unknown(v, shape, release) for n, v in value.items()}
    return value


def without_wrong_types(value: Any, shape: Shape, release: str) -> Any:
    """Return a copy without values of the wrong type; a list with a wrong item is dropped entirely."""
    match shape, value:
        case Struct(name), dict():
            fields = definition(release, name).fields
            typed = {n: without_wrong_types(value[n], s, release) for n, s in fields.items() if n in value}
            return {n: item for n, item in typed.items() if item is not None}
        case ListOf(item), list():
            items = [without_wrong_types(v, item, release) for v in value]
            return None if any(v is None for v in items) else items
        case MapOf(shape), dict():
            entries = {n: without_wrong_types(v, shape, release) for n, v in value.items() if isinstance(n, str)}
            return {n: item for n, item in entries.items() if item is not None}
        case Scalar(kind), _:
            return value if _has_type(value, kind) else None
    return None


def find_wrong_type(value: Any, name: str, release: str) -> Path | None:
    """Return the first path with a wrong type in a value of the definition `name`, or None.

    As for the API server, a null field counts as missing, but null is not a valid list item.
    """
    for node in nodes(Node(value, Struct(name), (), name), release):
        missing = node.value is None and node.path and isinstance(node.path[-1], str)
        if not missing and not _is_of(node.shape, node.value):
            return node.path
    return None


def _is_of(shape: Shape, value: Any) -> bool:
    """Return whether the value itself, apart from its contents, has the type of a shape."""
    match shape:
        case Scalar(kind):
            return _has_type(value, kind)
        case ListOf():
            return isinstance(value, list)
        case _:
            return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _has_type(value: Any, kind: str) -> bool:
    match kind:
        case "any":
            return True
        case "boolean":
            return isinstance(value, bool)
        case "string" | "time":
            return isinstance(value, str)
        case "integer":
            return is_integer(value)
        case _:
            return isinstance(value, str) or is_integer(value)


# Suggests what to write instead of a rejected value: amounts, seconds, commands, variables.


_TEMPLATE = pattern(r"\{\{|\{%|\$\{")
_AMOUNT = pattern(r"\s*(?P<number>\d[\d,_]*(?:\.\d+)?)\s*(?P<unit>[kKmMgGtTpPeE]?)(?:i?[bB](?:ytes?)?|i)?\s*")
_DURATION = pattern(r"\s*(?P<number>\d+)\s*(?P<unit>s|sec|m|min|h|hr|hours?|d|days?)\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_VARIABLE = pattern(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)")
_SHELL = pattern(r"[|&;<>$`\n]")
VARIABLE = "write {name: "  # The start of each suggestion for a variable.
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LONGEST_SUGGESTION = 80  # Maximum number of characters of the user's text to repeat in a hint.


def is_template(text: str) -> bool:
    """Return whether a value contains an unrendered placeholder: `{{ x }}`, `{% if %}` or `${X}`."""
    return _TEMPLATE.search(text) is not None


def suggest_amount(resource: str, text: str) -> str:
    """Suggest a quantity of `resource` instead of text that Kubernetes cannot parse."""
    if is_template(text):
        return TEMPLATE_HINT
    if "/" in resource:
        word = text.strip().lower()
        count = _NUMBERS.index(word) + 1 if word in _NUMBERS else None
        return write(count) if count else "write a whole number, such as 8"
    if resource == "cpu":
        match = _AMOUNT.match(text)
        cores = match["number"] if match and "," not in match["number"] else ""
        millicores = ', or millicores such as "500m"'
        return write(cores, millicores) if cores else f"write a number of cores{millicores}"
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return 'write an amount such as "500m", 4 or 16Gi'
    number, unit = match["number"].replace(",", "").replace("_", ""), match["unit"].upper() or "G"
    decimal = "k" if unit == "K" else unit
    return f"write {number}{unit}i (binary), or {number}{decimal} (decimal)"


def suggest_seconds(text: str) -> str:
    """Convert a duration such as `24h` to seconds; empty if it is not a duration."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return ""
    return write(int(match["number"]) * _SECONDS[match["unit"][0]], ": it is a number of seconds")


def suggest_list(path: Path, value: Any, items: Mapping[str, Any]) -> str:
    """Suggest a list instead of the single string or mapping at `path`; `items` is the schema of its items."""
    field = path[-1]
    if field == "env" and isinstance(value, dict):
        return f"write a list: env: [{', '.join(_variable(str(k), v) for k, v in value.items())}]"
    if field in ("command", "args") and isinstance(value, str):
        return f"write a list: {field}: {_command_list(value, shell=field == 'command')}"
    if items.get("type") == "string" and isinstance(value, str) and not is_template(value):
        return f"write a list: {field}: [{_quoted_unless_plain(value)}]"
    return "write a list, each item after '- '"


def suggest_mapping(path: Path, value: Any) -> str:
    """Suggest a mapping instead of another value at `path`."""
    if path[-1:] == ("runtimeRef",) and isinstance(value, str):
        return f"write its name one level down: runtimeRef: {{name: {_quoted_unless_plain(value)}}}"
    if isinstance(value, list):
        return "remove the dashes: one mapping belongs here"
    match = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    if match is not None and path[-2:-1] == ("env",):
        return write(_variable(match["name"], match["value"]))
    return (
        f"write `key: value` lines, indented under {path[-1]}"
        if isinstance(path[-1], str)
        else ("write `key: value` lines after the dash")
    )


def suggest_variable(item: Mapping[str, Any]) -> str:
    """Suggest an item of `env` instead of `- NAME: value`."""
    return f"write {', '.join(_variable(str(name), value) for name, value in item.items())}"


def suggest_text(value: Any) -> str:
    """Suggest a string instead of a mapping, since YAML reads `bash -c: echo` as one."""
    if isinstance(value, dict) and len(value) == 1:
        ((key, inner),) = value.items()
        if isinstance(inner, str | int | float):
            return f"put quotes around the whole item, which `: ` turns into a mapping: {_quoted(f'{key}: {inner}')}"
    return "write one string here"


def _variable(name: str, value: Any) -> str:
    text = "..."
    if value is None or isinstance(value, str | int | float):
        text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"{{name: {name}, value: {_quoted(text)}}}"


def _command_list(text: str, *, shell: bool) -> str:
    """Format a command line as a list; with a shell if it needs one."""
    if len(text) > _LONGEST_SUGGESTION:
        return "[python, train.py]" if shell else '["--epochs", "3"]'
    if shell and _SHELL.search(text):
        return f"[bash, -c, {_quoted(text)}]"
    import shlex

    try:
        return f"[{', '.join(map(_quoted, shlex.split(text)))}]"
    except ValueError:
        return f"[{_quoted(text)}]"


def _quoted(text: str) -> str:
    import json

    return json.dumps(text if len(text) <= _LONGEST_SUGGESTION else "...", ensure_ascii=False)


def _quoted_unless_plain(text: str) -> str:
    return text if is_dns1123_label(text) else _quoted(text)


_POD_FIELDS = ("containers", "initContainers")
# Structs that are often mistaken for a PodSpec, and where the PodSpec belongs.
_NOT_A_POD_SPEC = {
    "jobset.JobSetSpec": "move its fields to replicatedJobs[].template.spec.template.spec",
    "batch.JobSpec": "move its fields one level down, to template.spec",
}
_LONGEST_AMOUNT = 20
_AT_A_GLANCE = 12  # The longest list of names that is useful in a hint.
_DEEPEST_SEARCH = 5
# Per object. More unknown fields than this are not typos, but another kind of document.
MOST_HINTS = 200
SEE_THE_FIRST = "see the help for the first unknown fields"


def unknown_fields(root: Node, release: str, severity: Severity) -> Iterator[Finding]:
    """Report every field of the document that the release does not have."""
    for node in nodes(root, release):
        if isinstance(node.shape, Struct) and isinstance(node.value, dict):
            fields = definition(release, node.shape.definition).fields
            unknown = [name for name in node.value if name not in fields]
            if unknown:
                yield from _findings_for(node, node.shape.definition, unknown, release, severity)


def _findings_for(node: Node, owner: str, unknown: list[Any], release: str, severity: Severity) -> Iterator[Finding]:
    pod_field = next((name for name in _POD_FIELDS if name in unknown), None)
    if owner in _NOT_A_POD_SPEC and pod_field is not None:
        message = f"this is a PodSpec, and a {owner.partition('.')[2]} is expected here"
        yield Finding("MisplacedPodSpec", severity, message, _NOT_A_POD_SPEC[owner], (*node.path, pod_field))
        pod_fields = definition(release, "core.PodSpec").fields
        unknown = [name for name in unknown if name not in pod_fields]
    for name in unknown[:MOST_HINTS]:
        yield _explain_unknown(node, owner, str(name), release, severity)
    for name in unknown[MOST_HINTS:]:
        message = f"Trainer {release} has no field {name} here"
        yield Finding("UnknownField", severity, message, SEE_THE_FIRST, (*node.path, str(name)))


def _explain_unknown(node: Node, owner: str, name: str, release: str, severity: Severity) -> Finding:
    path = (*node.path, name)
    if owner == "trainer.MLPolicy" and name == "tensorflow":
        message = "no Trainer release has a TensorFlow policy"
        hint = "remove it and set TF_CONFIG in the command, or use torch, jax, xgboost or mpi (Horovod)"
        return Finding("UnsupportedFramework", severity, message, hint, path)
    dropped = "; it is dropped" if severity == "warning" else ""
    if hint := planned_hint(owner, name, node.value.get(name)):
        project = "JobSet" if owner.startswith("jobset.") else "Trainer"
        message = f"Trainer {release} has no field {name} here; it is planned for a later {project}{dropped}"
        return Finding("UnknownField", severity, message, hint, path)
    hint = (
        _other_word(owner, name, node.value)
        or _inner_hint(node, owner, name, release)
        or release_hint(owner, name, release)
        or _outer_hint(node, name, release)  # The very name, a level up, is likelier than another one here.
        or _deeper_hint(owner, name, release, 1)
        or spelling_hint(name, definition(release, owner).fields)
        or placement_hint(owner, name, node.value, release, path)
        or _deeper_hint(owner, name, release, _DEEPEST_SEARCH)
        or _known_hint(owner, release, path)
    )
    return Finding("UnknownField", severity, f"Trainer {release} has no field {name} here{dropped}", hint, path)


def _inner_hint(node: Node, owner: str, name: str, release: str) -> str:
    """Suggest indentation for a field next to its parent: `spec:` is empty, and its fields are in the same column."""
    fields = definition(release, owner).fields
    parents = [f for f, shape in fields.items() if isinstance(shape, Struct) and name in _fields(shape, release)]
    return parent_hint((*node.path, name), parents, node.value)


def parent_hint(path: Path, parents: list[str], siblings: Mapping[str, Any]) -> str:
    """Suggest indentation under the one sibling that could be the parent, present or not; empty if there are several."""
    candidates = [parent for parent in parents if parent in siblings] or parents
    return indent_hint(path, (*path[:-1], candidates[0])) if len(candidates) == 1 else ""


def indent_hint(field: Path, parent: Path) -> str:
    """Return the hint for a field that is next to its parent."""
    return f"indent {field[-1]} under {parent[-1]}"


def move_out_hint(path: Path) -> str:
    """Return the hint for a field that belongs at `path`, further up."""
    return f"move it out, to {format_path(path)}" if len(path) > 1 else "move it to the top level of the document"


def _outer_hint(node: Node, name: str, release: str) -> str:
    """Suggest moving a field out to an enclosing struct that has it."""
    for path, owner in reversed(node.structs):
        fields = definition(release, owner).fields
        if name in fields:
            return move_out_hint((*path, name))
        if name in ("labels", "annotations") and "metadata" in fields:
            return f"move it out, to {format_path((*path, 'metadata', name))}"
    return ""


def spelling_hint(name: str, fields: Iterable[str]) -> str:
    """Suggest the known field that `name` may be a misspelling of; empty if there is none."""
    fields = list(fields)
    same = [field for field in fields if field.lower() == name.replace("_", "").replace("-", "").lower()]
    near = same or near_names(name, fields, limit=1)
    return suggest(name, near[:1]) if near else ""


def _other_word(owner: str, name: str, siblings: dict[str, Any]) -> str:
    """Return a hint for a field name from another tool."""
    if owner == "core.EnvVar" and "name" not in siblings and "value" not in siblings:
        return suggest_variable(siblings)
    if owner == "core.ResourceRequirements":
        amount = siblings.get(name)
        name = {"gpu": "nvidia.com/gpu", "gpus": "nvidia.com/gpu", "tpu": "google.com/tpu"}.get(name.lower(), name)
        is_amount = isinstance(amount, int | float | str) and len(str(amount)) <= _LONGEST_AMOUNT
        return f"put it under limits: limits: {{{name}: {amount}}}" if is_amount else ""
    hint: str = HINTS["synonyms"].get(owner, {}).get(name.replace("_", "").replace("-", "").lower(), "")
    return hint


def _deeper_hint(owner: str, name: str, release: str, levels: int) -> str:
    """Suggest the least deeply nested place below `owner` that has the field, at most so many levels down."""
    level: list[tuple[str, Shape]] = [("", Struct(owner))]
    for _ in range(levels):
        deeper = [child for path, shape in level for child in _children(path, shape, release)]
        for path, shape in deeper:
            if isinstance(shape, Struct) and name in _fields(shape, release):
                return f"move it to {path}.{name}"
        level = deeper
    return ""


def _known_hint(owner: str, release: str, path: Path) -> str:
    """List the known fields if there are not too many."""
    fields = definition(release, owner).fields
    if len(fields) == 1:
        reads = (
            "; the initializer reads the keys of the Secret as variables, such as ACCESS_TOKEN"
            if "secretRef" in path
            else ""
        )
        return f"remove it: the only field here is {next(iter(fields))}{reads}"
    return f"choose one of {', '.join(fields)}" if 0 < len(fields) <= _AT_A_GLANCE else ""


def _children(path: str, shape: Shape, release: str) -> Iterator[tuple[str, Shape]]:
    if isinstance(shape, Struct):
        for field, inner in definition(release, shape.definition).fields.items():
            child_path = f"{path}.{field}" if path else field
            yield (f"{child_path}[]", inner.item) if isinstance(inner, ListOf) else (child_path, inner)


def _fields(shape: Struct, release: str) -> Mapping[str, Shape]:
    return definition(release, shape.definition).fields

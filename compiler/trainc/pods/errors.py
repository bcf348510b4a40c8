"""The errors that several rules of pods report: the code, a message, and a hint what to write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainc.findings import Finding, Fix, Hint, Path, choose
from trainc.findings.text import did_you_mean, join_words
from trainc.schema.shapes import quote
from trainc.startup.typing import Any


def missing(path: Path, why: str = "") -> Finding:
    """A required field is absent or empty; `why` explains when it is required, unless it always is."""
    return Finding("MissingRequired", "error", f"{path[-1]} is missing{why and f': {why}'}", f"add {path[-1]}", path)


def missing_choice(path: Path, names: Sequence[str], where: str) -> Finding:
    """One of several fields is required, but none is present."""
    return Finding("MissingRequired", "error", f"{where} needs {join_words(names, 'or')}", "add one of them", path)


def conflict(path: Path, message: str, hint: str = "keep one of them") -> Finding:
    """Two fields that cannot be used together."""
    return Finding("ConflictingFields", "error", message, hint, path)


def misplaced(path: Path, message: str, hint: str) -> Finding:
    """A field that exists, but is not allowed in this kind of object."""
    return Finding("NotAllowedHere", "error", message, hint, path)


def unsupported(path: Path, value: Any, allowed: Iterable[str]) -> Finding:
    """A value that is not in the enum of its field; empty values in `allowed` are not suggested."""
    choices = sorted(choice for choice in allowed if choice)
    same = [choice for choice in choices if choice.lower() == str(value).lower()]
    text = f"write {same[0]}: upper and lower case matter" if same else f"use {join_words(choices, 'or')}"
    hint = Hint(text, *(Fix("set", choice) for choice in same[:1] or choices))
    return Finding("UnsupportedValue", "error", f"{quote(str(value))} is not a valid {path[-1]}", hint, path)


def out_of_range(path: Path, value: Any, smallest: int, largest: int | None = None) -> Finding:
    """A number out of bounds."""
    bounds = f"{smallest} or more" if largest is None else f"a number from {smallest} to {largest}"
    return Finding("OutOfRange", "error", f"{path[-1]} cannot be {value}", f"use {bounds}", path)


def malformed(path: Path, value: str, form: str, suggestion: str = "") -> Finding:
    """A name with invalid syntax; `suggestion` is a similar valid one."""
    hint = f"use {form}" + (f", such as {suggestion}" if suggestion and suggestion != value else "")
    return Finding("InvalidName", "error", f"{_field(path)} cannot be {quote(value)}", hint, path)


def bad_label(path: Path, value: str, form: str, part: str) -> Finding:
    """An invalid label key or value, in labels or in a selector."""
    return Finding("InvalidLabel", "error", f"{quote(value)} is not a valid label {part}", f"use {form}", path)


def bad_selector(path: Path, message: str, hint: str) -> Finding:
    """An operator that does not match its values, in selectors of nodes, pods or taints."""
    return Finding("InvalidSelector", "error", message, hint, path)


def bad_path(path: Path, value: str, hint: str) -> Finding:
    """A file path that is not allowed."""
    return Finding("InvalidPath", "error", f"{path[-1]} cannot be {quote(value)}", hint, path)


def bad_address(path: Path, value: str) -> Finding:
    """An invalid IP address."""
    return Finding("InvalidAddress", "error", f"{quote(value)} is not an IP address", "write it as 10.0.0.10", path)


def bad_policy(path: Path, message: str, hint: str) -> Finding:
    """An invalid rule for the success or failure of a Job."""
    return Finding("InvalidJobPolicy", "error", message, hint, path)


def duplicate(path: Path, value: Any) -> Finding:
    """A duplicate value in a list."""
    return Finding("DuplicateItem", "error", f"{quote(str(value))} is in this list twice", "remove one of them", path)


def too_many(path: Path, count: int, most: int) -> Finding:
    """A list with too many items."""
    message = f"{path[-1]} has {count} items; at most {most} are allowed"
    return Finding("TooMany", "error", message, f"remove {count - most} of them", path)


def too_long(path: Path, length: int, most: int) -> Finding:
    """A string that is too long."""
    message = f"{path[-1]} has {length} characters; at most {most} are allowed"
    return Finding("TooLong", "error", message, f"shorten it by {length - most} characters", path)


def not_in_pod(path: Path, kind: str, name: str, names: Iterable[str]) -> Finding:
    """A reference to a volume, claim or container that is not in the pod."""
    names = sorted(filter(None, names))
    add = f"add the {kind} to the pod"
    if kind == "volume":
        add = f"add to the pod: volumes: [{{name: {name}, emptyDir: {{}}}}], or a persistentVolumeClaim, whose files outlast the pod"
    hint = did_you_mean(name, names) or (choose(name, names, "use one of the pod's:") + f"; or {add}" if names else add)
    hint = Hint(hint, objects=((f"{kind} {name}", ()),))
    return Finding("NotInPod", "error", f"the pod does not have a {kind} called {quote(name)}", hint, path)


def _field(path: Path) -> str:
    """Name the field at `path` for a message: "claimName", "a name in volumes", "an item of namespaces"."""
    fields = [step for step in path if isinstance(step, str)]
    if isinstance(path[-1], int):
        return f"an item of {fields[-1]}"
    return f"a name in {fields[-2]}" if fields[-1] == "name" and len(fields) > 1 else fields[-1]

"""Suggests what to write instead of a rejected value: amounts, seconds, commands, variables, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.api.name_forms import LABEL_LIMIT, is_dns1035_label, is_dns1123_label
from trainc.diagnostics import TEMPLATE_HINT, Path
from trainc.startup.patterns import pattern

_TEMPLATE = pattern(r"\{\{|\{%|\$\{")
_AMOUNT = pattern(r"\s*(?P<number>\d[\d,_]*(?:\.\d+)?)\s*(?P<unit>[kKmMgGtTpPeE]?)(?:i?[bB](?:ytes?)?|i)?\s*")
_DURATION = pattern(r"\s*(?P<number>\d+)\s*(?P<unit>s|sec|m|min|h|hr|hours?|d|days?)\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_VARIABLE = pattern(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)")
_SHELL = pattern(r"[|&;<>$`\n]")
VARIABLE = "write {name: "  # The start of each suggestion for a variable.
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LONGEST = 80  # Maximum number of characters of the user's text to repeat in a hint.


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
        return f"write {count}" if count else "write a whole number, such as 8"
    if resource == "cpu":
        found = _AMOUNT.match(text)
        cores = f"write {found['number']}" if found and "," not in found["number"] else "write a number of cores"
        return f'{cores}, or millicores such as "500m"'
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return 'write an amount such as "500m", 4 or 16Gi'
    number, unit = found["number"].replace(",", "").replace("_", ""), found["unit"].upper() or "G"
    decimal = "k" if unit == "K" else unit
    return f"write {number}{unit}i (binary), or {number}{decimal} (decimal)"


def suggest_seconds(text: str) -> str:
    """Convert a duration such as `24h` to seconds; empty if it is not a duration."""
    found = _DURATION.fullmatch(text)
    return f"write {int(found['number']) * _SECONDS[found['unit'][0]]}: it is a number of seconds" if found else ""


def suggest_name(text: str, *, letter_first: bool) -> str:
    """Suggest a valid name similar to the rejected one; empty if none of its characters are usable."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    name = "-".join(part for part in kept.split("-") if part)
    if letter_first and name[:1].isdigit():
        name = f"run-{name}"
    name = name[:LABEL_LIMIT].rstrip("-")
    fits = is_dns1035_label(name) if letter_first else is_dns1123_label(name)
    return name if fits else ""


def suggest_list(path: Path, value: Any) -> str:
    """Suggest a list instead of the single string or mapping at `path`."""
    field = path[-1]
    if field == "env" and isinstance(value, dict):
        return f"write a list: env: [{', '.join(_variable(str(k), v) for k, v in value.items())}]"
    if field in ("command", "args") and isinstance(value, str):
        return f"write a list: {field}: {_words(value, shell=field == 'command')}"
    return "write a list, each item after '- '"


def suggest_mapping(path: Path, value: Any) -> str:
    """Suggest a mapping instead of another value at `path`."""
    if path[-1:] == ("runtimeRef",) and isinstance(value, str):
        return f"write its name one level down: runtimeRef: {{name: {_text(value)}}}"
    if isinstance(value, list):
        return "remove the dashes: one mapping belongs here"
    found = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    if found is not None and path[-2:-1] == ("env",):
        return f"write {_variable(found['name'], found['value'])}"
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


def _words(text: str, *, shell: bool) -> str:
    """Format a command line as a list; with a shell if it needs one."""
    if len(text) > _LONGEST:
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

    return json.dumps(text if len(text) <= _LONGEST else "...", ensure_ascii=False)


def _text(text: str) -> str:
    return text if is_dns1123_label(text) else _quoted(text)

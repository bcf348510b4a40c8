"""Values in templates: which numbers and keys are allowed, and how values are printed.

Prevents short templates from creating huge numbers, and output that differs between runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from jinja2.exceptions import SecurityError
from jinja2.runtime import Undefined
from jinja2.utils import Namespace

from trainc.startup.patterns import pattern

# Large enough for any realistic number, and small enough that few numbers share a hash.
_INTEGER_BITS = 64
# Characters that are allowed in JSON strings, but that YAML rejects or treats as line breaks.
_NOT_PLAIN = pattern("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def dict_of(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    """Replace the class `dict`, which has methods that modify their argument."""
    pairs = args[0].items() if args and isinstance(args[0], dict) else (*args, ())[0]
    return {key_of(key): value for key, value in pairs} | kwargs


def key_of(value: Any) -> Any:
    """Check a mapping key. Other types than in YAML could be constructed to have equal hashes."""
    if not isinstance(value, str | int | float | None):
        refuse("the keys of a mapping must be strings or numbers")
    check_number(value)
    return value


def namespace_of(*args: Any, **kwargs: Any) -> Any:
    """Replace the class `namespace` with a function."""
    namespace: Any = Namespace
    return namespace(*args, **kwargs)


def check_number(value: Any) -> None:
    """Raise SecurityError for an integer of more than 64 bits."""
    if isinstance(value, int) and value.bit_length() > _INTEGER_BITS:
        refuse("the number is too large")


def as_yaml(value: Any) -> str:
    """Format a value as YAML on one line: null, true, and flow style for mappings and lists.

    Other values, such as a method that was not called, are rejected: their text contains an address, which differs
    between runs.
    """
    if isinstance(value, str | int | float | Undefined) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, bool | dict | list | tuple):
        return to_json(value)
    raise SecurityError(
        f"a {type(value).__name__} cannot be printed; call it with (), or turn it into a list with | list"
    )


def on_text(change: Callable[[str], str]) -> Callable[[Any], str]:
    """Turn a filter for strings into one for any value."""
    return lambda value: change(as_yaml(value))


def to_json(value: Any) -> str:
    """Format a value as JSON that is also valid YAML."""
    text = as_yaml(value) if isinstance(value, Undefined) else json.dumps(value, ensure_ascii=False)
    return _NOT_PLAIN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def refuse(reason: str) -> NoReturn:
    """Stop the template with a SecurityError."""
    raise SecurityError(reason)

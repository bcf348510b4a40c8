"""The values of templates: which numbers and keys there may be, and how a value is written.

Small texts must not become large numbers, and no value may show what differs from run to run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from jinja2.exceptions import SecurityError
from jinja2.runtime import Undefined
from jinja2.utils import Namespace

from trainc.startup.patterns import pattern

# As wide as any number that means something; and so narrow that few numbers have the same hash.
_INTEGER_BITS = 64
# What JSON may hold in a string, and YAML refuses there or takes for the end of a line.
_NOT_PLAIN = pattern("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def dict_of(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    """`dict`, as a function: the class has methods that change what they are given."""
    pairs = args[0].items() if args and isinstance(args[0], dict) else (*args, ())[0]
    return {key_of(key): value for key, value in pairs} | kwargs


def key_of(value: Any) -> Any:
    """The key of a mapping, as YAML has them: many others could be made to have the same hash."""
    if not isinstance(value, str | int | float | None):
        refuse("the keys of a mapping must be strings or numbers")
    check_number(value)
    return value


def namespace_of(*args: Any, **kwargs: Any) -> Any:
    """`namespace`, as a function."""
    made: Any = Namespace
    return made(*args, **kwargs)


def check_number(value: Any) -> None:
    """SecurityError for a number wider than 64 bits."""
    if isinstance(value, int) and value.bit_length() > _INTEGER_BITS:
        refuse("the number is too large")


def as_yaml(value: Any) -> str:
    """A value as YAML writes it in a line: null, true, and mappings and lists in flow style.

    Anything else, such as a method that was not called, would be shown with its address, another one in every run.
    """
    if isinstance(value, str | int | float | Undefined) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, bool | dict | list | tuple):
        return to_json(value)
    raise SecurityError(
        f"a {type(value).__name__} cannot be printed; call it with (), or turn it into a list with | list"
    )


def on_text(change: Callable[[str], str]) -> Callable[[Any], str]:
    """A filter of texts as one of any value."""
    return lambda value: change(as_yaml(value))


def to_json(value: Any) -> str:
    """A value as JSON that is YAML, too."""
    text = as_yaml(value) if isinstance(value, Undefined) else json.dumps(value, ensure_ascii=False)
    return _NOT_PLAIN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def refuse(reason: str) -> NoReturn:
    """Stop the template."""
    raise SecurityError(reason)

"""References of environment variables, `$(NAME)`, as Kubernetes expands them in commands, arguments and values.

Source: kubernetes third_party/forked/golang/expansion/expand.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from trainc.startup.patterns import pattern

_TOKEN = pattern(r"\$(?:\$|\((?P<name>[^)]*)\))")


def expanded(text: str, values: Mapping[str, str]) -> str:
    """`text` with each reference to one of `values` replaced; what is escaped or unknown stays as it is."""
    return str(_TOKEN.sub(lambda found: values.get(found["name"] or "", found[0]), text))


def refers_to(text: str, name: str) -> bool:
    """Whether `text` refers to a variable."""
    return any(found["name"] == name for found in _TOKEN.finditer(text))

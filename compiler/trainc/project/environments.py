"""The environments of trainc.yaml: which of them are processed, and one report about all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainc.findings import Diagnostic, sort_diagnostics
from trainc.startup.records import replace


def choose_environments(known: Mapping[str, Any], requested: Iterable[str], *, otherwise_all: bool) -> list[str]:
    """Return the requested environments, or all known ones if none is requested and `otherwise_all` is set.

    Raises ValueError for an environment that trainc.yaml does not define.
    """
    for name in requested:
        if name not in known:
            from trainc.findings.text import did_you_mean

            hint = did_you_mean(name, known) or f"known environments: {', '.join(known) or 'none'}"
            raise ValueError(f"trainc.yaml has no environment {name!r}; {hint}")
    return list(dict.fromkeys(requested)) or (list(known) if otherwise_all else [])


def merge_diagnostics(found: Mapping[str, Sequence[Diagnostic]]) -> list[Diagnostic]:
    """Merge the diagnostics of several environments in order; those that all share are reported once, without a name.

    Diagnostics at the same line are the same, even if overlays change the name or namespace of the object. Several
    objects of one environment can have the same problem at the same line, such as that of their runtime.
    """
    first: dict[object, Diagnostic] = {}
    where: dict[object, list[str]] = {}
    for name, diagnostics in found.items():
        repeated: Counter[object] = Counter()
        for d in sort_diagnostics(diagnostics):
            alike = (d.code, d.severity, d.message, d.hint, d.path, d.source, "" if d.source else d.object)
            key = (alike, repeated[alike])
            repeated[alike] += 1
            first.setdefault(key, d)
            names = where.setdefault(key, [])
            if name not in names:
                names.append(name)
    return sort_diagnostics(
        d if len(where[key]) == len(found) else replace(d, environments=tuple(where[key])) for key, d in first.items()
    )

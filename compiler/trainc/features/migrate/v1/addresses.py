"""Replace the names of v1 pods in everything that a container spells out by their new names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.features.migrate.v1.environment import expand, joined, literals
from trainc.features.migrate.v1.layout import Layout
from trainc.kube.documents import Json
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# The fields in which the kubelet expands `$(NAME)`.
_EXPANDED = ("command", "args")
_SPELLED = (*_EXPANDED, "lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


# A name of a host, and what follows its first label.
_HOST = pattern(r"(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_-]+)(?P<behind>\.[A-Za-z0-9_-]+)?")


@dataclass(frozen=True, slots=True)
class Renaming:
    """The names of a job's pods, old and new; `subdomain` may stand behind an old name, and is part of the new."""

    new: Mapping[str, str]
    subdomain: str

    def __call__(self, text: str) -> str:
        """`text` with old names replaced by new ones."""
        return _HOST.sub(self._renamed, text)

    def found_in(self, text: str) -> list[str]:
        """The old names in `text`, sorted."""
        return sorted({match["name"] for match in _HOST.finditer(text)} & set(self.new))

    def _renamed(self, match: re.Match[str]) -> str:
        new, behind = self.new.get(match["name"]), match["behind"] or ""
        return match[0] if new is None else new if behind == self.subdomain else new + behind


def renaming(layout: Layout) -> Renaming:
    """The new addresses of a job's pods."""
    job = layout.job.name
    new = {f"{job}-{role}-{index}": host for (role, index), host in layout.hosts.items()}
    if layout.job.kind.is_mpi:
        # Pods of an MPIJob share one Service of the job's name; those of others have one each.
        return Renaming({**new, f"{job}-launcher": layout.hosts["launcher", 0]}, f".{job}")
    return Renaming(new, "")


def rewrite_addresses(container: Json, rename: Renaming, operator: Sequence[Json]) -> dict[str, Any]:
    """A container with new names in its commands, arguments, probes and variables; then the `operator`'s variables.

    A name that is put together from variables, as in `$(JOB)-master-0`, is written out.
    """
    user = list(container.get("env") or ())
    environment = joined(list(_variables(user, rename)), operator)
    old, new = literals(joined(user, operator)), literals(environment)
    changed = dict(container)
    for field in _SPELLED:
        if field in container:
            known = (old, new) if field in _EXPANDED else ({}, {})
            changed[field] = _renamed(container[field], rename, *known)
    return {**changed, "env": environment} if environment else changed


def _variables(variables: Sequence[Json], rename: Renaming) -> Iterator[Json]:
    """Variables with new names; each may refer to those before it."""
    old: dict[str, str] = {}
    new: dict[str, str] = {}
    for variable in variables:
        name, value = variable["name"], variable.get("value") or ""
        if "valueFrom" in variable:
            old.pop(name, None)
            new.pop(name, None)
            yield variable
            continue
        renamed = _renamed(value, rename, old, new)
        yield {**variable, "value": renamed} if renamed != value else variable
        old[name], new[name] = expand(value, old), expand(renamed, new)


def _renamed(value: Any, rename: Renaming, old: Mapping[str, str], new: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _renamed(inner, rename, old, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, rename, old, new) for inner in value]
    if not isinstance(value, str):
        return value
    renamed, wanted = rename(value), rename(expand(value, old))
    return renamed if expand(renamed, new) == wanted else wanted

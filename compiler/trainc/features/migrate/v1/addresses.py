"""Replace the names of v1 pods in everything that a container spells out by their new names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.features.migrate.v1.environment import expand, joined, literals
from trainc.features.migrate.v1.layout import Layout
from trainc.kube.documents import Json
from trainc.startup.records import dataclass

# The fields in which the kubelet expands `$(NAME)`.
_EXPANDED = ("command", "args")
_SPELLED = (*_EXPANDED, "lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True, slots=True)
class Renaming:
    """The names of a job's pods, old and new; `subdomain` is what may stand behind an old name, and is part of the new."""

    new: Mapping[str, str]
    names: re.Pattern[str]

    def __call__(self, text: str) -> str:
        """`text` with old names replaced by new ones."""
        return self.names.sub(lambda found: self.new[found["name"]], text)


def renaming(layout: Layout) -> Renaming:
    """The new addresses of a job's pods."""
    job = layout.job.name
    mpi = layout.job.kind.is_mpi
    new = {_old_name(job, pod): host for pod, host in layout.hosts.items()}
    if mpi:
        new[f"{job}-launcher"] = layout.hosts["launcher", 0]
    spelled = "|".join(re.escape(name) for name in sorted(new, key=len, reverse=True))
    # Pods of an MPIJob share one Service of the job's name, which stands behind the host; those of others have one each.
    behind = rf"(?:\.{re.escape(job)}(?![A-Za-z0-9_-]))?" if mpi else ""
    return Renaming(new, re.compile(rf"(?<![A-Za-z0-9_.-])(?P<name>{spelled}){behind}(?![A-Za-z0-9_-])"))


def _old_name(job: str, pod: tuple[str, int]) -> str:
    return f"{job}-{pod[0]}-{pod[1]}"


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

"""Pods: the template of a role as the pods of a replicated job have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.api import names
from trainc.diagnostics import Finding
from trainc.migration.v1 import mpi
from trainc.migration.v1.addresses import Renaming, readdressed
from trainc.migration.v1.job import Role
from trainc.migration.v1.labels import reselected, variable
from trainc.migration.v1.layout import Group, Layout
from trainc.migration.v1.lifecycle import differs, restart_policy, told
from trainc.migration.v1.variables import variables

Json = Mapping[str, Any]

# JobSet gives the first two; v1 overwrote the third with the policy of the role.
_OVERWRITTEN = ("hostname", "subdomain", "restartPolicy")


def pod_template(layout: Layout, group: Group, rename: Renaming, given: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The pod template of a group; variables whose names are `given` come from a policy of the runtime."""
    job, role = layout.job, group.role
    spec = {name: value for name, value in role.template["spec"].items() if name not in _OVERWRITTEN}
    for field in ("affinity", "topologySpreadConstraints", "volumes"):
        if field in spec:
            spec[field] = reselected(spec[field], layout)
    if job.kind.is_mpi:
        spec = mpi.pod_spec(layout, group, spec)
    main = job.main(role)
    containers = enumerate(spec["containers"])
    spec["containers"] = [_container(layout, group, c, rename, given, is_main=i == main) for i, c in containers]
    if spec.get("initContainers"):
        spec["initContainers"] = [_initial(layout, group, container, rename) for container in spec["initContainers"]]
    spec["restartPolicy"] = restart_policy(role)
    metadata = role.template.get("metadata") or {}
    kept = {field: metadata[field] for field in ("labels", "annotations") if metadata.get(field)}
    return {**({"metadata": kept} if kept else {}), "spec": spec}


def _container(
    layout: Layout, group: Group, container: Json, rename: Renaming, given: frozenset[str], *, is_main: bool
) -> dict[str, Any]:
    job = layout.job
    if job.kind.is_mpi:
        added = mpi.variables(layout, group) if is_main else []
        given = given if is_main else frozenset()
    elif job.kind.name == "TFJob" and not is_main:
        added, given = [], frozenset()
    else:
        added = variables(layout, group)
    if not is_main:
        # A policy gives its variables to the main container alone, and v1 gave them to all.
        given = frozenset()
    changed = readdressed(_initial_variables(layout, group, container), rename, added)
    if given and changed.get("env"):
        changed["env"] = [variable for variable in changed["env"] if variable["name"] not in given]
    if is_main and job.kind.port_name and f"'{job.kind.port_name}'" in str(_port_users(container)):
        changed["ports"] = _with_port(container, job.kind.port_name, job.kind.port)
    if is_main and (group.is_trainer or group.name == names.NODE):
        changed["name"] = names.NODE
    return {field: value for field, value in changed.items() if value != []}


def _port_users(container: Json) -> list[Any]:
    return [container.get(field) for field in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")]


def _with_port(container: Json, name: str, port: int) -> list[Json]:
    """The ports with the one that v1 added, which a probe names."""
    ports = list(container.get("ports") or ())
    return ports if any(p.get("name") == name for p in ports) else [*ports, {"name": name, "containerPort": port}]


def _initial_variables(layout: Layout, group: Group, container: Json) -> dict[str, Any]:
    if not container.get("env"):
        return dict(container)
    return {**container, "env": [variable(value, layout, group) for value in container["env"]]}


def _initial(layout: Layout, group: Group, container: Json, rename: Renaming) -> dict[str, Any]:
    """An init container, which v1 gives no variables."""
    return readdressed(_initial_variables(layout, group, container), rename, ())


def main_name(layout: Layout, group: Group) -> str:
    """What the main container of a group is called."""
    if group.is_trainer or group.name == names.NODE:
        return names.NODE
    return str(group.role.containers[layout.job.main(group.role)]["name"])


def differences(layout: Layout, rename: Renaming) -> Iterator[Finding]:
    """What is renamed in the pods of each role, and what v1 let them have and JobSet does not."""
    for role in layout.job.roles:
        path = (*role.path, "template", "spec")
        for field in ("hostname", "subdomain"):
            if role.template["spec"].get(field):
                message = f"JobSet sets {field} of every pod; {role.template['spec'][field]!r} is left out"
                yield differs((*path, field), message, "use the pod's address in the JobSet instead")
        yield from _renamed(role, rename)


def _renamed(role: Role, rename: Renaming) -> Iterator[Finding]:
    found = sorted({match["name"] for match in rename.names.finditer(_texts(role))})
    for name in found:
        message = f"the pod {name} is {rename.new[name]} from now on; its name is replaced in commands and variables"
        yield told(
            (*role.path, "template"), message, "replace it too where trainc does not look: scripts, images, ConfigMaps"
        )


def _texts(role: Role) -> str:
    every = (*role.containers, *(role.template["spec"].get("initContainers") or ()))
    return " ".join(str([c.get("command"), c.get("args"), c.get("env"), *_port_users(c)]) for c in every)

"""Convert the pod template of a role to that of a replicated job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.features.migrate.v1 import mpi
from trainc.features.migrate.v1.addresses import Renaming, rewrite_addresses
from trainc.features.migrate.v1.job import Role
from trainc.features.migrate.v1.labels import rewrite_selectors, variable
from trainc.features.migrate.v1.layout import Group, Layout
from trainc.features.migrate.v1.lifecycle import info, restart_policy, warning
from trainc.features.migrate.v1.variables import variables
from trainc.findings import Finding
from trainc.kube import names
from trainc.kube.documents import Json

# JobSet gives the first two; v1 overwrote the third with the policy of the role.
_OVERWRITTEN = ("hostname", "subdomain", "restartPolicy")


def pod_template(layout: Layout, group: Group, rename: Renaming, given: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The pod template of a group; variables whose names are `given` come from a policy of the runtime."""
    job, role = layout.job, group.role
    spec = {name: value for name, value in role.template["spec"].items() if name not in _OVERWRITTEN}
    for field in ("affinity", "topologySpreadConstraints", "volumes"):
        if field in spec:
            spec[field] = rewrite_selectors(spec[field], layout)
    if job.kind.is_mpi:
        spec = mpi.pod_spec(layout, group, spec)
    main = job.main(role)
    spec["containers"] = [
        _main(layout, group, container, rename, given) if index == main else _sidecar(layout, group, container, rename)
        for index, container in enumerate(spec["containers"])
    ]
    if spec.get("initContainers"):
        spec["initContainers"] = [_initial(layout, group, container, rename) for container in spec["initContainers"]]
    spec["restartPolicy"] = restart_policy(role)
    metadata = role.template.get("metadata") or {}
    kept = {field: metadata[field] for field in ("labels", "annotations") if metadata.get(field)}
    return {**({"metadata": kept} if kept else {}), "spec": spec}


def _main(layout: Layout, group: Group, container: Json, rename: Renaming, given: frozenset[str]) -> dict[str, Any]:
    """The main container, less the variables that a policy gives it."""
    job = layout.job
    added = mpi.variables(layout, group) if job.kind.is_mpi else variables(layout, group)
    changed = rewrite_addresses(_with_labels(layout, group, container), rename, added)
    if given and changed.get("env"):
        changed["env"] = [variable for variable in changed["env"] if variable["name"] not in given]
    if job.kind.port_name and f"'{job.kind.port_name}'" in str(_port_users(container)):
        changed["ports"] = _with_port(container, job.kind.port_name, job.kind.port)
    return {**changed, "name": main_name(layout, group)}


def _sidecar(layout: Layout, group: Group, container: Json, rename: Renaming) -> dict[str, Any]:
    """Another container, which v1 gave the same variables, if it was no TFJob or MPIJob."""
    has_variables = not layout.job.kind.is_mpi and layout.job.kind.name != "TFJob"
    added = variables(layout, group) if has_variables else ()
    return rewrite_addresses(_with_labels(layout, group, container), rename, added)


def _port_users(container: Json) -> list[Any]:
    return [container.get(field) for field in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")]


def _with_port(container: Json, name: str, port: int) -> list[Json]:
    """The ports with the one that v1 added, which a probe names."""
    ports = list(container.get("ports") or ())
    return ports if any(p.get("name") == name for p in ports) else [*ports, {"name": name, "containerPort": port}]


def _with_labels(layout: Layout, group: Group, container: Json) -> dict[str, Any]:
    if not container.get("env"):
        return dict(container)
    return {**container, "env": [variable(value, layout, group) for value in container["env"]]}


def _initial(layout: Layout, group: Group, container: Json, rename: Renaming) -> dict[str, Any]:
    """An init container, which v1 gave no variables."""
    return rewrite_addresses(_with_labels(layout, group, container), rename, ())


def main_name(layout: Layout, group: Group) -> str:
    """The name of a group's main container."""
    if group.is_trainer or group.name == names.NODE:
        return names.NODE
    return str(group.role.containers[layout.job.main(group.role)]["name"])


def differences(layout: Layout, rename: Renaming) -> Iterator[Finding]:
    """What is renamed in the pods of each role, and what v1 let them have and JobSet does not."""
    for role in layout.roles:
        path = (*role.path, "template", "spec")
        for field in ("hostname", "subdomain"):
            if role.template["spec"].get(field):
                message = f"JobSet sets {field} of every pod; {role.template['spec'][field]!r} is removed"
                yield warning((*path, field), message, "use the pod's address in the JobSet instead")
        yield from _renamed(role, rename)


def _renamed(role: Role, rename: Renaming) -> Iterator[Finding]:
    for name in rename.found_in(_texts(role)):
        message = (
            f"pod {name} is now called {rename.new[name]}; its name is replaced in commands and environment variables"
        )
        yield info(
            (*role.path, "template"),
            message,
            "replace it yourself where trainc cannot: in scripts, images and ConfigMaps",
        )


def _texts(role: Role) -> str:
    every = (*role.containers, *(role.template["spec"].get("initContainers") or ()))
    return " ".join(str([c.get("command"), c.get("args"), c.get("env"), *_port_users(c)]) for c in every)

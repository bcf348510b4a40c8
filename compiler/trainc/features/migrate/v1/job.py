"""A v1 job as its controller sees it: with defaults filled in and roles in rank order."""

from __future__ import annotations

from typing import Any

from trainc.features.migrate.v1.kinds import Kind
from trainc.findings import Path
from trainc.kube.documents import Json
from trainc.startup.records import dataclass

# Masters come first because they are rank 0. TF_CONFIG and MPI count each role separately, so any order would do.
_ORDER = ("Chief", "Master", "Launcher", "PS", "Worker", "Evaluator")
_MPI_RESTARTS = {"Launcher": "OnFailure", "Worker": "Never"}


@dataclass(frozen=True, slots=True)
class Role:
    """The pods of one replica spec. `path` is its position in the job."""

    name: str
    replicas: int
    restart: str
    template: Json
    path: Path

    @property
    def lower(self) -> str:
        """The name as used for pods, labels and TF_CONFIG."""
        return self.name.lower()

    @property
    def containers(self) -> list[dict[str, Any]]:
        """The containers of its pods."""
        containers: list[dict[str, Any]] = self.template["spec"]["containers"]
        return containers


@dataclass(frozen=True, slots=True)
class Job:
    """A job that v1 would run. `roles` are those in the job, in rank order."""

    kind: Kind
    name: str
    namespace: str | None
    metadata: Json
    spec: Json
    roles: tuple[Role, ...]

    @property
    def policy(self) -> Json:
        """The run policy."""
        policy: Json = self.spec.get("runPolicy") or {}
        return policy

    @property
    def size(self) -> int:
        """The number of pods."""
        return sum(role.replicas for role in self.roles)

    def role(self, name: str) -> Role | None:
        """The role of that name."""
        return next((role for role in self.roles if role.name == name), None)

    def main(self, role: Role) -> int:
        """The position of the main container among those of a role."""
        return main_container(self.kind, role.containers)

    def main_of(self, role: Role) -> dict[str, Any]:
        """The main container of a role."""
        return role.containers[self.main(role)]

    def port(self, role: Role) -> int:
        """Where the main container of a role listens."""
        ports = self.main_of(role).get("ports") or ()
        named = (p["containerPort"] for p in ports if p.get("name") == self.kind.port_name)
        return next(named, self.kind.port)


def main_container(kind: Kind, containers: list[dict[str, Any]]) -> int:
    """The position of the main container; 0 where the MPI Operator takes the first one."""
    return next((i for i, c in enumerate(containers) if c.get("name") == kind.container), 0)


def job_of(kind: Kind, document: Json) -> Job:
    """A document that has no problems, read."""
    metadata, spec = document["metadata"], document["spec"]
    given = {canonical_role(kind, name): (name, value) for name, value in spec[kind.replicas].items()}
    ordered = sorted(given, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    roles = tuple(_role(kind, name, given[name][1], ("spec", kind.replicas, given[name][0])) for name in ordered)
    return Job(kind, metadata["name"], metadata.get("namespace"), metadata, spec, roles)


def canonical_role(kind: Kind, name: str) -> str:
    """A role as v1 spells it: TFJob alone takes any case, and any other word as it is."""
    return next((role for role in kind.roles if role.lower() == name.lower()), name)


def _role(kind: Kind, name: str, value: Json, path: Path) -> Role:
    restart = value.get("restartPolicy") or kind.restart or _MPI_RESTARTS[name]
    replicas = value.get("replicas")
    return Role(name, 1 if replicas is None else replicas, restart, value["template"], path)

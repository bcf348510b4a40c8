"""The jobs in a dump, as files for git: each TrainJob, the runtimes that it needs, and what becomes of v1 jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api.cluster import Dump
from trainc.api.documents import Document, check, read_documents
from trainc.api.findings import CompileError, counted
from trainc.api.kube import Json, mapping
from trainc.api.output import dump_yaml
from trainc.api.records import dataclass, field, pattern
from trainc.api.settings import Limits
from trainc.features import ask
from trainc.features.import_.cleaning import applied_metadata, clean, literal_secrets, with_references
from trainc.findings.text import first_of
from trainc.kube.live_objects import State, controller_of, state_of, true_conditions
from trainc.kube.names import TRAINER_GROUP, is_dns1123_label, is_dns1123_subdomain
from trainc.project.dialects import is_legacy
from trainc.reading.catalog import find

# The end of the name of Trainer's own note of a runtime, a ConfigMap that nothing mounts.
SNAPSHOT = "-runtime-snapshot"
_CLUSTER = "ClusterTrainingRuntime"
# The names of keys that a Secret may have: they are written in a comment, and in a command to copy.
_KEY = pattern(r"[-._a-zA-Z0-9]{1,253}")
_V1_STATES: Mapping[str, State] = {"Succeeded": "succeeded", "Failed": "failed", "Suspended": "suspended"}


@dataclass(frozen=True, slots=True)
class ImportedJob:
    """A job of the cluster: its state, its runtime as people write it, and the file for it."""

    namespace: str
    name: str
    kind: str
    state: State
    runtime: str
    path: str

    @property
    def job(self) -> str:
        """`team-a/llm`."""
        return f"{self.namespace}/{self.name}"


@dataclass(slots=True)
class Import:
    """What an import gives: the jobs, texts of files by path, and what is to be said.

    `removed` counts values that the cluster had added. `problems` are jobs that stay out.
    """

    jobs: list[ImportedJob] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    removed: int = 0


class Reader:
    """Reads the jobs of one dump for a Trainer release. Runtimes of the whole cluster go to the folder `runtimes`."""

    def __init__(self, dump: Dump, release: str, limits: Limits, runtimes: str = "runtimes") -> None:
        self._dump, self._release, self._limits, self._runtimes = dump, release, limits, runtimes
        self._found = Import()
        self._known_runtimes: dict[tuple[str, str, str], str] = {}
        self._outdated: dict[str, list[str]] = {}

    def read(self) -> Import:
        """Return the jobs in the dump, ordered by namespace and name."""
        found = self._found
        controlled = 0
        for (namespace, name), each in sorted(self._dump.of_group(TRAINER_GROUP, "TrainJob").items()):
            if controller_of(each) is not None:
                controlled += 1
            elif self._is_named(namespace, name, "TrainJob"):
                self._trainjob(namespace, name, each)
        self._v1_jobs([each for each in self._dump if is_legacy(each)])
        if controlled:
            found.notes.append(
                f"not imported: {counted(controlled, 'TrainJob')} of another controller, such as an OptimizationJob"
            )
        for runtime, jobs in self._outdated.items():
            found.notes.append(
                f"{runtime} has changed since {first_of(jobs)} started: the file has the version of today"
            )
        return found

    def _is_named(self, namespace: str, name: str, kind: str) -> bool:
        """Whether the names are such as an API server accepts, so that they are safe in a path."""
        if is_dns1123_label(namespace) and is_dns1123_subdomain(name):
            return True
        self._found.problems.append(f"{kind} {namespace}/{name}: no API server has an object of this name")
        return False

    def _trainjob(self, namespace: str, name: str, each: Json) -> None:
        cleaned = clean(each, self._release)
        self._found.removed += cleaned.removed
        reference = mapping(mapping(each.get("spec")).get("runtimeRef"))
        path = f"{namespace}/{name}.yaml"
        runtime = self._runtime(str(reference.get("kind") or _CLUSTER), str(reference.get("name")), namespace, name)
        self._write(path, [cleaned.data], f"{name}-env")
        job = ImportedJob(namespace, name, "TrainJob", state_of(each)[0], runtime, path)
        self._found.jobs.append(job)

    def _write(self, path: str, documents: Sequence[Mapping[str, Any]], secret: str) -> None:
        """Add a file, with references to a Secret in place of literals that look like tokens."""
        if path in self._found.files:
            self._found.problems.append(f"{path}: another object of this name is in that file already")
            return
        comment = ""
        if names := literal_secrets(documents):
            if wrong := [name for name in names if _KEY.fullmatch(name) is None]:
                self._found.problems.append(
                    f"{path}: the value of {wrong[0]!r} looks like a token, and a Secret cannot have a key of that name"
                )
                return
            namespace = next((mapping(d.get("metadata")).get("namespace") for d in documents), None)
            space = f" -n {namespace}" if namespace else " -n NAMESPACE"
            literals = " ".join(f"--from-literal={name}=VALUE" for name in names)
            comment = (
                f"# The value of {first_of(names)} stays out of git. Make this Secret in the cluster:\n"
                f"# kubectl create secret generic {secret}{space} {literals}\n"
            )
            documents = with_references(list(documents), secret)
            self._found.notes.append(
                f"{path}: the value of {first_of(names)} was not written; make the Secret {secret}"
            )
        self._found.files[path] = comment + dump_yaml(documents)

    # Runtimes.

    def _runtime(self, kind: str, name: str, namespace: str, job: str) -> str:
        """Write a runtime that the catalog does not have; return how the table shows it."""
        space = "" if kind == _CLUSTER else namespace
        snapshot = self._snapshot(namespace, job, kind, name)
        live = self._dump.of_group(TRAINER_GROUP, kind).get((space, name))
        if live is not None and snapshot is not None and self._differ(live, snapshot):
            self._outdated.setdefault(f"{kind} {name}", []).append(f"{namespace}/{job}")
        key = kind, space, name
        if key not in self._known_runtimes:
            self._known_runtimes[key] = self._written(kind, space, name, live or snapshot)
        return self._known_runtimes[key]

    def _written(self, kind: str, space: str, name: str, live: Json | None) -> str:
        known = find(name, self._release) if kind == _CLUSTER else None
        in_catalog = isinstance(known, Document)
        if live is None:
            if not in_catalog:
                self._found.problems.append(f"{kind} {name} is not in the dump, and a job needs it; export it as well")
            return f"{name} (catalog)" if in_catalog else f"{name} (missing)"
        if isinstance(known, Document) and not self._differ(live, known.data):
            return f"{name} (catalog)"
        if not self._is_named(space or "cluster", name, kind):
            return f"{name} (missing)"
        cleaned = clean({**live, "kind": kind}, self._release)
        self._found.removed += cleaned.removed
        path = f"{space}/runtimes/{name}.yaml" if space else f"{self._runtimes}/{name}.yaml"
        self._write(path, [cleaned.data], f"{name}-env")
        return name

    def _differ(self, one: Json, other: Json) -> bool:
        specs = []
        for each in (one, other):
            document = {"apiVersion": each.get("apiVersion"), "kind": _CLUSTER, "metadata": {"name": "x"}}
            specs.append(check({**document, "spec": each.get("spec")}, _CLUSTER, self._release, prune=True)[0])
        return specs[0] != specs[1]

    def _snapshot(self, namespace: str, job: str, kind: str, name: str) -> Json | None:
        """The runtime as it was when the job started, which Trainer keeps in a ConfigMap since 2.3."""
        kept = self._dump.get("ConfigMap", namespace, job + SNAPSHOT)
        text = mapping(mapping(kept).get("data")).get("runtime")
        if not isinstance(text, str):
            return None
        try:
            documents, problems = read_documents(text.encode(errors="replace"), job + SNAPSHOT, self._limits)
        except CompileError:
            return None
        found = documents[0].data if len(documents) == 1 and not problems else {}
        metadata = mapping(found.get("metadata"))
        return found if (found.get("kind"), metadata.get("name")) == (kind, name) else None

    # Jobs of Training Operator v1.

    def _v1_jobs(self, jobs: Sequence[Json]) -> None:
        make = ask("migrate", "plan")
        if not jobs:
            return
        if make is None:
            self._found.problems.append("v1 jobs stay out: this installation of trainc has no `migrate`")
            return
        cleaned = {id(job): _v1_cleaned(job) for job in jobs}
        plan = make(cleaned.values(), self._release)
        for job in jobs:
            metadata = mapping(job.get("metadata"))
            namespace, name, kind = str(metadata.get("namespace") or ""), str(metadata.get("name")), str(job["kind"])
            if controller_of(job) is not None or not self._is_named(namespace, name, kind):
                continue
            outcome = plan.of(cleaned[id(job)])
            errors = [finding.message for finding in outcome.findings if finding.severity == "error"]
            if errors or is_legacy(outcome.documents[0]):
                reason = errors[0] if errors else "it cannot be migrated"
                self._found.problems.append(
                    f"{kind} {namespace}/{name}: {reason} (`trainc migrate --report` has the rest)"
                )
                continue
            path = f"{namespace}/{name}.yaml"
            self._write(path, outcome.documents, f"{name}-env")
            runtime = mapping(mapping(outcome.documents[0].get("spec")).get("runtimeRef")).get("name")
            self._found.jobs.append(ImportedJob(namespace, name, kind, _v1_state(job), str(runtime), path))


def _v1_cleaned(job: Json) -> dict[str, Any]:
    return {key: job[key] for key in ("apiVersion", "kind") if key in job} | {
        "metadata": applied_metadata(job),
        "spec": job.get("spec"),
    }


def _v1_state(job: Json) -> State:
    held = {str(one.get("type")) for one in true_conditions(job)}
    return next((state for kind, state in _V1_STATES.items() if kind in held), "running")


# What the table of an import calls a state.
STATES: Mapping[State, str] = {
    "running": "running",
    "suspended": "suspended",
    "succeeded": "finished",
    "failed": "finished (failed)",
}

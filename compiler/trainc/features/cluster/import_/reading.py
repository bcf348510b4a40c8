"""The jobs in a dump as their authors applied them, as files for git."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from trainc.api.cluster import Dump, live_objects
from trainc.api.documents import Document, catalog, check, dialects, yaml_reader
from trainc.api.findings import CompileError, counted, first_of
from trainc.api.kube import Unchecked, documents, identity_of, mapping, names, quantity
from trainc.api.output import dump_yaml
from trainc.api.records import dataclass, field, pattern
from trainc.api.schema import defaults_of
from trainc.api.settings import Limits
from trainc.features import ask

# What an object of a cluster looked like when its author applied it: without what the API server, its defaults,
# webhooks, Kueue, controllers and GitOps tools have added. What is left has the same meaning: the schema's defaults bring
# the rest back.


# Kueue's entry in the patches of a TrainJob; before Trainer 2.2 an annotation says where Kueue's overrides begin.
# Source: kubernetes-sigs/kueue pkg/controller/jobs/trainjob/trainjob_controller.go, v0.20 and v0.14.
_KUEUE_PATCH = "kueue.x-k8s.io/manager"
_KUEUE_OVERRIDES = "kueue.x-k8s.io/override-idx"
_PLACEHOLDERS = ("metadata", "resources", "status", "strategy", "labels", "annotations")
_SECRET_ENDINGS = ("TOKEN", "KEY", "SECRET", "PASSWORD")
# What looks like a credential by its name, or by the beginning that services give to theirs; its value stays in the file.
_CREDENTIAL_NAME = pattern(
    r"(?i)(?:^|.*[_-])(?:PASS(?:WD|PHRASE|WORD)?|PWD|CREDENTIALS?|PAT|AUTH|SECRETS?|TOKENS?|(?:API_?)?KEY)"
)
_CREDENTIAL_OPTION = pattern(
    r"(?i)--?(?:[\w.-]*[._-])?(?:token|pass(?:word|wd|phrase)?|secret|api[_-]?key|credentials?)"
)
_CREDENTIAL_VALUE = pattern(
    r"(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|AKIA|ASIA|AIza|eyJ)[\w./+-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY|://[^\s/:@]*:[^\s/@$]+@"
)
# What stands for a value that is elsewhere, and what is none: a reference, a path, a number, a word of a model.
_NO_CREDENTIAL = pattern(r"(?i)[\"']?(?:[-$<\[].*|/[\w.-]+/.*|[\d.]*|true|false|none|null)[\"']?")


def clean(live: Unchecked, release: str) -> dict[str, Any]:
    """A TrainJob or a runtime as its author wrote it."""
    kind, spec = str(live["kind"]), dict(mapping(live.get("spec")))
    data: dict[str, Any] = {"apiVersion": live.get("apiVersion"), "kind": kind, "metadata": applied_metadata(live)}
    data["spec"] = spec if kind in names.RUNTIME_KINDS else _without_kueue(spec, live)
    # Without values that the schema's defaults bring back, as far as that changes nothing.
    complete, problems = check(data, kind, release, prune=True)
    if any(problem.severity == "error" for problem in problems):
        return data
    fields = (field for of_type in defaults_of(release).values() for field in of_type.items())
    defaults = {(name, type(value), value) for name, value in fields}
    without: dict[str, Any] = {key: _pruned(value, defaults) for key, value in data.items()}
    return without if check(without, kind, release, prune=True)[0] == complete else data


def applied_metadata(live: Unchecked) -> dict[str, Any]:
    """The name, and the labels and annotations that are neither a tool's mark nor Kueue's."""
    owners, metadata = live_objects.Owners(live), mapping(live.get("metadata"))
    applied: dict[str, Any] = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
    for name, values in (("labels", live_objects.labels_of(live)), ("annotations", live_objects.annotations_of(live))):
        authored = {
            key: value
            for key, value in values.items()
            if key != _KUEUE_OVERRIDES
            and not live_objects.is_mark(("metadata", name, key), by := owners.of(("metadata", name, key)))
            and not (by or "").startswith(live_objects.KUEUE)
        }
        if authored:
            applied[name] = authored
    return applied


def as_applied(live: Unchecked) -> dict[str, Any]:
    """What to apply over a live object so that it stays as it is.

    Client-side apply replaces lists, so the spec is that of the cluster, with what Kueue has set in it. Only `suspend`
    stays out, which is then left to the cluster.
    """
    applied = {key: value for key, value in live.items() if key != "status"} | {"metadata": applied_metadata(live)}
    if live.get("kind") == "JobSet":
        applied["spec"] = {key: value for key, value in mapping(live.get("spec")).items() if key != "suspend"}
    return applied


def _without_kueue(spec: dict[str, Any], job: Unchecked) -> dict[str, Any]:
    """The spec of a TrainJob without Kueue's patches, and without `suspend` where Kueue decides about it."""
    queued = names.QUEUE_LABEL in live_objects.labels_of(job)
    cleaned = {key: value for key, value in spec.items() if key != "suspend" or not queued}
    if isinstance(patches := spec.get("runtimePatches"), list):
        authored = [patch for patch in patches if mapping(patch).get("manager") != _KUEUE_PATCH]
        # The time is that of the last write, which a webhook notes.
        cleaned["runtimePatches"] = [{k: v for k, v in mapping(patch).items() if k != "time"} for patch in authored]
    first = quantity.whole_number(str(live_objects.annotations_of(job).get(_KUEUE_OVERRIDES)))
    for name in ("podTemplateOverrides", "podSpecOverrides"):
        if isinstance(overrides := spec.get(name), list) and first is not None:
            cleaned[name] = overrides[:first]
    return {key: value for key, value in cleaned.items() if value != []}


def _pruned(value: Any, defaults: Collection[tuple[str, type, Any]]) -> Any:
    if isinstance(value, Mapping):
        pruned: dict[str, Any] = {}
        for key, item in value.items():
            inner = _pruned(item, defaults)
            is_empty = inner is None or (inner == {} and key in _PLACEHOLDERS)
            if not is_empty and (isinstance(inner, dict | list) or (key, type(inner), inner) not in defaults):
                pruned[key] = inner
        return pruned
    return [_pruned(item, defaults) for item in value] if isinstance(value, list) else value


# Literals that look like a token, which must not reach git.


def literal_secrets(document: Any) -> list[str]:
    """The names of variables with a literal value that looks like a token, each once."""
    secret_names: dict[str, None] = {}
    waiting = [("", document)]
    while waiting:
        field, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(str(key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(field, inner) for inner in value]
            secret_names |= {str(item["name"]): None for item in value if field == "env" and _is_secret(item)}
    return sorted(secret_names)


# Files of these names are settings of trainc and others, or devices of Windows.
_RESERVED = pattern(r"(?i)(?:kustomization|overlay|trainc|con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
_LONGEST_NAME = 200


def source_name(folder: str, name: str) -> str:
    """The path of a file for an object, whose name every file system has a place for and no tool a meaning."""
    if len(name) > _LONGEST_NAME:
        from zlib import crc32

        name = f"{name[:_LONGEST_NAME]}.{crc32(name.encode()):08x}"
    # TrainJobs have no dots in their names, so this is that of no other.
    return f"{folder}/{name}.job.yaml" if _RESERVED.fullmatch(name) else f"{folder}/{name}.yaml"


def with_references(document: Any, secret: str, field: str = "") -> Any:
    """The document with references to keys of a Secret in place of such literals."""
    if isinstance(document, Mapping):
        if field == "env" and _is_secret(document):
            reference = {"secretKeyRef": {"name": secret, "key": str(document["name"])}}
            return {"name": document["name"], "valueFrom": reference}
        return {key: with_references(inner, secret, str(key)) for key, inner in document.items()}
    return [with_references(item, secret, field) for item in document] if isinstance(document, list) else document


def credentials_in(value: Any, field: str = "") -> set[str]:
    """The variables, options and fields whose values look like credentials."""
    if isinstance(value, Mapping):
        name, text = str(value.get("name")), value.get("value")
        if isinstance(text, str):
            return {name} if text and (_CREDENTIAL_NAME.fullmatch(name) or _CREDENTIAL_VALUE.search(text)) else set()
        return {found for key, inner in value.items() for found in credentials_in(inner, str(key))}
    texts = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
    found = {field} if any(map(_CREDENTIAL_VALUE.search, texts)) else set()
    # `--token X`, `--token=X` and `-e TOKEN=X`, each in words of their own or in a script.
    words = [word for text in texts for word in text.split()]
    for word, following in pairwise((*words, "")):
        name, equals, given = word.strip("\"';").partition("=")
        is_known = _CREDENTIAL_OPTION.fullmatch(name) or (equals and _CREDENTIAL_NAME.fullmatch(name))
        if is_known and not _NO_CREDENTIAL.fullmatch(given if equals else following):
            found.add(name)
    others = value if isinstance(value, list) else ()
    return found.union(*(credentials_in(item, field) for item in others if not isinstance(item, str)))


def _is_secret(variable: Any) -> bool:
    fields = mapping(variable)
    return bool(fields.get("value")) and str(fields.get("name")).upper().endswith(_SECRET_ENDINGS)


# The end of the name of Trainer's own note of a runtime, a ConfigMap that nothing mounts.
SNAPSHOT = "-runtime-snapshot"
_CLUSTER = "ClusterTrainingRuntime"
# What the table of an import calls a state.
STATES: Mapping[live_objects.State, str] = {
    "running": "running", "suspended": "suspended", "succeeded": "finished", "failed": "finished (failed)",
}  # fmt: skip
_V1_STATES: Mapping[str, live_objects.State] = {"Succeeded": "succeeded", "Failed": "failed", "Suspended": "suspended"}


@dataclass(frozen=True, slots=True)
class ImportedJob:
    """A job of the cluster: its state, its runtime as people write it, and the file for it."""

    namespace: str
    name: str
    kind: str
    state: live_objects.State
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


def _leaf_count(tree: object) -> int:
    """As many as `leaves` has, without their paths, which take ten times the memory of a small document."""
    count, waiting = 0, [tree]
    while waiting:
        value = waiting.pop()
        inner = list(value.values()) if isinstance(value, Mapping) else documents.items(value)
        count += not inner
        waiting += inner
    return count


class Reader:
    """Reads the jobs of one dump for a Trainer release. Runtimes of the whole cluster go to the folder `runtimes`."""

    def __init__(self, dump: Dump, release: str, limits: Limits, runtimes: str = "runtimes") -> None:
        self._dump, self._release, self._limits, self._runtimes = dump, release, limits, runtimes
        self._found = Import()
        self._known_runtimes: dict[tuple[str, str, str], str] = {}
        self._outdated: dict[str, list[str]] = {}

    def read(self) -> Import:
        """Return the jobs in the dump, ordered by namespace and name."""
        result = self._found
        controlled = 0
        for (namespace, name), job in sorted(self._dump.of_group(names.TRAINER_GROUP, "TrainJob").items()):
            if live_objects.controller_of(job) is not None:
                controlled += 1
            elif self._is_named(namespace, name, "TrainJob"):
                reference, path = mapping(mapping(job.get("spec")).get("runtimeRef")), source_name(namespace, name)
                kind = str(reference.get("kind") or _CLUSTER)
                runtime = self._runtime(kind, str(reference.get("name")), namespace, name)
                self._write(path, [self._cleaned(job)], f"{name}-env")
                result.jobs.append(
                    ImportedJob(namespace, name, "TrainJob", live_objects.state_of(job)[0], runtime, path)
                )
        self._v1_jobs([job for job in self._dump if dialects.is_legacy(job)])
        if controlled:
            jobs = counted(controlled, "TrainJob")
            result.notes.append(f"not imported: {jobs} of another controller, such as an OptimizationJob")
        for (namespace, name), jobset in sorted(self._dump.of("JobSet").items()):
            if live_objects.controller_of(jobset) is None and not live_objects.gitops_tool_of(jobset):
                self._raw_jobset(namespace, name, jobset)
        for runtime, users in self._outdated.items():
            started = f"since {first_of(users)} started: the file has the version of today"
            result.notes.append(f"{runtime} has changed {started}")
        return result

    def _raw_jobset(self, namespace: str, name: str, jobset: Unchecked) -> None:
        """Add a JobSet that no TrainJob makes, with the spec that it has now: most of it cannot change while it exists."""
        if not self._is_named(namespace, name, "JobSet"):
            return
        if variables := literal_secrets(jobset):
            why = f"has the value of {first_of(variables)}, which must not reach git and cannot change while it exists"
            self._found.problems.append(f"JobSet {namespace}/{name}: it {why}")
            return
        path, applied = source_name(namespace, name), as_applied(jobset)
        self._found.removed += _leaf_count(jobset) - _leaf_count(applied)
        self._write(path, [applied], "")
        state = live_objects.state_of(jobset)[0]
        self._found.jobs.append(ImportedJob(namespace, name, "JobSet", state, "none", path))
        self._found.notes.append(
            f"{namespace}/{name} is a JobSet without a TrainJob: `trainc build` writes it as it is"
        )

    def _is_named(self, namespace: str, name: str, kind: str) -> bool:
        """Return whether the names are such as an API server accepts, so that they are safe in a path."""
        if names.is_dns1123_label(namespace) and names.is_dns1123_subdomain(name):
            return True
        self._found.problems.append(f"{kind} {namespace}/{name}: no API server has an object of this name")
        return False

    def _cleaned(self, manifest: Unchecked) -> dict[str, Any]:
        data = clean(manifest, self._release)
        self._found.removed += _leaf_count(manifest) - _leaf_count(data)
        return data

    def _write(self, path: str, documents: Sequence[Mapping[str, Any]], secret: str) -> None:
        """Add a file, with references to a Secret in place of literals that look like tokens."""
        if path in self._found.files:
            self._found.problems.append(f"{path}: another object of this name is in that file already")
            return
        comment = ""
        if secrets := literal_secrets(documents):
            if wrong := [name for name in secrets if not names.is_file_name(name)]:
                why = "looks like a token, and a Secret cannot have a key of that name"
                self._found.problems.append(f"{path}: the value of {wrong[0]!r} {why}")
                return
            namespace = next((mapping(d.get("metadata")).get("namespace") for d in documents), None)
            space = f" -n {namespace}" if namespace else " -n NAMESPACE"
            literals = " ".join(f"--from-literal={name}=VALUE" for name in secrets)
            comment = (
                f"# The value of {first_of(secrets)} stays out of git. Make this Secret in the cluster:\n"
                f"# kubectl create secret generic {secret}{space} {literals}\n"
            )
            documents = with_references(list(documents), secret)
            note = f"the value of {first_of(secrets)} was not written; make the Secret {secret}"
            self._found.notes.append(f"{path}: {note}")
        if clear := first_of(sorted(credentials_in(documents))):
            self._found.notes.append(
                f"{path}: {clear} looks like a credential and was written as it is; move it to a Secret"
            )
        self._found.files[path] = comment + dump_yaml(documents)

    # Runtimes.

    def _runtime(self, kind: str, name: str, namespace: str, job: str) -> str:
        """Write a runtime that the catalog does not have; return how the table shows it."""
        space = "" if kind == _CLUSTER else namespace
        snapshot = self._snapshot(namespace, job, kind, name)
        live = self._dump.of_group(names.TRAINER_GROUP, kind).get((space, name))
        if live is not None and snapshot is not None and self._differ(live, snapshot):
            self._outdated.setdefault(f"{kind} {name}", []).append(f"{namespace}/{job}")
        key = kind, space, name
        if key not in self._known_runtimes:
            self._known_runtimes[key] = self._write_runtime(kind, space, name, live or snapshot)
        return self._known_runtimes[key]

    def _write_runtime(self, kind: str, space: str, name: str, live: Unchecked | None) -> str:
        catalog_entry = catalog.find(name, self._release) if kind == _CLUSTER else None
        if isinstance(catalog_entry, Document) and (live is None or not self._differ(live, catalog_entry.data)):
            return f"{name} (catalog)"
        if live is None:
            self._found.problems.append(f"{kind} {name} is not in the dump, and a job needs it; export it as well")
        if live is None or not self._is_named(space or "cluster", name, kind):
            return f"{name} (missing)"
        path = source_name(f"{space}/runtimes" if space else self._runtimes, name)
        self._write(path, [self._cleaned({**live, "kind": kind})], f"{name}-env")
        return name

    def _differ(self, left: Unchecked, right: Unchecked) -> bool:
        def complete(runtime: Unchecked) -> Unchecked:
            fields = {key: runtime.get(key) for key in ("apiVersion", "spec")}
            document = {**fields, "kind": _CLUSTER, "metadata": {"name": "x"}}
            return check(document, _CLUSTER, self._release, prune=True)[0]

        return complete(left) != complete(right)

    def _snapshot(self, namespace: str, job: str, kind: str, name: str) -> Unchecked | None:
        """The runtime as it was when the job started, which Trainer keeps in a ConfigMap since 2.3."""
        config_map = self._dump.get("ConfigMap", namespace, job + SNAPSHOT)
        text = mapping(mapping(config_map).get("data")).get("runtime")
        if not isinstance(text, str):
            return None
        try:
            documents, problems = yaml_reader.read_documents(
                text.encode(errors="replace"), job + SNAPSHOT, self._limits
            )
        except CompileError:
            return None
        runtime = documents[0].data if len(documents) == 1 and not problems else {}
        metadata = mapping(runtime.get("metadata"))
        return runtime if (runtime.get("kind"), metadata.get("name")) == (kind, name) else None

    # Jobs of Training Operator v1.

    def _v1_jobs(self, jobs: Sequence[Unchecked]) -> None:
        make = ask("v1", "plan")
        if make is None:
            problem = "v1 jobs stay out: this installation of trainc has no `migrate`"
            self._found.problems += [problem] if jobs else []
            return
        cleaned = [{**job, "metadata": applied_metadata(job)} for job in jobs]
        cleaned = [{key: job.get(key) for key in ("apiVersion", "kind", "metadata", "spec")} for job in cleaned]
        plan = make(cleaned, self._release)
        for job, cleaned_job in zip(jobs, cleaned, strict=True):
            (namespace, name), kind = identity_of(job), str(job["kind"])
            if live_objects.controller_of(job) is not None or not self._is_named(namespace, name, kind):
                continue
            outcome = plan.of(cleaned_job)
            errors = [finding.message for finding in outcome.findings if finding.severity == "error"]
            if errors or dialects.is_legacy(outcome.documents[0]):
                reason = errors[0] if errors else "it cannot be migrated"
                problem = f"{kind} {namespace}/{name}: {reason} (`trainc migrate --report` has the rest)"
                self._found.problems.append(problem)
                continue
            path = source_name(namespace, name)
            self._write(path, outcome.documents, f"{name}-env")
            runtime = mapping(mapping(outcome.documents[0].get("spec")).get("runtimeRef")).get("name")
            held = {str(condition.get("type")) for condition in live_objects.true_conditions(job)}
            state: live_objects.State = next((state for kind, state in _V1_STATES.items() if kind in held), "running")
            self._found.jobs.append(ImportedJob(namespace, name, kind, state, str(runtime), path))

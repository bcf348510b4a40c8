"""Read from a cluster's objects which components it has, in which version, and whether they run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.api.cluster import Dump
from trainc.api.documents import opening
from trainc.api.findings import aligned
from trainc.api.kube import Json, documents, mapping, objects, releases, value_at
from trainc.api.records import dataclass, field, pattern, replace
from trainc.features import ask

# Of each component: the suffixes of its controller's or scheduler's image path, without the tag, the first of which decides;
# the names by which its Deployment is known where a mirror has renamed the image; and of those that schedule PodGroups the
# API group.
_COMPONENTS: Mapping[str, Json] = opening.read_data(__file__, "components.json")
_VERSION_LABEL, _CHART_LABEL = "app.kubernetes.io/version", "helm.sh/chart"
# For each minor, a CRD field that it introduced: identifies the minor if no image does.
_POD = "spec.replicatedJobs.template.spec.template.spec"
# fmt: off
_TELLTALES = {
    "Trainer": releases.Columns(releases.RELEASES, {
        "crd": (*["trainjobs.trainer.kubeflow.org"] * 3, "clustertrainingruntimes.trainer.kubeflow.org", "trainjobs.trainer.kubeflow.org"),
        "field": (
            "spec.runtimeRef", "spec.podTemplateOverrides", "spec.runtimePatches", "spec.mlPolicy.torch.envInjection",
            "spec.trainer.resourceClaimsPerNode",
        ),
    }),
    "JobSet": releases.Columns(releases.JOBSETS, {
        "crd": ("jobsets.jobset.x-k8s.io",),
        "field": (
            "spec.replicatedJobs", "spec.replicatedJobs.groupName", "spec.volumeClaimPolicies", f"{_POD}.schedulingGroup",
        ),
    }),
}
# fmt: on
_MINOR = pattern(r"v?(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Component:
    """A component that is installed, or at least defined.

    `version` and `minor` are empty if unknown. `runs` is None if no Deployment tells; `problem` says why it does not run,
    and what to do.
    """

    name: str
    version: str
    runs: bool | None = None
    problem: str = ""

    @property
    def minor(self) -> str:
        """The minor of its version, e.g. "0.12"."""
        return minor_of(self.version)


def minor_of(version: str) -> str:
    """The minor of a version: "0.12" for "v0.12.1"; empty if it has none."""
    match = _MINOR.match(version)
    return f"{match[1]}.{match[2]}" if match else ""


def components(documents: Sequence[Json], *, all_deployments: bool = False) -> dict[str, Component]:
    """The components that the documents show, by name.

    With `all_deployments`, a Deployment that is not there does not exist; that also holds if there is any Deployment.
    """
    dump = Dump.of_objects(documents)
    definitions = {name: definition for (_, name), definition in dump.of("CustomResourceDefinition").items()}
    deployments = dump.list_all("Deployment")
    by_name = {}
    for name in _COMPONENTS:
        deployment = _deployment_of(name, deployments)
        definition = definitions.get(_COMPONENTS[name]["crd"])
        if deployment is not None:
            by_name[name] = _deployed(name, *deployment, definitions)
        elif definition is not None:
            version = _version_of_definition(name, definition, definitions)
            listed = all_deployments or bool(deployments)
            problem = "it is defined, but no Deployment runs it: install it again" if listed else ""
            by_name[name] = Component(name, version, False if listed else None, problem)
    return by_name


def _deployment_of(name: str, deployments: Sequence[Json]) -> tuple[Json, str] | None:
    """Return the Deployment of a component and the image by which it is known, which may be empty."""
    for end in _COMPONENTS[name]["images"]:
        for deployment in deployments:
            containers = objects(value_at(deployment, ("spec", "template", "spec", "containers")))
            for image in (str(container.get("image") or "") for container in containers):
                if f"/{_repository(image)}".endswith(f"/{end}"):
                    return deployment, image
    for default_name in _COMPONENTS[name]["deployments"]:
        for deployment in deployments:
            if mapping(deployment.get("metadata")).get("name") == default_name:
                return deployment, ""
    return None


def _repository(image: str) -> str:
    path = image.partition("@")[0]
    repository, colon, tag = path.rpartition(":")
    return repository if colon and "/" not in tag else path


def _deployed(name: str, deployment: Json, image: str, definitions: Mapping[str, Json]) -> Component:
    tag = image.partition("@")[0].removeprefix(_repository(image)).removeprefix(":")
    version = tag if minor_of(tag) else ""
    for labels in (("metadata", "labels"), ("spec", "template", "metadata", "labels")):
        version = version or _version_of_labels(mapping(value_at(deployment, labels)))
    if not version and _COMPONENTS[name]["crd"] in definitions:
        version = _version_of_definition(name, definitions[_COMPONENTS[name]["crd"]], definitions)
    problem = _not_available(deployment)
    return Component(name, version, not problem, problem)


def _not_available(deployment: Json) -> str:
    metadata, status = mapping(deployment.get("metadata")), deployment.get("status")
    replicas = mapping(deployment.get("spec")).get("replicas", 1)
    if replicas != 0 and (not isinstance(status, dict) or status.get("availableReplicas")):
        return ""
    where = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
    if replicas == 0:
        return f"Deployment {where} is scaled to 0 replicas"
    return f"0 of {replicas} replicas of Deployment {where} are available: see `kubectl describe` of it"


def _version_of_labels(labels: Json) -> str:
    chart = str(labels.get(_CHART_LABEL) or "").rpartition("-")[2]
    for version in (str(labels.get(_VERSION_LABEL) or ""), chart):
        if minor_of(version):
            return version
    return ""


def _version_of_definition(name: str, definition: Json, definitions: Mapping[str, Json]) -> str:
    version = _version_of_labels(mapping(value_at(definition, ("metadata", "labels"))))
    return version or (_newest_known(_TELLTALES[name], definitions) if name in _TELLTALES else "")


def shows_cluster(documents: Sequence[Json]) -> bool:
    """Return whether anything in the documents is of use: without it, all that is missing would look as if it were not installed."""
    return kubernetes(documents) is not None or lists_any(documents)


def lists_any(documents: Sequence[Json]) -> bool:
    """Return whether there is any Deployment or custom resource definition, which show what is installed."""
    dump = Dump.of_objects(documents)
    return bool(dump.list_all("Deployment") or dump.of("CustomResourceDefinition"))


def kubernetes(documents: Sequence[Json]) -> Component | None:
    """The API server's version, or that of the oldest kubelet if no document has it."""
    dump = Dump.of_objects(documents)
    for document in dump.nameless:
        version = value_at(document, ("serverVersion", "gitVersion"))
        if isinstance(version, str):
            return Component("Kubernetes", version)
    kubelets = [value_at(node, ("status", "nodeInfo", "kubeletVersion")) for node in dump.list_all("Node")]
    versions = [version for version in kubelets if isinstance(version, str) and minor_of(version)]
    return Component("Kubernetes", min(versions, key=number_of)) if versions else None


def number_of(version: str) -> tuple[int, ...]:
    """A sort key for minors: 1.9 comes before 1.10."""
    return tuple(int(part) for part in minor_of(version).split(".") if part)


def serves_workloads(documents: Sequence[Json]) -> bool | None:
    """Return whether the cluster serves scheduling.k8s.io/v1beta1; None if no document lists the served versions."""
    for document in Dump.of_objects(documents).nameless:
        if document.get("kind") == "APIGroup" and document.get("name") == "scheduling.k8s.io":
            return "v1beta1" in [version.get("version") for version in objects(document.get("versions"))]
    return None


def _newest_known(telltales: releases.Columns, definitions: Mapping[str, Json]) -> str:
    """The newest minor whose field exists. A minor without new fields is indistinguishable from the one before."""
    newest = ""
    before: Mapping[str, str] = {}
    for minor in telltales.axis:
        telltale = telltales.at(minor)
        if telltale != before and _has_field(definitions.get(telltale["crd"], {}), telltale["field"]):
            newest = minor
        before = telltale
    return newest


def _has_field(definition: Json, field: str) -> bool:
    """Return whether a version of a custom resource has the field; the path passes through lists."""
    for version in objects(mapping(definition.get("spec")).get("versions")):
        schema = value_at(dict(version), ("schema", "openAPIV3Schema"))
        for step in field.split("."):
            here = mapping(schema)
            here = mapping(here.get("items")) if here.get("type") == "array" else here
            schema = mapping(here.get("properties")).get(step)
        if schema is not None:
            return True
    return False


# Compare what a cluster has with what compiled jobs need, row by row with hints; as text and JSON.


VERSION = 1
Status: TypeAlias = Literal["OK", "differs", "not found", "not running", "unknown"]
_WORKLOADS = "scheduling.k8s.io"
_MOST_QUEUES = 5


@dataclass(frozen=True, slots=True)
class Requirements:
    """The requirements of the jobs: `jobsets` and `kueues` map each Trainer minor to the minors it goes with.

    `kubernetes` are the minors that Trainer tests `release` with, oldest first; `gangs` are the API groups of the
    PodGroups, and `queues` are (namespace, name) of the jobs' LocalQueues. `meant` is the Kubernetes minor that the
    jobs are compiled for, None if unspecified. `uses_trainer` says whether Trainer's controller runs the jobs, as under
    `controller` semantics. `jobs` are the JobSets, and `created` are the names that the input creates, by kind and namespace.
    """

    release: str
    jobsets: Mapping[str, str]
    kueues: tuple[str, ...]
    kubernetes: tuple[str, ...]
    gangs: frozenset[str] = frozenset()
    queues: frozenset[tuple[str, str]] = frozenset()
    uses_trainer: bool = False
    meant: str | None = None
    jobs: tuple[Json, ...] = ()
    created: Mapping[tuple[str, str], Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement: its name, what is expected and what there is, and a hint if there is something to do.

    `needed` says whether the jobs depend on it; other rows never cause a failure. A row that is not `visible` is about
    something of which no answer shows anything.
    """

    name: str
    expected: str
    actual: str
    status: Status
    hint: str = ""
    needed: bool = True
    visible: bool = True

    @property
    def is_fine(self) -> bool:
        """Return whether the jobs can run with it, as far as the answers show; an unknown version counts as fine."""
        return not self.needed or self.status == "OK" or (self.status == "unknown" and self.visible)


def compare(
    documents: Sequence[Json], requirements: Requirements, unanswered: Mapping[str, str], *, live: bool = False
) -> list[Row]:
    """A row for each component, then for each missing queue.

    `unanswered` are questions without an answer. Answers of a `live` cluster are complete; files may lack a kind.
    """
    by_name = components(documents, all_deployments=live and "deployments" not in unanswered)
    # If neither CRDs nor Deployments could be listed, nothing can be known to be missing.
    blind = {"custom resource definitions", "deployments"} <= set(unanswered) if live else not lists_any(documents)
    rows = [
        _kubernetes(kubernetes(documents), requirements),
        _jobset(by_name.get("JobSet"), requirements, blind),
        _trainer(by_name.get("Trainer"), requirements, blind),
        _kueue(by_name.get("Kueue"), requirements, blind),
    ]
    for name, facts in ((name, facts) for name, facts in _COMPONENTS.items() if "gang" in facts):
        needed = facts["gang"] in requirements.gangs
        absent = (
            f"install {facts['source']}, or remove the podGroupPolicy from the runtimes" if needed else "no job uses it"
        )
        rows.append(_row(name, by_name.get(name), "any" * needed, None, blind, absent, needed=needed))
    if _WORKLOADS in requirements.gangs:
        served, row = serves_workloads(documents), Row("Workload API", "v1beta1", "", "unknown")
        hint = f"save `kubectl get --raw /apis/{_WORKLOADS}` with the other files"
        if served is False:
            hint = "Kubernetes 1.37 has it; with older versions, compile without --gang workload"
            row = replace(row, status="not found")
        rows.append(replace(row, actual=row.expected, status="OK") if served else replace(row, hint=hint))
    if "Kueue" in by_name and "local queues" not in unanswered:
        existing = sorted(Dump.of_objects(documents).of("LocalQueue"))
        for namespace, queue in sorted(requirements.queues.difference(existing)):
            near = [name for space, name in existing if space == namespace][:_MOST_QUEUES]
            where = namespace or "its namespace"
            hint = f"{where} has {', '.join(near)}" if near else "create it, or use another queue"
            rows.append(Row(f"LocalQueue {namespace}/{queue}", "", "", "not found", hint))
    return rows


def _kubernetes(server: Component | None, requirements: Requirements) -> Row:
    tested = requirements.kubernetes
    span = requirements.meant or f"{tested[0]} to {tested[-1]}"
    if server is None:
        hint = "save `kubectl version -o yaml` with the other files"
        return Row("Kubernetes", span, "", "unknown", hint)
    if requirements.meant is not None and minor_of(server.version) != requirements.meant:
        older = number_of(server.version) < number_of(requirements.meant)
        hint = f"compile with --kubernetes {minor_of(server.version)}"
        return Row("Kubernetes", span, server.version, "differs" if older else "OK", hint)
    if number_of(server.version) < number_of(tested[0]):
        hint = f"Trainer {requirements.release} is not tested with it: upgrade the cluster, or compile for an older release"
        return Row("Kubernetes", span, server.version, "differs", hint)
    newer = number_of(server.version) > number_of(tested[-1])
    hint = "newer than the versions that Trainer is tested with" if newer else ""
    return Row("Kubernetes", span, server.version, "OK", hint)


def _jobset(jobset: Component | None, requirements: Requirements, blind: bool) -> Row:
    minor = requirements.jobsets[requirements.release]
    using = (trainer for trainer, other in requirements.jobsets.items() if jobset and other == jobset.minor)
    release = next(using, None)
    absent = "install JobSet: without it, the cluster accepts no compiled job"
    if jobset is not None and jobset.minor and number_of(jobset.version) > number_of(minor):
        hint = "newer, which usually works" + (f"; --release {release} uses it" if release else "")
        return _row("JobSet", jobset, minor, {jobset.minor}, blind, absent, hint=hint)
    differs = f"compile with --release {release}, which uses it, or " * bool(release) + f"install JobSet {minor}"
    unknown = "check the version of its controller's image"
    return _row("JobSet", jobset, minor, {minor}, blind, absent, differs, unknown)


def _trainer(trainer: Component | None, requirements: Requirements, blind: bool) -> Row:
    needed, release = requirements.uses_trainer, requirements.release
    absent = "" if needed else "compiled jobs do not need it"
    differs = ""
    if trainer is not None and trainer.minor in requirements.jobsets:
        differs = f"compile with --release {trainer.minor} to get what this controller would create"
    return _row("Trainer", trainer, release, {release}, blind, absent, differs, needed=needed)


def _kueue(kueue: Component | None, requirements: Requirements, blind: bool) -> Row:
    oldest, newest, needed = requirements.kueues[0], requirements.kueues[-1], bool(requirements.queues)
    minors = newest if oldest == newest else f"{oldest} to {newest}"
    absent = "install Kueue, or remove the queue label from the jobs" if needed else "no job uses a queue"
    # Compiled jobs are JobSets. Kueue usually works with JobSet versions other than the one it was built with.
    built = f"it was built for a different JobSet version than {requirements.jobsets[requirements.release]}; test with one job first"
    row = _row("Kueue", kueue, minors, set(requirements.kueues), blind, absent, built, needed=needed)
    if row.status == "not running" and kueue is not None and not kueue.problem.startswith("it is defined"):
        # Every new JobSet passes Kueue's webhook, in a queue or not.
        return replace(row, needed=True, hint=f"{row.hint}; until it runs, its webhook refuses every new JobSet")
    return replace(row, needed=False) if row.status == "differs" else row


def _row(  # noqa: PLR0913, PLR0917 - what the rows have in common, and the hints in which they differ
    name: str,
    component: Component | None,
    minors: str,
    accepted: set[str] | None,
    blind: bool,
    absent: str,
    differs: str = "",
    unknown: str = "",
    hint: str = "",
    *,
    needed: bool = True,
) -> Row:
    """The row of a component: `accepted` are the minors that are fine, None for all."""
    if component is None and blind:
        hint = "list Deployments and custom resource definitions, which show it, or ask someone who may"
        return Row(name, minors, "", "unknown", hint, needed, visible=False)
    if component is None:
        return Row(name, minors, "", "not found", absent, needed)
    version = component.version or "version unknown"
    if component.runs is False:
        return Row(name, minors, version, "not running", component.problem, needed)
    if accepted is not None and component.minor not in accepted:
        status: Status = "differs" if component.minor else "unknown"
        return Row(name, minors, version, status, differs if component.minor else unknown, needed)
    if component.runs is None:
        unseen = "it is defined; whether its controller runs is not known, because no Deployment was listed"
        return Row(name, minors, version, "unknown", hint or unseen, needed)
    return Row(name, minors, version, "OK", hint, needed)


def missing_rows(requirements: Requirements, dump: Dump) -> list[Row]:
    """A row for each object that jobs name and the cluster certainly does not have, or for a key that it lacks."""
    missing = ask("fits", "missing") or (lambda *_: ())
    rows: dict[str, Row] = {}
    for jobset in requirements.jobs:
        for item in missing(jobset, dump, requirements.created):
            name = f"{item.kind} {documents.qualified(item.namespace, item.name)}"
            name += f", key {item.key}" if item.key else ""
            hint = item.hint.partition(", or export")[0]  # The answers of a cluster are new.
            rows.setdefault(name, Row(name, "", "", "not found", hint))
    return list(rows.values())


def text_of(rows: Sequence[Row], unanswered: Mapping[str, str]) -> str:
    """A table for readers, followed by what the cluster did not answer."""
    cells = [(r.name, r.expected or "-", r.actual or "-", r.status, r.hint) for r in rows]
    lines = aligned([("", "wanted", "found", "", ""), *cells])
    lines += [f"no answer: {question}: {reason}" for question, reason in unanswered.items()]
    return "".join(f"{line}\n" for line in lines)


def json_of(rows: Sequence[Row], requirements: Requirements, unanswered: Mapping[str, str]) -> dict[str, Any]:
    """Return the rows in the shape documented in docs/doctor.md."""
    keys = ("name", "wanted", "found", "status", "needed", "hint")
    cells = ((r.name, r.expected, r.actual, r.status, r.needed, r.hint) for r in rows)
    listed = [dict(zip(keys, row, strict=True)) for row in cells]
    return {"version": VERSION, "release": requirements.release, "components": listed, "unanswered": dict(unanswered)}

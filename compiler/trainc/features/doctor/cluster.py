"""Read from a cluster's objects which components it has, in which version, and whether they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainc.api.cluster import Dump
from trainc.api.findings import Path
from trainc.api.kube import RELEASES, Json, mapping, objects, value_at
from trainc.api.records import dataclass, pattern
from trainc.kube.releases import JOBSETS, Columns

# component -> the suffix of its controller's or scheduler's image path, without the tag; the first one decides.
_IMAGES = {
    "Trainer": ("trainer-controller-manager",),
    "JobSet": ("jobset/jobset",),
    "Kueue": ("kueue/kueue",),
    "coscheduling": ("scheduler-plugins/kube-scheduler", "scheduler-plugins/controller"),
    "Volcano": ("vc-scheduler",),
}
# component -> the names by which its Deployment is known where a mirror has renamed the image.
_DEPLOYMENTS = {
    "Trainer": ("kubeflow-trainer-controller-manager", "trainer-controller-manager"),
    "JobSet": ("jobset-controller-manager", "jobset-controller"),
    "Kueue": ("kueue-controller-manager",),
    "coscheduling": ("scheduler-plugins-scheduler", "scheduler-plugins-controller"),
    "Volcano": ("volcano-scheduler",),
}
_VERSION_LABEL, _CHART_LABEL = "app.kubernetes.io/version", "helm.sh/chart"
_CRDS = {
    "Trainer": "trainjobs.trainer.kubeflow.org",
    "JobSet": "jobsets.jobset.x-k8s.io",
    "Kueue": "localqueues.kueue.x-k8s.io",
    "coscheduling": "podgroups.scheduling.x-k8s.io",
    "Volcano": "podgroups.scheduling.volcano.sh",
}
# For each minor, a CRD field that it introduced: identifies the minor if no image does.
_POD = "spec.replicatedJobs.template.spec.template.spec"
_TELLTALES = {
    "Trainer": Columns(
        RELEASES,
        {
            "crd": (*["trainjobs.trainer.kubeflow.org"] * 3, "clustertrainingruntimes.trainer.kubeflow.org"),
            "field": (
                "spec.runtimeRef",
                "spec.podTemplateOverrides",
                "spec.runtimePatches",
                "spec.mlPolicy.torch.envInjection",
            ),
        },
    ),
    "JobSet": Columns(
        JOBSETS,
        {
            "crd": ("jobsets.jobset.x-k8s.io",),
            "field": (
                "spec.replicatedJobs",
                "spec.replicatedJobs.groupName",
                "spec.volumeClaimPolicies",
                f"{_POD}.schedulingGroup",
            ),
        },
    ),
}
_MINOR = pattern(r"v?(\d+)\.(\d+)")
COMPONENTS = tuple(_IMAGES)


@dataclass(frozen=True, slots=True)
class Component:
    """A component that is installed, or at least defined.

    `version` and `minor` are empty if unknown; `seen` says how they were determined. `runs` is None if no Deployment
    tells; `problem` says why it does not run, and what to do.
    """

    name: str
    version: str
    seen: str
    runs: bool | None = None
    problem: str = ""

    @property
    def minor(self) -> str:
        """The minor of its version, e.g. "0.12"."""
        return minor_of(self.version)


def minor_of(version: str) -> str:
    """The minor of a version: "0.12" for "v0.12.1"; empty if it has none."""
    found = _MINOR.match(version)
    return f"{found[1]}.{found[2]}" if found else ""


def components(documents: Sequence[Json], *, all_deployments: bool = False) -> dict[str, Component]:
    """The components that the documents show, by name.

    With `all_deployments`, a Deployment that is not there does not exist; that also holds if there is any Deployment.
    """
    dump = Dump.of_objects(documents)
    definitions = {name: definition for (_, name), definition in dump.of("CustomResourceDefinition").items()}
    deployments = dump.every("Deployment")
    found = {}
    for name in COMPONENTS:
        deployment = _deployment_of(name, deployments)
        definition = definitions.get(_CRDS[name])
        if deployment is not None:
            found[name] = _deployed(name, *deployment, definitions)
        elif definition is not None:
            version, seen = _version_of_definition(name, definition, definitions)
            listed = all_deployments or bool(deployments)
            problem = "it is defined, but no Deployment runs it: install it again" if listed else ""
            found[name] = Component(name, version, seen, False if listed else None, problem)
    return found


def _deployment_of(name: str, deployments: Sequence[Json]) -> tuple[Json, str] | None:
    """Return the Deployment of a component and the image by which it is known, which may be empty."""
    for end in _IMAGES[name]:
        for deployment in deployments:
            for image in _images(deployment):
                if f"/{_repository(image)}".endswith(f"/{end}"):
                    return deployment, image
    for known in _DEPLOYMENTS[name]:
        for deployment in deployments:
            if mapping(deployment.get("metadata")).get("name") == known:
                return deployment, ""
    return None


def _images(deployment: Json) -> list[str]:
    containers = value_at(deployment, ("spec", "template", "spec", "containers"))
    return [str(container.get("image") or "") for container in objects(containers)]


def _repository(image: str) -> str:
    path = image.partition("@")[0]
    repository, colon, tag = path.rpartition(":")
    return repository if colon and "/" not in tag else path


def _deployed(name: str, deployment: Json, image: str, definitions: Mapping[str, Json]) -> Component:
    tag = image.partition("@")[0].removeprefix(_repository(image)).removeprefix(":")
    version, seen = (tag if minor_of(tag) else ""), f"image {image}" if tag else f"image {_repository(image)}"
    for labels in (("metadata", "labels"), ("spec", "template", "metadata", "labels")):
        if not version:
            version, seen = _version_of_labels(mapping(value_at(deployment, labels))), "labels of its Deployment"
    if not version and _CRDS[name] in definitions:
        version, seen = _version_of_definition(name, definitions[_CRDS[name]], definitions)
    problem = _not_available(deployment)
    return Component(name, version, seen, not problem, problem)


def _not_available(deployment: Json) -> str:
    """Why none of a Deployment's pods is available; empty if one is, or if the document has no status."""
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


def _version_of_definition(name: str, definition: Json, definitions: Mapping[str, Json]) -> tuple[str, str]:
    """Return the version that a custom resource definition shows, and how it does."""
    if version := _version_of_labels(mapping(value_at(definition, ("metadata", "labels")))):
        return version, "labels of its custom resource definition"
    minor = _newest_known(_TELLTALES[name], definitions) if name in _TELLTALES else ""
    return minor, f"{'fields of ' * bool(minor)}its custom resource definition"


def shows_cluster(documents: Sequence[Json]) -> bool:
    """Whether anything in the documents is of use: without it, all that is missing would look as if it were not installed."""
    return kubernetes(documents) is not None or lists_any(documents)


def lists_any(documents: Sequence[Json]) -> bool:
    """Whether there is any Deployment or custom resource definition, which show what is installed."""
    dump = Dump.of_objects(documents)
    return bool(dump.every("Deployment") or dump.of("CustomResourceDefinition"))


def kubernetes(documents: Sequence[Json]) -> Component | None:
    """The API server's version, or that of the oldest kubelet if no document has it."""
    dump = Dump.of_objects(documents)
    for document in dump.nameless:
        version = value_at(document, ("serverVersion", "gitVersion"))
        if isinstance(version, str):
            return Component("Kubernetes", version, "API server")
    kubelets = [value_at(node, ("status", "nodeInfo", "kubeletVersion")) for node in dump.every("Node")]
    versions = [version for version in kubelets if isinstance(version, str) and minor_of(version)]
    return Component("Kubernetes", min(versions, key=number_of), "kubelet of a node") if versions else None


def number_of(version: str) -> tuple[int, ...]:
    """A sort key for minors: 1.9 comes before 1.10."""
    return tuple(int(part) for part in minor_of(version).split(".") if part)


def serves_workloads(documents: Sequence[Json]) -> bool | None:
    """Whether the cluster serves scheduling.k8s.io/v1beta1; None if no document lists the served versions."""
    for document in Dump.of_objects(documents).nameless:
        if document.get("kind") == "APIGroup" and document.get("name") == "scheduling.k8s.io":
            return "v1beta1" in [version.get("version") for version in objects(document.get("versions"))]
    return None


def local_queues(documents: Sequence[Json]) -> frozenset[tuple[str, str]]:
    """(namespace, name) of every LocalQueue."""
    return frozenset(Dump.of_objects(documents).of("LocalQueue"))


def _newest_known(telltales: Columns, definitions: Mapping[str, Json]) -> str:
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
    """Whether a version of a custom resource has the field; the path passes through lists."""
    return any(
        _follow(value_at(dict(version), ("schema", "openAPIV3Schema")), tuple(field.split(".")))
        for version in objects(mapping(definition.get("spec")).get("versions"))
    )


def _follow(schema: object, path: Path) -> bool:
    for step in path:
        here = mapping(schema)
        here = mapping(here.get("items")) if here.get("type") == "array" else here
        schema = mapping(here.get("properties")).get(str(step))
    return schema is not None

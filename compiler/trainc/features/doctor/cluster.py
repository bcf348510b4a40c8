"""Read from a cluster's objects which components it has, in which version, and how the version was determined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainc.findings import Path
from trainc.kube.documents import Json, mapping, objects, value_at
from trainc.kube.releases import JOBSETS, RELEASES, Columns
from trainc.reading.cluster import Dump
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# component -> the suffix of its controller's or scheduler's image path, without the tag.
_IMAGES = {
    "Trainer": ("trainer-controller-manager",),
    "JobSet": ("jobset/jobset",),
    "Kueue": ("kueue/kueue",),
    "coscheduling": ("scheduler-plugins/kube-scheduler", "scheduler-plugins/controller"),
    "Volcano": ("vc-scheduler",),
}
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
    """An installed component: `version` and `minor` are empty if unknown; `seen` says how they were determined."""

    name: str
    version: str
    seen: str

    @property
    def minor(self) -> str:
        """The minor of its version, e.g. "0.12"."""
        return minor_of(self.version)


def minor_of(version: str) -> str:
    """The minor of a version: "0.12" for "v0.12.1"; empty if it has none."""
    found = _MINOR.match(version)
    return f"{found[1]}.{found[2]}" if found else ""


def components(documents: Sequence[Json]) -> dict[str, Component]:
    """The installed components that the documents show, by name."""
    dump = Dump.of_objects(documents)
    definitions = {name: definition for (_, name), definition in dump.of("CustomResourceDefinition").items()}
    images = list(dump.images())
    found = {}
    for name in COMPONENTS:
        by_image = next((c for image in images if (c := _by_image(name, image))), None)
        component = by_image or _by_definition(name, definitions)
        if component is not None:
            found[name] = component
    return found


def shows_cluster(documents: Sequence[Json]) -> bool:
    """Whether anything in the documents is of use: without it, all that is missing would look as if it were not installed."""
    dump = Dump.of_objects(documents)
    return bool(kubernetes(documents) or dump.of("CustomResourceDefinition") or any(dump.images()))


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


def _by_image(name: str, image: str) -> Component | None:
    path, _, digest = image.partition("@")
    repository, colon, tag = path.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = path, ""
    if not any(f"/{repository}".endswith(f"/{end}") for end in _IMAGES[name]):
        return None
    return Component(
        name, tag if minor_of(tag) else "", f"image {image}" if tag or not digest else f"image {repository}"
    )


def _by_definition(name: str, definitions: Mapping[str, Json]) -> Component | None:
    if _CRDS[name] not in definitions:
        return None
    minor = _newest_known(_TELLTALES[name], definitions) if name in _TELLTALES else ""
    return Component(name, minor, f"{'fields of ' * bool(minor)}its custom resource definition")


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

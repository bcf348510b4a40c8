"""A TrainJob as plugins see it, and its patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.api import names
from trainc.diagnostics import Path
from trainc.startup.records import dataclass, field


@dataclass(frozen=True, slots=True)
class PatchedJob:
    """The effect of one patch on one replicated job: a partial JobTemplateSpec at `path` in the TrainJob.

    `template` is None if the patch lists the job but changes nothing. `pod_path` is the path of the pod spec patch.
    """

    name: str
    template: Mapping[str, Any] | None
    path: Path
    pod_path: Path

    @property
    def pod_spec(self) -> Mapping[str, Any]:
        """The partial PodSpec, or empty if there is none."""
        pod_template = ((self.template or {}).get("spec") or {}).get("template") or {}
        spec: Mapping[str, Any] = pod_template.get("spec") or {}
        return spec


@dataclass(frozen=True, slots=True)
class Patch:
    """An item of runtimePatches, podTemplateOverrides or podSpecOverrides; only the first has a manager."""

    manager: str | None
    jobs: tuple[PatchedJob, ...]
    path: Path
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


EnvVar = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trainer:
    """`spec.trainer`. None means "not set"; an empty tuple overrides the runtime's value with nothing."""

    image: str | None = None
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] = ()
    num_nodes: int | None = None
    num_proc_per_node: int | str | None = None
    resources_per_node: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class InitializerStep:
    """`spec.initializer.dataset` or `.model`."""

    storage_uri: str | None = None
    env: tuple[EnvVar, ...] = ()
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class TrainJob:
    """A TrainJob after validation and defaulting. `namespace` is empty if the document has none.

    `labels` and `annotations` are from its metadata, `spec_labels` and `spec_annotations` from its spec (up to 2.1).
    `name_hash` is the suffix of `name` derived from the content, or empty without `--name-hash`. `new_keys` means that
    each such name gets its own key pairs, so that their Secrets have the suffix too.
    """

    name: str
    namespace: str
    runtime_name: str
    runtime_kind: str
    trainer: Trainer | None = None
    dataset: InitializerStep | None = None
    model: InitializerStep | None = None
    suspend: bool | None = None
    managed_by: str = names.CONTROLLER_MANAGED_BY
    active_deadline_seconds: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec_labels: Mapping[str, str] = field(default_factory=dict)
    spec_annotations: Mapping[str, str] = field(default_factory=dict)
    patches: tuple[Patch, ...] = ()
    name_hash: str = ""
    new_keys: bool = False

    @property
    def plain_name(self) -> str:
        """The name as written, without the content hash; existing Secrets are named after it."""
        return self.name.removesuffix(self.name_hash)

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata that every generated object starts with: name and, if set, namespace."""
        return self.named(self.name)

    def named(self, name: str) -> dict[str, str]:
        """Return metadata for an object of this job with another name."""
        return {"name": name, "namespace": self.namespace} if self.namespace else {"name": name}

    def initializer(self, step: str) -> InitializerStep | None:
        """Return the initializer configuration of an ancestor step, or None for the trainer step."""
        return {names.DATASET_INITIALIZER: self.dataset, names.MODEL_INITIALIZER: self.model}.get(step)


# Annotations that kubectl, kustomize and kpt write for their own use.
_TOOL_PREFIXES = (
    "kubectl.kubernetes.io/",
    "config.kubernetes.io/",
    "internal.config.kubernetes.io/",
    "config.k8s.io/",
    "kustomize.config.k8s.io/",
)
_TOOL_KEYS = frozenset({"argocd.argoproj.io/tracking-id"})


def carried(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the labels or annotations of a TrainJob that are copied to its JobSet."""
    return {k: v for k, v in metadata.items() if k not in _TOOL_KEYS and not k.startswith(_TOOL_PREFIXES)}

"""Everything that a plugin can read or replace while a TrainJob is compiled (upstream's Info, but immutable)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.api import names
from trainc.api.documents import Json
from trainc.api.releases import DEFAULT_KUBERNETES
from trainc.ir.podset import Container, PodSet
from trainc.ir.release import Release
from trainc.options import Semantics
from trainc.startup.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Info:
    """The runtime, patched and lowered for one TrainJob.

    `template` is the runtime's JobSetSpec with all patches applied. `pod_sets` mirrors its replicatedJobs, in order,
    and is what passes edit. `command` and `args` are the trainer's entrypoint, or None to use the template's.
    `ml_policy` is None if the runtime has none, which differs from an empty one. `runtime_jobs` maps the jobs that the
    runtime had before patching to their containers. `plugins` are the active plugins from other distributions.
    `kubernetes` is the minor version of the cluster.
    """

    release: Release
    semantics: Semantics
    cluster_domain: str
    template: Json
    pod_sets: tuple[PodSet, ...]
    runtime_jobs: Mapping[str, tuple[str, ...]]
    ml_policy: Json | None = None
    pod_group_policy: Json | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    plugins: tuple[str, ...] = ()
    kubernetes: str = DEFAULT_KUBERNETES

    @property
    def gitops(self) -> bool:
        """Whether `gitops` deviations apply."""
        return self.semantics == "gitops"

    @property
    def trainer(self) -> PodSet | None:
        """The first pod set labeled as the trainer step."""
        for pod_set in self.pod_sets:
            if pod_set.ancestor == names.TRAINER:
                return pod_set
        return None

    @property
    def trainer_container(self) -> Container | None:
        """The main container of the trainer's pod set, which the settings of `spec.trainer` apply to."""
        if trainer := self.trainer:
            for container in trainer.containers:
                if container.name == trainer.main:
                    return container
        return None

    def policy(self, name: str) -> Json | None:
        """Return `mlPolicy.<name>`, the policy of an ML plugin, or None if the runtime does not select it."""
        return (self.ml_policy or {}).get(name)

    def gang(self, name: str) -> Json | None:
        """Return `podGroupPolicy.<name>`, the policy of a gang scheduler, or None if the runtime does not select it."""
        return (self.pod_group_policy or {}).get(name)

    def pod_set(self, name: str) -> PodSet | None:
        """Return the pod set of the replicated job `name`."""
        return next((p for p in self.pod_sets if p.name == name), None)

    def pod_spec(self, name: str) -> Json:
        """Return the template's pod spec of the replicated job `name`, before any pass."""
        for job in self.template.get("replicatedJobs", ()):
            if job["name"] == name:
                spec: Json = job.get("template", {}).get("spec", {}).get("template", {}).get("spec", {})
                return spec
        return {}

    def pod_set_in_role(self, role: str) -> PodSet | None:
        """Return the pod set with a role in an MPI or Flux job: names.LAUNCHER or names.NODE."""
        return next((p for p in self.pod_sets if p.role == role), None)

    def with_pod_set(self, changed: PodSet) -> Info:
        """Return a copy with the pod set of the same name replaced."""
        return replace(self, pod_sets=tuple(changed if p.name == changed.name else p for p in self.pod_sets))

    def with_trainer_count(self, count: int | None) -> Info:
        """Return a copy with `count` pods in the trainer's pod set; unchanged if either is missing."""
        trainer = self.trainer
        return self if trainer is None or count is None else self.with_pod_set(trainer.with_count(count))

    def with_trainer_container(self, edit: Callable[[Container], Container]) -> Info:
        """Return a copy with the trainer container edited; unchanged if there is none."""
        trainer = self.trainer
        if trainer is None or self.trainer_container is None:
            return self
        return self.with_pod_set(trainer.with_main(edit))

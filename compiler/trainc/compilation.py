"""What compiling gives back."""

from __future__ import annotations

from trainc.api.documents import Manifest
from trainc.diagnostics import Diagnostic
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class CompiledJob:
    """The objects of one TrainJob: ConfigMaps, then the Workload and PodGroups of its gang, then the JobSet.

    `name` is the TrainJob's own; `secrets` names the Secrets that its pods mount and that somebody must provide; `file`
    is where the TrainJob was read, empty where it was handed over as data.
    """

    namespace: str
    name: str
    manifests: tuple[Manifest, ...]
    secrets: tuple[str, ...] = ()
    file: str = ""


@dataclass(frozen=True, slots=True)
class Compilation:
    """Compiled jobs by (namespace, name), and every warning and info that came up. Errors are raised instead."""

    jobs: tuple[CompiledJob, ...]
    diagnostics: list[Diagnostic]

    @property
    def manifests(self) -> list[Manifest]:
        """Every object of every job, in order of application."""
        return [manifest for job in self.jobs for manifest in job.manifests]

    @property
    def secrets(self) -> list[str]:
        """Names of the Secrets that the pods mount and that somebody must provide, without repetitions."""
        return list(dict.fromkeys(name for job in self.jobs for name in job.secrets))

    def to_yaml(self) -> str:
        """The manifests as one YAML stream: the same bytes for the same input, everywhere."""
        from trainc.emit.yaml_writer import dump_yaml

        return dump_yaml(self.manifests)

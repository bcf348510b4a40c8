"""What compiling gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainc.api.documents import Manifest
from trainc.diagnostics import Diagnostic
from trainc.startup.records import dataclass, field

if TYPE_CHECKING:
    from trainc.notebook.views import View


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
    """Compiled jobs by (namespace, name), and every warning and info that came up. Errors are raised instead.

    A notebook shows the picture of each job, its size, the diagnostics, and the YAML folded.
    """

    jobs: tuple[CompiledJob, ...]
    diagnostics: list[Diagnostic]
    # What it was compiled in, for `explain`. It stays in the process.
    sessions: tuple[Any, ...] = field(default=(), repr=False, compare=False)

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

    def graph(self) -> View:
        """The picture of each job; `print` shows it as a tree."""
        from trainc.notebook.views import view_graph

        return view_graph(self)

    def explain(self, field: str | None = None, *, job: str | None = None) -> View:
        """Which plugin, patch or document set the fields that `field` names, as `trainc explain` does.

        `job` is NAMESPACE/NAME or NAME, where there are several. Raises ValueError where there is no such field or job, and
        where the compilation comes from another process.
        """
        from trainc.notebook.views import view_explanation

        return view_explanation(self, field, job)

    def diff(self, other: Compilation) -> View:
        """What changes from this compilation to `other`, and what the cluster does about it, as `trainc diff` does."""
        from trainc.notebook.views import view_diff

        return view_diff(self, other)

    def _repr_html_(self) -> str:
        from trainc.notebook.views import view_compilation

        return view_compilation(self).html

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        from trainc.notebook.views import view_compilation

        view = view_compilation(self)
        return {"text/plain": view.text, "text/html": view.html}

    def __reduce__(self) -> tuple[type[Compilation], tuple[Any, ...]]:
        return type(self), (self.jobs, self.diagnostics)

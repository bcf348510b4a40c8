"""The result of a compilation."""

from __future__ import annotations

from trainc.findings import Diagnostic
from trainc.kube.documents import Manifest
from trainc.startup.records import dataclass, field
from trainc.startup.typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainc.startup.typing import Protocol

    class View(Protocol):
        """A view: `print` shows the text, a notebook shows the HTML."""

        text: str
        html: str


@dataclass(frozen=True, slots=True)
class CompiledJob:
    """The manifests of one TrainJob.

    `manifests` is in apply order: ConfigMaps, then the Workload and PodGroups of the gang, then the JobSet. `name` is
    the name of the TrainJob. `secrets` lists the Secrets that its pods mount and that someone has to provide. `file` is
    the file the TrainJob was read from, or empty if it was passed as data.
    """

    namespace: str
    name: str
    manifests: tuple[Manifest, ...]
    secrets: tuple[str, ...] = ()
    file: str = ""


@dataclass(frozen=True, slots=True)
class Compilation:
    """The compiled jobs, ordered by (namespace, name), and all warnings and infos.

    Errors are raised as `CompileError` instead. In a notebook, a compilation renders as a graph of each job, its size,
    the diagnostics, and the YAML (collapsed).
    """

    jobs: tuple[CompiledJob, ...]
    diagnostics: list[Diagnostic]
    # The sessions that produced this result, for `explain`. They are dropped when the compilation is pickled.
    sessions: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    @property
    def manifests(self) -> list[Manifest]:
        """Every object of every job, in apply order."""
        return [manifest for job in self.jobs for manifest in job.manifests]

    @property
    def secrets(self) -> list[str]:
        """Names of the Secrets that the pods mount and that someone has to provide, without duplicates."""
        return list(dict.fromkeys(name for job in self.jobs for name in job.secrets))

    def to_yaml(self) -> str:
        """Return the manifests as a single YAML stream. The same input gives the same bytes on every machine."""
        from trainc.emit.yaml_writer import dump_yaml

        return dump_yaml(self.manifests)

    def graph(self) -> View:
        """Return a diagram of each job; `print` shows it as a tree."""
        return _view("graph")(self)

    def explain(self, field: str | None = None, *, job: str | None = None) -> View:
        """Show which plugin, patch or document set each field that matches `field`, like `trainc explain`.

        `job` is NAME or NAMESPACE/NAME, and is only needed if there are several jobs. Raises ValueError if there is no
        such field or job, or if the compilation was unpickled from another process.
        """
        return _view("explain")(self, field, job)

    def diff(self, other: Compilation) -> View:
        """Show what changes from this compilation to `other` and how the cluster reacts to it, like `trainc diff`."""
        return _view("diff")(self, other)

    def _repr_html_(self) -> str:
        return _view("summary")(self).html

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        view = _view("summary")(self)
        return {"text/plain": view.text, "text/html": view.html}

    def __reduce__(self) -> tuple[type[Compilation], tuple[Any, ...]]:
        return type(self), (self.jobs, self.diagnostics)


def _view(name: str) -> Callable[..., View]:
    """Return the function that draws a view. Features add them."""
    from trainc.features import added

    for draw in added(f"view {name}"):
        return cast("Callable[..., View]", draw)
    raise AttributeError(f"this installation of trainc has no feature that shows a compilation as {name}")

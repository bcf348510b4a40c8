"""trainc.yaml: what a repository has decided once, so that nobody has to type it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping

from trainc.findings import Source
from trainc.findings.policy import Rule, matches
from trainc.findings.text import did_you_mean
from trainc.kube.documents import mapping
from trainc.reading.files import Exclude
from trainc.reading.opening import is_inside
from trainc.startup.records import dataclass, field
from trainc.startup.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.kube.bounds import Bound
    from trainc.project.budgets import Account, Budget

CODE = "InvalidConfiguration"


@dataclass(frozen=True, slots=True)
class Selection:
    """`select` in trainc.yaml: which TrainJobs are meant, as they are written. All conditions that are set must hold.

    `labels` have the values that are meant, and the queue is one of them. `paths` are globs; an empty one matches
    nothing, and None everything.
    """

    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    namespaces: tuple[str, ...] = ()
    paths: Exclude | None = None

    def __bool__(self) -> bool:
        return bool(self.labels or self.namespaces or self.paths is not None)

    def __call__(self, job: Mapping[str, Any], file: str) -> bool:
        """Return whether a TrainJob in a file is selected."""
        metadata = mapping(job.get("metadata"))
        labels = mapping(metadata.get("labels"))
        namespace = str(metadata.get("namespace") or "")
        return (
            all(labels.get(name) in values for name, values in self.labels)
            and (not self.namespaces or any(matches(namespace, glob) for glob in self.namespaces))
            and (self.paths is None or self.paths(file))
        )


@dataclass(frozen=True, slots=True)
class Images:
    """`images` in trainc.yaml: whether images need digests, and the registries, or parts of them, that they may be from."""

    pinned: bool = False
    registries: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.pinned or bool(self.registries)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of one trainc.yaml; None if unset. Paths are relative to the current folder.

    `options` are the compile options, by their names in `Options`.
    """

    file: str | None = None
    sources: tuple[str, ...] | None = None
    runtimes: tuple[str, ...] | None = None
    overlay: tuple[str, ...] | None = None
    output: str | None = None
    rebuild: str = "all"
    adopted: tuple[str, ...] = ()
    # Why jobs, by name or glob, are not built again.
    frozen: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None
    policies: tuple[str, ...] = ()
    # The folder of the dump that CI publishes, and up to how many seconds it counts.
    live: tuple[str, int] | None = None
    exclude: Exclude = Exclude()
    select: Selection = Selection()
    namespaces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    images: Images = Images()
    # Packages with their versions, or the file of an SBOM, by globs of images.
    software: Mapping[str, Mapping[str, str] | str] = field(default_factory=dict)
    # By globs of namespaces.
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    docs_url: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    # The lines with paths that do not exist, by path.
    missing: Mapping[str, Source] = field(default_factory=dict)
    # The environment's own name, or all environments of the file.
    environment: str = ""
    environments: Mapping[str, Configuration] = field(default_factory=dict)
    # The outputs of all environments of the file, by name.
    known_environments: Mapping[str, str] = field(default_factory=dict)

    @property
    def dumps(self) -> list[str]:
        """The folders with objects of a cluster."""
        return [*filter(None, (self.cluster, self.live and self.live[0]))]

    def accounts(self, jobs: Iterable[tuple[str, str, Bound]], at_base: Configuration | None = None) -> list[Account]:
        """Return what jobs, each with its namespace and name, may take of the budgets; those of a base hold, too."""
        from trainc.project.budgets import accounts_of, stricter

        configured = self.budgets if at_base is None else stricter(self.budgets, at_base.budgets)
        return list(accounts_of(configured, jobs))

    def adopts(self, path: str) -> bool:
        """Return whether a rendered file may be new although trainc did not compile it."""
        return any(matches(path, glob) for glob in self.adopted)

    def compiles(self, job: Mapping[str, Any], file: str, resources: Collection[str]) -> bool:
        """Return whether a TrainJob in a file is selected, and among the sources or the resources of the overlay."""
        if self.select and not self.select(job, file):
            return False
        sources = self.sources
        if sources is None:
            sources = () if resources else (os.path.dirname(self.file or "") or os.curdir,)
        read = any(is_inside(file, os.path.realpath(source)) for source in sources)
        return file in resources or (read and not self.exclude(file))


# The environments of trainc.yaml: which of them are processed.


def choose_environments(environments: Mapping[str, Any], requested: Iterable[str], *, otherwise_all: bool) -> list[str]:
    """Return the requested environments, or all known ones if none is requested and `otherwise_all` is set.

    Raises ValueError for an environment that trainc.yaml does not define.
    """
    for name in requested:
        if name not in environments:
            hint = did_you_mean(name, environments) or f"known environments: {', '.join(environments) or 'none'}"
            raise ValueError(f"trainc.yaml has no environment {name!r}; {hint}")
    return list(dict.fromkeys(requested)) or (list(environments) if otherwise_all else [])

"""What trainc does besides compiling: a folder and an entry in this table for each feature, in four quarters.

gitops/ serves teams that keep jobs in git, cluster/ asks a cluster as a dump of it shows it, authoring/ helps to write and
try jobs, migration/ brings jobs of older APIs over.

To delete a feature, delete its folder, its folder in tests/features, and its entry. A feature imports `trainc.api` and
itself. What it adds to the rest is found here by name, and imported when it is used:

- `command`: a command: what its help says and what it takes is in `arguments.py` of the folder, what it does in `command.py`.
- `public`: names of the package `trainc`, each with the module of the folder that defines it.
- Its diagnostic codes, if it has any, are in `codes.txt` of the folder, with a page of each in `rules/`.
- `kinds`: kinds of documents of trainc's own, each with its record, as `module.name` in the folder.
- `adds`: functions and records for extension points, as `module.name` in the folder. `added` yields those of all features
  for one point, and `ask` returns that of one feature, for features that show each other's results.

The compiler asks this table too; it never names a feature.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache

from trainc.startup.records import dataclass, field
from trainc.startup.typing import Any


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its folder, as QUARTER/NAME, and what it adds. `group` is the heading of its command in `trainc --help`."""

    path: str
    command: str = ""
    summary: str = ""
    group: str = ""
    public: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    adds: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called, by `ask` and by tests that hide it: the name of its folder."""
        return self.path.rpartition("/")[2]

    @property
    def package(self) -> str:
        """The name of its package."""
        return f"{__name__}.{self.path.replace('/', '.')}"

    @property
    def folder(self) -> str:
        """The path of its folder."""
        return os.path.join(os.path.dirname(__file__), *self.path.split("/"))

    def load(self, target: str) -> Any:
        """Import `module.function` of the feature's folder; `.function` is one of the package itself."""
        from importlib import import_module

        module, _, name = target.rpartition(".")
        return getattr(import_module(".".join(filter(None, (self.package, module)))), name)


FEATURES = (
    Feature(
        "authoring/graph",
        "graph",
        "draw the steps, pods, addresses and GPUs of a job",
        "look",
        adds={
            "summary": "model.summary_of",
            "headline": "model.headline_of",
            "text": "formats.text_of",
            "svg": "formats.svg_of",
            "flowchart": "formats.flowchart",
            "ranks of pod": "model.ranks_of_pod",
        },
    ),
    Feature(
        "gitops/diff",
        "diff",
        "show what changes, and what the cluster will do about it",
        "look",
        adds={"text": "command.text_between", "fate": "command.fate_between", "since": "command.changes_since"},
    ),
    Feature("gitops/report", "report", "write an HTML page about all jobs", "look"),
    Feature("authoring/run", "run", "run a job as processes on this machine, to see its ranks meet", "look"),
    Feature(
        "cluster/fits",
        "fits",
        "check whether Kueue's queues can ever admit each job",
        "cluster",
        public={"Fit": "answer", "Fits": "answer", "fits": "answer"},
        kinds={"Cluster": "snapshot.CLUSTER"},
        adds={
            "judge jobs": "judging.judge_jobs",
            "lines": "forms.lines_by_job",
            "where": "forms.where_by_job",
            "changes": "forms.fit_changes",
            "facts": "judging.facts_for_report",
            "never": "judging.never_admitted",
            "needed": "references.needed_objects",
            "missing": "references.missing_objects",
            "created": "references.created_by",
        },
    ),
    Feature(
        "cluster/why",
        "why",
        "say why jobs of a cluster do not run",
        "cluster",
        public={"Waiting": "causes", "why": "causes"},
        adds={"causes": "causes.causes_by_job"},
    ),
    Feature("cluster/doctor", "doctor", "check whether a cluster has what the jobs need", "cluster"),
    Feature(
        "cluster/policies",
        adds={
            "judge": "reading.read_policies",
            "judge documents": "reading.judge_of",
            "test assert_allowed": "reading.assert_allowed",
            "test assert_denied": "reading.assert_denied",
        },
    ),
    Feature("authoring/sweeps", kinds={"Sweep": "matrix.SWEEP"}, adds={"expand": "inputs.read_sweeps"}),
    Feature(
        "migration/v1",
        "migrate",
        "rewrite older APIs and dialects in the current one",
        "move",
        public={"Migration": "migrate", "migrate": "migrate"},
        adds={"plan": "migrate.Plan"},
    ),
    Feature("cluster/import_", "import", "bring the jobs of a cluster into git", "move"),
    Feature("authoring/sdk", "sdk", "write the TrainJobs and JobSets that a script would submit", "move"),
    Feature("gitops/init", "init", "create a GitOps repository", "write"),
    Feature("authoring/new", "new", "write a TrainJob that checks clean", "write"),
    Feature(
        "authoring/notebook",
        adds={
            "view summary": "views.view_compilation",
            "view graph": "views.view_graph",
            "view explain": "views.view_explanation",
            "view diff": "views.view_diff",
        },
    ),
    Feature("authoring/lsp", "lsp", "run as a language server for editors", "tools"),
    Feature(
        "gitops/krm",
        "krm",
        "run as a kustomize function or plugin",
        "tools",
        adds={"kustomize config": "kustomization.kustomize_config"},
    ),
    Feature(
        "gitops/argocd",
        "cmp",
        "run as an Argo CD config management plugin",
        "tools",
        adds={"file": "files.text_of", "health checks of flux": "health.flux_health_checks"},
    ),
)


@cache
def features() -> tuple[Feature, ...]:
    """Return the features whose folders are there."""
    return tuple(feature for feature in FEATURES if os.path.isdir(feature.folder))


def added(point: str) -> Iterator[Any]:
    """Yield what each feature adds at an extension point."""
    for feature in features():
        if point in feature.adds:
            yield feature.load(feature.adds[point])


def ask(name: str, point: str) -> Any | None:
    """Return what one feature adds at an extension point, or None if it adds nothing or is not there."""
    for feature in features():
        if feature.name == name and point in feature.adds:
            return feature.load(feature.adds[point])
    return None


def public_names() -> dict[str, str]:
    """Return the module of each name that features add to the package `trainc`."""
    return {name: f"{feature.package}.{module}" for feature in features() for name, module in feature.public.items()}

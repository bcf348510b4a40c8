"""What a plugin is: a light record of all that others need to know of a framework, and the names of the modules behind it.

The record is read for every job, so it holds data and nothing that takes long to import; the functions of its passes,
its lints and what `explain` says of it stand in modules that are imported for the jobs that they concern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from trainc.api.documents import Json, Manifest
from trainc.startup.records import dataclass, field

if TYPE_CHECKING:
    from trainc.api.releases import Span
    from trainc.diagnostics import Finding, Path
    from trainc.ir.info import Info
    from trainc.ir.provided_secret import ProvidedSecret
    from trainc.ir.trainjob import TrainJob

# The policy for which a plugin acts on a job; None where the job does not concern it.
AppliesTo: TypeAlias = Callable[["TrainJob", "Info"], "Json | None"]
Pass: TypeAlias = Callable[["TrainJob", Json, "Info"], "Info"]
Validation: TypeAlias = Callable[["TrainJob", Json, "Info"], "Iterable[Finding]"]
# Where the situation of a deviation shows; None where it does not arise.
Detect: TypeAlias = Callable[["TrainJob", "Info"], "Path | None"]
Builder: TypeAlias = Callable[["TrainJob", Json, "Info"], Iterable[Manifest]]
ExtensionPoint: TypeAlias = Literal["enforce_ml_policy", "enforce_pod_group_policy", "pre_build_sync"]
# When a lint looks: at a lowered job before any pass; the same for what a release's controller gets wrong, under its
# semantics only; at a job whose pods are counted and told how to meet; at what was built for git; at all jobs of an
# input together; at rendered manifests.
Stage: TypeAlias = Literal["lowered", "controller", "sized", "built", "all_jobs", "rendered"]

POINTS: tuple[ExtensionPoint, ...] = ("enforce_ml_policy", "enforce_pod_group_policy", "pre_build_sync")
# The deviations that show for whoever tells the trainer's pods their ranks as the controller does.
RANK_DEFECTS = frozenset(
    {
        "unnamed-ports-kept",
        "counts-from-merged-resources",
        "real-master-address",
        "rank-environment-without-trainer",
    }
)


@dataclass(frozen=True, slots=True)
class Passes:
    """The functions of a plugin: an extension point that it has none for does not concern it.

    Each takes the job, the policy for which the plugin acts, and the Info. A pass returns a new Info, or the same object
    when there is nothing to do; a validation returns findings with upstream's field paths; `build_failures` says on what
    a release's controller, having accepted the job, fails or crashes while it builds; a builder returns objects.
    `secrets` describes the Secrets that the built pods mount and that somebody must provide: key material is never
    built. `reserved` gives the variables that a TrainJob must not set, where those of the record are not all.
    """

    validate: Validation | None = None
    reserved: Callable[[TrainJob, Json, Info], AbstractSet[str]] | None = None
    build_failures: Validation | None = None
    enforce_ml_policy: Pass | None = None
    enforce_pod_group_policy: Pass | None = None
    pre_build_sync: Pass | None = None
    build: Builder | None = None
    secrets: Callable[[TrainJob, Json, Info], Iterable[ProvidedSecret]] | None = None


@dataclass(frozen=True, slots=True)
class Lint:
    """A lint: when it looks, the module and name of its function, and the jobs that concern it.

    For no other job is the module even imported. `per` is what it looks at: the job, each container, or each container
    that trains, its command read; `when` says which of these concern it. A plugin's own lint concerns the jobs that concern the plugin, where
    it does not say otherwise. lints/registry.py says what a function of each stage takes.
    """

    stage: Stage
    module: str
    function: str
    applies_to: Callable[[TrainJob, Info], bool] | None = None
    per: Literal["job", "container", "training"] = "job"
    when: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """A variable with the address where pods meet, and the variable with its port, where it has none itself."""

    variable: str
    port: str = ""


@dataclass(frozen=True, slots=True)
class RendezvousFile:
    """A file in a ConfigMap that tells pods where they meet: ConfigMaps end in `suffix`, `key` is the file.

    Either every line of it begins with a host, or the first group of `port` finds the port of rank 0 in it, which
    programs read in a file that is `called` so.
    """

    suffix: str
    key: str
    port: str = ""
    called: str = ""


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang scheduler: the API group of its PodGroup, and where a pod template names the one that its pods join.

    `size` is where a PodGroup says how many pods it waits for. `scheduler` is its name in pod specs, empty where every
    cluster gives it another; `by_default` says that the default scheduler does it, `by_job` that jobs which
    start one after another are groups of their own. `topology` is the annotation of a pod
    template that it takes as the group's topology, if any. `changes` says what an update may change in a spec, by kind,
    as field expressions: anything, for a kind that it does not name.
    """

    api_group: str
    joins: Path
    size: Path = ("spec", "minMember")
    scheduler: str = ""
    by_default: bool = False
    by_job: bool = False
    topology: str = ""
    changes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin as its folder declares it; for each field, somebody loops over all plugins.

    `passes` names the module whose PASSES are its functions, `explain` the one whose ROWS say what its fields were taken
    from, `launchers` the one whose STARTING says how its processes are started, `detectors` the one whose DETECTORS find defects of the controller that only it can have. `policy` is its key in
    mlPolicy, or of a gang scheduler in podGroupPolicy; `applies_to` stands in where that does not decide. `defects` are
    the deviations whose situation arises for it (ir.deviations); `shell_names` what other launchers call the variables
    that it injects; `reserved` what a TrainJob must not set, and `reserved_for` why; `carries_env` the releases in which
    it gives the trainer the TrainJob's variables itself, so that a plugin that `yields` has nothing to do; `contained`
    why its pods must not be processes of a machine outside containers; `ports` the folder of kubeflow/trainer's plugins
    that it follows.
    """

    name: str
    passes: str
    policy: str = ""
    applies_to: AppliesTo | None = None
    ports: str = ""
    explain: str = ""
    launchers: str = ""
    lints: tuple[Lint, ...] = ()
    detectors: str = ""
    defects: frozenset[str] = frozenset()
    addresses: tuple[Address, ...] = ()
    address_arguments: tuple[str, ...] = ()
    files: tuple[RendezvousFile, ...] = ()
    gang: Gang | None = None
    shell_names: Mapping[str, str] = field(default_factory=dict)
    reserved: frozenset[str] = frozenset()
    reserved_for: str = ""
    reads_processes: bool = False
    carries_env: Span | None = None
    yields: bool = False
    contained: str = ""

    def policy_of(self, job: TrainJob, info: Info) -> Json | None:
        """The policy for which it acts on a job; None where the job does not concern it."""
        if self.applies_to is not None:
            return self.applies_to(job, info)
        policies = info.ml_policy if self.gang is None else info.pod_group_policy
        return policies.get(self.policy) if policies else None


def always(job: TrainJob, info: Info) -> Json:
    """`applies_to` of a plugin that needs no policy."""
    return {}

"""The plugin record: what the rest of trainc needs to know about a framework, and the modules that implement it.

The record is loaded for every job, so it contains only data that is cheap to import. The passes and the lints are in
modules that are imported only for the jobs that need them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet

from trainc.kube.documents import Json, Manifest
from trainc.startup.records import dataclass, field
from trainc.startup.typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from trainc.findings import Finding, Path
    from trainc.ir.info import Info, ProvidedSecret
    from trainc.ir.trainjob import TrainJob
    from trainc.kube.releases import Span

# Returns the policy that makes a plugin act on a job, or None if the plugin does not apply to it.
AppliesTo: TypeAlias = Callable[["TrainJob", "Info"], "Json | None"]
Pass: TypeAlias = Callable[["TrainJob", Json, "Info"], "Info"]
Validation: TypeAlias = Callable[["TrainJob", Json, "Info"], "Iterable[Finding]"]
# Returns the path at which a job is affected by a deviation, or None if it is not affected.
Detect: TypeAlias = Callable[["TrainJob", "Info"], "Path | None"]
Builder: TypeAlias = Callable[["TrainJob", Json, "Info"], Iterable[Manifest]]
ExtensionPoint: TypeAlias = Literal["enforce_ml_policy", "enforce_pod_group_policy", "pre_build_sync"]
# What a lint checks:
#   lowered     a lowered job, before any pass
#   controller  the same, for defects of a release's controller; under `controller` semantics only
#   sized       a job after all passes, which have set pod counts and rendezvous variables
#   built       the objects built for git
#   applied     the same, among the objects of the cluster
#   all_jobs    all jobs of an input together
#   rendered    rendered manifests
Stage: TypeAlias = Literal["lowered", "controller", "sized", "built", "applied", "all_jobs", "rendered"]

POINTS: tuple[ExtensionPoint, ...] = ("enforce_ml_policy", "enforce_pod_group_policy", "pre_build_sync")
# The deviations that apply to every framework whose pods get their ranks from the controller.
RANK_DEFECTS = frozenset(
    {"unnamed-ports-kept", "counts-from-merged-resources", "real-master-address", "rank-environment-without-trainer"}
)


@dataclass(frozen=True, slots=True)
class Passes:
    """The functions of a plugin, by extension point; None if the plugin has nothing to do there.

    Each takes the job, the policy that makes the plugin act, and the Info.

    - `validate` returns findings with upstream's field paths.
    - `reserved` returns the variables that a TrainJob must not set, and replaces `Plugin.reserved`.
    - `build_failures` returns what makes a release's controller fail or crash while it builds a job that it accepted.
    - `enforce_ml_policy`, `enforce_pod_group_policy` and `pre_build_sync` are passes: each returns a new Info, or the
      same object if it changes nothing.
    - `build` returns manifests.
    - `secrets` describes the Secrets that the built pods mount and that the user must provide: trainc never builds key
      material.
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
    """A lint: the stage at which it runs, its function, and the jobs to which it applies.

    The module is imported only for jobs to which the lint applies. `per` says what the function is called for: the job,
    the job with the other documents of the input, each container, or each container that trains, with its command parsed. `when` filters these. Without `applies_to`, a
    plugin's lint applies to the jobs of its plugin, and any other lint to every job. `lints/registry.py` lists the
    arguments of the function for each stage.
    """

    stage: Stage
    module: str
    function: str
    applies_to: Callable[[TrainJob, Info], bool] | None = None
    per: Literal["job", "input", "container", "training"] = "job"
    when: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """The variable with the rendezvous address, and the one with its port if the address does not include it."""

    variable: str
    port: str = ""


@dataclass(frozen=True, slots=True)
class RendezvousFile:
    """A file in a ConfigMap from which pods read the rendezvous address.

    `suffix` ends the ConfigMap's name, and `key` is the file's key in it. Without `port`, each line of the file begins
    with a host. With it, the first group of this regular expression is the port of rank 0, and `called` is the name
    under which programs read the file.
    """

    suffix: str
    key: str
    port: str = ""
    called: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """What the variables of a framework's pods say of its processes.

    `variable` is one that only its pods have. `per_pod` is the number of processes in each pod, or the variable from which
    the pod's launcher takes it; 0 if one launcher starts the processes of all pods, or nothing tells the number. `total` is
    the variable with the number of all of them.
    """

    variable: str
    per_pod: int | str = 0
    total: str = ""


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang scheduler.

    - `api_group` is the API group of its PodGroup.
    - `joins` is the field of a pod template with the name of the PodGroup that its pods join.
    - `size` is the field of a PodGroup with the number of pods that it waits for.
    - `scheduler` is its `schedulerName` in pod specs, or empty if that differs between clusters.
    - `by_default` is true if the default scheduler does the gang scheduling.
    - `by_job` is true if replicated jobs that start one after another are separate groups.
    - `topology` is the annotation of a pod template that it reads as the group's topology, if any.
    - `changes` has the fields of a spec that an update may change, by kind, as field expressions. If a kind is not in
      it, an update may change anything.
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
    """A plugin, as its folder declares it.

    Dotted names of modules that are imported when they are needed:

    - `passes`: its PASSES are the plugin's functions.
    - `launchers`: its STARTING says how the framework's processes are started.
    - `detectors`: its DETECTORS find defects of the controller that are specific to this framework.

    When the plugin acts:

    - `policy` is its key in mlPolicy or, for a gang scheduler, in podGroupPolicy.
    - `applies_to` decides instead of `policy`, if it is set.
    - `carries_env` is the range of releases in which the plugin itself passes the TrainJob's variables to the trainer. In
      them, a plugin with `yields` does not run.

    Data:

    - `lints` are the framework's own lints.
    - `defects` are the deviations that can affect its jobs (`ir.deviations`).
    - `addresses`, `address_arguments` and `files` say where its pods read the rendezvous address: variables, prefixes of
      arguments, and files in ConfigMaps.
    - `started` says how the processes of its pods are counted, as in `trainc graph`; None if nothing in the pods tells.
    - `gang` is set for a gang scheduler.
    - `shell_names` maps the variable names of other launchers to the variables that this plugin injects.
    - `reserved` are the variables that a TrainJob must not set, and `reserved_for` is what they are reserved for.
    - `reads_processes` is true if the plugin uses numProcPerNode.
    - `contained` is why its pods cannot run as plain processes outside containers; empty if they can.
    """

    name: str
    passes: str
    policy: str = ""
    applies_to: AppliesTo | None = None
    launchers: str = ""
    lints: tuple[Lint, ...] = ()
    detectors: str = ""
    defects: frozenset[str] = frozenset()
    addresses: tuple[Address, ...] = ()
    address_arguments: tuple[str, ...] = ()
    files: tuple[RendezvousFile, ...] = ()
    started: Started | None = None
    gang: Gang | None = None
    shell_names: Mapping[str, str] = field(default_factory=dict)
    reserved: frozenset[str] = frozenset()
    reserved_for: str = ""
    reads_processes: bool = False
    carries_env: Span | None = None
    yields: bool = False
    contained: str = ""

    def policy_of(self, job: TrainJob, info: Info) -> Json | None:
        """Return the policy that makes the plugin act on a job, or None if it does not apply to the job."""
        if self.applies_to is not None:
            return self.applies_to(job, info)
        policies = info.ml_policy if self.gang is None else info.pod_group_policy
        return policies.get(self.policy) if policies else None


def always(job: TrainJob, info: Info) -> Json:
    """Return an empty policy: the `applies_to` of a plugin that acts on every job."""
    return {}

"""All lints, in the order in which they report: first those for jobs of any framework, then those of each plugin.

The arguments of a lint's function depend on its stage:

- lowered, controller and sized: (job, info), or (entrypoint) per container, or (training) per training, or
  (job, info, around) per input, if it has other documents;
- built: (job, info, options);
- applied: (manifests, around), the objects by which the API server admits pods; all_jobs: (claims, services), and rendered: (jobset, objects, plugins), as in manifests.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import product

from trainc.findings import Finding
from trainc.ir.entrypoints import Entrypoint, entrypoints
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.knowledge.tables import commands, concerns, tables_of_options, tables_of_program
from trainc.kube.documents import Foreign, Manifest
from trainc.lints.templates import PRIVATE, has_moving_tag
from trainc.plugins.plugin import Lint, Plugin, Stage
from trainc.plugins.registry import enabled, load_attribute
from trainc.reading.document import Surroundings
from trainc.startup.records import replace
from trainc.startup.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.lints.manifests import Claim, Services
    from trainc.lints.training import Training
    from trainc.options import Options
    from trainc.pods.admission_plugins import ClusterObjects


def _gang(job: TrainJob, info: Info) -> bool:
    return info.pod_group_policy is not None


def _may_concern_kueue(job: TrainJob, info: Info) -> bool:
    """Return whether the user has set labels or annotations, or the job has several steps, which Kueue limits."""
    if job.labels or job.annotations or info.labels or info.annotations or len(info.pod_sets) > 1:
        return True
    templates = (step["template"] for step in info.template.get("replicatedJobs", ()))
    return any(
        (template.get("metadata") or {}).get("annotations")
        or ((template.get("spec") or {}).get("template") or {}).get("metadata")
        for template in templates
    )


def _volumes(job: TrainJob, info: Info) -> bool:
    return "volumeClaimPolicies" in info.template or any(pod_set.volumes for pod_set in info.pod_sets)


def _writes(entry: Entrypoint) -> bool:
    return bool(entry.container.mounts) and "/" in entry.text and (entry.shell or not entry.trains)


def _is_template(entry: Entrypoint) -> bool:
    """Return whether a command or variable may have placeholders: all of them have one of these."""
    text = " ".join((entry.text, *[str(variable.get("value")) for variable in entry.container.env]))
    return any(map(text.__contains__, ("${trial", "<", "your", "YOUR", "/path/to/", "TODO", "FIXME", "ME")))


def _scripted(training: Training) -> bool:
    return training.line.script is not None or bool(training.line.starts_of("sleep"))


def _launches(training: Training) -> bool:
    return bool(training.line.starts_of("launcher", "tool"))


def _divides(training: Training) -> bool:
    """Return whether a launcher may start a program that has degrees of parallelism: all their names have one of these."""
    parts = ("parallel", "megatron", "trainer.", "deepspeed", "ds_config", "config", "batch")
    return bool(training.line.launches) and any(map(training.text.__contains__, parts))


def _has_paths(training: Training) -> bool:
    mount_paths = [str(mount.get("mountPath")) for mount in training.entry.container.mounts]
    shared = any(mount_path.startswith(("/dev/", "/usr", "/bin", "/lib", "/opt/conda")) for mount_path in mount_paths)
    return shared or any(map(training.text.__contains__, ("/", "workers", "dir", "folder")))


def _has_variables(entry: Entrypoint) -> bool:
    return bool(entry.container.env) or (entry.shell and "=" in entry.text)


def _selects_nodes(entry: Entrypoint) -> bool:
    spec = entry.info.pod_spec(entry.pod_set.name)
    return bool(spec.get("nodeSelector") or spec.get("affinity"))


def _is_private(training: Training) -> bool:
    """Return whether an image is one that needs a login, or the input has Secrets, which may be one."""
    needs_login = training.entry.image.startswith(PRIVATE)
    return needs_login or bool(training.around.of("Secret", training.job.namespace))


def _is_in_tables(training: Training) -> bool:
    """Return whether a table is about a program, option or variable of a container, or a file may be read."""
    entry = training.entry
    limits, fields = entry.container.resources.get("limits") or (), entry.container.fields
    secured = "securityContext" in fields or "securityContext" in entry.info.pod_spec(entry.pod_set.name)
    fetched = training.job.model or training.job.dataset or training.line.starts_of("code")
    if training.around or fetched or "<<" in training.text or _selects_nodes(entry) or len(limits) > 1 or secured:
        return True
    text = training.text
    names = [str(variable["name"]) for variable in (*entry.container.env, *entry.trainer.env)]
    starts = training.line.starts
    # The last command sees all that the others have set.
    names += (name for start in starts for name in start.variables.assigned)
    names += starts[-1].variables if starts else ()
    if concerns(names, training.device, entry.image, text):
        return True
    words = text.replace("=", " ").split()
    programs = [word.rpartition("/")[2] for word in words if not word.startswith("-")]
    if not commands().isdisjoint(programs):
        return True
    options = (word.lstrip("-+").replace("-", "_") for word in words)
    return bool([*tables_of_program(programs, text), *tables_of_options(options)])


def _is_surrounded(training: Training) -> bool:
    """Return whether a pod has more than a program with devices: references, limits, other containers or documents."""
    container = training.entry.container
    resources = container.resources.get("limits") or {}
    return bool(
        training.around
        or (container.mounts and (training.line.script is not None or "memory" in resources))
        or len(training.entry.pod_set.containers) > 1
        or len(resources) > 1
        or training.job.model is not None
        or training.job.dataset is not None
        or any("$" in str(variable.get("value")) for variable in container.env)
    )


_STARTING_VALUE = frozenset("~\"'“”‘’")  # noqa: RUF001


def _may_slip(training: Training) -> bool:
    text = training.text
    return (
        training.line.script is not None
        or bool(training.around)
        or any(map(text.__contains__, ("'", '"', "python", " = ", "~/")))
        or ".py" in text.partition(" ")[0]
        or any(str(variable.get("value"))[:1] in _STARTING_VALUE for variable in training.entry.container.env)
        or bool(training.line.launches)
    )


def _options_given(training: Training) -> bool:
    return bool(training.launches_with_options)


LINTS: tuple[Lint, ...] = (
    Lint("lowered", "trainc.lints.templates", "missing_jobs"),
    Lint("lowered", "trainc.lints.templates", "missing_image", per="container"),
    Lint("lowered", "trainc.lints.templates", "gpu_without_limit", per="container"),
    Lint("lowered", "trainc.lints.templates", "scheduler_name_missing", _gang),
    Lint("lowered", "trainc.lints.templates", "foreign_schedulers", _gang),
    Lint(
        "lowered",
        "trainc.lints.templates",
        "processes",
        lambda _, info: info.processes.about == "trainjob" or isinstance(info.processes.value, int),
    ),
    Lint("controller", "trainc.lints.controller_defects", "controller_defects"),
    Lint("sized", "trainc.lints.templates", "gang_in_sequence", _gang),
    Lint("sized", "trainc.lints.rendezvous", "rendezvous", per="training", when=_options_given),
    Lint("sized", "trainc.lints.launchers", "launcher_usage", per="training", when=_launches),
    Lint("sized", "trainc.lints.launchers", "launchers", per="training"),
    Lint("sized", "trainc.lints.devices", "processes", per="training"),
    Lint("sized", "trainc.lints.parallelism", "parallelism", per="training", when=_divides),
    Lint("sized", "trainc.lints.programs", "programs", per="training", when=_is_in_tables),
    Lint("sized", "trainc.lints.surroundings", "surroundings", per="training", when=_is_surrounded),
    Lint("sized", "trainc.lints.slips", "slips", per="training", when=_may_slip),
    Lint("sized", "trainc.lints.storage", "storage", per="training", when=_has_paths),
    Lint("sized", "trainc.lints.templates", "restarts", per="training", when=_options_given),
    Lint("sized", "trainc.lints.templates", "pull_secrets", per="training", when=_is_private),
    Lint("sized", "trainc.lints.rendezvous", "script_interfaces", per="training", when=_scripted),
    Lint("sized", "trainc.lints.scripts", "shell_endings", per="training", when=_scripted),
    Lint("sized", "trainc.lints.cannot_start", "cannot_start", per="container"),
    Lint("sized", "trainc.lints.variables", "unset_variables", per="container", when=lambda entry: "$" in entry.text),
    Lint("sized", "trainc.lints.variables", "placeholders", per="container", when=_is_template),
    Lint("sized", "trainc.lints.scripts", "heredocs", per="container", when=lambda entry: "<<" in entry.text),
    Lint("sized", "trainc.lints.cannot_start", "invalid_image", per="container"),
    Lint("sized", "trainc.lints.templates", "moving_tag", per="container", when=has_moving_tag),
    Lint("sized", "trainc.lints.variables", "plain_tokens", per="container"),
    Lint(
        "sized",
        "trainc.lints.variables",
        "tokens_of_initializers",
        lambda job, _: (job.dataset, job.model) != (None, None),
    ),
    Lint("sized", "trainc.lints.variables", "dropped_values"),
    Lint("sized", "trainc.lints.variables", "tuning_variables", per="container", when=_has_variables),
    Lint("sized", "trainc.lints.devices", "unlikely_amounts", per="container"),
    Lint("sized", "trainc.lints.devices", "more_than_node", per="container", when=_selects_nodes),
    Lint("sized", "trainc.lints.devices", "no_nodes", lambda _, info: info.nodes.requested == 0),
    Lint("sized", "trainc.lints.rendezvous", "network"),
    Lint("sized", "trainc.lints.storage", "volumes", _volumes),
    Lint("sized", "trainc.lints.storage", "written", per="container", when=_writes),
    Lint("sized", "trainc.lints.storage", "claims_on_several_nodes", _volumes, per="input"),
    Lint("sized", "trainc.lints.kueue", "kueue", _may_concern_kueue),
    Lint("sized", "trainc.lints.templates", "values_overridden"),
    Lint("built", "trainc.lints.templates", "ttl_rerun"),
    Lint("built", "trainc.lints.templates", "retained_claims", lambda _, info: "volumeClaimPolicies" in info.template),
    Lint("built", "trainc.lints.manifests", "subdomain_of_every_run"),
    Lint("applied", "trainc.lints.manifests", "queued_without_requests"),
    Lint("all_jobs", "trainc.lints.manifests", "between_jobs"),
    Lint("rendered", "trainc.lints.manifests", "stale_names"),
)


class _Group:
    """Lints that run for the same jobs, containers or trainings. They are imported when the first of these is found."""

    def __init__(self, plugin: Plugin | None, like: Lint) -> None:
        self.applies_to = like.applies_to
        if plugin is not None and like.applies_to is None:
            self.applies_to = lambda job, info: plugin.policy_of(job, info) is not None
        self.per = like.per
        self.when = like.when
        self.lints: list[Lint] = []

    @cached_property
    def functions(self) -> list[Callable[..., Iterable[Finding]]]:
        """The functions of the lints."""
        return [load_attribute(lint.module, lint.function) for lint in self.lints]


@cache
def _at(stage: Stage, plugins: tuple[str, ...]) -> tuple[_Group, ...]:
    groups: dict[Any, _Group] = {}
    for plugin in (None, *enabled(plugins)):
        for lint in LINTS if plugin is None else plugin.lints:
            if lint.stage == stage:
                key = plugin and plugin.name, lint.applies_to, lint.per, lint.when
                groups.setdefault(key, _Group(plugin, lint)).lints.append(lint)
    return tuple(groups.values())


def lint(
    job: TrainJob,
    info: Info,
    stage: Stage = "lowered",
    options: Options | None = None,
    around: Surroundings | None = None,
) -> list[Finding]:
    """Run the lints of a stage on one job and return their findings.

    `options` is for the stage `built`; `around` is what the input has beside jobs, for the stage `sized`.
    Under `controller` semantics errors become warnings, because only what the controller refuses is an error there.
    """
    subjects = _Subjects(job, info, around or Surroundings())
    subjects["job"] = [(job, info) if options is None else (job, info, options)]
    findings: list[Finding] = []
    # What a plugin of others raises is said as such. There are fifty lints: entering a `with` costs more than a `try`.
    guard, failures = Finding.Guard("whether it works"), () if info.plugins else (Exception,)
    for group in _at(stage, info.plugins):
        when = group.when
        try:
            if group.applies_to is not None and not group.applies_to(job, info):
                continue
            chosen = subjects[group.per] if when is None else [one for one in subjects[group.per] if when(*one)]
            functions = group.functions if chosen else ()
        except failures as error:
            guard.take(error)
            continue
        for given, function in product(chosen, functions):
            try:
                findings += function(*given)
            except failures as error:
                guard.take(error)
    findings += guard.failures
    if info.gitops:
        return findings
    return [replace(finding, severity="warning") if finding.severity == "error" else finding for finding in findings]


class _Subjects(dict[str, list[tuple[Any, ...]]]):
    """What lints are given: containers, those that train with their parsed commands ("training"), or the input."""

    def __init__(self, job: TrainJob, info: Info, around: Surroundings) -> None:
        super().__init__()
        self.job, self.info, self.around = job, info, around

    def __missing__(self, per: str) -> list[tuple[Any, ...]]:
        if per == "input":
            self[per] = [(self.job, self.info, self.around)] if self.around else []
        elif per == "container":
            self[per] = [(entry,) for entry in entrypoints(self.job, self.info)]
            if self.around:
                from trainc.lints.config_files import as_its_script

                self[per] = [(as_its_script(entry, self.around),) for (entry,) in self[per]]
        else:
            from trainc.lints.training import training_of

            trainings = [training_of(entry, self.around) for (entry,) in self["container"]]
            self[per] = [(training,) for training in trainings if training is not None]
        return self[per]


def lint_applied(manifests: Sequence[Manifest], around: ClusterObjects, options: Options) -> Iterator[Finding]:
    """Yield findings about the objects of a job among those of the cluster."""
    return _guarded("applied", options, "whether the cluster takes its pods", manifests, around)


def lint_all_jobs(claims: Iterable[Claim], services: Services, options: Options) -> Iterator[Finding]:
    """Yield findings about objects that depend on several jobs.

    `services` collects the Services of all jobs of the input, and is updated by each call.
    """
    return _guarded("all_jobs", options, "whether it fits the other jobs", claims, services)


def lint_rendered(
    jobset: Mapping[str, Any], objects: Sequence[Mapping[str, Any]], options: Options
) -> Iterator[Finding]:
    """Yield findings about names in a JobSet that no longer match the rendered `objects`; paths are in the JobSet."""
    foreign, plugins = [Foreign(data) for data in objects], enabled(options.plugins)
    return _guarded("rendered", options, "whether its names match the other manifests", jobset, foreign, plugins)


def _guarded(stage: Stage, options: Options, unknown: str, *arguments: Any) -> Iterator[Finding]:
    guard = Finding.Guard(unknown)
    for group in _at(stage, options.plugins):
        for function in group.functions:
            with guard:
                yield from function(*arguments)
    yield from guard.failures

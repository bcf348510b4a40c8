"""The compiler: the stages that one valid TrainJob goes through, in order.

Every stage adds its findings to the job's report, with paths in documents or objects. The session turns them into
diagnostics with positions in the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap

from trainc.admission.admit import admit_compiled
from trainc.emit.shaping import SHAPES, Shape, deliver, in_apply_order
from trainc.findings import Diagnostic, Finding, Report
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.documents import Manifest
from trainc.lints.registry import lint
from trainc.pipeline.index import find_runtime, group_mismatch, unstorable_text
from trainc.pipeline.lowering import has_several_pods, lower_job, prepare_once, without_unserved_initializers
from trainc.pipeline.patches import at_patch, claims_behind_gate, dangling_claims
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins import registry
from trainc.plugins.plugin import ExtensionPoint
from trainc.plugins.registry import Applied, plugins_for
from trainc.reading.document import Document, label_of
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from trainc.pipeline.session import Session


class Trace:
    """Is told of each step of one TrainJob, in order. This one ignores them; `explain` records them.

    Arguments may be kept but must not be modified.
    """

    def on_lowered(self, result: Result) -> None:
        """Called when the runtime has been found, patched, labeled and lowered, and nothing refuses the job."""

    def on_renamed(self, job: TrainJob) -> None:
        """Called when the job continues under a name that ends with a hash of its content."""

    def on_pass(self, plugin: Applied, point: ExtensionPoint, before: Info, after: Info) -> None:
        """Called after a pass that changed the Info."""

    def on_shaped(self, stage: str, manifests: Sequence[Manifest]) -> None:
        """Called with the objects after "build", and after each of STAGES that changed them."""


SILENT = Trace()


@dataclass(frozen=True, slots=True)
class Lowered:
    """A lowered job, the plugins that act on it, and the session that compiles it."""

    job: TrainJob
    info: Info
    plugins: Sequence[Applied]
    session: Session

    @classmethod
    def of(cls, job: TrainJob, info: Info, session: Session) -> Lowered:
        """Choose the plugins of a job, which are fixed before the first pass."""
        return cls(job, info, plugins_for(job, info), session)


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of one job, and the names of the Secrets that its pods mount."""

    manifests: tuple[Manifest, ...] = ()
    secrets: tuple[str, ...] = ()


@dataclass(slots=True)
class Result:
    """What the stages made of one job, as far as it got, and everything they found.

    `objects` is None if the job was refused. `home` is the document at whose name findings about objects are reported,
    unless something better is known.
    """

    job: ValidDocument
    home: ValidDocument
    runtime: ValidDocument | None = None
    lowered: Lowered | None = None
    objects: Objects | None = None
    report: Report = field(default_factory=Report)

    def diagnose(self, finding: Finding) -> Diagnostic:
        """Return a finding about the TrainJob, its runtime or a file as a diagnostic, with its position in that document."""
        if finding.about == "file":
            found: Diagnostic = finding.document.diagnose_text(finding)
            return found
        if finding.about == "runtime" and self.runtime and self.lowered and (patches := self.lowered.job.patches):
            finding = at_patch(finding, self.lowered.info.template, self.runtime.data, patches)
        document = self.runtime if finding.about == "runtime" else self.job
        return (document or self.job).diagnose(finding)


def compile_job(document: ValidDocument, session: Session, trace: Trace = SILENT) -> Result:
    """Take one valid TrainJob through all stages. A plugin of others that fails is an error of this job."""
    result, failures = Result(document, document), (Exception, SystemExit) if session.options.plugins else ()
    try:
        _run_stages(document, session, trace, result)
        if session.options.plugins:
            registry.check_results(result.report.findings, result.objects.manifests if result.objects else ())
    except failures as error:
        result.objects, result.report = None, Report([registry.failure(error, session.options.plugins)])
    return result


def _run_stages(document: ValidDocument, session: Session, trace: Trace, result: Result) -> None:
    report, options, release = result.report, session.options, session.release
    controller = options.semantics == "controller"

    result.runtime, findings = find_runtime(document.data, session.index, release)
    report.add("reference", findings)
    if (runtime := result.runtime) is None:
        return
    report.add("reference", group_mismatch(document.document.data, runtime.document.data))
    job = lower_job(document.data)
    if controller and release.managed_by_honored and job.managed_by == names.MULTIKUEUE_MANAGED_BY:
        report.add("reference", [_MANAGED_ELSEWHERE])
        result.objects = Objects()
        return

    if controller and release.runtime_snapshot:
        report.add("lowering", unstorable_text(runtime.data))
    info, findings = prepare_once(document.data["spec"], job, runtime, session)
    report.add("lowering", findings)
    if options.gang != "runtime" and not controller and not info.pod_group_policy and has_several_pods(info):
        report.add("lowering", [_NO_GANG])
    if document.dialect is not None and document.dialect.needs_initializers:
        job, findings = without_unserved_initializers(job, info)
        report.add("lowering", findings)

    lowered = result.lowered = Lowered.of(job, info, session)
    check_lowered(lowered, report)
    if controller:
        report.add("lint", lint(job, info, "controller"))
    if not session.refuses(result):
        trace.on_lowered(result)
        result.objects = assemble(lowered, report, trace, document.document.siblings)
    elif info.gitops and not session.errors_only:
        reported = {finding.path for finding in report.findings}
        found = _of_command(lowered, document.document.siblings)
        report.add("lint", [finding for finding in found if finding.path not in reported])


# What is wrong with a command whatever else its pods have: it holds for a refused job too, and with another runtime.
OF_COMMAND = frozenset(
    "ArgumentNotSplit CommandCannotStart FailureIgnored HeldAfterEnd HeredocRewritten InvalidLauncherArguments"
    " InvalidVariableValue MisplacedSetting MisspeltVariable MoreProcessesThanDevices ParallelismMismatch PlainToken"
    " RanksDoNotMeet SettingRefused SettingsDisagree UnexpandedShellVariable".split()
)


def _of_command(lowered: Lowered, files: tuple[Document, ...]) -> list[Finding]:
    """Return what is wrong with the commands of a job that is refused for something else."""
    trainers = [pod_set for pod_set in lowered.info.pod_sets if pod_set.main_container is not None]
    info = registry.enforce(lowered.job, lowered.info, lowered.plugins, SILENT.on_pass) if trainers else lowered.info
    found = lint(lowered.job, info, "sized", around=lowered.session.index.around.with_files(files)) if trainers else []
    return [finding for finding in found if finding.code in OF_COMMAND]


def check_lowered(lowered: Lowered, report: Report) -> None:
    """Validate a lowered job. If it has no errors, lint it, too: most other findings would be consequences of those."""
    gated = list(claims_behind_gate(lowered.job, lowered.info))
    # The webhook then checks nothing else.
    checked = gated or [
        *registry.validate(lowered.job, lowered.info, lowered.plugins),
        *dangling_claims(lowered.info),
    ]
    report.add("validation", checked)
    if not report.has_errors:
        report.add("lint", lint(lowered.job, lowered.info))


def assemble(lowered: Lowered, report: Report, trace: Trace = SILENT, files: tuple[Document, ...] = ()) -> Objects:
    """Run the passes, build the objects, and run all of STAGES on them.

    With a name hash, a job is assembled twice: under its plain name to compute the hash, and then under the hashed name,
    so that all derived names contain it. `files` are those that its commands name.
    """
    session = lowered.session
    if lowered.info.gitops and session.options.name_hash and not lowered.job.name_hash:
        from trainc.emit.name_hash import name_hash
        from trainc.emit.secrets import makes_new_keys

        suffix = name_hash(_assemble(lowered, Report(), SILENT).manifests)
        keys = makes_new_keys(session.options.secrets)
        job = replace(lowered.job, name=lowered.job.name + suffix, name_hash=suffix, new_keys=keys)
        lowered = Lowered.of(job, lowered.info, session)
        trace.on_renamed(job)
    return _assemble(lowered, report, trace, files)


def _assemble(lowered: Lowered, report: Report, trace: Trace, files: tuple[Document, ...] = ()) -> Objects:
    job, plugins, index = lowered.job, lowered.plugins, lowered.session.index
    info = registry.enforce(job, lowered.info, plugins, trace.on_pass)
    lowered = Lowered(job, info, plugins, lowered.session)
    report.add("lint", lint(job, info, "sized", around=index.around.with_files(files)))
    manifests = in_apply_order(registry.build(job, info, plugins))
    trace.on_shaped("build", manifests)
    for stage in STAGES:
        if info.gitops or not stage.gitops:
            after, findings = stage.run(lowered, manifests)
            if findings:
                report.add(stage.name, findings)
            if after is not manifests:
                trace.on_shaped(stage.name, after)
            manifests = after
    secrets = registry.provided_secrets(job, info, plugins)
    return Objects(tuple(manifests), tuple(secret.name for secret in secrets))


Shaped: TypeAlias = tuple[list[Manifest], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage that takes the objects of a job and returns them, changed or not, and its findings.

    `name` is what `explain` calls it. With `gitops`, it runs under `gitops` semantics only.
    """

    name: str
    run: Callable[[Lowered, list[Manifest]], Shaped]
    gitops: bool = True


def _shaping(name: str, shape: Shape) -> Stage:
    def run(lowered: Lowered, manifests: list[Manifest]) -> Shaped:
        for at, manifest in enumerate(manifests):
            if manifest["kind"] == "JobSet":
                jobset, findings = shape(lowered.job, lowered.info, manifest)
                return manifests if jobset is manifest else [*manifests[:at], jobset, *manifests[at + 1 :]], findings
        return manifests, ()

    return Stage(name, run)


def _admit(lowered: Lowered, manifests: list[Manifest]) -> Shaped:
    """Set JobSet's defaults, and run its validation."""
    admitted, findings = list(manifests), []
    for i, manifest in enumerate(manifests):
        if manifest["kind"] == "JobSet":
            admitted[i], refused = admit_compiled(manifest, lowered.info.release, lowered.info.semantics)
            findings += [replace(finding, about=label_of(manifest)) for finding in refused]
    return admitted, findings


def _check_kubernetes(lowered: Lowered, manifests: list[Manifest]) -> Shaped:
    """Find fields of the JobSet that the cluster's Kubernetes version lacks or has deprecated."""
    if lowered.session.options.kubernetes is None:
        return manifests, ()
    from trainc.schema.kubernetes import kubernetes_findings

    info = lowered.info
    return manifests, [
        replace(finding, about=label_of(manifest), severity=finding.severity if info.gitops else "warning")
        for manifest in manifests
        if manifest["kind"] == "JobSet"
        for finding in kubernetes_findings(manifest, info.kubernetes, info.release.minor)
    ]


def _provide_secrets(lowered: Lowered, manifests: list[Manifest]) -> Shaped:
    """Add the objects that provide the Secrets which the pods mount, and name the service accounts that they need."""
    secrets = registry.provided_secrets(lowered.job, lowered.info, lowered.plugins)
    accounts = [name for pod_set in lowered.info.pod_sets if (name := lowered.info.pod_spec(pod_set.name).get("serviceAccountName"))]  # fmt: skip
    session = lowered.session
    find, space, is_made = session.find_in_cluster, lowered.job.namespace, session.options.secrets != "existing"
    accounts = [name for name in accounts if find("ServiceAccount", space, name) is None]
    secrets = tuple(s for s in secrets if (is_made and s.key_pair) or find("Secret", space, s.name) is None)
    if not secrets and not accounts:
        return manifests, ()
    from trainc.emit.secrets import provide, service_accounts

    around = session.index.around
    provision = provide(lowered.job, secrets, around, session.options)
    if provision.manifests:
        manifests = in_apply_order([*provision.manifests, *manifests])
    return manifests, (*provision.findings, *service_accounts(lowered.job, accounts, around))


def _own_files(lowered: Lowered, manifests: list[Manifest]) -> Shaped:
    """Add the ConfigMaps that are the job's own."""
    around = lowered.session.index.around
    if not around.of("ConfigMap", lowered.job.namespace):
        return manifests, ()
    from trainc.emit.config_maps import with_own

    built = with_own(manifests, around, lowered.job.plain_name)
    return (in_apply_order(built) if len(built) > len(manifests) else manifests), ()


STAGES: tuple[Stage, ...] = (
    *starmap(_shaping, SHAPES.items()),
    Stage("lint", lambda lowered, built: (built, lint(lowered.job, lowered.info, "built", lowered.session.options))),
    Stage("admission", _admit, gitops=False),
    Stage("kubernetes", _check_kubernetes, gitops=False),
    Stage("secrets", _provide_secrets),
    Stage("files", _own_files),
    Stage("delivery", lambda lowered, built: deliver(built, lowered.session.options)),
)

_NO_GANG = Finding(
    "NoGangPolicy",
    "info",
    "the runtime has no podGroupPolicy, so its pods are not scheduled as a gang",
    "to have them all start together, add to the runtime's spec  podGroupPolicy: {workload: {}}",
    ("spec", "runtimeRef"),
)
_MANAGED_ELSEWHERE = Finding(
    "ManagedElsewhere",
    "info",
    f"managedBy is {names.MULTIKUEUE_MANAGED_BY}: the controller of this release creates nothing for the job",
    "compile with --semantics gitops to hand the JobSet to MultiKueue",
    ("spec", "managedBy"),
)

"""A session: the options, catalog, settings and documents of one compilation, set up once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from trainc.admission.creation import objects_for_pods, pod_refusals
from trainc.compilation import Compilation, CompiledJob
from trainc.findings import CompileError, Diagnostic, Finding, Report, format_path, has_errors, sort_diagnostics
from trainc.findings.codes import stage_of
from trainc.findings.policy import Rules, keep_severities
from trainc.ir.release import Release, release_facts
from trainc.kube import names
from trainc.kube.documents import Json, Manifest, identity_of, mapping, with_value
from trainc.kube.releases import NEWEST_RELEASE, PREVIEWS
from trainc.lints.manifests import RESTARTS, Claim, Services
from trainc.lints.registry import lint_all_jobs, lint_applied
from trainc.options import Options
from trainc.pipeline.compiler import OF_COMMAND, SILENT, Result, Trace, compile_job
from trainc.pipeline.index import InputIndex, Shipped, find_runtime, index_documents, meant_runtime, with_catalog
from trainc.pipeline.lowering import Prepared
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins.registry import choose
from trainc.reading.catalog import Catalog
from trainc.reading.document import Document, label_of
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from trainc.output.keeping import Keeping
    from trainc.pipeline.inputs import Step
    from trainc.pods.admission_plugins import ClusterObjects

Outcome: TypeAlias = tuple[CompiledJob | None, list[Diagnostic]]
# Returns a result's findings about objects as diagnostics, with positions in the input.
DiagnoseObjects: TypeAlias = Callable[[Result], list[Diagnostic]]
# Checks the objects of one job, such as against policies, and returns findings, each with the label of its object.
Judge: TypeAlias = Callable[[Sequence[Manifest]], Sequence[tuple[str, Finding]]]


def diagnose_at_source(result: Result) -> list[Diagnostic]:
    """Return all findings about objects at the name of the document from which they were built."""
    return [result.home.diagnose_built(finding) for finding in result.report.about_objects()]


# Fields that decide how many processes a job has, and findings that would be about other numbers without them.
_SIZES = frozenset(("numNodes", "numProcPerNode", "resourcesPerNode"))
_BY_SIZE = frozenset(
    "RanksDoNotMeet TorchrunArgOverridesPolicy ParallelismMismatch BatchDoesNotDivide NoLauncher"
    " TensorParallelAcrossNodes TooManyNodes MultiNodeLoRA".split()
)
# A list with an item too many is left out, and with it what it mounts.
_MOUNTS = frozenset(("volumeMounts", "volumeDevices", "volumes", "containers"))
_BY_MOUNTS = frozenset(("VolumeNotMounted", "DataNotMounted", "OutputNotKept"))

# What compiles a command whose runtime is not there, to see what is wrong with it.
_STAND_IN = "torch-distributed"


@dataclass(frozen=True, slots=True)
class Session:
    """One compilation: how to compile, and the documents that are compiled, added by `with_input`.

    `diagnose_objects` finds the lines of the input that set the fields of objects. It is injected because it needs the
    explainer, which the pipeline must not import. `rules` applies the severities that the user has configured; errors
    without which a job cannot be compiled remain errors. `judge` adds findings about the objects of each job. `cluster`
    are the objects of the cluster, as far as they are known; of two with the same name, that in the input counts. None
    means that the caller judges only what it applies: refused pods are warnings then. `keeping` knows the jobs that are kept
    as built: their objects are those in git, and it collects why they could not be built again. `judge_at_base` judges the
    others by what counted before a change under review, `judge_runtimes` what unused runtimes give. With `errors_only`,
    nobody reads warnings and infos, so they are not worked out. `step` is told how many jobs are compiled.
    """

    options: Options = Options()
    catalog: Catalog | None = None
    diagnose_objects: DiagnoseObjects = diagnose_at_source
    rules: Rules = keep_severities
    judge: Judge | None = None
    cluster: Iterable[Json] | None = None
    keeping: Keeping | None = None
    judge_at_base: Judge | None = None
    judge_runtimes: Judge | None = None
    errors_only: bool = False
    step: Step | None = None
    # JobSets among the documents that are sources themselves.
    jobsets: Sequence[Document] = ()
    index: InputIndex = InputIndex()
    # The objects by which the API server admits pods, of the cluster and the input.
    around: ClusterObjects = field(default_factory=dict, compare=False, repr=False)
    # Work that sessions with other jobs share: the catalog's runtimes by name, and what `prepare` returned.
    shipped: Shipped = field(default_factory=dict, compare=False, repr=False)
    prepared: Prepared = field(default_factory=dict, compare=False, repr=False)
    # Results of a session and of those after it, by the ids of the data of the job and of its runtime; None alone.
    results: dict[tuple[object, ...], Result] | None = field(default=None, compare=False, repr=False)
    # The object of the cluster of a kind, namespace and name, if it is known.
    find_in_cluster: Callable[[str, str, str], object] = field(default=lambda *_: None, compare=False, repr=False)
    # Jobs that only the judge refuses. Other checks of their objects still make sense.
    denied: list[CompiledJob] = field(default_factory=list, compare=False, repr=False)

    @property
    def release(self) -> Release:
        """The behavior of the release that is compiled for."""
        return release_facts(self.options.release or NEWEST_RELEASE)

    def with_input(self, documents: Sequence[Document], runtime_sources: Sequence[Sequence[Document]] = ()) -> Session:
        """Return the session with an input. Runtimes are looked up in it, then in each source, then in the catalog."""
        index = index_documents(documents, runtime_sources, self.release.minor, self.options)
        around = objects_for_pods(chain(self.cluster or (), (document.data for document in index.around.documents)))
        return replace(self._with(index), around=around)

    def after(self, other: Session | None) -> Session:
        """Return the session with the results of another one, as far as documents with the same data have the same there."""
        if other is None or (other.options, other.cluster) != (self.options, self.cluster):
            return replace(self, results={})
        if self.keeping is not None and other.keeping is not None:
            self.keeping.texts = other.keeping.texts
        other_ids = [[id(document.data) for document in session.index.around.documents] for session in (self, other)]
        return replace(self, results=other.results if other_ids[0] == other_ids[1] else {})

    def with_jobs(self, documents: Sequence[Document]) -> Session:
        """Return a copy of the session with the TrainJobs of `documents`, and their diagnostics, instead of its own."""
        indexed = index_documents(documents, (), self.release.minor, self.options, self.index.dialect_context)
        index = replace(
            self.index,
            jobs=indexed.jobs,
            references=indexed.references,
            diagnostics=indexed.diagnostics,
            parts=indexed.parts,
            refused_jobs=indexed.refused_jobs,
        )
        return self._with(index)

    def _with(self, index: InputIndex) -> Session:
        if self.catalog is not None:
            index = with_catalog(index, self.catalog, self.release.minor, self.options, self.shipped)
        return replace(self, index=index)

    @property
    def jobs(self) -> Sequence[ValidDocument]:
        """The valid TrainJobs, sorted by (namespace, name)."""
        return self.index.jobs

    @property
    def sources(self) -> dict[tuple[str, str], Document]:
        """The documents of jobs by namespace and name, of JobSets that are sources themselves too."""
        raw = {identity_of(jobset.data, self.options.namespace): jobset for jobset in self.jobsets}
        return {**{job.key: job.document for job in self.jobs}, **raw}

    def diagnostics(self) -> list[Diagnostic]:
        """Return the problems of the documents that are known before compilation.

        They include missing runtimes of TrainJobs that were refused for other reasons, and what is wrong with the rest of
        these jobs.
        """
        problems = list(self.index.diagnostics)
        for document, reference in self.index.references:
            _, findings = find_runtime(reference, self.index, self.release)
            problems += [document.diagnose(finding) for finding in findings if finding.severity == "error"]
        return [*self.rules(problems, True), *self._of_parts(problems)]

    def _of_parts(self, earlier: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
        """Yield the diagnostics of refused jobs that do not depend on what was refused in them."""
        reported = {(diagnostic.code, diagnostic.source) for diagnostic in earlier}
        misnamed = {d.source.file for d in earlier if d.code == "UnknownField" and d.source}
        compiling = self if self.keeping is None else replace(self, keeping=None)
        for job, guessed in self.index.parts:
            if self._objects_as_built(job, None) is not None:
                continue
            ignored = _BY_SIZE if not _SIZES.isdisjoint(guessed) else frozenset()
            ignored |= _BY_MOUNTS if not _MOUNTS.isdisjoint(guessed) else frozenset()
            ignored |= {"MissingRequired"} if job.document.file in misnamed else frozenset()
            for diagnostic in compiling.compile(job)[1]:
                at_home = diagnostic.source is None or diagnostic.source.file == job.document.file
                if at_home and diagnostic.code not in ignored and (diagnostic.code, diagnostic.source) not in reported:
                    yield diagnostic

    def compile(self, job: ValidDocument, trace: Trace = SILENT) -> Outcome:
        """Compile one of the jobs. Return the compiled job, or None if it has errors, and its diagnostics."""
        result = self._reuse_result(job, trace) or self._compile(job, trace)
        objects = result.objects
        manifests = self._objects_as_built(job, None if objects is None else objects.manifests)
        if manifests is not None:
            return self._keep_as_built(result, manifests)
        diagnostics = self._judged(result, self.judge, self.judge_at_base)
        if objects is None:
            return None, [*diagnostics, *self._with_other_runtime(job, result)]
        compiled = CompiledJob(*job.key, objects.manifests, objects.secrets, job.document.file)
        if not has_errors(diagnostics):
            return compiled, diagnostics
        if all(stage_of(diagnostic.code) == "policy" for diagnostic in diagnostics if diagnostic.severity == "error"):
            self.denied.append(compiled)
        return None, diagnostics

    def _compile(self, job: ValidDocument, trace: Trace) -> Result:
        result = compile_job(job, self, trace)
        if result.objects is not None:
            self._judge_pods(result.objects.manifests, result.report)
            # With errors, the user's rules decide how far a job gets.
            if self.results is not None and result.runtime is not None and not result.report.has_errors:
                own = replace(result, report=Report([*result.report.findings]))  # Others are judged by something else.
                own = own if own.report.findings else replace(own, lowered=None)
                self.results[_identity(job, result.runtime)] = own
        return result

    def _reuse_result(self, job: ValidDocument, trace: Trace) -> Result | None:
        """Return what the same TrainJob and runtime became in a session before, as of these documents."""
        if not self.results or trace is not SILENT:
            return None
        runtime, _ = find_runtime(job.data, self.index, self.release)
        earlier = None if runtime is None else self.results.get(_identity(job, runtime))
        # What a dialect converts depends on other documents.
        if earlier is None or runtime is None or (job.dialect or runtime.dialect) is not None:
            return None
        lowered = None if earlier.lowered is None else replace(earlier.lowered, session=self)
        return replace(earlier, job=job, home=job, runtime=runtime, lowered=lowered)

    def _with_other_runtime(self, job: ValidDocument, result: Result) -> Iterator[Diagnostic]:
        """Yield what else is wrong with a job without a runtime: with the one that is meant, or of its command with any."""
        if result.runtime is not None:
            return
        name, trainer, session = meant_runtime(job.data, self.index), job.data["spec"].get("trainer") or {}, self
        any_runtime = {"apiGroup": names.TRAINER_GROUP, "kind": "ClusterTrainingRuntime", "name": _STAND_IN}
        reference = {**job.data["spec"]["runtimeRef"], "name": name} if name else any_runtime
        # Another runtime may have another framework, which starts other processes and sets other variables.
        by_torchrun = "torchrun" in " ".join((*trainer.get("command", ()), *trainer.get("args", ())))
        codes = OF_COMMAND if by_torchrun and trainer.get("numNodes") else OF_COMMAND - _BY_SIZE
        job = replace(job, data=with_value(job.data, ("spec", "runtimeRef"), reference))
        if not name:
            session = self._with(replace(self.index, jobs=(job,), references=()))
        for diagnostic in session.diagnose(compile_job(job, session)):
            at_home = diagnostic.source is None or diagnostic.source.file == job.document.file
            if at_home and (name or diagnostic.code in codes):
                yield diagnostic

    def count(self, compiled: int) -> None:
        """Say how many jobs are compiled."""
        if self.step is not None:
            self.step("compiling", compiled, len(self.jobs))

    def _objects_as_built(self, job: ValidDocument, manifests: Sequence[Manifest] | None) -> Sequence[Manifest] | None:
        """Return the objects of a job that is kept as built, and None for other jobs."""
        return None if self.keeping is None else self.keeping.hold(*job.key, manifests)

    def _keep_as_built(self, result: Result, manifests: Sequence[Manifest]) -> Outcome:
        """Return a kept job with the objects in git, and what is found if it is built again; the errors are collected."""
        assert self.keeping is not None
        job, secrets = result.job, tuple[str, ...]()
        diagnostics = self._judged(result, self.judge)
        if result.objects is not None:
            secrets, self.keeping.rebuilt[job.key] = result.objects.secrets, result.objects.manifests
        if errors := [d for d in diagnostics if d.severity == "error"]:
            self.keeping.refused[job.key] = errors
        compiled = CompiledJob(*job.key, tuple(manifests), secrets, job.document.file)
        return compiled, [d for d in diagnostics if d.severity != "error"]

    def _judged(self, result: Result, *judges: Judge | None) -> list[Diagnostic]:
        """Return the diagnostics of a result, with what the judges find in its objects."""
        if result.objects is not None:
            # What both find counts as today's. A result without findings is kept without what places one.
            known = [(a, f) for judge in judges[::-1] if judge for a, f in judge(result.objects.manifests)]
            found = {(about, one.code, one.path, one.message): (about, one) for about, one in known}
            result = self._compile(result.job, SILENT) if found and result.lowered is None else result
            result.report.add("policies", _about_objects(found.values()))
        return self.diagnose(result)

    def find_as_it_stands(self, job: ValidDocument, manifests: Sequence[Manifest]) -> list[Diagnostic]:
        """Return what the judge finds in the objects of a rendered file of a job, where the fields are written."""
        found = [] if self.judge is None else list(self.judge(manifests))
        if not found:
            return []

        def same(built: Sequence[Manifest]) -> list[tuple[str, Finding]]:
            labels = {manifest["kind"]: label_of(manifest) for manifest in built}
            return [(labels.get(about.partition(" ")[0], about), finding) for about, finding in found]

        again = replace(self, keeping=None, judge=same, judge_at_base=None).compile(job)[1]
        texts = {(finding.code, format_path(finding.path)) for _, finding in found}
        if placed := [d for d in again if (d.code, d.path) in texts]:
            return placed
        return self.rules(map(job.diagnose_built, _about_objects(found)), False)  # It does not compile any more.

    def _judge_pods(self, manifests: Sequence[Manifest], report: Report) -> None:
        """Add what the API server would refuse of the pods of a job, and what Kueue would not count."""
        is_error = self.cluster is not None and self.options.semantics == "gitops"
        report.add("pods", pod_refusals(manifests, self.around, "error" if is_error else "warning"))
        report.add("pods", lint_applied(manifests, self.around, self.options))

    def refuses(self, result: Result) -> bool:
        """Return whether a job has errors so far that remain errors under the user's rules."""
        return result.report.has_errors and has_errors(self.diagnose(result))

    def diagnose(self, result: Result) -> list[Diagnostic]:
        """Return all findings of a result as diagnostics, with the severities that the user's rules give them."""
        if self.errors_only:
            result.report.keep_errors()
        if not result.report.findings:
            return []
        diagnostics: list[Diagnostic] = []
        for findings, blocking in result.report.about_documents():
            diagnostics += self.rules(map(result.diagnose, findings), blocking)
        if result.report.about_objects():
            diagnostics += self.rules(_without_hash(self.diagnose_objects(result), result), False)
        return diagnostics

    def compile_each(self) -> Iterator[Outcome]:
        """Yield one outcome for the input as a whole, then one per TrainJob, sorted by (namespace, name).

        Kept jobs whose TrainJob is not valid come last.
        """
        kept, problems = self.kept_refused_jobs([*self.rules(option_notes(self.options), True), *self.diagnostics()])
        yield None, problems
        services: Services = {}
        for number, job in enumerate(self.jobs, start=1):
            compiled, diagnostics = self.compile(job)
            self.count(number)
            if compiled is not None:
                claims = Claim.of(compiled.manifests, compiled.name, restarts=RESTARTS not in services)
                between = map(job.diagnose_built, lint_all_jobs(claims, services, self.options))
                diagnostics += self.rules(between, False)
            yield compiled, diagnostics
        yield from ((job, []) for job in kept)

    def kept_refused_jobs(self, diagnostics: list[Diagnostic]) -> tuple[list[CompiledJob], list[Diagnostic]]:
        """Return the jobs that are kept as built although their TrainJob is not valid, and what remains of `diagnostics`."""
        kept: list[CompiledJob] = []
        if self.keeping is None:
            return kept, diagnostics
        errors: dict[str, list[Diagnostic]] = {}
        for diagnostic in diagnostics:
            if diagnostic.severity == "error":
                errors.setdefault(diagnostic.object, []).append(diagnostic)
        for document in self.index.refused_jobs:
            metadata, label = mapping(document.data.get("metadata")), label_of(document.data)
            key = identity_of(document.data, self.options.namespace)[0], str(metadata.get("name"))
            if (manifests := self.keeping.hold(*key, None)) is not None:
                kept.append(CompiledJob(*key, tuple(manifests), file=document.file))
                self.keeping.refused[key] = errors.pop(label, [])
        return kept, [d for d in diagnostics if d.severity != "error" or d.object in errors]

    def compile_all(self, problems: Sequence[Diagnostic] = ()) -> Compilation:
        """Compile all TrainJobs.

        `problems` are diagnostics from reading the input. Raises CompileError with all diagnostics if any is an error.
        """
        compiled: list[CompiledJob] = []
        diagnostics = self.rules(problems, True)
        for job, more in self.compile_each():
            diagnostics += more
            if job is not None:
                compiled.append(job)
        if has_errors(diagnostics):
            raise CompileError(diagnostics)
        return Compilation(tuple(compiled), sort_diagnostics(diagnostics), (self,))


def _identity(job: ValidDocument, runtime: ValidDocument) -> tuple[object, ...]:
    """Return what two results have in common if nothing that they were made from differs."""
    files = ((file.file, file.data["text"]) for file in job.document.siblings)
    return id(job.document.data), id(runtime.document.data), *files


def _about_objects(findings: Iterable[tuple[str, Finding]]) -> list[Finding]:
    return [replace(finding, about=label) for label, finding in findings]


def _without_hash(diagnostics: list[Diagnostic], result: Result) -> list[Diagnostic]:
    """Return findings about objects under names without the hash, which would change with every edit."""
    name = result.job.data["metadata"]["name"]
    built = () if result.objects is None else result.objects.manifests
    hashed = next((manifest["metadata"]["name"] for manifest in built if manifest["kind"] == "JobSet"), name)
    return diagnostics if hashed == name else [replace(d, object=d.object.replace(hashed, name)) for d in diagnostics]


def option_notes(options: Options) -> list[Diagnostic]:
    """Return diagnostics about the options themselves."""
    notes: list[Diagnostic] = []
    if options.release is None:
        message = f"no release is set; compiling for Trainer {NEWEST_RELEASE}, the newest one"
        hint = f'set --release {NEWEST_RELEASE}, or release: "{NEWEST_RELEASE}" in trainc.yaml, so that an upgrade of trainc does not change your manifests'
        notes.append(Diagnostic("ReleaseNotPinned", "info", message, hint))
    elif options.release in PREVIEWS:
        message = f"Trainer {options.release} is a preview in trainc: its code has not been read"
        hint = "`trainc version` lists what is certain and what is not; compare with the cluster before you rely on it"
        notes.append(Diagnostic("PreviewRelease", "info", message, hint))
    known = release_facts(options.release or NEWEST_RELEASE).feature_gates
    for gate in options.feature_gates:
        if gate not in known:
            message = f"Trainer {options.release or NEWEST_RELEASE} has no gate {gate}"
            later = "remove it, or compile for a later release"
            notes.append(Diagnostic("OptionWithoutEffect", "info", message, later, path="featureGates"))
    shaping, defaults = ("secrets", "keygen_image", "name_hash", "delivery", "sync_options", "gang"), Options()
    chosen = [name for name in shaping if getattr(options, name) != getattr(defaults, name)]
    if chosen and options.semantics == "controller":
        message = f"{', '.join(chosen)}: no effect with --semantics controller, which adds nothing to the controller's objects"
        hint = "compile with --semantics gitops, or remove the option"
        notes.append(Diagnostic("OptionWithoutEffect", "info", message, hint))
    return [*notes, *choose(options.plugins)[1]] if options.plugins else notes

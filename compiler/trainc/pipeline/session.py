"""A session: the options, release facts, catalog and documents of one compilation, set up once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from trainc.admission.pod_refusals import objects_for_pods, pod_refusals
from trainc.compilation import Compilation, CompiledJob
from trainc.findings import CompileError, Diagnostic, Finding, Severity, has_errors, sort_diagnostics
from trainc.findings.policy import Rules, keep_severities
from trainc.ir.release import Release, release_facts
from trainc.kube.documents import Json, Manifest
from trainc.kube.releases import NEWEST_RELEASE
from trainc.lints.duplicate_subdomain import Services, claims_of
from trainc.lints.queued_without_requests import queued_without_requests
from trainc.lints.registry import lint_all_jobs
from trainc.options import Options
from trainc.pipeline.compiler import Prepared, Result, compile_job, find_runtime
from trainc.pipeline.index import CatalogCache, InputIndex, index_documents, with_catalog
from trainc.pipeline.valid_document import ValidDocument
from trainc.reading.catalog import Catalog
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field, replace

if TYPE_CHECKING:
    from trainc.pipeline.compiler import Observer
    from trainc.pods.admission_plugins import ClusterObjects

Outcome: TypeAlias = tuple[CompiledJob | None, list[Diagnostic]]
# Maps findings about built objects to positions in the input. The ValidDocument is used for those without a position.
Place: TypeAlias = Callable[[Result, ValidDocument, Sequence[Document], Options], list[Diagnostic]]
# Checks the objects of one job, such as against policies, and returns findings, each with the label of its object.
Judge: TypeAlias = Callable[[Sequence[Manifest]], Sequence[tuple[str, Finding]]]


def place_at_home(
    result: Result, home: ValidDocument, others: Sequence[Document], options: Options
) -> list[Diagnostic]:
    """Place all findings about built objects at the name of the document from which they were built."""
    return [home.place_built(label, finding) for label, finding in result.object_findings]


@dataclass(frozen=True, slots=True)
class Session:
    """Everything that is needed to compile one input. Create one with `Session.of`.

    `place` maps findings about built objects to lines of the input. It is injected because it needs the explainer, which
    the pipeline must not import. `rules` applies the severities that the user has configured; errors without which a job
    cannot be compiled remain errors. `judge` adds findings about the objects of each job. `cluster` has the objects by
    which the API server admits pods, and `pods` is the severity of a pod that it refuses.
    """

    options: Options
    release: Release
    index: InputIndex
    catalog: CatalogCache | None
    place: Place
    rules: Rules = keep_severities
    judge: Judge | None = None
    cluster: ClusterObjects = field(default_factory=dict)
    pods: Severity = "warning"
    # A cache of work that jobs with the same runtime share.
    prepared: Prepared = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(  # noqa: PLR0913, PLR0917 - the edge gives what the pipeline does not know
        cls,
        documents: Sequence[Document],
        runtime_sources: Sequence[Sequence[Document]] = (),
        options: Options = Options(),
        catalog: Catalog | None = None,
        place: Place = place_at_home,
        rules: Rules = keep_severities,
        judge: Judge | None = None,
        cluster: Iterable[Json] | None = None,
    ) -> Session:
        """Create a session. Runtimes are looked up in `documents`, then each of `runtime_sources`, then `catalog`.

        `cluster` are the objects of the cluster, as far as they are known; of two with the same name, that in
        `documents` counts. None means that the caller judges only what it applies: refused pods are warnings then.
        """
        release = release_facts(options.release or NEWEST_RELEASE)
        index = index_documents(documents, runtime_sources, release.minor, options)
        cache = None if catalog is None else CatalogCache(catalog, release.minor, options)
        around = objects_for_pods(chain(cluster or (), (document.data for document in index.others)))
        pods: Severity = "error" if cluster is not None and options.semantics == "gitops" else "warning"
        return cls(options, release, with_catalog(index, cache), cache, place, rules, judge, around, pods)

    def with_jobs(self, documents: Sequence[Document]) -> Session:
        """Return a copy of the session with the TrainJobs of `documents`, and their diagnostics, instead of its own."""
        indexed = index_documents(documents, (), self.release.minor, self.options, self.index.dialect_context)
        index = replace(self.index, jobs=indexed.jobs, references=indexed.references, diagnostics=indexed.diagnostics)
        return replace(self, index=with_catalog(index, self.catalog))

    @property
    def jobs(self) -> Sequence[ValidDocument]:
        """The valid TrainJobs, sorted by (namespace, name)."""
        return self.index.jobs

    def diagnostics(self) -> list[Diagnostic]:
        """Return the problems of the documents that are known before compilation.

        They include missing runtimes of TrainJobs that were refused for other reasons.
        """
        found = list(self.index.diagnostics)
        for document, reference in self.index.references:
            _, findings = find_runtime(reference, self.index, self.release)
            found += [document.place(finding) for finding in findings if finding.severity == "error"]
        return self.rules(found, True)

    def compile(self, job: ValidDocument, observer: Observer | None = None) -> Outcome:
        """Compile one of the jobs. `observer` is notified of each step.

        Returns the compiled job, or None if it has errors, and its diagnostics.
        """
        result = compile_job(job, self.index, self.release, self.options, observer, self._apply_rules, self.prepared)
        diagnostics = self._apply_rules(result)
        if result.objects is not None and (found := self._judged(result.objects.manifests)):
            result.objects = replace(result.objects, object_findings=(*result.objects.object_findings, *found))
        metadata = job.data["metadata"]
        if result.object_findings:
            placed = self.place(result, job, self.index.others, self.options)
            diagnostics += self.rules(_without_hash(placed, result, metadata["name"]), False)
        if result.objects is None or has_errors(diagnostics):
            return None, diagnostics
        compiled = CompiledJob(
            metadata.get("namespace", ""),
            metadata["name"],
            result.objects.manifests,
            result.objects.secrets,
            job.document.file,
        )
        return compiled, diagnostics

    def _judged(self, manifests: Sequence[Manifest]) -> list[tuple[str, Finding]]:
        """Return what the cluster would refuse, or not count, of a job's objects, apart from JobSet's admission."""
        found = list(pod_refusals(manifests, self.cluster, self.pods))
        found += queued_without_requests(manifests, list(self.cluster.get("LimitRange", {}).values()))
        return found if self.judge is None else [*found, *self.judge(manifests)]

    def _apply_rules(self, result: Result) -> list[Diagnostic]:
        """Return the diagnostics of a job's documents; rules can ignore only findings that do not prevent compilation."""
        if not result.findings and not result.overridable:
            return []
        return [
            *self.rules(result.placed(result.findings), True),
            *self.rules(result.placed(result.overridable), False),
        ]

    def compile_each(self) -> Iterator[Outcome]:
        """Yield one outcome for the input as a whole, then one per TrainJob, sorted by (namespace, name)."""
        yield None, [*self.rules(option_notes(self.options), True), *self.diagnostics()]
        services: Services = {}
        for job in self.jobs:
            compiled, diagnostics = self.compile(job)
            if compiled is not None:
                claims = claims_of(compiled.manifests, compiled.name)
                between = [job.place_built(*about) for about in lint_all_jobs(claims, services, self.options)]
                diagnostics += self.rules(between, False)
            yield compiled, diagnostics

    def compile_all(self, found: Sequence[Diagnostic] = ()) -> Compilation:
        """Compile all TrainJobs.

        `found` are diagnostics from reading the input. Raises CompileError with all diagnostics if any is an error.
        """
        compiled: list[CompiledJob] = []
        diagnostics = self.rules(found, True)
        for job, more in self.compile_each():
            diagnostics += more
            if job is not None:
                compiled.append(job)
        if has_errors(diagnostics):
            raise CompileError(diagnostics)
        return Compilation(tuple(compiled), sort_diagnostics(diagnostics), (self,))


def _without_hash(placed: list[Diagnostic], result: Result, name: str) -> list[Diagnostic]:
    """Return findings about built objects under names without the hash, which would change with every edit."""
    built = () if result.objects is None else result.objects.manifests
    hashed = next((manifest["metadata"]["name"] for manifest in built if manifest["kind"] == "JobSet"), name)
    return placed if hashed == name else [replace(d, object=d.object.replace(hashed, name)) for d in placed]


def option_notes(options: Options) -> list[Diagnostic]:
    """Return diagnostics about the options themselves."""
    return [*_release_note(options), *_without_effect(options), *_plugin_problems(options)]


def _plugin_problems(options: Options) -> Sequence[Diagnostic]:
    """Return an error for each enabled plugin that is missing or cannot be used."""
    if not options.plugins:
        return ()
    from trainc.plugins.registry import choose

    return choose(options.plugins)[1]


def _release_note(options: Options) -> list[Diagnostic]:
    if options.release is not None:
        return []
    message = f"no release is set; compiling for Trainer {NEWEST_RELEASE}, the newest one"
    hint = f'set --release {NEWEST_RELEASE}, or release: "{NEWEST_RELEASE}" in trainc.yaml, so that an upgrade of trainc does not change your manifests'
    return [Diagnostic("ReleaseNotPinned", "info", message, hint)]


def _without_effect(options: Options) -> list[Diagnostic]:
    """Return an info about options that are set but affect only `gitops` output, if there are any."""
    if options.semantics == "gitops":
        return []
    shaping, defaults = ("secrets", "keygen_image", "name_hash", "delivery", "sync_options", "gang"), Options()
    chosen = [name for name in shaping if getattr(options, name) != getattr(defaults, name)]
    if not chosen:
        return []
    message = (
        f"{', '.join(chosen)}: no effect with --semantics controller, which adds nothing to the controller's objects"
    )
    return [Diagnostic("OptionWithoutEffect", "info", message, "compile with --semantics gitops, or remove the option")]

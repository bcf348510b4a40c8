"""The compiler: the stages that one valid TrainJob goes through, in order.

Findings are returned with paths in documents or objects; the session maps them to positions in the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from marshal import dumps
from typing import Any, Protocol, TypeAlias

from trainc.admission.admit import admit_compiled
from trainc.emit.delivery import deliver, in_apply_order
from trainc.emit.shaping import shape
from trainc.findings import Diagnostic, Finding, has_errors
from trainc.ir.info import Info
from trainc.ir.release import Release
from trainc.ir.trainjob import TrainJob
from trainc.kube import names
from trainc.kube.documents import Json, Manifest
from trainc.kube.strategic_merge import PatchFailedError
from trainc.lints.registry import lint
from trainc.options import Options
from trainc.pipeline import index as resolve
from trainc.pipeline.index import InputIndex
from trainc.pipeline.lowering import has_several_pods, lower, lower_job, with_trainer, without_unserved_initializers
from trainc.pipeline.patches import apply_patches, infer_roles, read_roles, replaced_lists
from trainc.pipeline.valid_document import ValidDocument
from trainc.plugins import registry
from trainc.plugins.plugin import ExtensionPoint
from trainc.plugins.registry import Applied, plugins_for
from trainc.reading.document import Document, label_of
from trainc.startup.records import dataclass, field, replace

# From a lowered TrainJob to its objects: passes, shaping, admission, Secrets, name hash, delivery.


@dataclass(frozen=True, slots=True)
class CompiledObjects:
    """The objects of one job and the names of its Secrets; findings about its documents, and about objects by label."""

    manifests: tuple[Manifest, ...] = ()
    secrets: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    object_findings: tuple[tuple[str, Finding], ...] = ()


def assemble(  # noqa: PLR0913, PLR0917 - all that a job has become
    job: TrainJob,
    info: Info,
    others: Sequence[Document],
    options: Options,
    observer: Observer | None = None,
    plugins: Sequence[Applied] | None = None,
) -> CompiledObjects:
    """Run all stages after validation.

    `others` are the documents of the input that are neither TrainJobs nor runtimes. `plugins` are those that act on the
    job; by default they are determined here.

    With a name hash, the job is assembled twice: under its plain name to compute the hash, and then under the hashed
    name, so that all derived names contain it.
    """
    if plugins is None:
        plugins = plugins_for(job, info)
    if info.gitops and options.name_hash:
        from trainc.emit.name_hash import name_hash
        from trainc.emit.secrets import makes_new_keys

        suffix = name_hash(_build_objects(job, info, plugins, others, options, None).manifests)
        job = replace(job, name=job.name + suffix, name_hash=suffix, new_keys=makes_new_keys(options.secrets))
        plugins = plugins_for(job, info)
        if observer is not None:
            observer.renamed(job)
    produced = _build_objects(job, info, plugins, others, options, observer)
    if not info.gitops:
        return produced
    delivered, delivery_findings = deliver(produced.manifests, options)
    if observer is not None:
        observer.shaped("delivery", delivered)
    return CompiledObjects(
        tuple(delivered), produced.secrets, produced.findings, (*produced.object_findings, *delivery_findings)
    )


def _build_objects(  # noqa: PLR0913, PLR0917 - as above
    job: TrainJob,
    info: Info,
    plugins: Sequence[Applied],
    others: Sequence[Document],
    options: Options,
    observer: Observer | None,
) -> CompiledObjects:
    info = registry.enforce(job, info, plugins, observer.passed if observer is not None else None)
    manifests = registry.build(job, info, plugins)
    if observer is not None:
        observer.shaped("build", manifests)
    secrets = registry.provided_secrets(job, info, plugins)
    provided: tuple[Manifest, ...] = ()
    findings = lint(job, info, "sized", others=others)
    if others:
        from trainc.lints.volumes import claims_on_several_nodes

        findings += claims_on_several_nodes(job, info, (document.data for document in others))
    if info.gitops:
        manifests, shaped = shape(job, info, manifests, observer.shaped if observer is not None else None)
        findings += shaped
        if secrets:
            from trainc.emit.secrets import provide

            provision = provide(job, secrets, [document.data for document in others], options)
            provided = provision.manifests
            findings += provision.findings
        findings += lint(job, info, "built", options)
    admitted, refused = _admit(manifests, info)
    if options.kubernetes is not None:
        refused += _by_kubernetes(admitted, info)
    if observer is not None:
        observer.shaped("admission", admitted)
    names = tuple(secret.name for secret in secrets)
    ordered = in_apply_order([*provided, *admitted])
    if observer is not None and provided:
        observer.shaped("secrets", ordered)
    return CompiledObjects(tuple(ordered), names, tuple(findings), tuple(refused))


def _by_kubernetes(manifests: Sequence[Manifest], info: Info) -> list[tuple[str, Finding]]:
    """Return findings about fields of the JobSet that the cluster's Kubernetes version lacks or has deprecated."""
    from trainc.schema.kubernetes import kubernetes_findings

    return [
        (label_of(manifest), finding if info.gitops else replace(finding, severity="warning"))
        for manifest in manifests
        if manifest["kind"] == "JobSet"
        for finding in kubernetes_findings(manifest, info.kubernetes, info.release.minor)
    ]


def _admit(manifests: Sequence[Manifest], info: Info) -> tuple[list[Manifest], list[tuple[str, Finding]]]:
    """Return the objects after JobSet's defaulting, and findings of its validation, each with its object's label."""
    admitted: list[Manifest] = []
    findings: list[tuple[str, Finding]] = []
    for manifest in manifests:
        if manifest["kind"] == "JobSet":
            stored, found = admit_compiled(manifest, info.release, info.semantics)
            findings.extend((label_of(manifest), finding) for finding in found)
            admitted.append(stored)
        else:
            admitted.append(manifest)
    return admitted, findings


# Results of `prepare`, by the id() of the runtime and the job's fields that affect it. Each entry keeps a reference to its
# runtime, so that the id cannot be reused.
Prepared: TypeAlias = dict[tuple[int, bytes], tuple[ValidDocument, Info, list[Finding]]]


@dataclass(slots=True)
class Result:
    """What the stages made of one job, as far as it got, and their findings.

    `objects` is None if the job was refused. `overridable` are the findings that do not prevent compilation: a user's
    rules may lower their severity or ignore them.
    """

    job: ValidDocument
    findings: list[Finding] = field(default_factory=list)
    runtime: ValidDocument | None = None
    trainjob: TrainJob | None = None
    info: Info | None = None
    objects: CompiledObjects | None = None
    overridable: list[Finding] = field(default_factory=list)

    @property
    def object_findings(self) -> Sequence[tuple[str, Finding]]:
        """The findings about built objects, each with the label of its object."""
        return () if self.objects is None else self.objects.object_findings

    def placed(self, findings: Sequence[Finding]) -> list[Diagnostic]:
        """Return findings about the TrainJob or its runtime as diagnostics, with positions in those documents."""
        runtime = self.runtime or self.job
        return [(runtime if finding.about == "runtime" else self.job).place(finding) for finding in findings]


def compile_job(  # noqa: PLR0913, PLR0917 - the session passes what it is
    job: ValidDocument,
    index: InputIndex,
    release: Release,
    options: Options,
    observer: Observer | None,
    judged: Callable[[Result], Sequence[Diagnostic]],
    prepared: Prepared,
) -> Result:
    """Take one valid TrainJob through all stages.

    `observer` is notified of each step. `judged` returns a result's diagnostics with the severities that the user's rules
    give them. `prepared` caches `prepare` across the jobs of a session.
    """
    result = Result(job)
    result.runtime, result.findings = runtime, findings = find_runtime(job.data, index, release)
    if runtime is None:
        return result
    findings += resolve.group_mismatch(job.document.data, runtime.document.data)
    trainjob = lower_job(job.data)
    if _is_managed_elsewhere(trainjob, release, options):
        findings.append(_MANAGED_ELSEWHERE)
        result.objects = CompiledObjects()
        return result

    if release.runtime_snapshot and options.semantics == "controller":
        findings += resolve.not_stored(runtime.data)
    info, found = _prepare_once(prepared, job.data["spec"], trainjob, runtime, release, options)
    findings += found
    if options.gang != "runtime" and info.gitops and not info.pod_group_policy and has_several_pods(trainjob, info):
        findings.append(_NO_GANG)
    if job.dialect is not None and job.dialect.needs_initializers:
        trainjob, unserved = without_unserved_initializers(trainjob, info)
        findings += unserved
    result.trainjob, result.info = trainjob, info

    plugins = plugins_for(trainjob, info)
    findings += registry.validate(trainjob, info, plugins)
    if not has_errors(findings):
        # In a job that has errors, most lint findings would be consequences of those.
        result.overridable += lint(trainjob, info)
    if not info.gitops:
        result.overridable += lint(trainjob, info, "controller")
    if has_errors(findings) or (has_errors(result.overridable) and has_errors(judged(result))):
        return result

    if observer is not None:
        observer.lowered(job, runtime, trainjob, info)
    result.objects = assemble(trainjob, info, index.others, options, observer, plugins)
    result.overridable += result.objects.findings
    return result


def find_runtime(
    job: Mapping[str, Any], index: InputIndex, release: Release
) -> tuple[ValidDocument | None, list[Finding]]:
    """Return the runtime that a TrainJob refers to, or None, and findings about the reference."""
    findings = list(resolve.unsupported_reference(job))
    if findings:
        return None, findings
    key = resolve.wanted_key(job)
    runtime = index.runtimes.get(key) or index.shipped.get(key)
    if runtime is None and key in index.refused:
        return None, []
    if runtime is None:
        return None, [resolve.not_found(job, index.runtimes, index.catalog_misses.get(key))]
    findings += resolve.deprecated(runtime.data) if release.warns_deprecated_runtime else ()
    return runtime, findings


def _prepare_once(  # noqa: PLR0913, PLR0917 - what `prepare` takes
    prepared: Prepared, spec: Json, job: TrainJob, runtime: ValidDocument, release: Release, options: Options
) -> tuple[Info, list[Finding]]:
    """Return the same as `prepare`, computed once for all jobs that have the same runtime and the same changes to it."""
    fields: Any = [spec.get(field) for field in _RUNTIME_FIELDS], job.trainer.resources_per_node
    try:
        # Version 2 of the format has no references, so equal values have equal bytes even if they share objects.
        key = id(runtime), dumps(fields, 2)
    except ValueError:
        return prepare(job, runtime, release, options)
    if key not in prepared:
        if len(prepared) >= _MOST_PREPARED:
            prepared.clear()
        prepared[key] = runtime, *prepare(job, runtime, release, options)
    _, info, findings = prepared[key]
    return with_trainer(info, job.trainer), findings


# The fields of a TrainJob's spec, apart from the trainer's resources, that affect the result of `prepare`.
_RUNTIME_FIELDS = ("podSpecOverrides", "podTemplateOverrides", "runtimePatches", "labels", "annotations")
_MOST_PREPARED = 256


def prepare(job: TrainJob, runtime: ValidDocument, release: Release, options: Options) -> tuple[Info, list[Finding]]:
    """Patch the runtime, infer its roles, and lower it. Return the Info, and findings about the runtime and patches."""
    spec, release = runtime.data["spec"], runtime.behaviour(release)
    own = spec.get("template", {}).get("spec") or {}
    try:
        patched = apply_patches(own, job.patches, release)
    except PatchFailedError as failed:
        # Continue without the patches, so that the job's other problems are reported too.
        without, found = prepare(replace(job, patches=()), runtime, release, options)
        return without, [*found, _cannot_merge(failed)]
    replaced = list(replaced_lists(own, job.patches)) if job.patches else []
    if options.semantics == "controller":
        return lower(job, runtime.data, read_roles(patched), release, options), replaced
    template, findings = infer_roles(patched, spec.get("mlPolicy"), runtime.naming)
    return lower(job, runtime.data, template, release, options), [*findings, *replaced]


def _cannot_merge(failed: PatchFailedError) -> Finding:
    """Return the error for a patch that cannot be merged. In a cluster, too, such a job never gets a JobSet."""
    hint = "give every item of the list a value for that key, or remove the item"
    return Finding("PatchFailed", "error", f"the patch cannot be merged: {failed}", hint, failed.path)


def _is_managed_elsewhere(job: TrainJob, release: Release, options: Options) -> bool:
    multikueue = job.managed_by == names.MULTIKUEUE_MANAGED_BY
    return multikueue and release.managed_by_honoured and options.semantics == "controller"


_NO_GANG = Finding(
    "NoGangPolicy",
    "info",
    "the runtime has no podGroupPolicy, so its pods are not scheduled as a gang",
    hint="to have them all start together, add to the runtime's spec  podGroupPolicy: {workload: {}}",
    path=("spec", "runtimeRef"),
)
_MANAGED_ELSEWHERE = Finding(
    "ManagedElsewhere",
    "info",
    f"managedBy is {names.MULTIKUEUE_MANAGED_BY}: the controller of this release creates nothing for the job",
    hint="compile with --semantics gitops to hand the JobSet to MultiKueue",
    path=("spec", "managedBy"),
)


# The observer of a compilation, which `explain` and other tools use to see its steps. Passes do not depend on it.


class Observer(Protocol):
    """Methods that are called for each step of one TrainJob, in order. Arguments may be kept but must not be modified."""

    def lowered(self, job: ValidDocument, runtime: ValidDocument, trainjob: TrainJob, info: Info) -> None:
        """Called when the runtime has been found, patched, labeled and lowered."""

    def renamed(self, trainjob: TrainJob) -> None:
        """Called when the job continues under a name that ends with a hash of its content."""

    def passed(self, plugin: Applied, point: ExtensionPoint, before: Info, after: Info) -> None:
        """Called after a pass that changed the Info."""

    def shaped(self, stage: str, manifests: Sequence[dict[str, Any]]) -> None:
        """Called with the objects after each stage that follows the passes.

        The stages are "build", the id of each deviation that changed something, "admission", "secrets" and "delivery".
        """

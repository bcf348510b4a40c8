"""From a lowered TrainJob to its objects: passes, shaping, admission, Secrets, name hash, delivery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainc.admission.admit import admit_compiled
from trainc.api.documents import Manifest
from trainc.diagnostics import Finding
from trainc.emit.delivery import deliver, in_apply_order
from trainc.emit.shaping import shape
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.lints.registry import lint
from trainc.options import Options
from trainc.plugins import engine
from trainc.plugins.registry import Applied, plugins_for
from trainc.reading.document import Document, label_of
from trainc.startup.records import dataclass, replace

if TYPE_CHECKING:
    from trainc.pipeline.observer import Observer


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
    info = engine.enforce(job, info, plugins, observer.passed if observer is not None else None)
    manifests = engine.build(job, info, plugins)
    if observer is not None:
        observer.shaped("build", manifests)
    secrets = engine.provided_secrets(job, info, plugins)
    provided: tuple[Manifest, ...] = ()
    findings = lint(job, info, "sized")
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
    from trainc.api.schema.kubernetes import kubernetes_findings

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

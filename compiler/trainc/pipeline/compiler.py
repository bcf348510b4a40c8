"""The pipeline: the stages of a compilation, in order, on one screen.

Pure: documents and options in, compiled jobs and diagnostics out; I/O, printing and exit codes live above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from trainc.api import names
from trainc.api.releases import NEWEST_RELEASE
from trainc.compilation import Compilation, CompiledJob
from trainc.diagnostics import CompileError, Diagnostic, Finding, has_errors, in_order
from trainc.ir.info import Info
from trainc.ir.release import Release, release_facts
from trainc.ir.trainjob import TrainJob
from trainc.lints.duplicate_subdomain import Services, claims_of, duplicate_subdomain
from trainc.lints.registry import lint
from trainc.options import Options
from trainc.pipeline import resolve
from trainc.pipeline.assemble import assemble
from trainc.pipeline.checked import Checked
from trainc.pipeline.intake import Intake, Shelf, take_in, with_catalog
from trainc.pipeline.lowering import lower, lower_job, without_unserved_initializers
from trainc.pipeline.patches import apply_patches
from trainc.pipeline.roles import as_inferred, as_named
from trainc.plugins import engine
from trainc.reading.catalog import Catalog
from trainc.reading.document import Document

if TYPE_CHECKING:
    from trainc.pipeline.observer import Observer

Outcome: TypeAlias = tuple[CompiledJob | None, list[Diagnostic]]


def compile_trainjob(
    trainjob: dict[str, Any], runtimes: Sequence[dict[str, Any]], options: Options = Options()
) -> Compilation:
    """Compile one TrainJob against the runtimes given, and no others.

    Both are plain documents as YAML or JSON holds them, and neither is changed; so are the resulting manifests.
    Amounts are Kubernetes quantities and times are seconds, as in the Trainer API.

    Raises CompileError with every problem found. Behaviour follows kubeflow/trainer at the tag that PORT.yaml pins
    for `options.release`.
    """
    return compile_documents([Document.of(data) for data in (*runtimes, trainjob)], (), options)


def compile_documents(
    documents: Sequence[Document],
    runtime_sources: Sequence[Sequence[Document]] = (),
    options: Options = Options(),
    catalog: Catalog | None = None,
) -> Compilation:
    """Compile every TrainJob of `documents`. Raises CompileError with every problem of every document."""
    compiled: list[CompiledJob] = []
    diagnostics: list[Diagnostic] = []
    for job, found in compile_each(documents, runtime_sources, options, catalog):
        diagnostics.extend(found)
        if job is not None:
            compiled.append(job)
    if has_errors(diagnostics):
        raise CompileError(diagnostics)
    return Compilation(tuple(compiled), in_order(diagnostics))


def compile_each(
    documents: Sequence[Document],
    runtime_sources: Sequence[Sequence[Document]] = (),
    options: Options = Options(),
    catalog: Catalog | None = None,
) -> Iterator[Outcome]:
    """One outcome for what concerns all input, then one per TrainJob by (namespace, name).

    A runtime comes from `documents`, then from each of `runtime_sources`, then from the catalog.
    """
    minor = options.release or NEWEST_RELEASE
    intake = take_in(documents, runtime_sources, minor, options)
    if catalog is not None:
        intake = with_catalog(intake, Shelf(catalog, minor, options))
    yield None, [*notes_on(options), *intake.diagnostics, *missing_runtimes(intake, options)]
    services: Services = {}
    for job in intake.jobs:
        compiled, diagnostics = compile_job(job, intake, options)
        if compiled is not None:
            diagnostics += [
                job.place_built(*about) for about in duplicate_subdomain(claims_of(compiled.manifests), services)
            ]
        yield compiled, diagnostics


def missing_runtimes(intake: Intake, options: Options) -> Iterator[Diagnostic]:
    """An error for each refused TrainJob whose runtime does not exist either."""
    release = release_facts(options.release or NEWEST_RELEASE)
    for document, reference in intake.references:
        _, findings = find_runtime(reference, intake, release)
        yield from (document.place(f) for f in findings if f.severity == "error")


def compile_job(job: Checked, intake: Intake, options: Options, observer: Observer | None = None) -> Outcome:
    """One checked TrainJob through every stage after intake; `observer` is told of each step."""
    release = release_facts(options.release or NEWEST_RELEASE)
    runtime, findings = find_runtime(job.data, intake, release)
    if runtime is None:
        return None, [job.place(finding) for finding in findings]
    findings += resolve.group_mismatch(job.document.data, runtime.document.data)
    lowered = lower_job(job.data)
    if (
        lowered.managed_by == names.MULTIKUEUE_MANAGED_BY
        and release.managed_by_honoured
        and options.semantics == "controller"
    ):
        return CompiledJob(lowered.namespace, lowered.name, ()), [job.place(_MANAGED_ELSEWHERE)]
    info, found = prepare(lowered, runtime, release, options)
    findings += found
    if job.dialect is not None and job.dialect.needs_initializers:
        lowered, unserved = without_unserved_initializers(lowered, info)
        findings += unserved
    findings += engine.validate(lowered, info)
    if not has_errors(findings):
        # What a lint would say of a job that is wrong elsewhere mostly follows from that.
        findings += lint(lowered, info)
    if options.semantics == "controller":
        from trainc.lints.controller_defects import controller_defects

        findings += controller_defects(lowered, info)
    diagnostics = [(runtime if f.about == "runtime" else job).place(f) for f in findings]
    if has_errors(findings):
        return None, diagnostics
    if observer is not None:
        observer.lowered(job, runtime, lowered, info)
    assembly = assemble(lowered, info, intake.others, options, observer)
    diagnostics += [(runtime if f.about == "runtime" else job).place(f) for f in assembly.findings]
    if assembly.object_findings:
        from trainc.explain.explanation import Recorder
        from trainc.explain.placing import place_built

        recorder = Recorder(intake.others, job, runtime, lowered, info)
        diagnostics += place_built(assembly.object_findings, job, recorder, options)
    if has_errors(diagnostics):
        return None, diagnostics
    return CompiledJob(lowered.namespace, lowered.name, assembly.manifests, assembly.secrets), diagnostics


def find_runtime(job: Mapping[str, Any], intake: Intake, release: Release) -> tuple[Checked | None, list[Finding]]:
    """The runtime that a TrainJob's document refers to, and what there is to say about it."""
    findings = list(resolve.unsupported_reference(job))
    if findings:
        return None, findings
    key = resolve.wanted_key(job)
    runtime = intake.runtimes.get(key) or intake.shipped.get(key)
    if runtime is None and key in intake.refused:
        return None, []
    if runtime is None:
        return None, [resolve.not_found(job, intake.runtimes, intake.catalog_misses.get(key))]
    findings += resolve.deprecated(runtime.data) if release.warns_deprecated_runtime else ()
    return runtime, findings


def prepare(job: TrainJob, runtime: Checked, release: Release, options: Options) -> tuple[Info, list[Finding]]:
    """Patch the runtime, label its steps, and lower it."""
    spec, release = runtime.data["spec"], runtime.behaviour(release)
    patched = apply_patches(spec.get("template", {}).get("spec") or {}, job.patches, release)
    if options.semantics == "controller":
        return lower(job, runtime.data, as_named(patched), release, options), []
    template, findings = as_inferred(patched, spec.get("mlPolicy"), runtime.naming)
    return lower(job, runtime.data, template, release, options), findings


def notes_on(options: Options) -> list[Diagnostic]:
    """What there is to say about the options, whatever is compiled."""
    return [*_release_note(options), *_without_effect(options)]


def _release_note(options: Options) -> list[Diagnostic]:
    if options.release is not None:
        return []
    message = f"no release is pinned; compiling for Trainer {NEWEST_RELEASE}, the newest known"
    hint = "pin it with --release or `release:` in trainc.yaml, so that an upgrade of trainc changes nothing in git"
    return [Diagnostic("ReleaseNotPinned", "info", message, hint)]


def _without_effect(options: Options) -> list[Diagnostic]:
    """What was chosen and shapes `gitops` output only."""
    if options.semantics == "gitops":
        return []
    shaping, defaults = ("secrets", "keygen_image", "name_hash", "delivery", "sync_options"), Options()
    chosen = [name for name in shaping if getattr(options, name) != getattr(defaults, name)]
    if not chosen:
        return []
    message = f"{', '.join(chosen)}: without effect under semantics controller, which adds nothing to its objects"
    return [Diagnostic("OptionWithoutEffect", "info", message, "compile with --semantics gitops, or drop the option")]


_MANAGED_ELSEWHERE = Finding(
    "ManagedElsewhere",
    "info",
    f"managedBy is {names.MULTIKUEUE_MANAGED_BY}: this release's controller creates nothing for the job",
    "compile with --semantics gitops to hand the JobSet to MultiKueue",
    ("spec", "managedBy"),
)

"""Documents that are not compiled, and input in which nothing is."""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from trainc.cli.settings import Settings
from trainc.findings import Diagnostic, Finding, Severity, has_errors
from trainc.findings.text import counted, did_you_mean, first_of
from trainc.kube.documents import identity_of, value_at
from trainc.kube.names import JOB_KINDS
from trainc.pipeline.inputs import Inputs
from trainc.project.dialects import is_legacy, is_sweep, is_trainer_document
from trainc.reading.document import Document, label_of
from trainc.reading.files import STDIN
from trainc.reading.opening import CONFIGURATION_FILE, is_inside
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.pipeline.fragments import Fragment
    from trainc.project.dialects.enclosed import Enclosed

_MOST_SKIPPED = 100
# Kinds of other documents that a compilation or a check reads.
_USED_KINDS = ("ClusterBaseModel", "ExternalSecret", "JobSet", "SealedSecret")

# Kinds of the core API and others that usually accompany jobs in a team's folder.
_COMPANION_GROUPS = frozenset(
    ("", *"rbac.authorization.k8s.io kueue.x-k8s.io scheduling.k8s.io storage.k8s.io networking.k8s.io policy".split())
)


def nothing_found(settings: Settings, diagnostics: Sequence[Diagnostic], inputs: Inputs) -> list[Diagnostic]:
    """The error for input without anything to process, unless other errors already explain why."""
    if has_errors(diagnostics):
        return []
    sources, documents = ["the standard input" if path == STDIN else path for path in settings.paths], inputs.documents
    paths, source = ", ".join(sources) or "the overlay's resources", None
    is_empty = not documents and len(sources) == 1 and not os.path.isdir(sources[0])
    reason = f"no TrainJob found in {paths}{', which is empty or has only comments' if is_empty else ''}"
    hint = "pass the file or folder with your TrainJobs, write a first one with `trainc new`"
    if unselected := [*inputs.unselected, *inputs.elsewhere]:
        reason = f"`select` chooses none of the {counted(len(unselected), 'TrainJob')} in {paths}"
        hint, source = "check `select` in trainc.yaml", settings.place("select")
        for label, values in settings.configuration.select.labels:
            used = {str(value_at(document.data, ("metadata", "labels", label))) for document in unselected}
            for near in filter(None, (did_you_mean(value, used) for value in values)):
                hint = f"{near} Otherwise, check `select`"
    message = f"{reason}; with pruning on, empty output would delete every running job"
    return [Diagnostic("NoTrainJob", "error", message, f"{hint}, or allow this with --allow-empty", source=source)]


def is_checked(document: Document) -> bool:
    """Return whether `check` examines this document."""
    if is_trainer_document(document.data) or document.data.get("kind") in _USED_KINDS:
        return True
    from trainc.pipeline.fragments import fragment_of

    return fragment_of(document) is not None


def skipped_documents(
    documents: Sequence[Document],
    settings: Settings,
    unbuilt: Sequence[Document] = (),
    *,
    checks_fragments: bool = False,
) -> Iterator[Diagnostic]:
    """Report documents that are not compiled: a warning for each if the file was named, a single info for the others.

    `unbuilt` are the jobs of other environments. Of many in one file, only the first get a warning: to place one, its
    text is read again.
    """
    named_files = {path.removeprefix("./") for path in settings.paths}
    has_jobs = any(document.data.get("kind") in JOB_KINDS for document in documents)
    skipped, reported = 0, Counter[str]()
    with_jobs = {document.file for document in documents if is_trainer_document(document.data)}
    config_maps = [document.data for document in documents if document.data.get("kind") == "ConfigMap"]
    mounted, others = dict[str, bool](), set[str]()
    if config_maps:
        from trainc.emit.config_maps import named_by

        mounted = named_by((d.data for d in documents if is_trainer_document(d.data)), config_maps)
        others = named_by((d.data for d in unbuilt), config_maps).keys() - mounted.keys()
    read = list[Document]()
    apart = [*map(os.path.realpath, [*settings.configuration.dumps, *settings.configuration.policies])]
    for document in documents:
        name = identity_of(document.data)[1] if document.data.get("kind") == "ConfigMap" else ""
        read += [document] * (mounted.get(name) is False)
        used = document.data.get("kind") in _USED_KINDS or name in mounted or name in others
        if used or is_trainer_document(document.data) or is_sweep(document.data):
            continue
        from trainc.pipeline.fragments import fragment_of
        from trainc.project.dialects.enclosed import find_enclosed, legacy_job

        if is_legacy(document.data):
            yield legacy_job(document, "warning" if has_jobs else "error")
            continue
        if document.file.rpartition("/")[2] == CONFIGURATION_FILE and "kind" not in document.data:
            continue
        if inside := list(find_enclosed(document.data)):
            yield from (_enclosed(document, job, "warning" if has_jobs else "error") for job in inside)
            continue
        fragment = fragment_of(document)
        if fragment is not None and checks_fragments:
            continue
        unexpected = document.file in named_files and not (document.file in with_jobs and _is_expected_kind(document))
        if unexpected and reported[document.file] < _MOST_SKIPPED:
            reported[document.file] += 1
            yield _skipped(document, fragment)
        else:
            skipped += not any(is_inside(document.file, folder) for folder in apart)
    if skipped:
        yield Diagnostic("SkippedDocument", "info", f"skipped {counted(skipped, 'document')} of other kinds")
    yield from _left_out(read)
    outputs = [of.output for of in (settings.configuration, *settings.other_environments) if of.output]
    apart += map(os.path.realpath, outputs)
    jobsets = [d for d in documents if d.data.get("kind") == "JobSet"] if settings.covers_all else []
    yield from _copies(d for d in jobsets if not any(is_inside(d.file, folder) for folder in apart))


def _copies(jobsets: Iterable[Document]) -> Iterator[Diagnostic]:
    """Report rendered files among the sources, which are no input."""
    for document in jobsets:
        from trainc.output.ownership import is_marked_file

        if os.path.isfile(document.file) and is_marked_file(document.file):
            message = (
                "trainc has written this file: a copy of a rendered file is not a source, and not part of any build"
            )
            hint = "write a TrainJob; or, for a JobSet of your own, remove the first lines, and give it another name"
            yield document.diagnose(Finding("SkippedDocument", "warning", message, hint, ("kind",)))


def _left_out(read: Sequence[Document]) -> Iterator[Diagnostic]:
    if read:
        names = first_of(sorted({identity_of(document.data)[1] for document in read}), 3)
        message = f"read {counted(len(read), 'ConfigMap')} that jobs name, and left out of the output: {names}; pods wait until something else creates what they mount"
        hint = 'apply what is left out yourself, or add the annotation trainc/own: "true" to have it written with these jobs'
        source = min(read, key=lambda document: document.file).locate(("metadata",))
        yield Diagnostic("SkippedDocument", "info", message, hint, source=source)


def _enclosed(document: Document, job: Enclosed, severity: Severity) -> Diagnostic:
    """Report a job inside another document: one of v1 as `legacy_job` does, any other as not looked at."""
    outer = document.data.get("kind", "document")
    if job.is_legacy:
        message = f"the {job.kind} inside this {outer} belongs to the Training Operator or MPI Operator; trainc compiles TrainJobs only"
        hint = f"`trainc migrate --report {document.file or '-'}` says what becomes of it"
        return document.diagnose(Finding("LegacyTrainingJob", severity, message, hint, job.path))
    message = f"the {job.kind} inside this {outer} is neither compiled nor checked"
    hint = "to check it, copy it to a file of its own and run `trainc check` on that"
    return document.diagnose(Finding("SkippedDocument", "info", message, hint, job.path))


def _is_expected_kind(document: Document) -> bool:
    """Return whether a kind commonly appears next to a TrainJob: claims, configuration, service accounts, queues."""
    group = str(document.data.get("apiVersion") or "").rpartition("/")[0]
    return group in _COMPANION_GROUPS and "kind" in document.data


def _skipped(document: Document, fragment: Fragment | None) -> Diagnostic:
    if fragment is not None:
        message = f"this is {fragment.label}, not a complete document; skipped"
        hint = "nest it inside a complete TrainJob or runtime, or run `trainc check` on the fragment"
        return Diagnostic("Fragment", "warning", message, hint, fragment.label, "", document.locate(()))
    message = "neither a TrainJob nor a runtime; skipped"
    source = document.locate(("kind",))
    hint = "remove it from the paths on the command line"
    return Diagnostic("SkippedDocument", "warning", message, hint, label_of(document.data), "", source)

"""TrainJobs that no environment of trainc.yaml selects."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.cli.compiling import Run
from trainc.findings import Diagnostic, Finding, Path
from trainc.findings.text import counted, did_you_mean, first_of, near_names
from trainc.kube.documents import mapping, path_exists, value_at
from trainc.kube.names import QUEUE_LABEL
from trainc.project.configuration import Configuration
from trainc.project.dialects import is_sweep
from trainc.reading.document import Document, label_of
from trainc.reading.opening import CONFIGURATION_FILE
from trainc.startup.records import replace

_QUEUE = ("metadata", "labels", QUEUE_LABEL)
_ANNOTATION = ("metadata", "annotations", QUEUE_LABEL)


def report_unselected(runs: Sequence[Run]) -> None:
    """Note in each run the TrainJobs that no environment selects, whichever are built now, and warn about them."""
    chosen = {_identity(document) for run in runs for document in run.inputs.documents}
    # A trial has the file of its sweep.
    chosen |= {(document.file, "Sweep") for run in runs for document in run.inputs.documents}
    unselected = [document for run in runs for document in run.inputs.unselected]
    left_out = {identity: document for document in unselected if (identity := _identity(document)) not in chosen}
    message = "no environment of trainc.yaml selects this job, so nothing is compiled of it"
    if not runs[0].settings.configuration.environment:
        message = "`select` in trainc.yaml does not select this job, so it is not compiled"
    hint = "change its queue, labels or namespace, extend `select`, or list the file under `exclude`"
    selections = [(run.settings.configuration, *run.settings.other_environments) for run in runs]
    queues = dict.fromkeys(queue for configurations in selections for one in configurations for queue in _selected(one))

    in_use: set[object] = {value_at(job.data, _QUEUE) for run in runs for job in run.session.jobs}
    # By a queue that is selected and has no job, the jobs of one that is called almost like it.
    meant: dict[tuple[str, str], list[Document]] = {}
    diagnostics: list[Diagnostic] = []
    losing = {queue: run for run in reversed(runs) for queue in _selected_at_base(run)} if left_out else {}
    for document in left_out.values():
        # A sweep is selected by its base.
        job = document.siblings[0] if is_sweep(document.data) else document
        queue = str(value_at(job.data, _QUEUE) or "")
        if not queues or queue in queues:
            diagnostics.append(
                document.diagnose(Finding("NotSelected", "warning", message, hint, ("metadata", "name")))
            )
            continue
        near = near_names(queue, queues) if in_use and queue else []
        if near and near[0] not in in_use:
            meant.setdefault((near[0], queue), []).append(document)
            continue
        labels = mapping(value_at(document.data, ("metadata", "labels")))
        has = f"it is in the queue {queue!r}" if queue else f"it has no label {QUEUE_LABEL}"
        alike = [] if queue else near_names(QUEUE_LABEL, labels, cutoff=0.85)
        selected = f"{message}: {has}, and selected are {first_of([*queues])}"
        suggested = f"write {QUEUE_LABEL} for the label {alike[0]}" if alike else hint
        suggested = (did_you_mean(queue, queues) if in_use else "") or suggested
        at: Path = ("base",) if job is not document else _QUEUE if queue else ("metadata", "name")
        at = ("metadata", "labels", alike[0]) if alike and job is document else at
        if not queue and path_exists(job.data, _ANNOTATION) and job is document:
            at, suggested = _ANNOTATION, "move it from the annotations to the labels"
        if queue in losing:
            source = losing[queue].settings.place("select")
            back = f"put {queue} back, which {CONFIGURATION_FILE} selected before this change"
            suggested = source.refusing(back) if source else back
        finding = Finding("NotSelected", "warning", selected, suggested, at)
        diagnostics.append(document.diagnose(finding))
    # Where an environment has no job, what is said of its jobs follows from that.
    is_empty = any(not (run.session.jobs or run.inputs.jobsets) and run.settings.place("select") for run in runs)
    diagnostics = [] if is_empty and len(diagnostics) > 1 else diagnostics
    for (named, used), documents in meant.items():
        are = "is" if len(documents) == 1 else "are"
        about = f"`select` chooses the queue {named!r}, in which there is no job, and {counted(len(documents), 'job')} in {used!r} {are} left out"
        selecting = (run.settings for run in runs if named in _selected(run.settings.configuration))
        source = next(filter(None, (settings.place("select", "queue") for settings in selecting)), None)
        diagnostics.append(Diagnostic("NotSelected", "warning", about, did_you_mean(named, [used]), source=source))
    for run in runs:
        run.unselected = list(left_out.values())
        run.diagnostics += run.session.rules(diagnostics, False)


def _selected_at_base(run: Run) -> Sequence[str]:
    """Return the queues that an environment had at the base."""
    revision = run.bases.find() if run.bases else None
    there = None if revision is None else revision.configuration(run.settings.configuration.environment)
    return () if there is None else _selected(there)


def _selected(configuration: Configuration) -> Sequence[str]:
    """Return the queues that an environment selects."""
    return dict(configuration.select.labels).get(QUEUE_LABEL, ())


def join_skipped(runs: Sequence[Run]) -> None:
    """Say of a job that no environment selects once what it is, with the files that a build would remove."""
    found = [d for run in runs for d in run.diagnostics if d.source]
    skipped = {d.source.file: d for d in found if d.source and (d.code, d.severity) == ("SourceSkipped", "error")}
    own = {d.source.file for d in found if d.source and d.code == "NotSelected"}

    def joined(d: Diagnostic) -> Diagnostic:
        before = skipped.get(d.source.file) if d.source and d.code == "NotSelected" else None
        if before is None:
            return d
        message, end = f"{d.message}; {before.message.rpartition('; ')[2]}", before.hint.rpartition("; ")[2]
        hint = f"{d.hint}{' Otherwise,' if d.hint.endswith('?') else ';'} {end}"
        return replace(d, code=before.code, severity="error", message=message, hint=hint)

    twice = {d for file, d in skipped.items() if file in own}
    for run in runs:
        run.diagnostics = [joined(d) for d in run.diagnostics if d not in twice]


def _identity(document: Document) -> object:
    data = (document.before or document).data
    return document.file, "Sweep" if is_sweep(data) else label_of(data)

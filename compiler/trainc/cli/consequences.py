"""What is only a consequence of something else that is found, and is not said beside that."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.cli.compiling import Run, job_of
from trainc.findings import Diagnostic
from trainc.reading.opening import CONFIGURATION_FILE
from trainc.startup.records import replace
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.output.choices import JobKey
    from trainc.reading.document import Document


def without_consequences(run: Run) -> list[Diagnostic]:
    """Return what a run has found without what follows from something else, such as a runtime that was not read."""
    diagnostics = run.diagnostics
    foreign = [d for d in diagnostics if d.code == "ForeignNamespace" and d.severity == "error"]
    misspelt = {job_of(d): d.source for d in foreign if d.trait == "misspelt"}
    moved = {job_of(d) for d in foreign if d.trait == "moved"}
    at_misspelt = set(misspelt.values())
    refused = run.keeping.refused.values() if run.keeping is not None else ()
    unread = {d.rule or d.source for some in (diagnostics, *refused) for d in some if d.trait == "faulty rule"}
    diagnostics = [
        d
        for d in diagnostics
        if not (d.code == "QueueInactive" and job_of(d) in misspelt)
        and not (d.code in ("QueueInactive", "NotInCluster") and job_of(d) in moved)
        and not (d.code == "PolicyNotEvaluated" and d.source in at_misspelt)
        and not (d.code == "RulesChanged" and d.source in unread)
    ]
    if any(d.code == "InvalidSweep" and d.severity == "error" and d.path == "base" for d in diagnostics):
        # The base of a sweep is compiled by itself if that sweep does not name it.
        bases = {job_of(d) for d in diagnostics if d.code == "PlaceholderNotReplaced"}
        of_bases = ("PlaceholderNotReplaced", "FluxSubstitution")
        diagnostics = [d for d in diagnostics if d.code not in of_bases or job_of(d) not in bases]
    unset = [d for d in diagnostics if d.trait == "unset"]
    not_here = [d for d in diagnostics if d.code == "SettingsNotUsed" and not d.source] if unset else []
    if not_here:  # An overlay of these settings sets what templates lack.
        others = [d for d in diagnostics if d.trait != "unset" and (d.code != "SettingsNotUsed" or d.source)]
        diagnostics = [*(replace(d, severity="error") for d in not_here), *others]
    missing = [d for d in diagnostics if d.code == "RuntimeNotFound"]
    if any(d.source and d.source.file == CONFIGURATION_FILE for d in missing):  # Patches of them lack them, too.
        diagnostics = [d for d in diagnostics if d.code != "PatchTargetMissing"]
    if missing:
        from trainc.pipeline.failures import may_have_runtime

        # What a folder that is not there, or a file that cannot be read, would have had is not missing.
        gone = run.settings.configuration.missing
        if any(path in gone for path in run.settings.configuration.runtimes or ()) or any(
            may_have_runtime(file, run.session.options.limits) for file in run.inputs.unread
        ):
            diagnostics = [d for d in diagnostics if d.code != "RuntimeNotFound"]
    jobs = run.session.sources if any(d.rule and d.severity == "error" for d in diagnostics) else {}
    return [_at_changed_rule(run, jobs, d) for d in diagnostics]


def _at_changed_rule(run: Run, jobs: Mapping[JobKey, Document], d: Diagnostic) -> Diagnostic:
    """Place an error at the line of the rule if this change is of that, and of neither the job nor the line it refuses."""
    source, rule, bases = d.source, d.rule, run.bases
    if d.severity != "error" or source is None or rule is None or source.file == rule.file:
        return d
    if bases is None or bases.find() is None or not bases.differs(rule.file):
        return d
    job = jobs.get(job_of(d) or ("", ""))
    if any(map(bases.differs, dict.fromkeys((source.file, job.file if job else source.file)))):
        return d
    return replace(d, source=rule, path="")

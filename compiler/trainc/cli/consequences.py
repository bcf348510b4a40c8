"""What is only a consequence of something else that is found, and is not said beside that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trainc.cli.compiling import Run, job_of
from trainc.findings import Diagnostic, Source
from trainc.kube.documents import mapping
from trainc.reading.files import TEMPLATE_SUFFIXES
from trainc.reading.opening import CONFIGURATION_FILE
from trainc.startup.patterns import pattern
from trainc.startup.records import replace
from trainc.startup.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.output.choices import JobKey
    from trainc.reading.document import Document

# With these, a rule is not what was meant.
_OF_RULES = ("KeptCannotRebuild", "PolicyInvalid", "PolicyNotEvaluated")
_IN_TEMPLATE = pattern(r"\{[{%].*?[}%]\}")
_NAME = pattern(r"(?<![\w.'\"|])[A-Za-z_]\w*")


def without_consequences(run: Run) -> list[Diagnostic]:
    """Return what a run has found without what follows from something else, such as a runtime that was not read."""
    diagnostics = run.diagnostics
    foreign = [d for d in diagnostics if d.code == "ForeignNamespace" and d.severity == "error"]
    misspelt = {job_of(d): d.source for d in foreign if d.trait == "misspelt"}
    elsewhere = {*misspelt, *(job_of(d) for d in foreign if d.trait == "moved")}
    refused = run.keeping.refused.values() if run.keeping is not None else ()
    unread = {d.rule or d.source for some in (diagnostics, *refused) for d in some if d.trait == "faulty rule"}
    unread |= {d.source for d in diagnostics if d.code in _OF_RULES and d.severity != "info"}
    meant = {fix.text for d in diagnostics if d.code == "PolicyNotEvaluated" for fix in d.fixes}
    # The base of a sweep is compiled by itself if that sweep does not name it.
    is_unnamed = any(d.code == "InvalidSweep" and d.severity == "error" and d.path == "base" for d in diagnostics)
    bases = {job_of(d) for d in diagnostics if is_unnamed and d.code == "PlaceholderNotReplaced"}
    # An overlay of settings that are not here sets what templates lack.
    has_unset = any(d.trait == "unset" for d in diagnostics)
    not_here = [d for d in diagnostics if has_unset and d.code == "SettingsNotUsed" and not d.source]
    missing = [d for d in diagnostics if d.code == "RuntimeNotFound"]
    gone = {f"Runtime {name} matches no" for d in missing for name in d.message.split("'")[1:2]}
    # Patches of runtimes that trainc.yaml names lack them, too.
    are_all_gone = any(d.source and d.source.file == CONFIGURATION_FILE for d in missing)
    may_be_unread = bool(missing) and _has_unread_runtimes(run)
    # To give the runtimes a policy would be the next step to what the cluster refuses.
    lacking = _lacks_workloads(run) if any(d.code == "NoGangPolicy" for d in diagnostics) else []
    follows: Mapping[str, Callable[[Diagnostic], bool]] = {
        "QueueInactive": lambda d: job_of(d) in elsewhere,
        "NotInCluster": lambda d: job_of(d) in elsewhere,
        "PolicyNotEvaluated": lambda d: (
            d.source in misspelt.values() or (d.severity == "info" and d.object.rpartition(" ")[2] in meant)
        ),
        "RulesChanged": lambda d: d.source in unread,
        "PlaceholderNotReplaced": lambda d: job_of(d) in bases,
        "FluxSubstitution": lambda d: job_of(d) in bases,
        "PatchTargetMissing": lambda d: are_all_gone or any(name in d.message for name in gone),
        "RuntimeNotFound": lambda _: may_be_unread,
        "NoGangPolicy": lambda _: bool(lacking),
    }
    diagnostics = [*(d for d in diagnostics if d.code not in follows or not follows[d.code](d)), *lacking]
    if not_here:
        others = [d for d in diagnostics if d.trait != "unset" and (d.code != "SettingsNotUsed" or d.source)]
        diagnostics = [*(replace(d, severity="error") for d in not_here), *others]
    diagnostics = [_of_value(run, d) for d in diagnostics]
    jobs = run.session.sources if any(d.rule and d.severity != "info" for d in diagnostics) else {}
    return [_at_changed_rule(run, jobs, d) for d in diagnostics]


def _has_unread_runtimes(run: Run) -> bool:
    """Return whether a folder that is not there, or a file that cannot be read, may have the runtimes that are missing."""
    from trainc.pipeline.failures import may_have_runtime

    gone = run.settings.configuration.missing
    return any(path in gone for path in run.settings.configuration.runtimes or ()) or any(
        may_have_runtime(file, run.session.options.limits) for file in run.inputs.unread
    )


def _lacks_workloads(run: Run) -> list[Diagnostic]:
    """Return what `gang: workload` needs and the cluster does not have, at that setting."""
    from trainc.ir.release import release_facts
    from trainc.kube.releases import DEFAULT_KUBERNETES, NEWEST_RELEASE
    from trainc.plugins.workload.passes import missing_api

    options = run.session.options
    missing = missing_api(options.kubernetes or DEFAULT_KUBERNETES, release_facts(options.release or NEWEST_RELEASE))
    return [
        Diagnostic("WorkloadAPIMissing", "warning", message, f"remove `gang`; or, {hint}", CONFIGURATION_FILE, "gang")
        for message, hint in missing
    ]


def is_wrong_among(diagnostics: Sequence[Diagnostic]) -> Callable[[Source | None], bool]:
    """What says of the line that kept jobs wait for whether it is to be corrected, and not to be built."""
    wrong = {d.source.file for d in diagnostics if "could not be built again" in d.message and d.source}
    lines = {(d.source.file, d.source.line) for d in diagnostics if d.code == "NotInCluster" and d.source}
    return lambda at: at is not None and (at.file in wrong or (at.file, at.line) in lines)


def without_loosened(loosened: Sequence[Diagnostic], found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return what is less strict or replaced, without a path that is misspelt, and a folder of which more is known."""
    lines = {(d.source.file, d.source.line) for d in found if d.code == "NoSuchPath" and d.source}
    refused = {d.source for d in found if d.code == "ForeignNamespace"}
    # Who applies the folder is known: that says what becomes of the jobs, and what to write.
    moved = {
        d.message.split("`")[1]
        for d in found
        if d.code == "SettingsNotUsed" and "no environment has `output" in d.message
    }
    replaced = {d.source for d in loosened if d.code == "JobsReplaced"}

    def is_known(d: Diagnostic) -> bool:
        if d.code == "JobsReplaced":
            was = d.message.split(" in ")[0].removeprefix("`output` was ")
            return d.source in refused or f"output: {was}" in moved
        at = d.source and (d.source.file, d.source.line)
        return d.code == "SettingsLoosened" and (at in lines or d.source in replaced)

    return [d for d in loosened if not is_known(d)]


def _of_value(run: Run, d: Diagnostic) -> Diagnostic:
    """Say of an error in a template where the value in its line is set, or was."""
    source = d.source
    if d.severity != "error" or source is None or not source.file.endswith(TEMPLATE_SUFFIXES):
        return d
    if d.rule and (run.bases is None or run.bases.find() is None or run.bases.differs(d.rule.file)):
        return d  # The rule is what has changed.
    texts = [] if "is malformed" in d.message else _IN_TEMPLATE.findall(run.files.line(source) or "")
    names = {*_NAME.findall(" ".join(texts))}
    overlays = [loaded.overlay for each in run.settings.overlays for loaded in each.in_order]
    for overlay in reversed(overlays):
        for name in sorted(names & overlay.values.keys()):
            if (at := overlay.document.locate(("values", name))) is not None:
                return replace(
                    d,
                    hint=at.refusing(
                        f"{d.hint}; {name} is set at {at.file}:{at.line}, for {source.file}:{source.line}"
                    ),
                )
    for was, document in run.bases.changed_overlays(run.settings) if run.bases and names else ():
        for name in sorted(names & mapping(was.get("values")).keys()):
            if (at := document.locate(("values",)) or document.locate(())) is not None:
                hint = f"set {name} again under `values` of {at.file}, for {source.file}:{source.line}: this change removes it"
                return replace(d, hint=at.refusing(hint))
    return d


def _at_changed_rule(run: Run, jobs: Mapping[JobKey, Document], d: Diagnostic) -> Diagnostic:
    """Place a finding at the line of the rule if this change is of that, and of neither the job nor the line it refuses."""
    source, rule, bases = d.source, d.rule, run.bases
    if d.severity == "info" or source is None or rule is None or source.file == rule.file:
        return d
    if bases is None or bases.find() is None or not bases.differs(rule.file):
        return d
    job = jobs.get(job_of(d) or ("", ""))
    files = dict.fromkeys([*[source.file] * (source.origin == "file"), *([job.file] if job else ())])
    if any(map(bases.differs, files)):
        return d
    warn = "; for the jobs that are there, bind it with `validationActions: [Warn]` first" * (d.code == "PolicyDenied")
    return replace(d, source=rule, path="", hint=d.hint + warn)

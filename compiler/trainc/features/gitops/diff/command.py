"""What `trainc diff` does, and what other features show of a comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from trainc.api.admission import updates
from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import Paint, Part, compiling, report
from trainc.api.documents import yaml_reader
from trainc.api.findings import (
    CompileError,
    Diagnostic,
    Finding,
    Source,
    counted,
    escape_report,
    first_of,
    has_errors,
    policy,
)
from trainc.api.git import git, revisions
from trainc.api.jobs import Compilation, JobSet, Session
from trainc.api.kube import Manifest, bounds, documents, identity_of, releases
from trainc.api.records import pattern, replace
from trainc.api.settings import Options, describe_loosening, merge_diagnostics
from trainc.features import ask
from trainc.features.gitops.diff.checked import Checked, base_of_tree, new_diagnostics
from trainc.features.gitops.diff.comparison import compare, with_moves, with_places
from trainc.features.gitops.diff.delivery import DELIVERY_METHODS, LABELS, chosen_method
from trainc.features.gitops.diff.denials import denials
from trainc.features.gitops.diff.model import (
    Cause,
    Diff,
    Review,
    Side as Compared,
    across,
    error_line,
    finding_line,
    reason_of,
    sum_of,
)
from trainc.features.gitops.diff.overruled import overruled_values
from trainc.features.gitops.diff.sides import (
    JobKey,
    ManifestSet,
    ReadSide,
    Side,
    environments_of_sides,
    names_of,
    read_side,
    sides_of,
    with_arguments,
)
from trainc.features.gitops.diff.states import states_between, stays_ended, with_states
from trainc.features.gitops.diff.sweeps import SWEEP_CODES, of_sweeps
from trainc.features.gitops.diff.text import Part as TextPart, diff_text, fate_of, figures, headline

if TYPE_CHECKING:
    from trainc.features.gitops.diff.live import LiveDiff


# So much of a commit's name platforms take in addresses; a comment has a limit.
_ABBREVIATED = 16
# Green is harmless, yellow is refused, red restarts or ends a training.
_COLOURS: dict[str, Part] = {
    "title": "heading",
    "added": "added",
    "removed": "removed",
    "changed": "plugin",
    "harmless": "help",
    "refused": "warning",
    "harmful": "error",
    "quiet": "faint",
    "note": "info",
}


def run(arguments: Arguments, streams: Streams) -> Status:
    """Compare two sides for each relevant environment. A comment always says something, and then nothing has failed."""
    try:
        look_up(*sides_of(arguments))
        environments = environments_of_sides(arguments)
        if arguments.live and len(environments) > 1:
            raise UsageError("--live is about one cluster; choose an environment with --env NAME")
    except CompileError as error:
        report(error.diagnostics, arguments, streams)
        if arguments.format != "markdown":
            return Status.DIAGNOSED
        streams.out.write(_comment({}, {"": error.diagnostics}, None, ()).encode("utf-8", "backslashreplace"))
        return Status.DIAGNOSED if arguments.exit_code else Status.DONE
    with yaml_reader.reading_once(), revisions.shared_copies():
        return _compare_each(environments, arguments, streams)


def _compare_each(environments: Sequence[Arguments], arguments: Arguments, streams: Streams) -> Status:
    diffs: dict[str, Diff] = {}
    present: dict[str, set[str]] = {}
    found: dict[str, list[Diagnostic]] = {}
    unread: dict[str, Sequence[Diagnostic]] = {}
    sides: dict[str, tuple[ReadSide, ReadSide]] = {}
    live: LiveDiff | None = None
    has_failed = False
    checked = Checked(arguments, streams)
    for environment in environments:
        name = environment.environment if len(environments) > 1 else ""
        before, after, diagnostics = read_both(environment, streams, checked.sessions.get(environment.environment))
        if before is not None and after is not None and arguments.live:
            from trainc.features.gitops.diff.live import compare_with_dump

            live, problems = compare_with_dump(before, after, arguments, streams.stdin)
            diagnostics += problems
            has_failed |= has_errors(problems)
            after = after if live is not None else None
        found[name] = diagnostics = checked.in_its_words(diagnostics, environment.environment)
        if before is None or after is None:
            unread[name] = diagnostics
            has_failed = True
            continue
        diffs[name] = compare_sides(before, after, environment, streams, checked)
        present[name] = {documents.qualified(*job) for job in after.manifest_set.by_job}
        sides[name] = before, after
        streams.progress.clear()
        errors = [
            *before.manifest_set.errors,
            *checked.in_its_words(after.manifest_set.errors, environment.environment),
            *after.unread,
            *diffs[name].review.failures,
        ]
        found[name] = [*diagnostics, *errors]
        has_failed |= bool(errors)
    merged = merge_diagnostics(found)
    known = {(d.code, d.source, d.severity, d.environments) for d in merged}
    new = [d for d in checked.new(sides) if (d.code, d.source, d.severity, d.environments) not in known]
    has_failed |= checked.refuses(new)
    streams.progress.clear()
    # `trainc check` reports the warnings that are not new.
    report([*merged, *new], arguments, streams)
    if len(diffs) > 1:
        diffs = with_moves(diffs, present)
    if arguments.format == "markdown":
        text = _comment(diffs, unread, live, [*checked.stale(), *new])
    else:
        text = _texts(diffs, live, arguments, streams) if diffs else ""
    streams.out.write(compiling.hidden(text).encode("utf-8", "backslashreplace"))
    changes = any(diff.has_changes for diff in diffs.values()) or (live is not None and live.has_drift)
    if arguments.exit_code and changes:
        return Status.DIAGNOSED
    return Status.DIAGNOSED if has_failed and (arguments.exit_code or arguments.format != "markdown") else Status.DONE


def _comment(
    diffs: Mapping[str, Diff],
    unread: Mapping[str, Sequence[Diagnostic]],
    live: LiveDiff | None,
    new: Sequence[Diagnostic],
) -> str:
    """The comment on all environments, also those that could not be read, after the comparison with the cluster."""
    from trainc.features.gitops.diff.markdown import LONGEST_COMMENT, comment

    section = ""
    if live is not None:
        from trainc.features.gitops.diff.live_report import live_markdown

        section = live_markdown(live)
    if live is not None and all(diff.before == diff.after for diff in diffs.values()):
        return escape_report(section)
    errors = {name: [d for d in diagnostics if d.severity == "error"] for name, diagnostics in unread.items()}
    text = comment(diffs, errors, new, most=LONGEST_COMMENT - len(section), link=_link(diffs))
    return escape_report(f"{section}\n{text}" if section else text)


def _link(diffs: Mapping[str, Diff]) -> Callable[[Cause], str]:
    """Return the address of a line at its commit, where the runner of the platform says where the repository is."""
    get = os.environ.get
    home = f"{get('GITHUB_SERVER_URL')}/{get('GITHUB_REPOSITORY')}/blob" if get("GITHUB_REPOSITORY") else ""
    home = f"{get('CI_PROJECT_URL')}/-/blob" if not home and get("CI_PROJECT_URL") else home
    if not home.startswith("https://") or not diffs:
        return lambda _: ""
    from urllib.parse import quote

    repository = git.repository_of(".")

    @cache
    def commit(label: str) -> str:
        with suppress(CompileError):
            name, dots, _ = label.removeprefix("git:").partition(":")[0].partition("...")
            return str((git.merge_base if dots else git.commit_of)(repository, name))[:_ABBREVIATED]
        return ""

    before = next(iter(diffs.values())).before

    def link(cause: Cause) -> str:
        at = commit("HEAD" if cause.side == "after" else before)
        path = os.path.normpath(os.path.join(repository.prefix, cause.source.file))
        is_inside = at and not os.path.isabs(path) and not path.startswith(os.pardir)
        return f"{home}/{at}/{quote(path)}#L{cause.source.line}" if is_inside else ""

    return link


def _texts(diffs: Mapping[str, Diff], live: LiveDiff | None, arguments: Arguments, streams: Streams) -> str:
    """The comparisons by environment, with that of one side with the cluster; only the latter if both are the same."""
    if arguments.format == "json":
        from trainc.features.gitops.diff.text import diff_json, environments_json

        if "" not in diffs:
            return escape_report(environments_json(diffs), json=True)
        if live is None:
            return escape_report(diff_json(diffs[""]), json=True)
        from trainc.features.gitops.diff.live_report import live_json

        return escape_report(diff_json(diffs[""], live_json(live, show_values=arguments.show_values)), json=True)

    paint = Paint(arguments.color, streams.out)

    def look(part: TextPart, text: str) -> str:
        return paint(_COLOURS[part], text)

    parts = {name: diff for name, diff in diffs.items() if live is None or diff.before != diff.after}
    known: set[str] = set()
    for name, diff in parts.items():  # What all environments have in common is said once.
        new = tuple(sentence for sentence in diff.review.loosened if sentence not in known)
        known.update(new)
        parts[name] = replace(diff, review=replace(diff.review, loosened=new))
    texts = [f"{name}:\n{diff_text(diff, look)}" if name else diff_text(diff, look) for name, diff in parts.items()]
    if live is not None:
        from trainc.features.gitops.diff.live_report import live_text

        texts.append(live_text(live, look, show_values=arguments.show_values))
    return escape_report("\n".join(texts), colored=paint.is_on)


def read_both(
    arguments: Arguments, streams: Streams, like: Session | None = None
) -> tuple[ReadSide | None, ReadSide | None, list[Diagnostic]]:
    """Read the two sides of one environment, as far as possible, and return what is wrong with the others.

    What `like` has compiled of the same texts is not compiled again.
    """
    diagnostics: list[Diagnostic] = []

    def read_or_report(side: Side, other: ReadSide | None = None) -> ReadSide | None:
        try:
            return read_side(side, arguments, streams, other)
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
            return None

    first, second = sides_of(arguments)
    known = None if like is None else ReadSide("", ManifestSet([], [], True, session=like), like.options, None)
    before, is_alone = read_or_report(first, known), len(arguments.sides) == 1 and first.revision is None
    if arguments.live and (first == second or is_alone):
        return before, before, diagnostics
    if before is None or not is_alone or arguments.releases or arguments.runtime:
        return before, read_or_report(second, before), diagnostics
    # Only one side is named: output is compared with its sources, and sources with the `output` of trainc.yaml.
    if not before.manifest_set.compiled:
        if before.output_below is not None:
            # A folder with several outputs, one of which is produced by the settings of trainc.yaml.
            before = read_or_report(Side(before.output_below, before.output_below))
        return before, read_or_report(second), diagnostics
    if before.output is None:
        raise UsageError(
            f"{before.label} contains sources, and no trainc.yaml says where their output is; "
            f"name both sides, as in `trainc diff git:HEAD:{before.label} {before.label}`"
        )
    return read_or_report(Side(before.output, before.output)), before, diagnostics


def look_up(*sides: Side) -> None:
    """Raise CompileError early if a revision cannot be read, before any folders are walked."""
    for side in sides:
        if side.revision is not None:
            git.commit_of(git.repository_of("."), side.revision)


def compare_sides(before: ReadSide, after: ReadSide, arguments: Arguments, streams: Streams, checked: Checked) -> Diff:
    """Compare what was read: the objects in groups with their causes, and what there is to say beside them."""
    from trainc.features.gitops.diff.causes import Causes
    from trainc.features.gitops.diff.model import explain_groups

    notes = [*_behind(arguments), *_left_out(before, after), *overruled_values(before, after)]
    was, becomes = before.manifest_set, after.manifest_set
    before = replace(before, manifest_set=was.without_failures_of(becomes).without_failures_of(was))
    after = replace(after, manifest_set=becomes.without_failures_of(was).without_failures_of(becomes))
    after, for_all = _with_base(after, arguments)
    release = after.options.release or releases.NEWEST_RELEASE
    diff = compare(
        Compared(_label(before, after), before.manifest_set.manifests, before.manifest_set.names),
        Compared(_label(after, before), after.manifest_set.manifests, after.manifest_set.names, _raw(after)),
        updates.JobSetRules(release),
        [chosen_method(after.options), *(DELIVERY_METHODS if arguments.all_deliveries else ())],
        release,
        streams.progress.over,
    )
    states = states_between(before, after, arguments)
    finished = {key for key, state in states.items() if state == "finished"}
    diff = with_states(diff, was.by_job, states)
    notes += [*_keeping_notes(before, after, arguments, for_all, checked), *_dropped_fields(before, after)]
    diff = replace(diff, notes=(*notes, *diff.notes))
    guard = Finding.Guard("why it changes", "the search for causes", ())
    with guard(after.label):
        diff = replace(diff, groups=explain_groups(diff.groups, Causes(before, after)))
    with guard(after.label):
        diff = with_places(diff, after.manifest_set.manifests, after.cluster)
    review = review_of(before, after, finished)
    failures = (*diff.review.failures, *guard.diagnostics)
    return replace(diff, review=replace(review, errors=(*review.errors, *((("", failures),) if failures else ()))))


def _behind(arguments: Arguments) -> Iterator[str]:
    """What to do about a branch that lacks commits of what it is compared with."""
    first, second = sides_of(arguments)
    if first.revision is not None and second.revision is None:
        with suppress(CompileError):  # Such as in a repository without a commit.
            if count := git.commits_behind(git.repository_of("."), first.revision):
                lag = f"This branch lacks {counted(count, 'commit')} of {first.revision}, whose changes show in reverse"
                yield f"{lag}: merge it first, or compare with where the branch left it, as git:{first.revision}..."


def _left_out(before: ReadSide, after: ReadSide) -> list[str]:
    """What is left out of a comparison because of errors on either side."""
    by_label = {side.label: side.manifest_set.failures for side in (before, after) if side.manifest_set.failures}
    sentences = {failures.sentence for failures in by_label.values()}
    if len(sentences) == 1 and len(by_label) == 2:
        return [f"{sentences.pop()}."]
    return [f"In {label}, {failures.sentence}." for label, failures in by_label.items()]


def _raw(side: ReadSide) -> Sequence[JobKey]:
    """The JobSets that are sources themselves."""
    session = side.manifest_set.session
    return [identity_of(jobset.data, session.options.namespace) for jobset in session.jobsets] if session else ()


def _with_base(after: ReadSide, arguments: Arguments) -> tuple[ReadSide, Iterable[tuple[Source, bool]]]:
    """Return the working tree with the base of what it keeps, and the lines that have changed for all jobs alike."""
    base, of_side = base_of_tree(arguments), after.manifest_set.keeping
    if base is None or of_side is None or not of_side[1].kept_files:
        return after, ()
    from trainc.api.kept import kept

    keeping, for_all = kept.with_base(of_side[1], with_arguments(arguments, paths=[], base=base))
    return replace(after, manifest_set=replace(after.manifest_set, keeping=(of_side[0], keeping))), for_all


def _keeping_notes(
    before: ReadSide,
    after: ReadSide,
    arguments: Arguments,
    for_all: Iterable[tuple[Source, bool]],
    checked: Checked,
) -> Iterator[str]:
    """What does not change because jobs are kept as built, and what changes all the same."""
    if not after.keeps:
        return
    if arguments.releases or arguments.runtime:
        yield "Jobs are kept as built: `trainc build` leaves them as they are, and `trainc build --rebuild all` does this."
    elif after.manifest_set.keeping is not None:
        from trainc.api.kept import kept

        session, keeping = after.manifest_set.keeping
        rendered = {} if before.manifest_set.keeping is None else before.manifest_set.keeping[1].rendered
        pairs = ((was, keeping.rendered[key]) for key, was in rendered.items() if key in keeping.rendered)
        other = (now for was, now in pairs if was.line == now.line and was.body != now.body)
        by_hand = [*(now.key for now in other if not keeping.commit_of(now)), *after.manifest_set.failures.jobs]
        yield from (f"{c.sentence}." for c in checked.to_build(kept.causes_of(session, keeping, for_all, by_hand)))
    moved = None not in (before.output, after.output) and before.output != after.output
    if moved and before.manifest_set.compiled and after.manifest_set.compiled:
        move = f"The output moves from {before.output} to {after.output}, where every job is compiled again"
        yield f"{move}; `trainc build --keep all` carries the files over."


def _dropped_fields(before: ReadSide, after: ReadSide) -> list[str]:
    """Fields that the later release no longer has, with the objects that use them."""
    used: dict[str, list[str]] = {}
    for d in new_diagnostics(before, after):
        if d.code == "DeprecatedField":
            used.setdefault(pattern(r"\[\d+\]").sub("[]", d.path), []).append(d.object)
    return [
        f"Trainer {after.options.release} has no {path}, which {first_of(list(dict.fromkeys(objects)), 3)} "
        f"{'uses' if len(objects) == 1 else 'use'}; trainc still accepts it, and `trainc migrate` replaces it."
        for path, objects in used.items()
    ]


def _label(side: ReadSide, other: ReadSide) -> str:
    """The label of a side, with its release if that changed in trainc.yaml."""
    differ = (
        side.manifest_set.compiled and other.manifest_set.compiled and side.options.release != other.options.release
    )
    release = f", Trainer {side.options.release or 'newest'}"
    return side.label + release if differ and not side.label.endswith(release) else side.label


def review_of(before: ReadSide, after: ReadSide, finished: Collection[tuple[str, str]] = ()) -> Review:
    """Everything there is to say about two sides that were read, of which some JobSets have finished."""
    errors = [
        (side.label, [d for d in side.manifest_set.errors if d.code not in SWEEP_CODES]) for side in (before, after)
    ]
    guard, sections = (
        Finding.Guard("what it does to policies, the cluster and budgets", path=()),
        list[tuple[str, ...]](),
    )
    judges: tuple[Callable[..., Iterable[str]], ...] = (_loosened, denials, _cluster, of_sweeps, _budgets)
    for section in judges:
        sentences: list[str] = []
        with guard(after.label):
            sentences += section(before, after, finished)
        sections.append(tuple(sentences))
    errors.append(("", [*guard.diagnostics]))
    return Review(tuple((label, tuple(diagnostics)) for label, diagnostics in errors if diagnostics), *sections)


def _loosened(before: ReadSide, after: ReadSide, _: Collection[tuple[str, str]]) -> Iterable[str]:
    return describe_loosening(before.configuration, after.configuration, _globs_of_nothing(after))


def _globs_of_nothing(side: ReadSide) -> set[str]:
    """The globs of `rules` that match no file here: what is said of their files loosens nothing."""
    home = os.path.dirname(side.configuration.file or "") or os.curdir
    read = {os.path.relpath(document.file, home).replace(os.sep, "/") for document in side.all_documents}
    globs = {rule.glob for rule in side.configuration.rules if rule.glob}
    return {glob for glob in globs if not any(policy.matches(file, glob) for file in read)}


def _cluster(before: ReadSide, after: ReadSide, finished: Collection[tuple[str, str]]) -> Iterator[str]:
    """Changes in admission by the cluster of trainc.yaml; a side without a cluster uses that of the other."""
    for side in (before, after):
        if side.unread:
            yield f"In {side.label}, the snapshot cannot be read and is not compared: {error_line(side.unread[0])}."
    snapshot = after.cluster if after.cluster is not None else before.cluster
    changes = None if snapshot is None else ask("fits", "changes")
    if changes is None:
        return
    was = snapshot if before.cluster is None else before.cluster
    old, new = (
        [
            (documents.qualified(*job), manifest)
            for job, manifest in _jobsets_by_job(side.manifest_set)
            if identity_of(manifest) not in finished
        ]
        for side in (before, after)
    )
    if was == snapshot:  # Each job is judged alone, so only those that differ can have another answer.
        old_manifests = dict(old)
        new = [(job, manifest) for job, manifest in new if old_manifests.get(job) != manifest]
        differing = {job for job, _ in new}
        old = [(job, manifest) for job, manifest in old if job in differing]
    outputs = [side.manifest_set.manifests for side in (before, after)]
    if new or was != snapshot:
        yield from changes((old, was), (new, snapshot), outputs, [side.options.kueue for side in (before, after)])


def _jobsets_by_job(manifest_set: ManifestSet) -> list[tuple[JobKey, Manifest]]:
    """The JobSets of a side, each with the namespace and name of its TrainJob as far as known."""
    jobsets = []
    for manifest in manifest_set.manifests:
        if manifest["kind"] == "JobSet":
            key = str(manifest["metadata"].get("namespace") or ""), manifest["metadata"]["name"]
            jobsets.append(((key[0], manifest_set.names.get(key, key[1])), manifest))
    return jobsets


def _budgets(before: ReadSide, after: ReadSide, finished: Collection[tuple[str, str]]) -> Iterator[str]:
    """What jobs that have not finished may take of the budgets of which they take another part than before."""
    now, was = after.configuration, before.configuration
    if now.budgets or was.budgets:
        ended = {job: one for job, one in _jobsets_by_job(before.manifest_set) if identity_of(one) in finished}
        sides = [
            now.accounts(
                [
                    (*job, bounds.bound_of(JobSet.read(manifest)))
                    for job, manifest in _jobsets_by_job(side)
                    if not (job in ended and stays_ended(ended[job], manifest))
                ],
                was,
            )
            for side in (before.manifest_set, after.manifest_set)
        ]
        for old, new in zip(*sides, strict=True):
            if (old.gpu_hours, old.without_deadline) != (new.gpu_hours, new.without_deadline):
                yield f"{new.sentence}; it was {bounds.decimal(old.gpu_hours)}."


def text_between(before: Compilation, after: Compilation) -> str:
    """Compare two compilations: the changes, and what the cluster does about them."""
    sessions = after.sessions or before.sessions
    options = sessions[0].options if sessions else Options()
    left = Compared("before", before.manifests, names_of(before.jobs))
    right = Compared("after", after.manifests, names_of(after.jobs))
    return diff_text(_compare(left, right, options), lambda _, text: text)


def fate_between(before: Sequence[Manifest], after: Sequence[Manifest], options: Options) -> str:
    """Return what the delivery tool does with a job against what it was: `re-created under Argo CD`."""
    diff, method = _compare(Compared("before", before), Compared("after", after), options), chosen_method(options)
    changed = [job for job in diff.jobs if job.status != "unchanged"]
    return f"{fate_of(changed[0], method)} under {method.label.partition(',')[0]}" if changed else "unchanged"


def _compare(before: Compared, after: Compared, options: Options) -> Diff:
    release = options.release or releases.NEWEST_RELEASE
    return compare(before, after, updates.JobSetRules(release), [chosen_method(options)], release)


# What the report shows of the changes since a revision.


def changes_since(
    revision: str, arguments: Arguments, streams: Streams, sessions: Mapping[str, Session]
) -> dict[str, Any]:
    """Compare a revision, `git:REV`, with the input; return the headline, a row for each group, and the review.

    `sessions` have compiled the input, by environment.
    Raises CompileError if the revision cannot be read, and UsageError for several inputs.
    """
    from trainc.features.gitops.diff.markdown import HARMFUL, NEW, what, who

    if not revision.startswith("git:"):
        raise UsageError(f"argument --since: write git:{revision}")
    if len(arguments.paths) > 1 or "-" in arguments.paths:
        raise UsageError("--since compares one folder, or what trainc.yaml names")
    side = revision + "".join(f":./{path}" for path in arguments.paths)
    requested = with_arguments(
        arguments, sides=[side], releases=None, runtime=None, live=None, all_deliveries=False, paths=[]
    )
    look_up(*sides_of(requested))
    environments = environments_of_sides(requested)
    diffs: dict[str, Diff] = {}
    present: dict[str, set[str]] = {}
    errors, failures = list[str](), list[Diagnostic]()
    checked, pairs = Checked(requested, streams, sessions), dict[str, tuple[ReadSide, ReadSide]]()
    for environment in environments:
        before, after, problems = read_both(environment, streams, checked.sessions.get(environment.environment))
        if before is None or after is None:
            errors += [error_line(d) for d in problems if d.severity == "error"]
        else:
            name = environment.environment if len(environments) > 1 else ""
            diffs[name], pairs[name] = compare_sides(before, after, environment, streams, checked), (before, after)
            failures += diffs[name].review.failures
            present[name] = {documents.qualified(*job) for job in after.manifest_set.by_job}
    diffs = with_moves(diffs, present) if len(diffs) > 1 else diffs
    sections: dict[str, list[str]] = {"Not compared": errors} if errors else {}
    sections |= {NEW: [*map(finding_line, checked.new(pairs))]} if pairs else {}
    for diff in diffs.values():
        for label, diagnostics in diff.review.errors:
            title = f"Does not compile in {label}" if label else "Not compared"
            sections.setdefault(title, []).extend(map(error_line, diagnostics))
        for title, sentences in diff.review.sections:
            if sentences:
                sections.setdefault(title, []).extend(sentences)
    rows: list[dict[str, Any]] = [
        {
            "who": who(group),
            "what": what(group),
            "because": reason_of(group),
            "outcome": LABELS[group.outcome],
            "gpus": figures(sum_of(job.totals for _, job in group.members))[1][1:],
            "jobs": [" in ".join(filter(None, (job.label, name))) for name, job in group.members],
            "varies": group.varies,
            "is_harmful": group.outcome in HARMFUL,
        }
        for group in across((name, diff.groups) for name, diff in diffs.items())
    ]
    unchanged = sum(diff.unchanged for diff in diffs.values())
    return {
        "since": revision,
        "headline": headline(*diffs.values()),
        "unchanged": unchanged,
        "rows": rows,
        "outcomes": {name: row["outcome"] for row in rows for name in row["jobs"]},
        "sections": sections,
        "failures": failures,
    }

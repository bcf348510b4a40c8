"""What `trainc diff` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import Paint, Part, report
from trainc.api.documents import yaml_reader
from trainc.api.findings import CompileError, Diagnostic, escape_report, first_of
from trainc.api.records import pattern, replace
from trainc.features.gitops.diff.model import Diff
from trainc.features.gitops.diff.sides import (
    ReadSide,
    Side,
    environments_of_sides,
    look_up,
    new_diagnostics,
    read_side,
    sides_of,
)

if TYPE_CHECKING:
    from trainc.features.gitops.diff.live import LiveDiff
    from trainc.features.gitops.diff.text import Part as TextPart

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
        streams.out.write(_comment({}, {"": error.diagnostics}, None).encode("utf-8", "backslashreplace"))
        return Status.DIAGNOSED if arguments.exit_code else Status.DONE
    diffs: dict[str, Diff] = {}
    unread: dict[str, Sequence[Diagnostic]] = {}
    live: LiveDiff | None = None
    has_failed = False
    for environment in environments:
        name = environment.environment if len(environments) > 1 else ""
        with yaml_reader.reading_once():
            before, after, diagnostics = read_both(environment, streams)
        if before is not None and after is not None and arguments.live:
            from trainc.features.gitops.diff.live import compare_with_dump

            live, problems = compare_with_dump(before, after, arguments, streams.stdin)
            diagnostics += problems
            after = after if live is not None else None
        streams.progress.clear()
        report(diagnostics, arguments, streams)
        if before is None or after is None:
            unread[name] = diagnostics
            has_failed = True
            continue
        diffs[name] = compare_sides(before, after, environment, streams)
        streams.progress.clear()
        # `trainc check` reports the warnings that are not new.
        new = [d for d in new_diagnostics(before, after) if d.severity == "warning" or d.code == "KeptCannotRebuild"]
        reported = [*before.manifest_set.errors, *after.manifest_set.errors, *new]
        report(reported, arguments, streams)
        has_failed |= bool(before.manifest_set.errors or after.manifest_set.errors)
    if arguments.format == "markdown":
        text = _comment(diffs, unread, live)
    else:
        text = _texts(diffs, live, arguments, streams) if diffs else ""
    streams.out.write(text.encode("utf-8", "backslashreplace"))
    changes = any(diff.has_changes for diff in diffs.values()) or (live is not None and live.has_drift)
    if arguments.exit_code and changes:
        return Status.DIAGNOSED
    return Status.DIAGNOSED if has_failed and (arguments.exit_code or arguments.format != "markdown") else Status.DONE


def _comment(diffs: Mapping[str, Diff], unread: Mapping[str, Sequence[Diagnostic]], live: LiveDiff | None) -> str:
    """The comment on all environments, also those that could not be read, after the comparison with the cluster."""
    from trainc.features.gitops.diff.markdown import LONGEST_COMMENT, comment

    section = ""
    if live is not None:
        from trainc.features.gitops.diff.live_report import live_markdown

        section = live_markdown(live)
    if live is not None and all(diff.before == diff.after for diff in diffs.values()):
        return escape_report(section)
    errors = {name: [d for d in diagnostics if d.severity == "error"] for name, diagnostics in unread.items()}
    text = comment(diffs, errors, most=LONGEST_COMMENT - len(section))
    return escape_report(f"{section}\n{text}" if section else text)


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
    from trainc.features.gitops.diff.text import diff_text

    paint = Paint(arguments.color, streams.out)

    def look(part: TextPart, text: str) -> str:
        return paint(_COLOURS[part], text)

    parts = {name: diff for name, diff in diffs.items() if live is None or diff.before != diff.after}
    texts = [f"{name}:\n{diff_text(diff, look)}" if name else diff_text(diff, look) for name, diff in parts.items()]
    if live is not None:
        from trainc.features.gitops.diff.live_report import live_text

        texts.append(live_text(live, look, show_values=arguments.show_values))
    return escape_report("\n".join(texts), colored=paint.is_on)


def read_both(arguments: Arguments, streams: Streams) -> tuple[ReadSide | None, ReadSide | None, list[Diagnostic]]:
    """Read the two sides of one environment, as far as possible, and return what is wrong with the others."""
    diagnostics: list[Diagnostic] = []

    def read_or_report(side: Side, other: ReadSide | None = None) -> ReadSide | None:
        try:
            return read_side(side, arguments, streams, other)
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
            return None

    first, second = sides_of(arguments)
    before, is_alone = read_or_report(first), len(arguments.sides) == 1 and first.revision is None
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


def compare_sides(before: ReadSide, after: ReadSide, arguments: Arguments, streams: Streams) -> Diff:
    """Compare what was read: the objects in groups with their causes, and what there is to say beside them."""
    from trainc.api.admission import updates
    from trainc.api.kube import releases
    from trainc.features.gitops.diff.causes import Causes
    from trainc.features.gitops.diff.command import review_of
    from trainc.features.gitops.diff.comparison import compare
    from trainc.features.gitops.diff.delivery import DELIVERY_METHODS, chosen_method
    from trainc.features.gitops.diff.model import Side as Compared
    from trainc.features.gitops.diff.model import explain_groups

    notes = _left_out(before, after)
    was, becomes = before.manifest_set, after.manifest_set
    before = replace(before, manifest_set=was.without_failures_of(becomes).without_failures_of(was))
    after = replace(after, manifest_set=becomes.without_failures_of(was).without_failures_of(becomes))
    release = after.options.release or releases.NEWEST_RELEASE
    diff = compare(
        Compared(_label(before, after), before.manifest_set.manifests, before.manifest_set.names),
        Compared(_label(after, before), after.manifest_set.manifests, after.manifest_set.names),
        updates.JobSetRules(release),
        [chosen_method(after.options), *(DELIVERY_METHODS if arguments.all_deliveries else ())],
        release,
        streams.progress.over,
    )
    notes += [*_keeping_notes(before, after, arguments), *_dropped_fields(before, after)]
    groups = explain_groups(diff.groups, Causes(before, after))
    return replace(diff, notes=(*notes, *diff.notes), groups=groups, review=review_of(before, after))


def _left_out(before: ReadSide, after: ReadSide) -> list[str]:
    """What is left out of a comparison because of errors on either side."""
    by_label = {side.label: side.manifest_set.failures for side in (before, after) if side.manifest_set.failures}
    sentences = {failures.sentence for failures in by_label.values()}
    if len(sentences) == 1 and len(by_label) == 2:
        return [f"{sentences.pop()}."]
    return [f"In {label}, {failures.sentence}." for label, failures in by_label.items()]


def _keeping_notes(before: ReadSide, after: ReadSide, arguments: Arguments) -> Iterator[str]:
    """What does not change because jobs are kept as built, and what changes all the same."""
    if not after.keeps:
        return
    if arguments.releases or arguments.runtime:
        yield "Jobs are kept as built: `trainc build` leaves them as they are, and `trainc build --rebuild all` does this."
    elif after.manifest_set.keeping is not None:
        from trainc.api.kept import kept

        yield from (f"{cause.sentence}." for cause in kept.causes_of(*after.manifest_set.keeping))
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

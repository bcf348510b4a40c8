"""What `trainc diff` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from trainc.api.arguments import Arguments, Status, Streams, UsageError
from trainc.api.command import Files, Paint, Part, text_report
from trainc.api.findings import CompileError, Diagnostic, escape_report
from trainc.api.kube import Manifest
from trainc.api.records import pattern, replace
from trainc.api.settings import environment_name
from trainc.features.diff.model import Diff
from trainc.features.diff.sides import (
    ManifestSet,
    ReadSide,
    Side,
    environments_of_sides,
    look_up,
    new_diagnostics,
    read_side,
    sides_of,
)
from trainc.findings.text import first_of
from trainc.reading.yaml_reader import reading_once

if TYPE_CHECKING:
    from trainc.features.diff.live import LiveDiff
    from trainc.features.diff.text import Part as TextPart

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
    """Compare two sides for each relevant environment."""
    try:
        look_up(*sides_of(arguments))
        every = environments_of_sides(arguments)
        if arguments.live and len(every) > 1:
            raise UsageError("--live is about one cluster; choose an environment with --env NAME")
    except CompileError as error:
        return _not_compared(error.diagnostics, arguments, streams)
    if len(every) == 1:
        return _run(every[0], streams)
    shown: dict[str, bytes] = {}
    statuses: list[Status] = []
    for each in every:
        out = BytesIO()
        statuses.append(_run(each, replace(streams, out=out)))
        shown[environment_name(each)] = out.getvalue()
    streams.out.write(_format_all(shown, arguments.format))
    return max(statuses)


def _format_all(shown: Mapping[str, bytes], form: str) -> bytes:
    """Combine the comparisons of all environments that could be read, under their names."""
    if form == "json":
        import json

        found = {name: json.loads(text) for name, text in shown.items() if text}
        return (json.dumps({"environments": found}, indent=2, ensure_ascii=False) + "\n").encode()
    heading = "# {}\n\n" if form == "markdown" else "{}:\n"
    return b"\n".join(heading.format(name).encode() + text for name, text in shown.items() if text)


def _run(arguments: Arguments, streams: Streams) -> Status:
    """Compare two sides; nothing is written unless both can be read."""
    with reading_once():
        before, after, diagnostics = _read_both(arguments, streams)
    if before is None or after is None:
        streams.progress.clear()
        return _not_compared(diagnostics, arguments, streams)
    live = None
    if arguments.live:
        from trainc.features.diff.live_sides import compare_with_dump

        live, problems = compare_with_dump(before, after, arguments, streams.stdin)
        streams.progress.clear()
        streams.err.write(text_report(problems, Files(), Paint(arguments.color, streams.err), quiet=arguments.quiet))
        if live is None:
            return Status.DIAGNOSED
    errors = [d for side in (before, after) for d in side.found.diagnostics if d.severity == "error"]
    notes = _left_out(before, after)
    was, becomes = before.found, after.found
    before = replace(before, found=was.without_failures_of(becomes).without_failures_of(was))
    after = replace(after, found=becomes.without_failures_of(was).without_failures_of(becomes))
    diff = _compare_sides(before, after, arguments, streams)
    diff = replace(diff, notes=(*notes, *diff.notes)) if notes else diff
    streams.progress.clear()
    streams.out.write(_format_diff(diff, live, arguments, streams).encode("utf-8", "backslashreplace"))
    streams.err.write(text_report(errors, Files(), Paint(arguments.color, streams.err), quiet=arguments.quiet))
    _report_new_warnings(before, after, arguments, streams)
    if errors and arguments.format != "markdown":
        return Status.DIAGNOSED
    changes = diff.has_changes or (live is not None and live.has_drift)
    return Status.DIAGNOSED if arguments.exit_code and changes else Status.DONE


def _not_compared(diagnostics: Sequence[Diagnostic], arguments: Arguments, streams: Streams) -> Status:
    """Report why nothing can be compared; in Markdown, as a comment that takes the place of that of the last push."""
    report = text_report(diagnostics, Files(), Paint(arguments.color, streams.err), quiet=arguments.quiet)
    streams.err.write(report)
    if arguments.format != "markdown":
        return Status.DIAGNOSED
    plain = escape_report(text_report(diagnostics, Files(), Paint("never", streams.err), quiet=True))
    lines = "".join(f"    {line}\n" for line in plain.splitlines())
    streams.out.write(f"The two sides cannot be compared:\n\n{lines}".encode("utf-8", "backslashreplace"))
    return Status.DONE


def _left_out(before: ReadSide, after: ReadSide) -> list[str]:
    """What is left out of a comparison because of errors on either side."""
    found = {side.label: side.found.failures for side in (before, after) if side.found.failures}
    sentences = {failures.sentence for failures in found.values()}
    if len(sentences) == 1 and len(found) == 2:
        return [f"{sentences.pop()}."]
    return [f"In {label}, {failures.sentence}." for label, failures in found.items()]


def _read_both(arguments: Arguments, streams: Streams) -> tuple[ReadSide | None, ReadSide | None, list[Diagnostic]]:
    first, second = sides_of(arguments)
    diagnostics: list[Diagnostic] = []
    before = _read(first, arguments, streams, diagnostics)
    if arguments.live and (first == second or (len(arguments.sides) == 1 and first.revision is None)):
        return before, before, diagnostics
    if (
        len(arguments.sides) == 1
        and not (arguments.releases or arguments.runtime)
        and first.revision is None
        and before
    ):
        return _against_output(before, second, arguments, streams, diagnostics)
    return before, _read(second, arguments, streams, diagnostics), diagnostics


def _against_output(
    given: ReadSide, second: Side, arguments: Arguments, streams: Streams, diagnostics: list[Diagnostic]
) -> tuple[ReadSide | None, ReadSide | None, list[Diagnostic]]:
    """Choose the other side if only one is named: its sources for output, the `output` of trainc.yaml for sources."""
    if not given.found.compiled:
        if given.output_below is not None:
            # A folder with several outputs, one of which is produced by the settings of trainc.yaml.
            output = _read(Side(given.output_below, given.output_below), arguments, streams, diagnostics)
            return output, _read(second, arguments, streams, diagnostics), diagnostics
        return given, _read(second, arguments, streams, diagnostics), diagnostics
    if given.output is None:
        raise UsageError(
            f"{given.label} contains sources, and no trainc.yaml says where their output is; "
            f"name both sides, as in `trainc diff git:HEAD:{given.label} {given.label}`"
        )
    output = _read(Side(given.output, given.output), arguments, streams, diagnostics)
    return output, given, diagnostics


def _read(side: Side, arguments: Arguments, streams: Streams, diagnostics: list[Diagnostic]) -> ReadSide | None:
    try:
        return read_side(side, arguments, streams)
    except CompileError as error:
        diagnostics += error.diagnostics
        return None


def _compare_sides(before: ReadSide, after: ReadSide, arguments: Arguments, streams: Streams) -> Diff:
    from trainc.api.kube import NEWEST_RELEASE
    from trainc.features.diff.comparison import compare
    from trainc.features.diff.delivery import DELIVERY_METHODS, chosen_method
    from trainc.features.diff.model import Side as Compared
    from trainc.features.diff.verdicts import JobSetRules

    release = after.options.release or NEWEST_RELEASE
    found = compare(
        Compared(_label(before, after), before.found.manifests, before.found.names),
        Compared(_label(after, before), after.found.manifests, after.found.names),
        JobSetRules(release),
        [chosen_method(after.options), *(DELIVERY_METHODS if arguments.all_deliveries else ())],
        release,
        streams.progress.over,
    )
    notes = [*_kept(before, after, arguments), *_dropped_fields(before, after), *_admission(before, after)]
    return replace(found, notes=(*notes, *found.notes)) if notes else found


def _kept(before: ReadSide, after: ReadSide, arguments: Arguments) -> Iterator[str]:
    """What does not change because jobs are kept as built, and what changes all the same."""
    if not after.keeps:
        return
    if arguments.releases or arguments.runtime:
        yield "Jobs are kept as built: `trainc build` leaves them as they are, and `trainc build --rebuild all` does this."
    elif after.found.kept is not None:
        from trainc.cli.kept import causes_of

        yield from (f"{cause.sentence}." for cause in causes_of(*after.found.kept))
    moved = None not in (before.output, after.output) and before.output != after.output
    if moved and before.found.compiled and after.found.compiled:
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


def _admission(before: ReadSide, after: ReadSide) -> list[str]:
    """Changes in admission by the cluster of trainc.yaml; a side without a cluster uses that of the other."""
    snapshot = after.cluster if after.cluster is not None else before.cluster
    if snapshot is None:
        return []
    from trainc.features.fits.changes import fit_changes

    jobsets = [_named(side.found) for side in (before, after)]
    was = snapshot if before.cluster is None else before.cluster
    return fit_changes((jobsets[0], was), (jobsets[1], snapshot))


def _named(found: ManifestSet) -> list[tuple[str, Manifest]]:
    """The JobSets of a side, each with the namespace and name of its TrainJob as far as known."""
    from trainc.features.fits.workload import job_name, place

    jobsets = [manifest for manifest in found.manifests if manifest["kind"] == "JobSet"]
    return [(job_name(place(one)[0], found.names.get(place(one), place(one)[1])), one) for one in jobsets]


def _label(side: ReadSide, other: ReadSide) -> str:
    """The label of a side, with its release if that changed in trainc.yaml."""
    differ = side.found.compiled and other.found.compiled and side.options.release != other.options.release
    named = f", Trainer {side.options.release or 'newest'}"
    return side.label + named if differ and not side.label.endswith(named) else side.label


def _format_diff(diff: Diff, live: LiveDiff | None, arguments: Arguments, streams: Streams) -> str:
    """The comparison of two sides, with that of one of them with the cluster; only the latter if both are the same."""
    parts = [] if live is not None and diff.before == diff.after else [diff]
    if arguments.format == "json":
        from trainc.features.diff.text import diff_json

        if live is None:
            return diff_json(diff)
        from trainc.features.diff.live_report import live_json

        return diff_json(diff, live_json(live, show_values=arguments.show_values))
    if arguments.format == "markdown":
        from trainc.features.diff.markdown import LONGEST_COMMENT, diff_markdown

        section = ""
        if live is not None:
            from trainc.features.diff.live_report import live_markdown

            section = live_markdown(live)
        texts = [diff_markdown(part, most=LONGEST_COMMENT - len(section)) for part in parts]
        return escape_report("\n".join((section, *texts) if section else texts))
    from trainc.features.diff.text import diff_text

    paint = Paint(arguments.color, streams.out)

    def look(part: TextPart, text: str) -> str:
        return paint(_COLOURS[part], text)

    texts = [diff_text(part, look) for part in parts]
    if live is not None:
        from trainc.features.diff.live_report import live_text

        texts.append(live_text(live, look, show_values=arguments.show_values))
    return escape_report("\n".join(texts), coloured=paint.is_on)


def _report_new_warnings(before: ReadSide, after: ReadSide, arguments: Arguments, streams: Streams) -> None:
    """Report new warnings; `trainc check` reports the others."""
    new = [d for d in new_diagnostics(before, after) if d.severity == "warning"]
    streams.err.write(text_report(new, Files(), Paint(arguments.color, streams.err), quiet=arguments.quiet))

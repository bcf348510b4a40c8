"""`trainc check --fix`: the fixes of findings applied to their files, which stay byte for byte the same otherwise.

A fix is safe if it makes an invalid input valid in the one way there is, or if every TrainJob and all that is compiled stay
the same. The latter is checked by compiling again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from trainc.cli.command import Arguments, Streams
from trainc.cli.compiling import Run
from trainc.cli.reporting import difference
from trainc.findings import CompileError, Diagnostic, Fix, has_errors
from trainc.findings.text import counted
from trainc.options import Limits
from trainc.output.keeping import digest_of, own_trainjob
from trainc.reading import opening
from trainc.reading.edits import Edit
from trainc.reading.files import STDIN, TEMPLATE_SUFFIXES
from trainc.startup.records import dataclass, replace

# A run of `check`: its findings, and its compilation of each environment.
Checked: TypeAlias = "tuple[Sequence[Diagnostic], Sequence[Run]]"
Texts: TypeAlias = Mapping[str, str]
# A fix may lead to a finding with another one.
_MOST_PASSES = 5
# To find which of several fixes change a job, everything is compiled at most so often.
_MOST_TRIALS = 24


@dataclass(frozen=True, slots=True)
class _Candidate:
    diagnostic: Diagnostic
    file: str
    edit: Edit


def apply_fixes(check: Callable[[], Checked], arguments: Arguments, streams: Streams) -> None:
    """Apply what can be fixed to the files, or print the changes with `--diff`."""
    texts: dict[str, str] = {}
    fixed = left = 0
    for _ in range(_MOST_PASSES):
        with opening.unsaved(_by_path(texts)):
            diagnostics, runs = check()
            candidates = list(_candidates(diagnostics, runs[0]))
            chosen = candidates if arguments.unsafe_fixes else _safe(candidates, runs, texts, check)
        left = len(candidates) - len(chosen)
        if not chosen:
            break
        texts |= _with(chosen, texts)
        fixed += len(chosen)
    for file, text in texts.items():
        if arguments.diff:
            streams.write(difference(_text(file), text, file, file, streams.out))
        else:
            opening.write_file(file, text)
    verb = "would fix" if arguments.diff else "fixed"
    where = f" in {counted(len(texts), 'file')}" if fixed else ""
    more = f"; with --unsafe-fixes, {left} more" if left else ""
    if not arguments.quiet:
        streams.err.write(f"{verb} {counted(fixed, 'finding')}{where}{more}\n")


def _by_path(texts: Texts) -> dict[str, bytes]:
    return {os.path.realpath(file): text.encode() for file, text in texts.items()}


def _text(file: str) -> str:
    return opening.read_file(file, Limits().file_bytes).decode()


def _is_utf8(file: str) -> bool:
    try:
        _text(file)
    except UnicodeDecodeError:
        return False
    return True


def _candidates(diagnostics: Iterable[Diagnostic], run: Run) -> Iterator[_Candidate]:
    """Yield the findings of which there is one fix; of those that touch each other, the first.

    Only files in UTF-8 are fixed: another encoding would not stay the same.
    """
    ends: dict[str, list[tuple[object, object]]] = {}
    is_utf8: dict[str, bool] = {}
    for diagnostic in dict.fromkeys(diagnostics):
        edits = run.files.edits(diagnostic)
        file = diagnostic.source.file if diagnostic.source else STDIN
        if len(edits) != 1 or file == STDIN or file.endswith(TEMPLATE_SUFFIXES) or diagnostic.severity == "ignored":
            continue
        if file not in is_utf8:
            is_utf8[file] = _is_utf8(file)
        if not is_utf8[file]:
            continue
        start, end = edits[0].range
        taken = ends.setdefault(os.path.realpath(file), [])
        if all(end < first or last < start for first, last in taken):  # type: ignore[operator]
            taken.append((start, end))
            yield _Candidate(diagnostic, file, edits[0])


def _with(chosen: Iterable[_Candidate], texts: Texts) -> dict[str, str]:
    by_file: dict[str, list[Edit]] = {}
    for candidate in chosen:
        by_file.setdefault(candidate.file, []).append(candidate.edit)
    result = {}
    for file, edits in by_file.items():
        text = texts[file] if file in texts else _text(file)
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text.removeprefix(mark))
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        body = "".join(lines)
        newline = "\r\n" if "\r\n" in body else "\n"
        for edit in sorted(edits, key=lambda edit: edit.range.start, reverse=True):
            start, end = (starts[min(at.line, len(lines))] + at.column for at in edit.range)
            body = body[:start] + edit.text.replace("\n", newline) + body[end:]
        result[file] = mark + body
    return result


def _safe(
    candidates: Sequence[_Candidate], runs: Sequence[Run], texts: Texts, check: Callable[[], Checked]
) -> list[_Candidate]:
    """Return the candidates that are safe to apply, as far as they can be told in a bounded number of trials."""
    only = [candidate for candidate in candidates if _is_only_way(candidate.diagnostic)]
    others = [candidate for candidate in candidates if not _is_only_way(candidate.diagnostic)]
    remaining = {*_after(only, texts, check)[0]} if only else set()
    only = [one for one in only if one.diagnostic not in remaining]
    if only:  # What stays the same can be told only without errors: in the next pass, if none is left.
        return only
    made = _products(runs)
    if made is None:
        return []
    waiting, same, trials = [others] if others else [], list[_Candidate](), 0
    while waiting and trials < _MOST_TRIALS:
        some = waiting.pop()
        trials += 1
        found, products = _after([*same, *some], texts, check)
        if products == made and not any(candidate.diagnostic in found for candidate in some):
            same += some
        elif len(some) > 1:
            waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
    return same


def _is_only_way(diagnostic: Diagnostic) -> bool:
    """Return whether nothing else makes the input valid: a misspelt field, quotes around what has to be a text."""
    (fix, *others) = diagnostic.fixes or (Fix("set"),)
    is_field = fix.action == "replace" and diagnostic.path.rpartition(".")[2] == fix.name
    return diagnostic.severity == "error" and not others and (is_field or fix.action in ("quote", "unquote"))


def _after(
    chosen: Sequence[_Candidate], texts: Texts, check: Callable[[], Checked]
) -> tuple[Sequence[Diagnostic], object]:
    try:
        with opening.unsaved(_by_path({**texts, **_with(chosen, texts)})):
            diagnostics, runs = check()
            return diagnostics, _products(runs)
    except CompileError as error:
        return error.diagnostics, None


def _products(runs: Sequence[Run]) -> object:
    """Return what a build of everything gives, and the digest of each TrainJob; None while there are errors."""
    made = []
    for run in runs:
        session = replace(run.session, keeping=None, judge=None)
        for job, diagnostics in session.compile_each():
            if has_errors(diagnostics):
                return None
            made += [] if job is None else [json.dumps(job.manifests)]
        made += [digest_of(own_trainjob(job.document)) for job in session.jobs]
    return made

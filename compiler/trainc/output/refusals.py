"""Notes about jobs that stay as they are, and what builds of them would be refused for."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from trainc.findings import Diagnostic, Severity, Source, sort_diagnostics
from trainc.findings.codes import stage_of
from trainc.findings.listed import Listed
from trainc.findings.text import counted, first_of
from trainc.kube.documents import qualified
from trainc.kube.names import RUNTIME_KINDS
from trainc.output.choices import JobKey
from trainc.startup.patterns import pattern

_DIGEST = pattern(r"(@sha256:[0-9a-f]{6})[0-9a-f]+")


def notes_of(refused: Iterable[tuple[JobKey | None, Diagnostic]], shared: Container[str] = ()) -> list[Diagnostic]:
    """Return notes about jobs that stay as they are, and runtimes, that would be refused if they were built today.

    There is one for each rule that they do not meet, or line of the `shared` files: a job that stays is not to blame.
    """
    causes: dict[Source | None, list[tuple[JobKey | None, Diagnostic]]] = {}
    for key, d in refused:
        source = d.source if d.source and d.source.file in shared else None
        causes.setdefault(d.rule or source, []).append((key, d))
    # The same rule may be written once for each namespace.
    alike: dict[tuple[str, str], Source | None] = {}
    for rule in sorted(filter(None, causes), key=lambda rule: (rule.file, rule.line)):
        kept = alike.setdefault((rule.file, causes[rule][0][1].message), rule)
        if kept is not rule:
            causes[kept] += causes.pop(rule)
    notes = []
    for source, broken in causes.items():
        names = sorted({qualified(*key) for key, _ in broken if key})
        runtimes = sorted({d.object for _, d in broken if d.object.partition(" ")[0] in RUNTIME_KINDS})
        first, *others = sort_diagnostics(d for _, d in broken)
        codes = " and ".join(dict.fromkeys(d.code for d in (first, *others)))
        why = _DIGEST.sub(r"\1...", first.message)
        fails = first.trait in ("failing rule", "faulty rule")
        rest = "Nothing has to be done while they stay as built; before one is built again: "
        if stage_of(first.code) == "fits":
            rest = "Those that run go on, those that wait keep waiting; before one is built again: "
        if first.code == "PolicyDenied":
            rest = "They run on, but a policy with UPDATE denies a change of them as well; before one is built again: "
        if fails or codes == "QueueInactive":  # Not for what these jobs are: no job passes.
            rest = "New jobs are refused as well: "
        # It was not misspelt when they were built.
        is_gone = first.code == "QueueInactive" and first.trait == "misspelt"
        fix = "have it created again" if is_gone else first.hint
        rest += fix + ", or change this line" * (source is not None and not fails and "?" not in fix)
        named = [*names, *runtimes]

        def hint(names: Sequence[str], start: str = f"{codes}: {why}", end: str = rest, more: int = len(others)) -> str:
            return f"{start}{' (and others like it)' if more or names[1:] else ''}. {end}"

        # A line that is to blame may refuse each job in other words.
        message = Listed(_refused, named, "")
        about = codes if source else f"{codes}: {why}"
        severity: Severity = "warning" if fails else "info"
        notes.append(Diagnostic("KeptCannotRebuild", severity, message, Listed(hint, named, about), source=source))
    return notes


def _refused(names: Sequence[str]) -> str:
    """Say of jobs and runtimes that they would be refused."""
    runtimes = [name for name in names if name.partition(" ")[0] in RUNTIME_KINDS]
    jobs = [name for name in names if name.partition(" ")[0] not in RUNTIME_KINDS]
    counts = [counted(len(jobs), "kept job")] * bool(jobs) + [counted(len(runtimes), "runtime")] * bool(runtimes)
    return f"{' and '.join(counts)} would be refused if built today: {first_of([*jobs, *runtimes], 3)}"

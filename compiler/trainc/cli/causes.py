"""One cause is one finding: that of all jobs, runtimes and environments which have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from trainc.findings import Diagnostic, sort_diagnostics
from trainc.findings.listed import Listed
from trainc.kube.names import RUNTIME_KINDS
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import TypeAlias

# An object, and the environment in which it has a problem.
_Owner: TypeAlias = tuple[str, str]

_RANKS = ("error", "warning", "info", "ignored")


@dataclass(slots=True)
class _Cause:
    """The findings of one cause, each with the environments that have it."""

    found: list[Diagnostic] = field(default_factory=list)
    owners: set[_Owner] = field(default_factory=set)

    def add(self, found: Iterable[Diagnostic], owners: Iterable[_Owner]) -> None:
        self.found += found
        self.owners.update(owners)

    def merge(self, every: Sequence[str]) -> Diagnostic:
        """Return one finding with the names of all: that of a runtime rather than of a job, in the environments that have it."""
        first = next((d for d in self.found if _is_of_runtime(d.object)), self.found[0])
        if not self.found[1:] and (first.environments or len(every) == 1):
            return first
        known = dict.fromkeys(environment for _, environment in self.owners)
        affected = (*dict.fromkeys((*filter(known.__contains__, every), *known)),)
        if len(affected) == len(every) and not any(d.environments for d in self.found):
            affected = ()
        listed = [d for d in self.found if isinstance(d.message, Listed)]
        # The same job may have another name in another environment.
        is_one = len(self.found) == len(known) and not any(d.others for d in self.found)
        is_one = is_one and len(listed) in (0, len(self.found))
        texts, hints = [d.message for d in listed or self.found], [d.hint for d in listed or self.found]
        names = dict.fromkeys(
            name for d in self.found if not isinstance(d.message, Listed) for name in (d.object, *d.others)
        )
        others = () if is_one else tuple(name for name in names if name != first.object and not _is_of_runtime(name))
        return replace(
            first,
            message=_joined(texts) if listed or is_one else texts[0],
            hint=_joined(hints) if listed or is_one else _shortest(hints),
            environments=affected,
            others=others,
        )


def _is_of_runtime(label: str) -> bool:
    return label.partition(" ")[0] in RUNTIME_KINDS


def merge_diagnostics(by_environment: Mapping[str, Sequence[Diagnostic]]) -> list[Diagnostic]:
    """Merge the diagnostics of several environments in order; what all have is said without their names.

    Those that have been merged before keep their environments.
    """
    found = ((d, (name,)) for name, some in by_environment.items() for d in sort_diagnostics(some))
    return sort_diagnostics(join_causes(found, [*by_environment]))


def join_causes(found: Iterable[tuple[Diagnostic, tuple[str, ...]]], every: Sequence[str] = ("",)) -> list[Diagnostic]:
    """Return one finding for each cause, of findings that each have environments.

    What has the same code at the same line is one cause, whatever it says of the single object, unless one object has it
    twice. A rule that is faulty is at its own line.
    """
    found = [*found]
    if len(found) == len(every) == 1 and found[0][0].trait != "faulty rule":
        return [found[0][0]]
    causes: dict[Hashable, _Cause] = {}
    repeated = Counter[Hashable]()
    for given, names in found:
        d, number = given, 0
        has_place = d.source is not None or isinstance(d.message, Listed)
        # What mends it for some jobs, such as a command that names them, does not for others.
        mends = d.hint.about if isinstance(d.hint, Listed) else ""
        kind: Hashable = (
            (d.source, _apart_from_numbers(d.message), mends) if has_place else (d.message, d.hint, d.path, d.object)
        )
        if d.trait == "faulty rule" and d.rule is not None and d.severity == "error":
            d = replace(d, source=d.rule, path="", object="")
            kind = d.source
        else:
            kind = d.trait if d.trait == "no Namespaces" else kind
            repeated[d.code, d.severity, kind, d.object, names] += 1
            number = repeated[d.code, d.severity, kind, d.object, names]
        cause = causes.setdefault((d.code, d.severity, kind, number), _Cause())
        cause.add([d], [(given.object, name) for name in d.environments or names])
    merged = [cause.merge(every) for cause in _of_one_field(causes.values())]
    return _of_one_fix(_with_notes(merged, every))


def _of_one_field(causes: Iterable[_Cause]) -> list[_Cause]:
    """Join what the same line makes wrong of several objects, said of each with its name and its numbers."""
    fields: dict[Hashable, list[_Cause]] = {}
    for cause in causes:
        d = cause.found[0]
        where = frozenset(environment for _, environment in cause.owners)
        about = _apart_from_names(d)
        known = fields.setdefault((d.code, d.severity, d.source, d.path, about, where) if d.source else id(cause), [])
        other = next((one for one in known if one.owners.isdisjoint(cause.owners)), None)
        if other is None:
            known.append(cause)
        else:
            other.add(cause.found, cause.owners)
    return [cause for known in fields.values() for cause in known]


def _of_one_fix(merged: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Leave out what the same edit of a misspelt word mends as something more serious, or with more words, at its line."""
    groups: dict[object, list[Diagnostic]] = {}
    for d in merged:
        edit = d.trait == "misspelt" and d.source and (d.fixes, d.source.file, d.source.line)
        groups.setdefault(edit or id(d), []).append(d)
    joined = []
    for group in groups.values():
        best = min(group, key=lambda d: (_RANKS.index(d.severity), -len(d.message)))
        alike = [d for d in group if d is not best and d.code == best.code]
        others = dict.fromkeys(name for d in (best, *alike) for name in (*d.others, d.object) if name != best.object)
        environments = dict.fromkeys(name for d in (best, *alike) for name in d.environments)
        environments = environments if all(d.environments for d in alike) and best.environments else {}
        joined.append(replace(best, others=(*others,), environments=(*environments,)) if alike else best)
    return joined


def _with_notes(merged: Sequence[Diagnostic], every: Sequence[str]) -> list[Diagnostic]:
    """Say of kept jobs which a rule refuses, too, where that is said of others at its line."""
    faulty: dict[object, Diagnostic] = {
        d.source: d for d in merged if d.severity == "error" and d.source and d.source == d.rule
    }
    notes: dict[object, Diagnostic] = {
        d.source: d for d in merged if d.code == "KeptCannotRebuild" and d.source in faulty
    }
    joined = []
    for d in merged:
        if (note := notes.get(d.source)) is None or d not in (note, faulty[d.source]):
            joined.append(d)
        elif d is not note:
            names = {*d.environments, *note.environments} if d.environments and note.environments else set[str]()
            affected = () if names.issuperset(every) else tuple(name for name in every if name in names)
            joined.append(replace(d, message=f"{d.message}; {note.message}", environments=affected))
    return joined


# A number that is a word, unlike that in a name, a path or a version.
_QUOTED = pattern(r"'[^']*'")
_NUMBER = pattern(r"(?<![\w./:\[-])\d+(?:,\d+)*(?![\w./:\]-])(?=[ ,;:.)]|$)")


def _apart_from_numbers(text: str) -> tuple[str, ...]:
    """Return what texts have in common that differ in numbers of clusters, such as of nodes, or in the names of jobs."""
    return tuple(_NUMBER.split(text.about if isinstance(text, Listed) else text))


def _apart_from_names(diagnostic: Diagnostic) -> tuple[str, ...]:
    """Return what a finding says but for the name of its object, what is in quotes, and numbers."""
    label = diagnostic.object.partition(" ")[2]
    names = {label, label.rpartition("/")[2]} - {""}
    text = diagnostic.message.about if isinstance(diagnostic.message, Listed) else diagnostic.message
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    return tuple(_NUMBER.split(_QUOTED.sub("", text)))


def _joined(texts: Sequence[str]) -> str:
    """Return one text of all names, with the numbers of each cluster, as in `16 or 12 nodes`."""
    if all(isinstance(text, Listed) for text in texts):
        names = dict.fromkeys(name for text in texts if isinstance(text, Listed) for name in text.names)
        texts = [text.says([*names]) for text in texts if isinstance(text, Listed)]
    if len(set(texts)) == 1 or len({tuple(_NUMBER.split(text)) for text in texts}) > 1:
        return _shortest(texts)
    numbers = iter([*zip(*(_NUMBER.findall(text) for text in texts), strict=True)])
    return _NUMBER.sub(lambda _: " or ".join(dict.fromkeys(next(numbers))), texts[0])


def _shortest(texts: Sequence[str]) -> str:
    """Return the text that the others begin with, which is true of all; otherwise the first one."""
    least = min(texts, key=len)
    return least if all(text.startswith(least) for text in texts) else texts[0]

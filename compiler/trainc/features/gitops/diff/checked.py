"""What `check` with the same base finds of the working tree, for a comparison to agree with it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Set as AbstractSet
from contextlib import suppress
from functools import cached_property
from typing import Any

from trainc.api.arguments import Arguments, Streams, UsageError
from trainc.api.documents import files, opening
from trainc.api.findings import CompileError, Diagnostic, sort_diagnostics
from trainc.api.jobs import Session
from trainc.api.output import name_hash
from trainc.api.records import pattern, replace
from trainc.api.settings import merge_diagnostics
from trainc.features.gitops.diff.sides import ReadSide, sides_of, with_arguments

_HASH = pattern(rf"-[{name_hash.ALPHABET}]{{{name_hash.LENGTH}}}\b")
_WHOLE = "all environments"
# What a comparison says in a section of its own.
_SAID = frozenset(("KeptAsBuilt", "SettingsLoosened", "SkippedDocument", "SweepSize", "OverBudget"))


def base_of_tree(arguments: Arguments) -> str | None:
    """The revision that the whole working tree is compared with; None if something else is compared."""
    first, last = sides_of(arguments)
    return first.revision if (last.revision, last.path) == (None, None) else None


class Checked:
    """One check of all environments; it finds nothing if the working tree is not what a comparison ends with.

    `sessions` have what it compiled, by environment, and before that what others have.
    """

    def __init__(self, arguments: Arguments, streams: Streams, sessions: Mapping[str, Session] | None = None) -> None:
        self._base = base_of_tree(arguments)
        self._arguments = with_arguments(
            arguments, paths=[], base=self._base, allow_empty=True, verbose=False, output=None
        )
        self._streams = streams
        self.sessions = dict(sessions or {})
        self._found = None if self._base is None else self._examine()

    def _examine(self) -> Any:
        from trainc.api.kept import kept

        with suppress(CompileError, UsageError):  # Settings that cannot be read, which is what the comparison says.
            found = kept.examine(self._arguments, self._streams, self.sessions)
            # Without objects of a cluster, only what the check refused is another result for a comparison.
            alike = {
                name: replace(of_env, cluster=None) for name, of_env in self.sessions.items() if not of_env.cluster
            }
            self.sessions |= alike
            return found
        return None

    def in_its_words(self, diagnostics: list[Diagnostic], environment: str) -> list[Diagnostic]:
        """Return errors of the working tree as the check has them: each once, at its cause."""

        def is_mine(d: Diagnostic) -> bool:
            return d.severity == "error" and (d.source is None or d.source.origin != "git")

        codes = {d.code for d in diagnostics if is_mine(d)}
        if not codes or self._found is None:
            return diagnostics
        errors = [d for d in self._found.by_environment.get(environment, ()) if d.severity == "error"]
        found = [d for d in errors if d.code in codes] or errors
        others = [d for d in diagnostics if not is_mine(d) and d.code != "KeptCannotRebuild"]
        return sort_diagnostics([*others, *found]) if found else diagnostics

    def new(self, sides: Mapping[str, tuple[ReadSide, ReadSide]]) -> list[Diagnostic]:
        """Return what the change makes new, errors first; of comparisons of something else, what compiling them gives."""
        if self._found is None:
            found = {name: [*_for_reviewers(new_diagnostics(*pair))] for name, pair in sides.items()}
            return _in_order(merge_diagnostics(found))
        found = {**self._found.by_environment, _WHOLE: self._found.whole}
        known = {_identity(d) for before, _ in sides.values() for d in before.manifest_set.diagnostics}

        def lacking(known: AbstractSet[object]) -> dict[str, list[Diagnostic]]:
            return {
                name: [d for d in _for_reviewers(some) if _identity(d) not in known] for name, some in found.items()
            }

        new = lacking(known)
        if any(new.values()):
            new = lacking(known | self._at_base)
            named = {d.source.file for some in new.values() for d in some if d.source}
            others = {file for file in named if _is_unread(file) and os.path.isfile(file)}
            same = others - self._found.bases.changed_among(others) if others else others
            new = {name: [d for d in some if not (d.source and d.source.file in same)] for name, some in new.items()}
        whole = new.pop(_WHOLE)
        return _in_order([*whole, *merge_diagnostics(new)])

    def to_build(self, causes: Iterable[Any]) -> list[Any]:
        """Return why jobs are kept as built, without what is to be corrected first."""
        found = self._found
        return [cause for cause in causes if found is None or not found.is_wrong(next(iter(cause.lines), None))]

    def stale(self) -> list[Diagnostic]:
        """Return the rendered files by which a merge would do something else than a comparison of sources says."""
        from trainc.api.kept import kept

        if self._found is None:
            return []
        runs = {name: one.checking for name, one in self._found.checks.items()}
        found = {name: [*kept.moved_apart(run)] for name, run in runs.items()}
        named = {d.source for some in found.values() for d in some}
        outputs = [(keeping.folder, name, keeping) for name, run in runs.items() if (keeping := run.keeping)]
        with suppress(CompileError):  # A base that cannot be read, which is what the comparison says.
            unproven = kept.prove_outputs(outputs, self._found.bases, covers_all=False)
            for folder, name, _ in outputs:
                found[name] += [d for d in unproven.get(folder, ()) if d.severity == "error" and d.source not in named]
        return merge_diagnostics(found)

    def refuses(self, new: Iterable[Diagnostic]) -> bool:
        """Return whether some of what is new refuses kept jobs, whose sources then cannot be compared."""
        checks = self._found.checks.values() if self._found is not None else ()
        settled = {(d.code, d.source) for check in checks for d in check.checking.settled if d.severity == "error"}
        return any((d.code, d.source) in settled for d in new)

    @cached_property
    def _at_base(self) -> set[object]:
        """What a check of the base finds there by itself."""
        from trainc.api.kept import kept

        with suppress(CompileError, UsageError), kept.at_revision(self._arguments) as arguments:
            found = kept.examine(arguments, self._streams, {})
            return {_identity(d) for some in (*found.by_environment.values(), found.whole) for d in some}
        return set()


def new_diagnostics(before: ReadSide, after: ReadSide) -> list[Diagnostic]:
    """Diagnostics of the side after that the side before does not have."""
    earlier = {(d.code, d.object, d.path, d.message) for d in before.manifest_set.diagnostics}
    return [d for d in after.manifest_set.diagnostics if (d.code, d.object, d.path, d.message) not in earlier]


def _for_reviewers(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield what reviewers are told: errors and warnings, and infos that are about no single object."""
    for d in found:
        about_whole = d.severity == "info" and d.object in ("", opening.CONFIGURATION_FILE)
        if d.code not in _SAID and (d.severity in ("error", "warning") or about_whole):
            yield d


def _identity(d: Diagnostic) -> object:
    """What makes a finding the same on both sides: not its line, nor the hash in a name."""
    return d.code, d.severity, _HASH.sub("", d.object), d.path, _HASH.sub("", d.message)


def _is_unread(file: str) -> bool:
    """Return whether a copy of a revision lacks a file, because it is no input."""
    return not file.endswith(files.READ_SUFFIXES)


def _in_order(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    return sorted(found, key=lambda d: ("error", "warning", "info").index(d.severity))

"""What `check` with the same base finds of the working tree, for a comparison to agree with it."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

from trainc.api.arguments import Arguments
from trainc.api.findings import CompileError, Diagnostic, sort_diagnostics
from trainc.api.records import replace
from trainc.features.gitops.diff.sides import ReadSide, sides_of, with_arguments


def base_of_tree(arguments: Arguments) -> str | None:
    """The revision that the whole working tree is compared with; None if something else is compared."""
    first, last = sides_of(arguments)
    return first.revision if (last.revision, last.path) == (None, None) else None


class Checked:
    """One check, made when something first needs it; none if the working tree is not what a comparison ends with."""

    def __init__(self, arguments: Arguments) -> None:
        self._base = base_of_tree(arguments)
        self._arguments = with_arguments(arguments, paths=[], base=self._base)

    @cached_property
    def _run(self) -> Any:
        from trainc.api.kept import kept

        return kept.judged(self._arguments)

    def judged(self, after: ReadSide) -> ReadSide:
        """Return the working tree with what the check finds of the jobs that are kept."""
        keeping = after.manifest_set.keeping
        if keeping is None or self._base is None or not (keeping[1].waiting or keeping[1].refused):
            return after
        diagnostics = [d for d in after.manifest_set.diagnostics if d.code != "KeptCannotRebuild"]
        known = {(d.code, d.source, d.message) for d in diagnostics}
        diagnostics += [d for d in self._run.settled if (d.code, d.source, d.message) not in known]
        return replace(after, manifest_set=replace(after.manifest_set, diagnostics=diagnostics))

    def in_its_words(self, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
        """Return errors of the working tree as the check has them: each once, at its cause."""

        def is_mine(d: Diagnostic) -> bool:
            return d.severity == "error" and (d.source is None or d.source.origin != "git")

        codes = {d.code for d in diagnostics if is_mine(d)}
        if not codes or self._base is None:
            return diagnostics
        errors: list[Diagnostic] = []
        with suppress(CompileError):  # Settings that cannot be read, which is what the errors say.
            errors = [d for d in self._run.diagnostics if d.severity == "error"]
        found = [d for d in errors if d.code in codes] or errors
        others = [d for d in diagnostics if not is_mine(d) and d.code != "KeptCannotRebuild"]
        return sort_diagnostics([*others, *found]) if found else diagnostics

    def of_dump(self, after: ReadSide) -> list[Diagnostic]:
        """Return what the check says of the dump of the working tree."""
        if after.configuration.live is None or self._base is None:
            return []
        from trainc.api.kept import kept

        return [d for d in kept.of_dump(self._arguments) if d not in after.manifest_set.diagnostics]


def new_diagnostics(before: ReadSide, after: ReadSide) -> list[Diagnostic]:
    """Diagnostics of the side after that the side before does not have."""
    earlier = {(d.code, d.object, d.path, d.message) for d in before.manifest_set.diagnostics}
    return [d for d in after.manifest_set.diagnostics if (d.code, d.object, d.path, d.message) not in earlier]

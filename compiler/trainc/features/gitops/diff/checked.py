"""What `check` with the same base finds of the working tree, for a comparison to agree with it."""

from __future__ import annotations

from contextlib import suppress

from trainc.api.arguments import Arguments
from trainc.api.findings import CompileError, Diagnostic, sort_diagnostics
from trainc.api.records import replace
from trainc.features.gitops.diff.sides import ReadSide, sides_of, with_arguments


def judged(after: ReadSide, arguments: Arguments) -> ReadSide:
    """Return the working tree with what `check` with the same base finds of the jobs that are kept."""
    first, last = sides_of(arguments)
    keeping = after.manifest_set.keeping
    is_of_tree = first.revision is not None and (last.revision, last.path) == (None, None)
    if keeping is None or not is_of_tree or not (keeping[1].waiting or keeping[1].refused):
        return after
    from trainc.api.kept import kept

    diagnostics = [d for d in after.manifest_set.diagnostics if d.code != "KeptCannotRebuild"]
    known = {(d.code, d.source, d.message) for d in diagnostics}
    found = kept.judged(with_arguments(arguments, paths=[], base=first.revision)).settled
    diagnostics += [d for d in found if (d.code, d.source, d.message) not in known]
    return replace(after, manifest_set=replace(after.manifest_set, diagnostics=diagnostics))


def as_checked(diagnostics: list[Diagnostic], arguments: Arguments) -> list[Diagnostic]:
    """Return errors of the working tree as `check` with the same base has them: each once, at its cause."""
    first, last = sides_of(arguments)

    def is_mine(d: Diagnostic) -> bool:
        return d.severity == "error" and (d.source is None or d.source.origin != "git")

    codes = {d.code for d in diagnostics if is_mine(d)}
    if not codes or first.revision is None or (last.revision, last.path) != (None, None):
        return diagnostics
    from trainc.api.kept import kept

    checked: list[Diagnostic] = []
    with suppress(CompileError):  # Settings that cannot be read, which is what the errors say.
        checked = kept.judged(with_arguments(arguments, paths=[], base=first.revision)).diagnostics
    errors = [d for d in checked if d.severity == "error"]
    found = [d for d in errors if d.code in codes] or errors
    others = [d for d in diagnostics if not is_mine(d) and d.code != "KeptCannotRebuild"]
    return sort_diagnostics([*others, *found]) if found else diagnostics


def of_dump(after: ReadSide, arguments: Arguments) -> list[Diagnostic]:
    """Return what `check` with the same base says of the dump of the working tree."""
    first, last = sides_of(arguments)
    if after.configuration.live is None or first.revision is None or (last.revision, last.path) != (None, None):
        return []
    from trainc.api.kept import kept

    found = kept.of_dump(with_arguments(arguments, paths=[], base=first.revision))
    return [d for d in found if d not in after.manifest_set.diagnostics]


def new_diagnostics(before: ReadSide, after: ReadSide) -> list[Diagnostic]:
    """Diagnostics of the side after that the side before does not have."""
    earlier = {(d.code, d.object, d.path, d.message) for d in before.manifest_set.diagnostics}
    return [d for d in after.manifest_set.diagnostics if (d.code, d.object, d.path, d.message) not in earlier]

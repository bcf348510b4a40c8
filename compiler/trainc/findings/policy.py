"""User settings for diagnostics: `rules:` in trainc.yaml and overlays, and `# trainc: ignore[Code] reason` comments.

Ignored diagnostics are kept with the severity `ignored` until they are sorted for a report, so that a check can find
ignore comments that no longer match anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from trainc.findings import Diagnostic, Finding, Path, Source
from trainc.findings.codes import codes, codes_of_plugins, current_code, stage_of
from trainc.findings.text import did_you_mean
from trainc.startup.records import dataclass, field, replace
from trainc.startup.typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from re import Pattern

Level: TypeAlias = Literal["error", "warning", "info", "ignore"]
LEVELS: tuple[Level, ...] = ("error", "warning", "info", "ignore")
_STRICTEST = (*LEVELS, "ignored")
# Applies the user's settings. The second argument is True for findings that block compilation, which stay errors.
Rules: TypeAlias = Callable[[Iterable[Diagnostic], bool], list[Diagnostic]]

_STAYS = "this error cannot be ignored: nothing can be compiled until it is fixed"
_NEEDS_REASON = "an error is ignored only with a reason: "
# What the administrators of a cluster or a budget decide, and the author of a job under review must not.
GUARDED = frozenset(
    "BudgetExceeded DeadlineMissing ExceedsQuota ForeignNamespace ImageNotPinned OverBudget PolicyDenied PolicyNotEvaluated"
    " QuotaNeedsResources RegistryNotAllowed".split()
)
_GUARDED_STAYS = (
    "only `rules:` in trainc.yaml can ignore this, with a reason: `{}: {{level: ignore, reason: why it is fine}}`"
)


def keep_severities(diagnostics: Iterable[Diagnostic], fixed: bool = False) -> list[Diagnostic]:
    """Return the diagnostics unchanged; used if there are no rules."""
    return list(diagnostics)


@dataclass(frozen=True, slots=True)
class Rule:
    """The level for a code, either everywhere or in the files that match `glob`.

    Globs are relative to the directory of the file that contains the rule; `here` is the current directory relative to
    it.
    """

    code: str
    level: Level
    reason: str = ""
    glob: str = ""
    here: str = ""

    def concerns(self, diagnostic: Diagnostic) -> bool:
        """Return whether the rule applies to a diagnostic with its code."""
        if not self.glob:
            return True
        if diagnostic.source is None:
            return False
        path = os.path.normpath(os.path.join(self.here, os.path.relpath(diagnostic.source.file)))
        return matches(path.replace(os.sep, "/"), self.glob)


@dataclass(frozen=True, slots=True)
class Ignore:
    """One code of an ignore comment; `source` is the position of the comment, `line` the line it applies to."""

    code: str
    reason: str
    line: int
    source: Source


@dataclass(frozen=True, slots=True)
class Policy:
    """A `Rules` callable: the last matching rule wins, and ignore comments take precedence over rules.

    `comment` finds the comment that ignores a code on a line of a file. What administrators decide is judged by `at_base`
    too, the rules before a change under review, unless that is None; the stricter of the two counts.
    """

    rules: tuple[Rule, ...] = ()
    comment: Callable[[str, str, int], Ignore | None] = field(default=lambda *_: None, repr=False)
    at_base: tuple[Rule, ...] | None = None
    # The rules of each code, the last one first.
    _by_code: dict[str, list[Rule]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def raises(self) -> bool:
        """Return whether a rule makes errors of other diagnostics."""
        return any(rule.level == "error" for rule in self.rules)

    def __call__(self, diagnostics: Iterable[Diagnostic], fixed: bool = False) -> list[Diagnostic]:
        """Return the diagnostics with their new severities. Idempotent."""
        return [self._apply(diagnostic, fixed=fixed) for diagnostic in diagnostics]

    def _apply(self, diagnostic: Diagnostic, *, fixed: bool) -> Diagnostic:
        if diagnostic.severity == "ignored":
            return diagnostic
        code, source = diagnostic.code, diagnostic.source
        ignore = self.comment(source.file, code, source.line) if source is not None else None
        if ignore is not None and code in GUARDED:
            diagnostic, ignore = _with_hint(diagnostic, _GUARDED_STAYS.format(code)), None
        level: Level = "ignore"
        if ignore is not None:
            source, reason, example = ignore.source, ignore.reason, f"`# trainc: ignore[{code}] why it is fine`"
        elif (rule := self._rule(diagnostic)) is not None:
            level, reason = rule.level, rule.reason
            example = f"`{code}: {{level: ignore, reason: why it is fine}}`"
        else:
            return diagnostic
        is_error = diagnostic.severity == "error"
        if is_error and level != "error" and (fixed or _hides_missing_output(code)):
            return _with_hint(diagnostic, _STAYS)
        if level != "ignore":
            return replace(diagnostic, severity=level)
        if is_error and not reason:
            return _with_hint(diagnostic, _NEEDS_REASON + example)
        return replace(diagnostic, source=source, severity="ignored")

    def _rule(self, diagnostic: Diagnostic) -> Rule | None:
        code = diagnostic.code
        if self.rules and not self._by_code:
            for configured in reversed(self.rules):
                self._by_code.setdefault(configured.code, []).append(configured)
        now = next((rule for rule in self._by_code.get(code, ()) if rule.concerns(diagnostic)), None)
        if code not in GUARDED or self.at_base is None:
            return now
        at_base = (rule for rule in reversed(self.at_base) if rule.code == code)
        before = next((rule for rule in at_base if rule.concerns(diagnostic)), None)
        # The stricter one; without a rule, the diagnostic keeps its severity.
        return min(now, before, key=lambda rule: _STRICTEST.index(rule.level if rule else diagnostic.severity))


def _hides_missing_output(code: str) -> bool:
    """Return whether the error means that the output lacks something, although it would look complete."""
    return stage_of(code) == "emit"


def _with_hint(diagnostic: Diagnostic, hint: str) -> Diagnostic:
    if hint in diagnostic.hint:
        return diagnostic
    more = f" ({hint})" if diagnostic.hint.endswith("?") else f"; {hint}"
    return replace(diagnostic, hint=diagnostic.hint + more if diagnostic.hint else hint)


# The schema of `rules:` in trainc.yaml and overlays.

_LEVEL: Mapping[str, Any] = {"type": "string", "enum": list(LEVELS)}
_FIELDS: Mapping[str, Any] = {"level": _LEVEL, "reason": {"type": "string"}}
_RULE: Mapping[str, Any] = {
    "anyOf": [_LEVEL, {"type": "object", "properties": _FIELDS, "required": ["level"], "additionalProperties": False}],
    "errorMessage": f"write {', '.join(LEVELS[:-1])} or {LEVELS[-1]}",
}
RULES_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "patternProperties": {
        r"[/*.]": {
            "type": "object",
            "additionalProperties": _RULE,
            "errorMessage": "write the codes for these files under it: {Code: info}",
        }
    },
    "additionalProperties": _RULE,
}


def read_rules(
    value: Mapping[str, Any], folder: str, code: str, *, guarded: bool = False
) -> tuple[list[Rule], list[Finding]]:
    """Return the rules in a `rules:` mapping that fits the schema, and its problems as findings with `code`.

    Globs are relative to `folder`. Rules for specific paths come after general ones, so that they take precedence. Rules
    for what administrators decide are read only with `guarded`.
    """
    rules: list[Rule] = []
    problems: list[Finding] = []
    here = os.path.relpath(os.curdir, folder or os.curdir)
    by_path = {key: entries for key, entries in value.items() if not {*"/*."}.isdisjoint(key)}
    everywhere = {key: entry for key, entry in value.items() if key not in by_path}
    for glob, entries in (("", everywhere), *by_path.items()):
        for key, entry in entries.items():
            path: Path = ("rules", glob, key) if glob else ("rules", key)
            name = current_code(key)
            if hint := unknown_code(name):
                problems.append(Finding(code, "error", f"there is no diagnostic {name}", hint, path))
                continue
            level, reason = (entry["level"], entry.get("reason", "")) if isinstance(entry, Mapping) else (entry, "")
            if name in GUARDED and level != "error" and not (guarded and reason.strip()):
                example = f"`{name}: {{level: {level}, reason: why it is fine}}`"
                hint = f"write {example}" if guarded else f"move the rule to `rules:` in trainc.yaml, as {example}"
                message = f"{name} can be changed only in trainc.yaml, and only with a reason"
                problems.append(Finding(code, "error", message, hint, path))
                continue
            rules.append(Rule(name, level, reason.strip(), glob, here if glob else ""))
    return rules, problems


def unknown_code(code: str) -> str:
    """Return a hint for an unknown code, or an empty string if `code` exists."""
    if code in codes() or code in codes_of_plugins():
        return ""
    return did_you_mean(code, [*codes(), *codes_of_plugins()]) or "`trainc rule --all` lists the codes"


# Path globs with .gitignore syntax.

# On Linux; a glob that is longer matches nothing.
_LONGEST_PATH = 4_096


def matches(path: str, glob: str) -> bool:
    """Return whether `glob` matches `path` or one of its parent directories.

    `path` is relative and uses forward slashes. `*` and `?` do not match a slash; `**` matches any number of
    directories. A glob without a slash matches at any depth (`*.tpl.yaml`, `charts`); one with a slash is anchored at
    the root (`jobs/legacy/**`).
    """
    return len(glob) <= _LONGEST_PATH and _compile(glob).match(f"{path}/") is not None


@cache
def _compile(glob: str) -> Pattern[str]:
    """The start of a path that matches, with a slash at its end.

    What follows a `*` or `**` is taken where it occurs first, and for good, so that no glob backtracks for ever.
    """
    import re  # Most commands have no globs.

    parts = glob.removeprefix("./").strip("/").split("/")
    anchored = len(parts) > 1 or glob.startswith(("/", "./"))
    fragments: list[str] = ["" if anchored else "(?>(?:[^/]*/)*?"]
    for part in parts:
        if part == "**":
            fragments.append("(?>(?:[^/]*/)*?")
        else:
            fragments[-1] += f"{_name(part)}/"
    text = fragments[0] + ("" if anchored else ")") + "".join(f"{fragment})" for fragment in fragments[1:])
    return re.compile(text + ("[^/]" if parts[-1] == "**" else ""), re.DOTALL)


def _name(part: str) -> str:
    """Translate one path segment to a regular expression."""
    from re import escape, split

    first, *pieces = (escape(piece).replace(r"\?", "[^/]") for piece in split(r"\*+", part))
    inner, last = pieces[:-1], pieces[-1:]
    return first + "".join(f"(?>[^/]*?{piece})" for piece in inner) + "".join(f"[^/]*{piece}" for piece in last)

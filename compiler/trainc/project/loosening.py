"""What a change of trainc.yaml makes less strict, for reviewers: a pull request must not quietly switch off its checks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from trainc.findings import Severity
from trainc.findings.codes import codes
from trainc.findings.policy import Level, Rule
from trainc.project.boundaries import is_of
from trainc.project.configuration import Configuration, Images


def loosened(before: Configuration, after: Configuration) -> Iterator[str]:
    """Yield a sentence for each setting that lets more pass after the change than before."""
    if before.file is None:
        return
    if after.file is None:
        yield "trainc.yaml is gone."
        return
    yield from _rules(before.rules, after.rules)
    yield from _added("exclude", before.exclude.globs, after.exclude.globs, "Files that match {} are no longer read")
    yield from _added("policies", after.policies, before.policies, "Policies in {} are no longer evaluated")
    yield from _added(
        "adopted", before.adopted, after.adopted, "Rendered files that match {} may be new without being compiled"
    )
    yield from _namespaces(before.namespaces, after.namespaces)
    yield from _images(before.images, after.images)
    if before.cluster and not after.cluster:
        yield f"`cluster` is gone: jobs are no longer checked against {before.cluster}."
    if before.output and before.output != after.output:
        yield f"`output` was {before.output}: what is in that folder is no longer checked."


def _added(key: str, before: Collection[str], after: Collection[str], sentence: str) -> Iterator[str]:
    for value in after:
        if value not in before:
            yield f"`{key}`: {sentence.format(value)}."


def _namespaces(before: Mapping[str, Collection[str]], after: Mapping[str, Collection[str]]) -> Iterator[str]:
    for glob in before:
        if glob not in after:
            yield f"`namespaces`: {glob} is gone."
    for glob, names in after.items() if before else ():
        if more := [name for name in names if name not in before.get(glob, ())]:
            yield f"`namespaces`: {glob} may use {', '.join(more)}."


def _images(before: Images, after: Images) -> Iterator[str]:
    if before.pinned and not after.pinned:
        yield "`images` need no longer be pinned."
    if before.registries and not after.registries:
        yield "`images` may come from every registry."
    elif before.registries and (more := [one for one in after.registries if not is_of(one, before.registries)]):
        yield f"`images` may come from {', '.join(more)}."


def _rules(before: Collection[Rule], after: Collection[Rule]) -> Iterator[str]:
    """Rules by which a code counts less than it did; of several for the same files, the last one wins."""
    for code, glob in dict.fromkeys((rule.code, rule.glob) for rule in (*after, *before)):
        old, new = (_RANKS[_level(rules, code, glob)] for rules in (before, after))
        if new > old:
            where = f" in {glob}" if glob else ""
            yield f"`rules`: {code} is {_WORDS[new]}{where}; it was {_WORDS[old]}."


def _level(rules: Collection[Rule], code: str, glob: str) -> Level | Severity:
    """The level of a code in files of a glob: that of the last rule for them, or for all files."""
    levels = [rule.level for rule in rules if rule.code == code and rule.glob in (glob, "")]
    return levels[-1] if levels else known.severity if (known := codes().get(code)) else "error"


# Severities include that of ignored findings.
_RANKS = {"error": 0, "warning": 1, "info": 2, "ignore": 3, "ignored": 3}
_WORDS = ("an error", "a warning", "an info", "ignored")

"""Assertions for tests of policies: what a cluster with these policies would say to these objects."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Protocol, TypeAlias

from trainc.api.documents import files
from trainc.api.findings import Diagnostic, Finding, has_errors
from trainc.api.kube import Json
from trainc.api.settings import Options
from trainc.features.cluster.policies.reading import judge_of

# Paths, YAML text (of several lines) or documents, one or several.
Policies: TypeAlias = (
    "str | os.PathLike[str] | Mapping[str, Any] | Sequence[str | os.PathLike[str] | Mapping[str, Any]]"
)


class Compiled(Protocol):
    """A `trainc.Compilation`, or another object with manifests."""

    @property
    def manifests(self) -> Sequence[Json]:
        """The manifests."""


Objects: TypeAlias = "Compiled | Json | Sequence[Json]"


def assert_denied(
    objects: Objects, policies: Policies, *, by: str | None = None, kubernetes: str | None = None
) -> None:
    """Assert that a cluster with these policies would deny one of the objects, or a Job or Pod that it becomes.

    `by` is the name of the policy, or "PodSecurity". `policies` may hold Namespaces and parameters as well.
    """
    __tracebackhide__ = True  # pytest omits this frame from its report
    findings = _judge(objects, policies, kubernetes)
    denied = [(label, finding) for label, finding in findings if finding.code == "PolicyDenied"]
    starts = (f"policy {by}: ", f'violates {by} "')
    if not any(by is None or finding.message.startswith(starts) for _, finding in denied):
        who = "no policy" if by is None else by
        answers = "".join(f"\n  {label}: {finding.message}" for label, finding in findings) or " nothing"
        raise AssertionError(f"{who} denies these objects; the policies say:{answers}")


def assert_allowed(objects: Objects, policies: Policies, *, kubernetes: str | None = None) -> None:
    """Assert that a cluster with these policies would deny none of the objects, nor the Jobs and Pods that they become.

    It fails as well for what trainc cannot evaluate, because then nobody knows.
    """
    __tracebackhide__ = True
    findings = _judge(objects, policies, kubernetes)
    refusals = ("PolicyDenied", "PolicyNotEvaluated")
    failed = [f"\n  {label}: {finding.message}" for label, finding in findings if finding.code in refusals]
    if failed:
        raise AssertionError(f"the objects are not allowed:{''.join(failed)}")


def _judge(objects: Objects, policies: Policies, kubernetes: str | None) -> list[tuple[str, Finding]]:
    __tracebackhide__ = True
    entries = [policies] if isinstance(policies, str | os.PathLike | Mapping) else list(policies)
    paths = [entry for entry in entries if not isinstance(entry, Mapping) and "\n" not in os.fspath(entry)]
    texts = [json.dumps(e) if isinstance(e, Mapping) else os.fspath(e) for e in entries if e not in paths]
    options = Options(kubernetes=kubernetes)
    stdin = BytesIO("\n---\n".join(texts).encode())
    documents, problems = files.read_paths(
        [*paths, *([files.STDIN] if texts else [])], options.limits, stdin=stdin, everything=True
    )
    judge, more = judge_of(documents, (), options)
    unusable: list[Diagnostic] = [*problems, *more]
    if has_errors(unusable):
        raise AssertionError("the policies cannot be used:" + "".join(f"\n  {diagnostic}" for diagnostic in unusable))
    manifests: Any = getattr(objects, "manifests", objects)
    findings = [] if judge is None else judge([manifests] if isinstance(manifests, Mapping) else manifests)
    skipped = [
        (diagnostic.object, Finding(diagnostic.code, diagnostic.severity, diagnostic.message))
        for diagnostic in more
        if diagnostic.code == "PolicyNotEvaluated" and diagnostic.severity == "warning"
    ]
    return [*findings, *skipped]

"""Evaluate the cluster's own ValidatingAdmissionPolicies against the compiled objects of a job.

docs/policies.md lists what is supported. The extra `policy` provides regular expressions that run in linear time
(google-re2).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Protocol, TypeAlias

from trainc.api.documents import Document, files
from trainc.api.findings import Diagnostic, Finding, first_of, has_errors
from trainc.api.kube import Json, releases
from trainc.api.settings import Options
from trainc.features.cluster.policies.judging import Judge
from trainc.features.cluster.policies.loading import load, of_no_namespace
from trainc.features.cluster.policies.pod_security import misspelt


def read_policies(
    folders: Sequence[str], cluster: Sequence[Document] = (), options: Options = Options()
) -> tuple[Judge | None, list[Diagnostic]]:
    """Read the policies in `folders`; return a judge (None if there is nothing to evaluate) and the problems found.

    `cluster` is the snapshot of a cluster. Nothing of the input has a say in what is allowed.
    """
    policies, diagnostics = files.read_paths(folders, options.limits, everything=True) if folders else ([], [])
    judge, more = judge_of(policies, cluster, options)
    if folders and not policies and not diagnostics:
        message = f"there is nothing in {first_of(folders)}, so no policy is evaluated"
        hint = "put the policies of the cluster there, or remove `policies`"
        more = [Diagnostic("PolicyNotEvaluated", "warning", message, hint, "trainc.yaml", "policies")]
    # A file that cannot be read may hold what a binding names.
    unread = has_errors(diagnostics)
    return judge, [*diagnostics, *(d for d in more if not (unread and d.path == "spec.policyName"))]


def judge_of(
    policies: Sequence[Document], cluster: Sequence[Document], options: Options
) -> tuple[Judge | None, list[Diagnostic]]:
    """Like `read_policies`, for policies that have been read."""
    minor = int((options.kubernetes or releases.DEFAULT_KUBERNETES).partition(".")[2])
    try:
        policy_set = load(policies, minor)
    except ModuleNotFoundError as missing:
        if missing.name != "re2":
            raise
        message = "regular expressions in `policies:` of trainc.yaml need the extra `policy`"
        hint = "install google-re2 (pip install google-re2); it evaluates them as the API server does"
        return None, [Diagnostic("PolicyNeedsExtra", "error", message, hint)]
    judge = Judge.of(policy_set, minor, cluster)
    wrong = (d.diagnose(finding) for d in cluster if d.data.get("kind") == "Namespace" for finding in misspelt(d.data))
    spaces = [*policy_set.other_documents, *cluster]
    unmet = of_no_namespace(policy_set.bindings, spaces)
    return (None if judge.is_idle else judge), [*policy_set.diagnostics, *unmet, *wrong]


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
    paths, texts = list[str](), list[str]()
    for entry in entries:
        text = f"{json.dumps(entry)}\n" if isinstance(entry, Mapping) else os.fspath(entry)
        (texts if "\n" in text else paths).append(text)
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

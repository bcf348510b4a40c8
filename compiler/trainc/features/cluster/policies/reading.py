"""Evaluate the cluster's own ValidatingAdmissionPolicies against the compiled objects of a job.

docs/policies.md lists what is supported. The extra `policy` provides regular expressions that run in linear time
(google-re2).
"""

from __future__ import annotations

from collections.abc import Sequence

from trainc.api.documents import Document, files
from trainc.api.findings import Diagnostic
from trainc.api.kube import releases
from trainc.api.settings import Options
from trainc.features.cluster.policies.judging import Judge
from trainc.features.cluster.policies.loading import load


def read_policies(
    folders: Sequence[str], cluster: Sequence[Document] = (), options: Options = Options()
) -> tuple[Judge | None, list[Diagnostic]]:
    """Read the policies in `folders`; return a judge (None if there is nothing to evaluate) and the problems found.

    `cluster` is the snapshot of a cluster. Nothing of the input has a say in what is allowed.
    """
    policies, diagnostics = files.read_paths(folders, options.limits, everything=True) if folders else ([], [])
    judge, more = judge_of(policies, cluster, options)
    return judge, [*diagnostics, *more]


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
    return (None if judge.is_idle else judge), list(policy_set.diagnostics)

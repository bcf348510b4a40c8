"""The TTL trap: a finished JobSet that deletes itself is missing from the cluster, and is applied and run again."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diagnostics import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.options import Options

_FIELD = "ttlSecondsAfterFinished"
_HOOK = "argocd.argoproj.io/hook"


def ttl_rerun(job: TrainJob, info: Info, options: Options) -> Iterator[Finding]:
    """A warning where a GitOps tool watches the object. A hook of Argo CD is no part of what it keeps in sync."""
    seconds = info.template.get(_FIELD)
    if seconds is None or options.delivery == "kubectl" or _HOOK in {**info.annotations, **job.annotations}:
        return
    yield Finding(
        "TTLRerun",
        "warning",
        f"{seconds} s after it has finished the JobSet is deleted; the GitOps tool finds it missing and runs it again",
        f"drop {_FIELD} from the runtime and remove finished jobs from git instead",
        ("spec", "template", "spec", _FIELD),
        about="runtime",
    )

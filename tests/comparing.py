"""JobSets as trainc compiles them, bent in one place, and the comparison of two."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from builders import compiled, container, job, one, runtime, trainjob

from trainc.admission.updates import JobSetRules
from trainc.features.gitops.diff.comparison import compare
from trainc.features.gitops.diff.delivery import ARGOCD, DELIVERY_METHODS, DeliveryMethod
from trainc.features.gitops.diff.markdown import LONGEST_COMMENT, comment
from trainc.features.gitops.diff.model import Diff, Side

Json = dict[str, Any]
Edit = Callable[[Json], Any]

RUNTIME = runtime(
    job("prepare", None, [container("prepare")]),
    job(dependsOn=[{"name": "prepare", "status": "Complete"}]),
    policy={"torch": {}},
    gang={"coscheduling": {}},
)
RESOURCES = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": 4}}
TRAINER = {"numNodes": 2, "env": [{"name": "LEVEL", "value": "1"}, {"name": "MODE", "value": "a"}]}


def manifests(name: str = "llm", release: str = "2.3", **trainer: Any) -> list[Json]:
    """ConfigMaps, PodGroup and JobSet of a torch job with a step before it."""
    document = trainjob({**TRAINER, "resourcesPerNode": RESOURCES, **trainer}, name=name)
    return compiled(document, RUNTIME, release=release).manifests


def jobset(release: str = "2.3") -> Json:
    result = compiled(trainjob({**TRAINER, "resourcesPerNode": RESOURCES}), RUNTIME, release=release)
    return one(result, "JobSet")


def bent(manifest: Json, edit: Edit) -> Json:
    """A copy of `manifest` that `edit` has changed in place."""
    changed = copy.deepcopy(manifest)
    edit(changed)
    return changed


def pod_template(manifest: Json, index: int = 1) -> Json:
    template: Json = manifest["spec"]["replicatedJobs"][index]["template"]["spec"]["template"]
    return template


def trainer(manifest: Json) -> Json:
    """The container that trains."""
    found: Json = pod_template(manifest)["spec"]["containers"][0]
    return found


def diff_of(
    before: list[Json],
    after: list[Json],
    *,
    release: str = "2.3",
    way: DeliveryMethod = ARGOCD,
    everything: bool = True,
) -> Diff:
    return compare(
        Side("before", before),
        Side("after", after),
        JobSetRules(release),
        [way, *(DELIVERY_METHODS if everything else ())],
        release,
    )


def diff_markdown(diff: Diff, *, most: int = LONGEST_COMMENT) -> str:
    """The comment about one comparison."""
    return comment({"": diff}, {}, most=most)

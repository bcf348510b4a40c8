"""Claims of devices (DRA) in TrainJobs and their patches: the feature gate, and claims that the pods do not have.

Source: kubeflow/trainer#4027 at 3c8b998a, which Trainer 2.4's guide describes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.findings import Finding, Path
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.kube.names import CLAIMS_GATE
from trainc.schema.rules import unknown_claims


def behind_gate(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error for each field of the TrainJob that needs the gate, if it is off."""
    if CLAIMS_GATE not in info.release.feature_gates or CLAIMS_GATE in info.feature_gates:
        return
    message = f"the feature gate {CLAIMS_GATE} of Trainer's controller is off by default"
    hint = f"if it is on in the cluster, write featureGates: [{CLAIMS_GATE}] in trainc.yaml; if not, put the claims into the runtime"
    for path in _claiming(job):
        yield Finding("FeatureGateOff", "error", message, hint, path)


def _claiming(job: TrainJob) -> Iterator[Path]:
    """Yield the fields of the TrainJob and of its patches that have claims."""
    if job.trainer.resource_claims:
        yield "spec", "trainer", "resourceClaimsPerNode"
    for patched in (patched for patch in job.patches for patched in patch.jobs):
        if patched.pod_spec.get("resourceClaims"):
            yield *patched.pod_path, "resourceClaims"
        for kind in ("containers", "initContainers"):
            for index, container in enumerate(patched.pod_spec.get(kind, ())):
                if (container.get("resources") or {}).get("claims"):
                    yield *patched.pod_path, kind, index, "resources", "claims"


def dangling(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield an error for each claim of a container that its pod does not have, at the patches that can have caused it.

    Under `gitops`, the checks of pods find them in what is built.
    """
    if info.gitops or not info.release.claims_merge:
        return
    for pod_set in info.pod_sets:
        pods: Mapping[str, Any] = {
            **info.pod_spec(pod_set.name),
            **pod_set.pod_fields,
            "initContainers": [container.fields for container in pod_set.init_containers],
            "containers": [container.fields for container in pod_set.containers],
        }
        for container, _, claim in unknown_claims(pods):
            message = (
                f"container {container!r} of job {pod_set.name!r} uses the claim {claim!r}, which the pods do not have"
            )
            hint = f"add it to the pods: resourceClaims: [{{name: {claim}, resourceClaimTemplateName: NAME}}]"
            yield Finding("NotInPod", "error", message, hint, ("spec", "runtimePatches"))

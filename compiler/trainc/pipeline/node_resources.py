"""resourcesPerNode: how a TrainJob's resources meet those of the runtime's containers.

Source: kubeflow/trainer pkg/runtime/core/trainingruntime.go (newRuntimeInfo) v2.2.1 and v2.3.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.api import names
from trainc.ir.release import Release
from trainc.options import Semantics

Json = Mapping[str, Any]


def concerns(role: str, ancestor: str | None, ml_policy: Json | None, release: Release, semantics: Semantics) -> bool:
    """Whether a replicated job takes the TrainJob's resources while the runtime is lowered.

    Since 2.2 the controller asks for an mlPolicy here, and so ignores the resources of a plain runtime; `gitops`
    does not. Until 2.1 it does not look at them before it builds.
    """
    trains = ancestor == names.TRAINER
    launcher_is_node = bool(((ml_policy or {}).get("mpi") or {}).get("runLauncherAsNode"))
    mpi_node = launcher_is_node and role == names.NODE
    if semantics == "gitops":
        return trains or (mpi_node and release.resources_reach_mpi_node)
    if not release.gang_sees_resources or ml_policy is None:
        return False
    return trains or (mpi_node and release.resources == "merge")


def with_node_resources(pod_spec: Json, asked: Json, main: str, release: Release, semantics: Semantics) -> Json:
    """A pod spec whose first container called `main` has the TrainJob's resources."""
    containers = list(pod_spec.get("containers", ()))
    at = next((i for i, container in enumerate(containers) if container.get("name") == main), None)
    if at is None:
        return pod_spec
    containers[at] = {**containers[at], "resources": _combined(containers[at], asked, release, semantics)}
    return {**pod_spec, "containers": containers}


def _combined(container: Json, asked: Json, release: Release, semantics: Semantics) -> Json:
    written: Json = container.get("resources", {})
    if release.resources == "replace" and semantics == "controller":
        return asked
    if release.resources == "replace":
        combined = _amounts(asked if "limits" in asked or "requests" in asked else written)
    else:
        combined = {**_amounts(written), **_amounts(asked)}
        combined = {kind: {**written.get(kind, {}), **asked.get(kind, {})} for kind in combined}
        combined = {kind: amounts for kind, amounts in combined.items() if amounts}
    # The controller drops claims as soon as the TrainJob says anything about resources.
    claims = {c["name"]: c for c in (*written.get("claims", ()), *asked.get("claims", ()))}
    return {**combined, "claims": list(claims.values())} if claims and semantics == "gitops" else combined


def _amounts(resources: Json) -> dict[str, Any]:
    return {kind: resources[kind] for kind in ("limits", "requests") if kind in resources}

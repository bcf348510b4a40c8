"""The fast check and the explanation are two readings of one schema: they accept exactly the same documents."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from builders import container, job, runtime, trainjob
from hypothesis import given, settings, strategies as st

from trainc.findings import has_errors
from trainc.kube.releases import RELEASES
from trainc.schema import check
from trainc.schema.acceptance import acceptor
from trainc.schema.explanation import explain
from trainc.schema.shapes import ROOTS, Refused

Json = dict[str, Any]

FULL_CONTAINER = container(
    ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
    env=[{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
    volumeMounts=[{"name": "v", "mountPath": "/v"}],
    resources={"limits": {"cpu": "500m", "nvidia.com/gpu": 2}, "claims": [{"name": "c"}]},
    securityContext={"runAsUser": 0, "capabilities": {"add": ["NET_ADMIN"]}},
    readinessProbe={"tcpSocket": {"port": "ssh"}, "periodSeconds": 3},
)
FULL_POD = {
    "containers": [FULL_CONTAINER],
    "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "w", "configMap": {"name": "c"}}],
    "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}],
    "imagePullSecrets": [{"name": "pull"}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
}
FULL_JOB = job(
    containers=FULL_POD.pop("containers"),
    pod=FULL_POD,
    spec={
        "backoffLimit": 0,
        "podFailurePolicy": {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 2]}}]},
    },
)
PATCH = {
    "manager": "acme.io/a",
    "time": "2026-01-31T12:00:00Z",
    "trainingRuntimeSpec": {
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"metadata": {"labels": {"a": "b"}}}}]}}
    },
}
VALID = {
    "TrainJob": trainjob(
        {
            "image": "example.com/train:1",
            "command": ["python"],
            "args": [],
            "numNodes": 2,
            "env": [{"name": "A", "value": "1"}],
            "resourcesPerNode": {"requests": {"cpu": 4}},
        },
        initializer={"dataset": {"storageUri": "hf://a/b", "secretRef": {"name": "s"}}},
    ),
    "ClusterTrainingRuntime": runtime(
        job("model-initializer", "model-initializer"),
        FULL_JOB | {"dependsOn": [{"name": "model-initializer", "status": "Complete"}]},
        policy={"torch": {}, "numNodes": 1},
        gang={"volcano": {"networkTopology": {"highestTierAllowed": 2}}},
        failurePolicy={"maxRestarts": 3, "rules": [{"name": "a", "action": "FailJobSet"}]},
    ),
}
VALID["JobSet"] = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "llm", "labels": {"a": "b"}},
    "spec": VALID["ClusterTrainingRuntime"]["spec"]["template"]["spec"],
}
OLD_RUNTIME = runtime(FULL_JOB, policy={"torch": {"numProcPerNode": "auto", "elasticPolicy": {"minNodes": 1}}})
NEW_RUNTIME = runtime(
    FULL_JOB,
    policy={"torch": {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["a", "b"]}]}}},
    startupPolicy={"startupPolicyOrder": "InOrder"},
    volumeClaimPolicies=[
        {"templates": [{"metadata": {"name": "v"}, "spec": {"resources": {"requests": {"storage": 1}}}}]}
    ],
)
OVERRIDDEN = trainjob(podSpecOverrides=[{"targetJobs": [{"name": "node"}], "containers": [{"name": "node"}]}])
# Each document is valid in the releases named here.
DOCUMENTS: list[tuple[str, str, Json]] = [
    *[("TrainJob", release, VALID["TrainJob"]) for release in RELEASES],
    *[("TrainJob", release, trainjob(runtimePatches=[PATCH])) for release in ("2.2", "2.3")],
    ("TrainJob", "2.0", OVERRIDDEN),
    *[("ClusterTrainingRuntime", release, VALID["ClusterTrainingRuntime"]) for release in ("2.1", "2.2", "2.3")],
    *[("ClusterTrainingRuntime", release, OLD_RUNTIME) for release in ("2.0", "2.1")],
    ("ClusterTrainingRuntime", "2.3", NEW_RUNTIME),
    *[("JobSet", release, VALID["JobSet"]) for release in RELEASES],
]

ODD_SCALARS = (None, True, False, 0, -1, 3, 2.0, 0.5, 2**31, 2**63, 1e30, float("inf"), "", "1", "500m", "node", "a b")
ODD_TREES: tuple[Any, ...] = ([], {}, [None], [1], [""], [[]], {"name": "node"}, {"unknown": 1}, {"a": None}, {1: "a"})
REPEATED = [{"name": "node"}, {"name": "node"}]
ODD = st.sampled_from((*ODD_SCALARS, *ODD_TREES, REPEATED, "x" * 300, "é"))
NAMES = st.sampled_from(
    ["name", "spec", "template", "containers", "metadata", "torch", "mpi", "unknown", "numNodes", 7]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below the top."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in members:
        yield (*path, key)
        yield from places(item, (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, str, Json]:
    """A valid document with up to three changes: a value replaced, a field or item removed, repeated or added."""
    kind, release, valid = draw(st.sampled_from(DOCUMENTS))
    document = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(document)) or [()]))
        if not path:
            break
        holder = at(document, path[:-1])
        change = draw(st.sampled_from(["replace", "remove", "add", "repeat"]))
        if change == "replace":
            holder[path[-1]] = copy.deepcopy(draw(ODD))
        elif change == "remove":
            del holder[path[-1]]
        elif change == "add" and isinstance(holder, dict):
            holder[draw(NAMES)] = copy.deepcopy(draw(ODD))
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
    return kind, release, document


@settings(max_examples=300)
@given(mutated())
def test_the_fast_check_refuses_exactly_what_the_explanation_explains(case: tuple[str, str, Json]) -> None:
    kind, release, document = case
    before = copy.deepcopy(document)
    try:
        stored = acceptor(release, ROOTS[kind])(document)
    except Refused:
        stored = None
    findings, _ = explain(document, kind, release, prune=False)
    assert (stored is None) == has_errors(findings), findings
    assert repr(document) == repr(before)


@settings(max_examples=150)
@given(mutated())
def test_pruning_leaves_a_document_without_unknown_fields(case: tuple[str, str, Json]) -> None:
    kind, release, document = case
    stored, findings = check(document, kind, release, prune=True)
    if not has_errors(findings):
        assert {f.severity for f in findings} <= {"warning"}
        # A runtime's required list that is empty goes with the apply configuration, and is missing the second time.
        assert {f.code for f in check(stored, kind, release)[1]} <= {"MissingRequired"}


def test_the_documents_to_mutate_are_valid() -> None:
    for kind, release, document in DOCUMENTS:
        assert check(document, kind, release)[1] == []

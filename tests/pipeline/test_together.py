"""Jobs compiled together: each comes to what it comes to alone, whatever the others share with it."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings, strategies as st

from trainc import CompileError, Diagnostic, Options, compile_trainjob
from trainc.functions import compile_documents
from trainc.reading.document import Document

API = "trainer.kubeflow.org/v1alpha1"


def runtime(name: str, **policy: Any) -> dict[str, Any]:
    containers = [{"name": "node", "image": "base:1", "env": [{"name": "A", "value": "runtime"}]}]
    pod = {"containers": containers, "volumes": [{"name": "shm", "emptyDir": {}}]}
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    node = {"name": "node", "template": {"metadata": step, "spec": {"template": {"spec": pod}}}}
    spec = {"mlPolicy": {"numNodes": 2, **policy}, "template": {"spec": {"replicatedJobs": [node]}}}
    return {"apiVersion": API, "kind": "ClusterTrainingRuntime", "metadata": {"name": name}, "spec": spec}


RUNTIMES = [runtime("torch", torch={}), runtime("plain"), runtime("jax", jax={})]


def patch(pod: dict[str, Any]) -> dict[str, Any]:
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]
    return {"manager": "example.com/team", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}


TRAINER = st.fixed_dictionaries(
    {},
    optional={
        "numNodes": st.integers(0, 3),
        "image": st.sampled_from(("one:1", "two:2", "not an image")),
        "command": st.sampled_from((["torchrun", "train.py"], ["bash", "-c", "train &"], [])),
        "args": st.sampled_from((["--config", "a.yaml"], ["$HOME"], [])),
        "env": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from("AB"), "value": st.sampled_from(("x", "", "hf_" + "a" * 20))}
            ),
            max_size=2,
            unique_by=lambda variable: str(variable["name"]),
        ),
        "resourcesPerNode": st.sampled_from(({"limits": {"nvidia.com/gpu": 8}}, {"requests": {"cpu": "4"}}, {})),
    },
)
PATCHES = st.lists(
    st.sampled_from(
        (patch({"nodeSelector": {"zone": "a"}}), patch({"volumes": [{"name": "shm", "hostPath": {"path": "/a"}}]}))
    ),
    max_size=2,
    unique_by=repr,
)
SPEC = st.fixed_dictionaries(
    {"runtimeRef": st.sampled_from([{"name": each["metadata"]["name"]} for each in RUNTIMES])},
    optional={"trainer": TRAINER, "runtimePatches": PATCHES, "suspend": st.booleans()},
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.sampled_from(({"kueue.x-k8s.io/queue-name": "a"}, {"team": "b"})),
        "namespace": st.just("n"),
    },
)


def outcome(document: list[dict[str, Any]], options: Options) -> tuple[list[Any], list[Diagnostic]]:
    try:
        done = compile_documents([Document.of(each) for each in document], (), options)
    except CompileError as error:
        return [], error.diagnostics
    return done.manifests, done.diagnostics


@given(st.lists(st.tuples(METADATA, SPEC), min_size=2, max_size=5), st.sampled_from(("gitops", "controller")))
@settings(max_examples=150)
def test_jobs_compiled_together_are_what_each_is_alone(drawn: list[Any], semantics: Any) -> None:
    jobs = [
        {"apiVersion": API, "kind": "TrainJob", "metadata": {"name": f"job-{i}", **metadata}, "spec": spec}
        for i, (metadata, spec) in enumerate(drawn)
    ]
    before = copy.deepcopy((jobs, RUNTIMES))
    options = Options(release="2.3", semantics=semantics)
    alone = [outcome([*RUNTIMES, job], options) for job in jobs]
    manifests, diagnostics = outcome([*RUNTIMES, *jobs], options)
    told = sorted((d for _, found in alone for d in found), key=repr)
    assert sorted(set(map(repr, diagnostics))) == sorted(set(map(repr, told)))
    if all(made for made, _ in alone):
        by_name = sorted((m for made, _ in alone for m in made), key=repr)
        assert sorted(manifests, key=repr) == by_name
    assert (jobs, RUNTIMES) == before


def test_what_a_program_does_to_one_result_changes_no_other() -> None:
    job = {
        "apiVersion": API,
        "kind": "TrainJob",
        "metadata": {"name": "job"},
        "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"image": "one:1"}},
    }
    first = compile_trainjob(job, RUNTIMES, Options(release="2.3"))
    kept = copy.deepcopy(first.manifests)
    clear(first.manifests)
    assert compile_trainjob(job, RUNTIMES, Options(release="2.3")).manifests == kept


def clear(value: Any) -> None:
    """Empty everything, the innermost first."""
    for inner in list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []:
        clear(inner)
    if isinstance(value, dict | list):
        value.clear()

"""Rendered documents of any shape end no check: lints read them by type, and one that fails is a finding."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clusters
import pytest
from commands import run
from mypy import api as mypy

import trainc
from trainc.api.cluster import Dump
from trainc.api.settings import Options
from trainc.features.cluster.doctor.comparison import Requirements, compare, missing_rows
from trainc.kube.documents import pod_spec_of
from trainc.lints import registry
from trainc.lints.registry import lint_rendered
from trainc.plugins.registry import enabled

GROUP: dict[str, Any] = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "x"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}, "workloadRef": {"workloadName": "rl", "templateName": "t"}},
}
WORKLOAD: dict[str, Any] = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "Workload",
    "metadata": {"name": "rl", "namespace": "x"},
    "spec": {"podGroupTemplates": [{"name": "t"}], "controllerRef": {"kind": "JobSet", "name": "rl"}},
}
MAP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "rl-mpi-hostfile", "namespace": "x"},
    "data": {"hostfile": "a"},
}
POD = {
    "schedulingGroup": {"podGroupName": "g"},
    "containers": [{"name": "a", "image": "b:1"}],
    "volumes": [{"name": "v", "configMap": {"name": "rl-mpi-hostfile"}}],
}
JOBSET: dict[str, Any] = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {
        "name": "rl",
        "namespace": "x",
        "ownerReferences": [],
        "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"},
    },
    "spec": {
        "replicatedJobs": [
            {
                "name": "node",
                "template": {
                    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                    "spec": {"template": {"spec": POD}},
                },
            }
        ]
    },
}
WRONG: tuple[Any, ...] = (
    None,
    "x",
    3,
    True,
    1.5,
    [],
    ["*"],
    [1],
    [{}],
    {},
    {"a": "b"},
    {"name": {"a": "b"}},
    [[None]],
    {"name": ["*"]},
)


def shapes(value: Any) -> Iterator[Any]:
    """The value with each part of it replaced by values of wrong types, and left out."""
    yield from WRONG
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        for shape in shapes(value[key]):
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[key] = shape
            yield copy
        if isinstance(value, dict):
            yield {name: part for name, part in value.items() if name != key}


@pytest.mark.parametrize("document", [GROUP, WORKLOAD, MAP], ids=lambda document: document["kind"])
def test_no_shape_of_a_rendered_document_makes_a_lint_fail(document: dict[str, Any]) -> None:
    others = [JOBSET, *(other for other in (GROUP, WORKLOAD, MAP) if other is not document)]
    count = 0
    for shape in shapes(document):
        if isinstance(shape, dict):
            count += 1
            findings = [*lint_rendered(JOBSET, [*others, shape], Options())]
            assert not [finding.message for finding in findings if "failed with" in finding.message], shape
    assert count > 50


def test_the_pods_of_a_replicated_job_of_any_shape_are_a_mapping() -> None:
    (job,) = JOBSET["spec"]["replicatedJobs"]
    assert all(isinstance(pod_spec_of(shape), dict) for shape in shapes(job) if isinstance(shape, dict))


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"name": {"a": "b"}, "namespace": "x"}},
        {"spec": {"workloadRef": "x"}},
        {"spec": {"workloadRef": {"templateName": ["*"], "workloadName": "rl"}}},
        {"spec": {"podGroupTemplates": "x"}},
        {"spec": {"podGroupTemplates": [{"name": "t"}], "controllerRef": "x"}},
        {"metadata": "x"},
        {"spec": [[]]},
    ],
)
@pytest.mark.parametrize("base", [GROUP, WORKLOAD], ids=lambda base: base["kind"])
def test_no_shape_ends_the_check_of_a_folder(
    base: dict[str, Any], change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    others = [other for other in (GROUP, WORKLOAD) if other is not base]
    text = "\n---\n".join(map(json.dumps, ({**base, **change}, *others, JOBSET)))
    Path("evil.yaml").write_text(text, encoding="utf-8")
    for words in (
        ["check"],
        ["check", "--format", "github"],
        ["diff", "evil.yaml", "evil.yaml"],
        ["report", "-o", "-"],
    ):
        assert run(*words, "--release", "2.3").status in (0, 1), words


def test_a_lint_that_fails_is_a_finding_about_its_document(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Iterator[Any]:
        raise KeyError("x")
        yield

    class Group:
        functions = (broken, broken)

    monkeypatch.setattr(registry, "_at", lambda *_: [Group])
    findings = [*lint_rendered(JOBSET, [JOBSET], Options())]
    assert [finding.code for finding in findings] == ["WrongType"]  # Both functions have the same name.
    assert "broken failed with KeyError" in findings[0].message


def test_lints_of_rendered_documents_cannot_look_into_them() -> None:
    """Each takes them as Foreign, which has neither `get` nor items: the type checker refuses both."""
    stages = [lint for lint in registry.LINTS if lint.stage == "rendered"]
    plugins = [lint for plugin in enabled(()) for lint in plugin.lints if lint.stage == "rendered"]
    assert len(stages) + len(plugins) >= 2
    for lint in (*stages, *plugins):
        module = __import__(lint.module, fromlist=[lint.function])
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == lint.function)
        annotation = function.args.args[1].annotation
        assert annotation is not None
        assert ast.unparse(annotation) == "Iterable[Foreign]", lint
    from trainc.kube.documents import Foreign

    assert not {"get", "__getitem__", "__iter__", "items", "data"} & set(dir(Foreign))


LOOKING = """from trainc.kube.documents import Json, Unchecked, mapping, objects
from trainc.reading.cluster import Dump

def look(given: Json, unchecked: Unchecked, dump: Dump) -> None:
    mapping(given["spec"]).get("a").get("b")
    mapping(given["spec"])["a"]["b"]
    [one["a"]["b"] for one in objects(given["items"])]
    unchecked["metadata"]["name"]
    unchecked.get("metadata", {}).get("name")
    [one["metadata"]["name"] for one in dump]
    [one["spec"]["a"] for one in dump.of("Node").values()]
    for word in mapping(given).get("command") or ():
        print(word)
"""


@pytest.mark.slow
def test_the_type_checker_refuses_to_look_into_what_no_schema_has_checked(tmp_path: Path) -> None:
    """What the readers return has values of any type, so that each look needs another reader."""
    Path(tmp_path, "looking.py").write_text(LOOKING, encoding="utf-8")
    reported, _, _ = mypy.run(
        ["--strict", "--follow-imports=silent", f"--cache-dir={tmp_path}", f"{tmp_path}/looking.py"]
    )
    wrong = {int(line.split(":")[1]) for line in reported.splitlines() if ": error: " in line}
    assert wrong == set(range(5, 13)), reported


READERS = (
    *("kube/live_objects.py", "features/cluster/import_/command.py", "features/cluster/import_/reading.py"),
    *(f"features/cluster/fits/{name}.py" for name in ("answer", "judging", "namespace_quotas", "references", "usage")),
)


def test_what_is_read_from_a_cluster_is_passed_on_as_unchecked() -> None:
    """A parameter of the type Json would let a function look into it again."""
    for name in READERS:
        text = Path(trainc.__file__).parent.joinpath(name).read_text(encoding="utf-8")
        named = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        assert "Json" not in named, name


LIMITS = {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]}
# The objects of a dump that answers are made of: no schema checks them.
DUMPED: tuple[dict[str, Any], ...] = (
    clusters.queue("a", 8, cohortName="c"),
    clusters.local("a"),
    clusters.flavor(nodeLabels={"pool": "a"}, topologyName="t"),
    clusters.namespace(team="a"),
    clusters.node("n0", "r0"),
    clusters.topology(),
    clusters.kueue("Cohort", "c", {"resourceGroups": []}),
    clusters.kueue("AdmissionCheck", "c", {"controllerName": "x"}),
    {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "team-a"}, "spec": LIMITS},
    {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "l", "namespace": "team-a"},
        "spec": {"hard": {"cpu": "1"}, "scopeSelector": {"matchExpressions": [{"scopeName": "x", "operator": "Exists"}]}},
    },
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kueue-controller-manager", "namespace": "kueue-system", "labels": {"a": "b"}},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{"image": "kueue/kueue:v0.19.0"}]}}},
        "status": {"availableReplicas": 1},
    },
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "jobsets.jobset.x-k8s.io"},
        "spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"spec": {"type": "object"}}}}}]},
    },
)  # fmt: skip


@pytest.mark.parametrize("dumped", DUMPED, ids=lambda document: document["kind"])
def test_no_shape_of_an_object_of_a_cluster_makes_an_answer_fail(dumped: dict[str, Any], tmp_path: Path) -> None:
    others = [other for other in DUMPED if other is not dumped]
    requirements = Requirements("2.3", {"2.3": "0.11"}, ("0.15",), ("1.33",), jobs=(clusters.jobset(),))
    for shape in shapes(dumped):
        if isinstance(shape, dict):
            fit = trainc.fits([clusters.jobset()], [*others, shape], now=True)
            assert not [d for d in (*fit.alone[0].diagnostics, *fit.diagnostics) if "failed with" in d.message], shape
            documents = [{**dumped, **shape}, *others]
            compare(documents, requirements, {})
            missing_rows(requirements, Dump.of_objects(documents))

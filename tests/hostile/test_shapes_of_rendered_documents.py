"""Rendered documents of any shape end no check: lints read them by type, and one that fails is a finding."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import run

from trainc.api.settings import Options
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
POD = {"schedulingGroup": {"podGroupName": "g"}, "containers": [{"name": "a", "image": "b:1"}]}
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
    assert [finding.code for finding in findings] == ["WrongType"] * 2
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

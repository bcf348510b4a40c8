"""Equality as Go's webhook sees it."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.admission.updates import differences
from trainc.findings import Path


def differ(old: Any, new: Any) -> list[Path]:
    return list(differences(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"args": []}, {}),
        ({"labels": {}}, {"labels": None}),
        ({"resources": {}}, {}),
        ({"metadata": {"annotations": {}}}, {}),
        ({"limits": {"memory": "1000Mi"}}, {"limits": {"memory": "1048576000"}}),
        ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1000m"}}),
        ({"sizeLimit": "1Gi"}, {"sizeLimit": "1024Mi"}),
        ({"divisor": "0"}, {}),
    ],
)
def test_these_are_equal(old: Any, new: Any) -> None:
    assert differ(old, new) == differ(new, old) == []


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"emptyDir": {}}, {}, [("emptyDir",)]),
        ({"suspend": False}, {}, [("suspend",)]),
        ({"value": "1"}, {"value": "1000m"}, [("value",)]),
        ({"env": {"cpu": "1"}}, {"env": {"cpu": "1000m"}}, [("env", "cpu")]),
        ({"port": 80}, {"port": "80"}, [("port",)]),
        ({"replicas": 1}, {"replicas": True}, [("replicas",)]),
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}, [("args", 0), ("args", 1)]),
        ({"args": ["a"]}, {"args": ["a", "b"]}, [("args",)]),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, [("limits", "cpu")]),
        ({"limits": {"cpu": "x"}}, {"limits": {"cpu": "2"}}, [("limits", "cpu")]),
        ({"labels": {"a": "b"}}, {}, [("labels", "a")]),
        ({"labels": []}, {"labels": {}}, [("labels",)]),
    ],
)
def test_these_differ(old: Any, new: Any, paths: Any) -> None:
    assert differ(old, new) == differ(new, old) == paths

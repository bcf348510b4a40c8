"""The JSON Schema of sweeps: what trainc accepts fits it, and mistakes do not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from trainc.features.sweeps import matrix
from trainc.features.sweeps.matrix import sweep_schema
from trainc.schema.editor_schema import DIALECT

PAGE = (Path(__file__).parents[3] / "docs" / "sweeps.md").read_text(encoding="utf-8")
EXAMPLES = [
    text for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "kind: Sweep" in text
]
VALIDATOR = jsonschema.Draft202012Validator(sweep_schema(DIALECT))
HEAD: dict[str, Any] = {"apiVersion": "trainc/v1alpha1", "kind": "Sweep"}


def test_it_knows_every_field() -> None:
    assert set(sweep_schema(DIALECT)["properties"]) == {*matrix._HEAD, *matrix._FIELDS}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_fit(example: str) -> None:
    VALIDATOR.validate(yaml.safe_load(example.replace("1e-", "1.0e-")))


@pytest.mark.parametrize(
    "wrong",
    [
        {"bases": "llm.yaml"},
        {"parameters": {"lr": []}},
        {"parameters": {"lr": 0.1}},
        {"parameters": {"l r": [1]}},
        {"parameters": {"lr": {"min": 1, "max": 2}}},
        {"parameters": {"lr": {"min": 1, "max": 2, "step": 1, "count": 2}}},
        {"exclude": [{}]},
        {"maxTrials": 0},
        {"budget": {"gpuHours": "512"}},
    ],
)
def test_a_mistake_does_not_fit(wrong: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid({**HEAD, **wrong})

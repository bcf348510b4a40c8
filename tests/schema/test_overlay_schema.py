"""The JSON Schema of overlays: the examples of the repository fit it, all fields are in it, and mistakes do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from trainc.project.overlays.editor_schema import overlay_schema
from trainc.project.overlays.overlay import FIELDS
from trainc.schema.editor_schema import DIALECT

EXAMPLES = sorted((Path(__file__).parents[2] / "overlays").rglob("overlay.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(overlay_schema(DIALECT))
HEAD: dict[str, Any] = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay"}


def test_it_knows_every_field() -> None:
    assert set(overlay_schema(DIALECT)["properties"]) == {"apiVersion", "kind", "metadata", *FIELDS}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_the_examples_fit(example: Path) -> None:
    VALIDATOR.validate(yaml.safe_load(example.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "wrong",
    [
        {"bases": ["../base"]},
        {"patches": [{"target": {"kind": "TrainJob"}}]},
        {"patches": [{"path": "a.yaml", "patch": {}}]},
        {"images": [{"newTag": "2"}]},
        {"nameHash": "yes"},
        {"delivery": "helm"},
    ],
)
def test_a_mistake_does_not_fit(wrong: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid({**HEAD, **wrong})

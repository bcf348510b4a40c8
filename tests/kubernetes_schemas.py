"""Kubernetes' strict schemas by minor, from the package kubernetes-validate, which carries those that are published."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

_PREFIXES = {
    "scheduling.k8s.io/v1beta1": "io.k8s.api.scheduling.v1beta1",
    "batch/v1": "io.k8s.api.batch.v1",
    "v1": "io.k8s.api.core.v1",
}


def definitions(minor: str) -> dict[str, Any]:
    """Every definition of one minor; the test is skipped where the package is not installed."""
    found = importlib.util.find_spec("kubernetes_validate")
    if found is None or found.origin is None:
        pytest.skip("the schemas are not there; `pip install kubernetes-validate` brings them")
    folder = Path(found.origin).with_name("kubernetes-json-schema") / f"v{minor}.0-local-strict"
    schema: dict[str, Any] = json.loads((folder / "_definitions.json").read_bytes())
    return schema


@cache
def _validator(minor: str, definition: str) -> Validator:
    schema = {**definitions(minor), "$ref": f"#/$defs/{definition}"}
    return validator_for(schema)(schema)


def refusals(manifest: dict[str, Any], minor: str = "1.37") -> list[str]:
    """What is wrong with an object, or, of a JobSet, with each Job that it becomes."""
    if manifest["kind"] == "JobSet":
        jobs = [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": each["name"]},
                "spec": each["template"]["spec"],
            }
            for each in manifest["spec"]["replicatedJobs"]
        ]
        return [refusal for each in jobs for refusal in refusals(each, minor)]
    definition = f"{_PREFIXES[manifest['apiVersion']]}.{manifest['kind']}"
    return [f"{error.json_path}: {error.message}" for error in _validator(minor, definition).iter_errors(manifest)]

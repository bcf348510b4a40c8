"""The JSON Schema of sweeps for editors: what `read_matrix` accepts, with descriptions of the fields."""

from __future__ import annotations

from typing import Any

from trainc.sweeps.grid import MOST_TRIALS, NAME
from trainc.sweeps.matrix import API, KIND

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_VALUE: Schema = {"type": ["string", "number", "boolean"]}
_ROWS: Schema = {"type": "array", "items": {"type": "object", "additionalProperties": _VALUE, "minProperties": 1}}


def _object(properties: Schema, **more: Any) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def _about(description: str, schema: Schema) -> Schema:
    return {"description": description, **schema}


def sweep_schema(dialect: str) -> Schema:
    """Return the schema; `dialect` is the URI of the JSON Schema dialect. It is the same for all releases."""
    ends: Schema = {
        "min": _about("The first value.", _NUMBER),
        "max": _about("No value is above it; the last value, with `count`.", _NUMBER),
    }
    step = _about("The distance from one value to the next.", {"type": "number", "exclusiveMinimum": 0})
    count = _about("How many values there are.", {"type": "integer", "minimum": 2})
    scale = _about("log: each value is a multiple of the one before.", {"enum": ["linear", "log"]})
    steps = _object({**ends, "step": step}, required=["min", "max", "step"])
    counted = _object({**ends, "count": count, "scale": scale}, required=["min", "max", "count"])
    values: Schema = {"anyOf": [{"type": "array", "items": _VALUE, "minItems": 1, "uniqueItems": True}, steps, counted]}
    hours: Schema = {"type": "number", "exclusiveMinimum": 0}
    budget = {
        "gpuHours": _about("More GPU-hours are an error.", hours),
        "hoursPerTrial": _about("How long a trial runs, where its activeDeadlineSeconds are more.", hours),
    }
    parameters: Schema = {
        "type": "object",
        "propertyNames": {"pattern": f"^{NAME}$"},
        "additionalProperties": values,
    }
    properties = {
        "apiVersion": {"const": API},
        "kind": {"const": KIND},
        "metadata": _about("`name` is what trials are named after, instead of the base.", _object({"name": _TEXT})),
        "base": _about("The TrainJob, as PATH or PATH#[NAMESPACE/]NAME, relative to the file.", _TEXT),
        "parameters": _about("A list of values or a range for each parameter.", parameters),
        "exclude": _about("Combinations to skip, each with some of the parameters.", _ROWS),
        "include": _about("Additional combinations, each with all parameters.", _ROWS),
        "maxTrials": _about(f"More trials are an error; {MOST_TRIALS} by default.", {"type": "integer", "minimum": 1}),
        "budget": _about(
            "`gpuHours`: more are an error; `hoursPerTrial`: how long a trial runs.",
            _object(budget),
        ),
    }
    return {"$schema": dialect, "title": "trainc sweep", **_object(properties, required=["apiVersion", "kind"])}

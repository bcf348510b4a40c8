"""Trainc's own kinds of documents: what their schemas accept, and what is said about the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, strategies as st
from tables import cases

from trainc.cli.arguments.schema import OWN_KINDS as KIND_NAMES
from trainc.cli.schema import OWN_KINDS
from trainc.features.authoring.sweeps.matrix import OPTIMIZATION_JOB
from trainc.findings import format_path
from trainc.schema.document_kinds import DocumentKind, accepts, without_nulls
from trainc.schema.unknown_fields import MOST_HINTS, SEE_THE_FIRST

ROOT = Path(__file__).parents[2]
OVERLAYS = sorted((ROOT / "overlays").rglob("overlay.yaml"))
PAGE = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
SWEEPS = [text for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "kind: Sweep" in text]
KINDS = {**OWN_KINDS, "OptimizationJob": OPTIMIZATION_JOB}
HEADS: dict[str, dict[str, Any]] = {
    "Overlay": {"apiVersion": "trainc/v1alpha1", "kind": "Overlay"},
    "Sweep": {"apiVersion": "trainc/v1alpha1", "kind": "Sweep"},
}
# Checked by code, with better messages: names of parameters, values that are given twice.
FOR_EDITORS = {"description", "errorMessage", "examples", "propertyNames", "uniqueItems"}
CHECKED = {
    *("type", "enum", "const", "anyOf", "oneOf", "properties", "patternProperties", "additionalProperties", "required"),
    *(
        "items",
        "minItems",
        "minLength",
        "pattern",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "exclusiveMinimum",
    ),
}


def subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("patternProperties", {}).values()]
    inner += [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    inner += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    for each in inner:
        yield from subschemas(each)


def problems(kind: DocumentKind, **fields: Any) -> list[tuple[str, str, str]]:
    """Path, message and hint of everything that is wrong with a document."""
    _, findings = kind.check({**HEADS.get(kind.name, {}), **fields})
    assert all((finding.code, finding.severity) == (kind.code, "error") for finding in findings)
    return [(format_path(finding.path), finding.message, finding.hint) for finding in findings]


@pytest.mark.parametrize("name", KINDS)
def test_each_is_a_json_schema_in_the_keywords_that_are_checked(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(KINDS[name].json_schema())
    used = {keyword for schema in subschemas(KINDS[name].schema) for keyword in schema}
    assert used - FOR_EDITORS <= CHECKED


def test_the_command_knows_their_names_without_importing_them() -> None:
    assert tuple(OWN_KINDS) == KIND_NAMES


@pytest.mark.parametrize("name", OWN_KINDS)
def test_each_field_is_described(name: str) -> None:
    fields = KINDS[name].schema["properties"]
    assert [
        key for key, schema in fields.items() if key != "metadata" and not {"description", "const"} & set(schema)
    ] == []


@pytest.mark.parametrize("example", OVERLAYS, ids=lambda path: path.parent.name)
def test_the_overlays_of_this_repository_are_valid(example: Path) -> None:
    assert KINDS["Overlay"].check(yaml.safe_load(example.read_text(encoding="utf-8")))[1] == []


@pytest.mark.parametrize("example", SWEEPS)
def test_the_sweeps_of_the_documentation_are_valid(example: str) -> None:
    assert KINDS["Sweep"].check(yaml.safe_load(example.replace("1e-", "1.0e-")))[1] == []


@cases("name", "fields", "path", "message", "hint")
def test_a_mistake_is_explained_as_in_a_trainjob(
    name: str, fields: dict[str, Any], path: str, message: str, hint: str
) -> None:
    ((found_path, found_message, found_hint),) = problems(KINDS[name], **fields)
    assert found_path == path
    assert message in found_message
    assert hint in found_hint


def test_of_very_many_unknown_fields_only_the_first_are_explained() -> None:
    found = problems(KINDS["trainc.yaml"], **{f"k{number}": 1 for number in range(MOST_HINTS + 3)})
    assert [hint for _, _, hint in found].count(SEE_THE_FIRST) == 3


def test_fields_without_a_mistake_are_kept() -> None:
    data, findings = KINDS["trainc.yaml"].check({"sources": ["jobs"], "output": 3, "realease": ""})
    assert data == {"sources": ["jobs"]}
    assert len(findings) == 2


def test_a_known_field_that_is_null_is_missing_and_any_other_null_is_kept() -> None:
    overlay = {"labels": None, "patches": [{"target": None, "patch": {"spec": None}}], "values": {"a": None}}
    assert without_nulls(KINDS["Overlay"].schema, overlay) == {
        "patches": [{"patch": {"spec": None}}],
        "values": {"a": None},
    }


NAMES = sorted(
    {name for kind in KINDS.values() for schema in subschemas(kind.schema) for name in schema.get("properties", {})}
)
WORDS = ["", "x", "2h", "trainc/v1alpha1", "Overlay", "Sweep", "UnknownField", "jobs/*", *("gitops", "ignore", "log")]
SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(width=16) | st.sampled_from(WORDS)
ODD = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, *WORDS]), inner, max_size=3),
    max_leaves=5,
)


def drawn(draw: Callable[..., Any], schema: dict[str, Any]) -> Any:
    """A value that fits a schema, but for a part here and there."""
    if draw(st.integers(0, 11)) == 0:
        return draw(ODD)
    if "enum" in schema or "const" in schema:
        return draw(st.sampled_from([*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]))
    if "anyOf" in schema and "properties" not in schema:
        return drawn(draw, draw(st.sampled_from(schema["anyOf"])))
    kinds = schema.get("type", "object")
    match draw(st.sampled_from(kinds)) if isinstance(kinds, list) else kinds:
        case "object":
            known = schema.get("properties", {})
            made = {name: drawn(draw, inner) for name, inner in known.items() if draw(st.integers(0, 2)) == 0}
            free = schema.get("additionalProperties")
            if isinstance(free, dict):
                made |= {name: drawn(draw, free) for name in draw(st.lists(st.sampled_from(WORDS), max_size=2))}
            return made
        case "array":
            return [drawn(draw, schema.get("items", {})) for _ in range(draw(st.integers(0, 2)))]
        case "string":
            return draw(st.sampled_from(WORDS))
        case "boolean":
            return draw(st.booleans())
    return draw(st.integers(0, 3) | st.just(10**6) | st.floats(width=16))


def without(schema: Any, keywords: set[str]) -> Any:
    if isinstance(schema, dict):
        return {name: without(inner, keywords) for name, inner in schema.items() if name not in keywords}
    return [without(inner, keywords) for inner in schema] if isinstance(schema, list) else schema


PLAIN = {name: jsonschema.Draft202012Validator(without(kind.schema, FOR_EDITORS)) for name, kind in KINDS.items()}


@pytest.mark.parametrize("name", KINDS)
@given(st.data())
def test_what_is_accepted_is_what_jsonschema_accepts(name: str, data: st.DataObject) -> None:
    schema = KINDS[name].schema
    fields = {key: inner for key, inner in schema["properties"].items() if data.draw(st.booleans())}
    document = {**HEADS.get(name, {}), **{key: drawn(data.draw, inner) for key, inner in fields.items()}}
    expected = PLAIN[name].is_valid(document)
    assert accepts(schema, document) is expected
    assert (KINDS[name].check(document)[1] == []) is expected

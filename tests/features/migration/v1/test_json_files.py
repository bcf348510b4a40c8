"""Migration of JSON: the form that the file had, as far as its data stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trainc.features.migration.v1.migrate import MigratedFile, migrate_text
from trainc.options import Limits

OVERRIDES = [{"targetJobs": [{"name": "node"}], "spec": {"nodeSelector": {"pool": "fast"}}}]
JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "llm"},
    "spec": {"runtimeRef": {"name": "rt"}, "podTemplateOverrides": OVERRIDES, "trainer": {"args": ["a", "é", "#"]}},
}


def migrated(text: str) -> MigratedFile:
    return migrate_text(text, "input.json", Limits())


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"indent": 2},
        {"indent": 4, "ensure_ascii": False},
        {"indent": "\t"},
        {"separators": (",", ":")},
        {"indent": 2, "separators": (",", ":")},
    ],
)
def test_the_whole_file_keeps_its_indentation_spacing_and_characters(form: dict[str, Any]) -> None:
    text = json.dumps(JOB, **form)
    new = migrated(text).text
    data = json.loads(new)
    assert new == json.dumps(data, **form)
    assert list(data["spec"]) == ["runtimeRef", "trainer", "runtimePatches"]
    assert migrated(new).text == new


def test_lines_whose_data_stays_are_as_they_were() -> None:
    by_hand = '"args": ["a", "é", "#"]'
    text = json.dumps(JOB, indent=2, ensure_ascii=False)
    at, end = text.index('"args"'), text.index("]", text.index('"args"')) + 1
    text = f"{text[:at]}{by_hand}{text[end:]}\r\n".replace("\n", "\r\n").replace("\r\r", "\r")
    new = migrated(text).text
    assert by_hand in new
    assert "runtimePatches" in json.loads(new)["spec"]
    assert new.count("\n") == new.count("\r\n")


def test_every_item_of_a_list_and_every_object_of_a_stream_is_migrated() -> None:
    other = {"kind": "Other", "n": 1.50}
    items = json.dumps({"apiVersion": "v1", "kind": "List", "items": [other, JOB]})
    stream = f'{items}\n{json.dumps(JOB)}{{"kind":  "Other"}}\n# And YAML.\nkind:   Other\n---\n'
    new = migrated(stream).text
    assert "podTemplateOverrides" not in new
    assert new.count("runtimePatches") == 2
    assert new.endswith('{"kind":  "Other"}\n# And YAML.\nkind:   Other\n---\n')
    assert migrated(new).text == new


def test_what_needs_no_change_is_as_it_was() -> None:
    for text in ('{"kind":\n\n"Other" , "n": 1e3}', "{}", "{", "{a: b}\n", '{"a": 1, "a": 2}', ""):
        assert migrated(text).text == text


def test_items_of_a_typed_list_get_no_kind_for_nothing() -> None:
    bare = {key: JOB[key] for key in ("metadata",)} | {"spec": {"runtimeRef": {"name": "rt"}}}
    text = json.dumps({"apiVersion": JOB["apiVersion"], "kind": "TrainJobList", "items": [bare]})
    assert migrated(text).text == text

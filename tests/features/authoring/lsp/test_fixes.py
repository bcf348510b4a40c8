"""A hint applied: what an editor offers does what the hint says, and helps."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from editor import JOB, Editor
from tables import cases

from trainc.features.authoring.lsp.fixes import Offer, offers
from trainc.features.authoring.lsp.workspace import Workspace
from trainc.reading.edits import Edit, Position, Range

RULES = sorted((Path(__file__).parents[4] / "compiler/trainc").rglob("rules/*.md"))
EVERYWHERE = Range(Position(0, 0), Position(10**6, 0))
_BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)

Opens = Callable[[Path], Workspace]


def offered(workspace: Workspace, text: str, name: str = "job.yaml") -> list[Offer]:
    file = os.path.join(workspace.root, name)
    return offers(workspace.look_at(file, {file: text}), EVERYWHERE)


def applied(text: str, edit: Edit) -> str:
    lines = text.split("\n")
    start, end = (sum(len(line) + 1 for line in lines[: place.line]) + place.column for place in edit.range)
    return text[:start] + edit.text + text[end:]


@pytest.mark.slow
def test_every_fix_of_every_rule_helps_and_breaks_nothing(workspace_at: Opens, tmp_path: Path) -> None:
    """Which rules have one is said here by name, so that a hint that is written anew keeps its fix."""
    (tmp_path / "trainc.yaml").write_text('release: "2.3"\n')
    (tmp_path / "job.yaml").write_text("")
    workspace, fixed = workspace_at(tmp_path), set()
    for page in RULES:
        text = next(iter(_BLOCK.findall(page.read_text(encoding="utf-8"))), "")
        file = str(tmp_path / "job.yaml")
        before = workspace.look_at(file, {file: text}).diagnostics
        for offer in offered(workspace, text):
            about, title = offer.diagnostic, offer.edit.title
            after = workspace.look_at(file, {file: applied(text, offer.edit)}).diagnostics
            same = [d for d in after if d.message == about.message and d.path == about.path]
            assert len(same) < sum(d.message == about.message for d in before), (page.stem, title)
            new = {d.code for d in after if d.severity == "error"} - {d.code for d in before}
            assert not new or title.startswith("Ignore"), (page.stem, title, new)
            if about.code == page.stem and not title.startswith("Ignore"):
                fixed.add(page.stem)
    assert fixed >= EXPECTED, sorted(EXPECTED - fixed)


EXPECTED = {
    *(
        "BackoffLimitPerIndexNeedsIndexed",
        "CoercedType",
        "CommandCannotStart",
        "DependsOnUnknown",
        "ElasticWithNumNodes",
    ),
    *("FieldIgnored", "HostNetworkWithoutDNS", "InvalidVariableValue", "IdleDevices", "InvalidCoordinatorIndex"),
    *("InvalidImage", "InvalidJobPolicy", "InvalidKueueValue", "InvalidName", "InvalidPath", "InvalidQuantity"),
    *("InvalidRestartPolicy", "InvalidStorageUri", "MisspeltKueueName", "MisspeltVariable", "MoreProcessesThanDevices"),
    *("PodsWithoutIndex", "RanksDoNotMeet", "ReplicasNotOne", "ReservedEnv", "RuntimeNotFound", "SuspendFightsKueue"),
    *("TTLRerun", "TooManyNodes", "UnknownAPIVersion", "UnknownCode", "UnknownField", "UnknownKind"),
    *("UnknownPatchTarget", "UnknownPatchTarget", "UnknownTargetJob", "UnlikelyAmount", "UnlikelyResource"),
    *("UnsupportedValue", "ValueOverridden", "WrongType"),
}


@cases("written", "title", "expected")
def test_a_fix_changes_what_it_says(
    written: str, title: str, expected: str, workspace_at: Opens, tmp_path: Path
) -> None:
    (tmp_path / "trainc.yaml").write_text('release: "2.3"\n')
    text = JOB.replace("pretrain", "torch-distributed").replace("numNodes: 4", written).partition("    command")[0]
    edit = next(offer.edit for offer in offered(workspace_at(tmp_path), text) if offer.edit.title == title)
    assert applied(text, edit) == text.replace(written, expected)


@pytest.mark.parametrize(
    ("name", "text", "fixed"),
    [
        ("trainc.yaml", "relase: '2.3'\n", "release: '2.3'\n"),
        ("trainc.yaml", "release: 2.3\n", 'release: "2.3"\n'),
        ("trainc.yaml", "release: '2.3'\nnameHash: 'true'\nsemantics: git\n", "semantics: gitops\n"),
        ("prod/overlay.yaml", "apiVersion: trainc/v1alpha1\nkind: Overlay\npatchs: []\n", "patches: []\n"),
    ],
)
def test_mistakes_in_settings_and_overlays_have_fixes_too(
    name: str, text: str, fixed: str, workspace_at: Opens, tmp_path: Path
) -> None:
    (tmp_path / "prod").mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = offered(workspace_at(tmp_path), text, name)
    assert any(applied(text, offer.edit).endswith(fixed) for offer in found), found


def test_a_comment_ignores_a_warning_and_is_not_offered_for_what_cannot_be_ignored(
    workspace_at: Opens, tmp_path: Path
) -> None:
    (tmp_path / "trainc.yaml").write_text('release: "2.3"\n')
    job = JOB.replace("pretrain", "torch-distributed")
    wrong = job.replace("numNodes", "numNode")
    assert not [one for one in offered(workspace_at(tmp_path), wrong) if one.edit.title.startswith("Ignore")]
    text = job.replace("{nvidia.com/gpu: 8}", "{memory: 64}")
    (comment,) = [one for one in offered(workspace_at(tmp_path), text) if one.edit.title.startswith("Ignore")]
    line = next(line for line in text.split("\n") if "memory" in line)
    assert applied(text, comment.edit) == text.replace(line, f"    # trainc: ignore[UnlikelyAmount] reason\n{line}")


def test_the_transcript_of_a_fix(editor: Editor) -> None:
    editor.open("jobs/llm.yaml", JOB.replace("numNodes", "numNode"))
    (wrong,) = editor.diagnostics("jobs/llm.yaml")
    uri = editor.uri("jobs/llm.yaml")
    asked = {"textDocument": {"uri": uri}, "range": wrong["range"], "context": {"diagnostics": [wrong]}}
    (action,) = editor.request("textDocument/codeAction", asked)
    edit = {"range": wrong["range"], "newText": "numNodes"}
    assert action == {
        "title": "Change numNode to numNodes",
        "kind": "quickfix",
        "diagnostics": [wrong],
        "isPreferred": True,
        "edit": {"changes": {uri: [edit]}},
    }
    asked["context"] = {"diagnostics": [], "only": ["refactor"]}
    assert editor.request("textDocument/codeAction", asked) == []

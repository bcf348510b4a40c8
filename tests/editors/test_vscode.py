"""The extension of VS Code: it packs, holds what it must and nothing else, and its settings start this server."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tables import cases

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"

NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@cases("asked", "files", "platform", "expected")
def test_the_program_that_is_started(asked: Any, files: Any, platform: Any, expected: Any) -> None:
    script = (
        f"const {{findProgram}} = require({json.dumps(str(EXTENSION / 'src' / 'program.js'))});"
        f"const files = {json.dumps(files)};"
        f"const found = findProgram({json.dumps(asked)}, (file) => files.includes(file), {json.dumps(platform)});"
        "console.log(JSON.stringify(found ?? null))"
    )
    done = subprocess.run([str(NODE), "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == (expected and [expected, "lsp"])


def test_a_link_of_the_extension_leads_to_its_walkthrough() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    (walkthrough,) = manifest["contributes"]["walkthroughs"]
    opened = f"{manifest['publisher']}.{manifest['name']}#{walkthrough['id']}"
    assert opened in (EXTENSION / "src" / "extension.js").read_text(encoding="utf-8")
    assert all((EXTENSION / step["media"]["markdown"]).is_file() for step in walkthrough["steps"])
    assert (EXTENSION / manifest["icon"]).read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The extension as it is published; node_modules stays outside of the repository."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed; `apt-get install npm` brings it")
    folder = tmp_path_factory.mktemp("vscode") / "extension"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    had = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, check=False
    )
    if had.returncode:
        pytest.skip("npm could not fetch @vscode/vsce, esbuild and vscode-languageclient: it needs its registry")
    done = subprocess.run([npm, "run", "--silent", "package"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return zipfile.ZipFile(folder / "dist" / "trainc.vsix")


@pytest.mark.editors
def test_it_holds_what_it_must_and_nothing_else(packed: zipfile.ZipFile) -> None:
    assert packed.testzip() is None
    assert {name.lower() for name in packed.namelist()} == {
        "[content_types].xml",
        "extension.vsixmanifest",
        "extension/package.json",
        "extension/readme.md",
        "extension/media/icon.png",
        "extension/media/look.md",
        "extension/media/start.md",
        "extension/dist/extension.js",
    }


@pytest.mark.editors
def test_its_manifest_is_valid(packed: zipfile.ZipFile) -> None:
    manifest: dict[str, Any] = json.loads(packed.read("extension/package.json"))
    assert f"extension/{Path(manifest['main']).as_posix()}" in packed.namelist()
    assert 'Id="trainc"' in packed.read("extension.vsixmanifest").decode()
    assert manifest["contributes"]["configuration"]["properties"]["trainc.command"]["default"] == ["trainc", "lsp"]
    # A repository may not say which program is started before its owner is trusted.
    assert manifest["capabilities"]["untrustedWorkspaces"]["supported"] is False


@pytest.mark.editors
def test_its_program_can_be_read_by_node(packed: zipfile.ZipFile, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; `apt-get install nodejs` brings it")
    program = packed.extract("extension/dist/extension.js", tmp_path)
    subprocess.run([node, "--check", program], check=True)
    text = Path(program).read_text(encoding="utf-8")
    assert 'require("vscode")' in text
    assert "pygls" in text


def test_its_lock_names_no_registry() -> None:
    assert '"resolved"' not in (EXTENSION / "package-lock.json").read_text(encoding="utf-8")

"""The terminal on the website's first page: real trainc runs as HTML without scripts.

Each scene is a command with its output. The scenes rotate through CSS animation, and the reader can select one; with
reduced motion, the first one stays.
"""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ansi2html import Ansi2HTMLConverter

_JOB = Path(__file__).parent / "demo" / "llm.yaml"
_LINES = 22


@dataclass(frozen=True)
class Scene:
    """A command to show and its expected exit status; `edits` are applied to the job first."""

    title: str
    command: str
    status: int
    edits: Mapping[str, str]


_MISTYPED = {"gpu: 8": "gpu: eight"}
_CORRECT = {"gpu: eight": "gpu: 8", '--nnodes, "8", ': ""}
SCENES = (
    Scene("A hang", "trainc check llm.yaml", 1, {}),
    Scene("The job", "cat llm.yaml", 0, {}),
    Scene("A typo", "trainc check llm.yaml", 1, _MISTYPED),
    Scene("Graph", "trainc graph llm.yaml", 0, _CORRECT),
    Scene("Explain", "trainc explain llm.yaml parallelism", 0, {}),
    Scene("Build", "trainc build llm.yaml", 0, {}),
)


def demo_html() -> str:
    """The terminal as a `div`, with colors as classes of site.css."""
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "llm.yaml"
        job.write_text(_JOB.read_text(encoding="utf-8"), encoding="utf-8")
        (Path(folder) / "trainc.yaml").write_text('release: "2.3"\n', encoding="utf-8")
        printed = [_printed(scene, job) for scene in SCENES]
    tabs = "".join(_tab(number, scene) for number, scene in enumerate(SCENES))
    screens = "".join(
        _screen(number, scene, text) for number, (scene, text) in enumerate(zip(SCENES, printed, strict=True))
    )
    return f'<div class="terminal" style="--scenes: {len(SCENES)}">\n{tabs}<div class="screens">\n{screens}</div>\n</div>\n'


def _printed(scene: Scene, job: Path) -> str:
    """The output of the command, with colors, cut to the height of the terminal."""
    text = job.read_text(encoding="utf-8")
    for old, new in scene.edits.items():
        assert old in text, old
        text = text.replace(old, new)
    job.write_text(text, encoding="utf-8")
    if scene.command.startswith("cat "):
        return text
    words = [sys.executable, "-m", *scene.command.split()]
    environment = {**os.environ, "FORCE_COLOR": "1"}
    environment.pop("NO_COLOR", None)
    done = subprocess.run(words, cwd=job.parent, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == scene.status, done.stdout + done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(lines if len(lines) <= _LINES else [*lines[: _LINES - 1], "..."])


def _tab(number: int, scene: Scene) -> str:
    name = f"scene-{number}"
    return (
        f'<input type="radio" name="scene" id="{name}" class="{name}">'
        f'<label for="{name}" style="--scene: {number}">{html.escape(scene.title)}</label>\n'
    )


def _screen(number: int, scene: Scene, printed: str) -> str:
    text = Ansi2HTMLConverter(inline=False, escaped=True).convert(printed, full=False)
    return (
        f'<pre class="screen scene-{number}" style="--scene: {number}" tabindex="0"><span class="prompt">$ </span>'
        f'<span class="typed">{html.escape(scene.command)}</span>\n{text}</pre>\n'
    )

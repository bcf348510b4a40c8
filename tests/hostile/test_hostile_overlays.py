"""Hostile overlays, patches, templates, settings and revisions: refused with a diagnostic, within the limits."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hostile_inputs import HEAD
from limited import outcomes, request

pytestmark = pytest.mark.slow

OVERLAY = "apiVersion: trainc/v1alpha1\nkind: Overlay\n"
BUILD = ["build", "--release", "2.3"]
DEEP = "[" * 10_000 + "]" * 10_000
BOMB = "l0: &l0 [x]\n" + "".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]\n" for i in range(1, 12))


def outcome(folder: Path, words: list[str]) -> dict[str, Any]:
    (found,) = outcomes([request(folder, words)])
    return found


def of_table(root: Path, table: Mapping[str, Mapping[str, str]], words: list[str]) -> dict[str, dict[str, Any]]:
    """What became of each entry of a table, all in one process: their files by name."""
    folders = {root / str(number): files for number, files in enumerate(table.values())}
    for folder, files in folders.items():
        write(folder, files)
    return dict(zip(table, outcomes([request(folder, words) for folder in folders]), strict=True))


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _patch(*operations: str, times: int = 1) -> str:
    body = "".join(f"  - {operation}\n" for _ in range(times) for operation in operations)
    return f"{OVERLAY}patches:\n- target: {{kind: TrainJob}}\n  patch:\n{body}"


OVERLAYS: Mapping[str, tuple[str, str]] = {
    "ten thousand lists": (f"{OVERLAY}values: {{a: {DEEP}}}\n", "TooDeep"),
    "a bomb of aliases": (f"{OVERLAY}values:\n  {BOMB.replace(chr(10), chr(10) + '  ')}\n", "TooManyAliases"),
    "a bomb of aliases in a patch": (
        f"{OVERLAY}patches:\n- target: {{kind: TrainJob}}\n  patch: |\n    {BOMB.replace(chr(10), chr(10) + '    ')}\n",
        "TooManyAliases",
    ),
    "ten thousand lists in a patch": (
        f"{OVERLAY}patches:\n- target: {{kind: TrainJob}}\n  patch: |\n    spec: {{a: {DEEP}}}\n",
        "TooDeep",
    ),
    "copies of copies": (
        _patch("{op: copy, from: /spec, path: /spec/a}", "{op: copy, from: /spec, path: /spec/b}", times=60),
        "PatchFailed",
    ),
    "a path with NUL": (f'{OVERLAY}resources: ["a\\0b.yaml"]\n', "OutsideRoot"),
    "copies of the whole into itself": (
        _patch("{op: copy, from: '', path: /spec/a}", "{op: copy, from: '', path: /metadata/b}", times=60),
        "UnknownField",
    ),
    "additions into additions": (
        _patch(*(f"{{op: add, path: '/spec{'/a' * i}', value: {{}}}}" for i in range(1, 700))),
        "PatchFailed",
    ),
    "a pointer of a hundred thousand steps": (
        _patch(f"{{op: add, path: '{'/a' * 100_000}', value: 1}}"),
        "PatchFailed",
    ),
    "an operation that is none": (_patch("{op: exec, path: /spec, value: 1}"), "PatchFailed"),
    "the whole document removed": (_patch("{op: remove, path: ''}"), "PatchFailed"),
    "the whole document replaced": (_patch("{op: replace, path: '', value: 1}"), "PatchFailed"),
    "a patch that addresses nothing": (
        f"{OVERLAY}patches:\n- target: {{kind: TrainJob, name: nobody}}\n  patch: {{spec: {{}}}}\n",
        "PatchTargetMissing",
    ),
    "a pattern that backtracks for ever": (
        f"{OVERLAY}patches:\n- target: {{name: '(a+)+b'}}\n  patch: {{spec: {{}}}}\n",
        "PatchTargetMissing",
    ),
    "a pattern of a hundred thousand groups": (
        f"{OVERLAY}patches:\n- target: {{name: '{'(' * 100_000}'}}\n  patch: {{spec: {{}}}}\n",
        "InvalidOverlay",
    ),
    "a selector of a million commas": (
        f"{OVERLAY}patches:\n- target: {{labelSelector: 'a{',' * 1_000_000}=('}}\n  patch: {{spec: {{}}}}\n",
        "InvalidOverlay",
    ),
    "an image of a million letters": (f"{OVERLAY}images: [{{name: {'a/' * 500_000}}}]\n", "InvalidOverlay"),
    "fields of any type": (f"{OVERLAY}resources: 1\npatches: {{a: b}}\nlabels: x\nvalues: []\n", "InvalidOverlay"),
    "itself": (f"{OVERLAY}resources: [../overlay]\n", "InvalidOverlay"),
}


@pytest.fixture(scope="module")
def overlays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    job = HEAD.replace("llm", "a" * 40)
    table = {name: {"jobs/job.yaml": job, "overlay/overlay.yaml": text} for name, (text, _) in OVERLAYS.items()}
    return of_table(tmp_path_factory.mktemp("overlays"), table, [*BUILD, "jobs", "--overlay", "overlay"])


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_hostile_overlay_is_refused(name: str, overlays: dict[str, dict[str, Any]]) -> None:
    assert (overlays[name]["status"], overlays[name]["traceback"]) == (1, False)
    assert OVERLAYS[name][1] in overlays[name]["codes"]


def test_bases_that_double_at_each_level_are_refused(tmp_path: Path) -> None:
    levels = {
        f"{side}{level}/overlay.yaml": f"{OVERLAY}resources: [../a{level + 1}, ../b{level + 1}]\n"
        for level in range(25)
        for side in "ab"
    }
    write(tmp_path, {**levels, "a25/overlay.yaml": OVERLAY, "b25/overlay.yaml": OVERLAY})
    found = outcome(tmp_path, [*BUILD, "--overlay", "a0"])
    assert (found["status"], found["codes"]) == (1, ["InvalidOverlay"])


def test_bases_a_thousand_levels_deep_are_refused(tmp_path: Path) -> None:
    levels = {f"b{level}/overlay.yaml": f"{OVERLAY}resources: [../b{level + 1}]\n" for level in range(1_000)}
    write(tmp_path, {**levels, "b1000/overlay.yaml": OVERLAY})
    found = outcome(tmp_path, [*BUILD, "--overlay", "b0"])
    assert (found["status"], found["codes"]) == (1, ["InvalidOverlay"])


def test_a_resource_a_thousand_times_counts_a_thousand_times(tmp_path: Path) -> None:
    text = f"{OVERLAY}resources:\n" + "- job.yaml\n" * 1_000
    write(tmp_path, {"overlay/overlay.yaml": text, "overlay/job.yaml": HEAD})
    found = outcome(tmp_path, [*BUILD, "--overlay", "overlay", "--max-documents", "500"])
    assert (found["status"], "TooManyDocuments" in found["codes"]) == (1, True)


TEMPLATES: Mapping[str, str] = {
    "lists of lists": "{% set l = [1] %}" + "{% set l = [l, l] %}" * 60 + "a: {{ l }}",
    "mappings of mappings": "{% set l = {} %}" + "{% set l = {'a': l, 'b': l} %}" * 60 + "a: {{ l == l }}",
    "lists that are compared": "{% set a, b = [1], [1] %}" + "{% set a, b = [a, a], [b, b] %}" * 60 + "{{ a == b }}",
    "text that doubles": "{% set n = namespace(a='x') %}{% for i in range(99) %}{% set n.a = n.a ~ n.a %}{% endfor %}",
    "lists that double": "{% set n = namespace(a=[1]) %}{% for i in range(99) %}{% set n.a = n.a + n.a %}{% endfor %}",
    "loops in loops": "{% for i in range(999) %}{% for j in range(999) %}{% for k in range(999) %}{% endfor %}" * 1
    + "{% endfor %}{% endfor %}",
    "thirty loops": "{% for i in [1] %}" * 30 + "{% endfor %}" * 30,
    "macros that double": "{% macro m0() %}x{% endmacro %}"
    + "".join(f"{{% macro m{i}() %}}{{{{ m{i - 1}() ~ m{i - 1}() }}}}{{% endmacro %}}" for i in range(1, 40))
    + "{{ m39() }}",
    "a macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "ten thousand parentheses": "{{ " + "(" * 10_000 + "1" + ")" * 10_000 + " }}",
    "a hundred thousand nots": "{{ " + "not " * 100_000 + "1 }}",
    "half a million expressions": "{{ 1 }}\n" * 500_000,
    "a number of a hundred thousand digits": "{{ " + "9" * 100_000 + " }}",
    "a power": "{{ 9 ** 9 ** 9 }}",
    "a width": "{{ '%1000000000d' % 1 }}",
    "Python's own": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals of a function": "{{ range.__globals__ }}",
    "an import": "{% import 'os' as os %}",
}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    table = {name: {"job.yaml.j2": text} for name, text in TEMPLATES.items()}
    return of_table(tmp_path_factory.mktemp("templates"), table, [*BUILD, "job.yaml.j2"])


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_hostile_template_is_stopped(name: str, templates: dict[str, dict[str, Any]]) -> None:
    assert (templates[name]["status"], templates[name]["traceback"]) == (1, False)
    assert "TemplateError" in templates[name]["codes"]


SETTINGS: Mapping[str, tuple[str, str]] = {
    "ten thousand lists": (f"sources: {DEEP}\n", "TooDeep"),
    "a bomb of aliases": (BOMB, "TooManyAliases"),
    "a tag of Python": ("sources: !!python/object/apply:os.system [exit]\n", "UnsupportedTag"),
    "NUL": ("sources: [a\0]\n", "InvalidEncoding"),
    "values of any type": ("sources: 1\nrelease: [2]\noutput: {a: b}\nsyncOptions: 7\n", "InvalidConfiguration"),
    "paths with NUL": ('sources: ["a\\0b"]\n', "OutsideRoot"),
    "twenty thousand keys": ("".join(f"a{i}: 1\n" for i in range(20_000)), "InvalidConfiguration"),
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    table = {name: {"trainc.yaml": text, "job.yaml": HEAD} for name, (text, _) in SETTINGS.items()}
    return of_table(tmp_path_factory.mktemp("settings"), table, BUILD)


@pytest.mark.parametrize("name", SETTINGS)
def test_hostile_settings_are_refused(name: str, settings: dict[str, dict[str, Any]]) -> None:
    assert (settings[name]["status"], settings[name]["traceback"]) == (1, False)
    assert SETTINGS[name][1] in settings[name]["codes"]


def test_hostile_files_of_a_revision_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/job.yaml": f"{HEAD}  x: {DEEP}\n", "jobs/bomb.yaml": BOMB})
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "jobs"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    found = outcome(tmp_path, ["diff", "git:HEAD", "jobs", "--release", "2.3"])
    assert (found["status"], found["traceback"]) == (1, False)
    assert {"TooDeep", "TooManyAliases"} <= set(found["codes"])

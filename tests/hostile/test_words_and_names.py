"""Names of files, links, and what looks like a credential: nothing is written where or as its reader does not expect."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from commands import run
from comparing import diff_of, manifests

from trainc.cli.diagnostics import Files
from trainc.cli.report_formats import sarif_report
from trainc.features.authoring.lsp import hovering
from trainc.features.gitops.diff import live_report, markdown as markdown_of_diffs
from trainc.features.gitops.diff.changes import Change
from trainc.features.gitops.diff.live import Drift, LiveDiff, LiveObject, Wait
from trainc.features.gitops.diff.live_report import live_markdown
from trainc.features.gitops.diff.markdown import comment
from trainc.features.gitops.diff.model import Cause, Diff, Facts, Group, JobDiff, ObjectDiff, Review
from trainc.findings import Diagnostic, Source, markdown
from trainc.findings.text import escape_report
from trainc.startup.records import fields, replace

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME, namespace: nlp}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    command: [python, train.py, OPTION]
    env: [{name: VARIABLE, value: VALUE}]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def imported(name: str = "a", option: str = "x", variable: str = "A", value: str = "b") -> str:
    text = JOB.replace("NAME", name).replace("OPTION", option).replace("VARIABLE", variable).replace("VALUE", value)
    Path("live.yaml").write_text(text, encoding="utf-8")
    result = run("import", "live.yaml", "-o", "jobs")
    assert result.status == 0, result.stderr
    return result.stdout + result.stderr


@pytest.mark.parametrize("name", ["overlay", "kustomization", "trainc", "con", "nul", "com1", "a" * 300, "llm"])
def test_a_job_of_any_name_is_a_source_after_import(name: str) -> None:
    imported(name)
    (file,) = Path("jobs").rglob("*.yaml")
    assert len(file.name) < 255
    assert file.stem not in ("overlay", "kustomization", "trainc", "con", "nul", "com1")
    assert f"name: {name}" in file.read_text(encoding="utf-8")
    assert "no TrainJob found" not in run("check", "jobs", "--release", "2.3").stderr


def test_jobs_whose_names_begin_alike_have_files_of_their_own() -> None:
    texts = [JOB.replace("NAME", "a" * 299 + last).replace("OPTION", "x").replace("VARIABLE", "A") for last in "bc"]
    Path("live.yaml").write_text("---\n".join(texts), encoding="utf-8")
    assert run("import", "live.yaml", "-o", "jobs").status == 0
    assert len([*Path("jobs").rglob("*.yaml")]) == 2


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DB_PASS", "hunter22"),
        ("CREDENTIALS", "user:hunter22"),
        ("GITHUB_PAT", "ghp_" + "a" * 36),
        ("NOTE", "ghp_" + "a" * 36),
        ("NOTE", '"-----BEGIN OPENSSH PRIVATE KEY----- AAAA"'),
    ],
)
def test_import_names_what_it_wrote_in_clear(variable: str, value: str) -> None:
    assert f"{variable} looks like a credential and was written as it is" in imported(variable=variable, value=value)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("--token=abcdef", "--token"),
        ("--api-key, hunter22", "--api-key"),
        ("'train.py --wandb-api-key hunter22'", "--wandb-api-key"),
        ("docker, run, -e, DB_PASS=hunter22", "DB_PASS"),
        ("'export GITHUB_PAT=\"hunter22\"; python t.py'", "GITHUB_PAT"),
        ("'git clone https://me:hunter22@example.com/a'", "command"),
        ("--db, postgres://:hunter22@db/x", "command"),
    ],
)
def test_import_names_credentials_among_words(words: str, name: str) -> None:
    assert f"{name} looks like a credential" in imported(option=words)


@pytest.mark.parametrize(
    "words",
    [
        *("--tokenizer=x", "--lr=1", "--max-token, '512'", "--pad_token, '<pad>'", "--token, $(HF_TOKEN)", "--token"),
        *("'--token $HF_TOKEN'", "--token, --verbose", "--secret=/run/secrets/a", "--use-token=true", "http://a:80/@b"),
        *("s3://b/k@v", "'export HF_TOKEN=\"$(cat /run/secrets/t)\"'"),
    ],
)
def test_import_names_nothing_else(words: str) -> None:
    assert "looks like a credential" not in imported("b", words, "NCCL_DEBUG", "INFO")


@pytest.mark.parametrize("link", [".github", ".github/workflows", "jobs", ".vscode"])
def test_init_writes_through_no_link(link: str, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    Path(link).parent.mkdir(exist_ok=True)
    Path(link).symlink_to(outside)
    result = run("init", ".")
    assert result.status == 1
    assert "error[FileInTheWay]" in result.stderr
    assert [*outside.iterdir()] == []


ATTACK = "x _@octocat_ é@hubot https://evil.example www.evil.example fixes #1 a/b#2 **LGTM** ~~no~~ [a](b) GH-3"
HOSTILE = (
    *(
        ATTACK,
        f"`{ATTACK}",
        f"``{ATTACK}`",
        f"a `b` {ATTACK} `",
        f"\\`{ATTACK}`",
        f"```\n{ATTACK}\n```",
        f"é`{ATTACK}`",
    ),
    *(
        "a\\|b|`@x`|\\",
        "<details><img src=x>\n\n# T\n\n- [x] y",
        "</summary></details><!-- ",
        "![i](//e)",
        "[r]: //e",
        "<!--",
    ),
    *(
        "&commat;octocat &num;1 &#64;hubot &lt;b&gt;",
        "\u202e@octocat\u2028# x\r* y",
        "1. x",
        "- x",
        "===",
        "deadbeef 1234567",
    ),
    *(
        "a@b.example user@deadbeef !1 $2 %3 ~l :x: ^y^ ==z==",
        "|---|\n|a|",
        "(`@x",
        "`@x`)",
        "`a``@b`",
        "```@x",
        "@x```",
        "$`x`$",
    ),
)
OWN = r"(?m)\(\*\)|^#{3,4} |^> |^- |\*\*|(?<=^- )\*|\*(?=: )|\[(?=CODE)|(?<=CODE)\]\(https://github\.com/[\w/.%#-]+\)"
HTML = r"<details><summary><code>[^<]*</code>: [a-z ,]+</summary>|</details>"


def outside_code(text: str) -> str:
    """What a reader of CommonMark takes for no code, without the markup that trainc writes itself."""
    text = re.sub(r"(?ms)^(```+)\w+$.*?^\1$", "CODE", text)
    rest, place = "", 0
    for line in re.sub(HTML, "CODE", text).split("\n"):
        rest, place = f"{rest}\n", 0
        while run_of := re.compile("`+").search(line, place):
            end = re.compile(rf"(?<!`){run_of[0]}(?!`)").search(line, run_of.end())
            rest += line[place : run_of.start()] + ("CODE" if end else run_of[0])
            place = end.end() if end else run_of.end()
        rest += line[place:]
    return re.sub(OWN, "", rest)


def assert_inert(text: str) -> None:
    rest = outside_code(text)
    found = re.search(r"[<>&@#_~`\\*\[\]^$!]|==|://|www\.\S|\b(?=\d*[a-f])[0-9a-f]{7,}\b|\w-\d|:\w+:", rest)
    assert found is None, (found, text)
    assert text.isprintable() or all(char.isprintable() or char == "\n" for char in text)


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_in_markdown_is_code(text: str) -> None:
    assert_inert(markdown.words(text))
    assert_inert(markdown.words(f"the job `llm` of {text}, `b` ({text})."))
    assert "\n" not in markdown.words(text) + markdown.code(text)
    assert outside_code(markdown.code(text)) == "\nCODE"
    assert len(re.findall(r"(?<!\\)\|", markdown.row([markdown.code(text), markdown.words(text)]))) == 3


def test_plain_words_stay_as_they_are() -> None:
    said = '1 job can\'t be re-created: it has 1,024 GPUs (25%), and 0.5 of "x"; 2 → 4.'
    assert markdown.words(said) == said
    assert markdown.words("`trainc diff` shows a/b, c.d (e.f): no") == "`trainc diff` shows `a/b`, `c.d` (`e.f`): no"


def test_a_message_for_a_dashboard_has_no_link() -> None:
    assert "](" not in sarif_report([Diagnostic("UnknownField", "error", "[a](https://evil.example)")], Files())


@pytest.mark.parametrize("module", [markdown_of_diffs, live_report, hovering])
def test_code_is_made_in_one_place(module: Any) -> None:
    """No backquote stands before a value: `markdown.code` knows how many it takes."""
    strings = (
        node.values for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.JoinedStr)
    )
    pairs = (pair for values in strings for pair in pairwise(values))
    assert not [
        before.value for before, after in pairs if isinstance(before, ast.Constant) and str(before.value).endswith("`")
    ]


def planted(value: Any, text: str, name: str = "") -> Any:
    """A record with a text in all that documents, settings, files and policies have a part in."""
    if name in ("code", "severity", "origin", "side", "kind", "status", "release", "method", "deliveries", "verdicts"):
        return value
    if isinstance(value, str):
        return text if name in ("object", "path") or not value else f"{value}{text}"
    if isinstance(value, tuple):
        inside = [planted(one, text, name) for one in value]
        return type(value)(*inside) if hasattr(value, "_fields") else tuple(inside)
    if isinstance(value, (Diff, Group, JobDiff, ObjectDiff, Change, Facts, Review, Cause, Diagnostic, Source)):
        return replace(value, **{f.name: planted(getattr(value, f.name), text, f.name) for f in fields(value)})
    return value


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_comment_is_obeyed(text: str) -> None:
    before, after = manifests(), [*manifests(numNodes=4, env=[{"name": "A", "value": text}]), *manifests("new")]
    diff = diff_of([*before, *manifests("gone")], after)
    error = Diagnostic("Code", "error", "wrong", "", "TrainJob a/b", "spec.x", Source("jobs/a.yaml", 1, 1))
    says = ("a sentence about",)
    review = Review((("before", (error,)), ("", (error,))), says, says, says, says, says)
    cause = Cause(Source("jobs/a.yaml", 1, 1), "after")
    groups = tuple(replace(g, causes=(cause,), reason="a reason", varies=True) for g in diff.groups)
    jobs = [replace(g.first, notes=("a note",), aside="aside") for g in groups]
    groups = tuple(replace(g, members=(("dev", j), ("prod", j))) for g, j in zip(groups, jobs, strict=True))
    whole = planted(replace(diff, groups=groups, review=review, notes=("note",)), text)
    link = "https://github.com/a/b/blob/1/jobs/a.yaml#L1"
    shown = escape_report(
        comment({"dev": whole, f"prod{text}": whole}, {f"x{text}": [planted(error, text)]}, link=lambda _: link)
    )
    assert_inert(shown)
    assert (
        len({len(re.findall(r"(?<!\\)\|", row)) for row in shown.split("\n#### ")[0].splitlines() if row[:1] == "|"})
        == 1
    )
    wait = Wait(f"Workload {text}", text, text, (text,), text)
    parts = LiveObject("JobSet", text, text, "drifted", (Drift((text,), (text,), "changed", text, text, text, False),))
    extra = replace(
        parts, object="extra", state="failed", waits=(wait,), successor=text, sync="re-created", source=text
    )
    assert_inert(live_markdown(LiveDiff(diff.method, (parts, extra), (text,), f"git:{text}", text)))


def test_a_file_name_forges_no_line_of_a_diff() -> None:
    for folder, value in (("old", "b"), ("new", "c")):
        text = JOB.replace("NAME", "llm").replace("OPTION", "x").replace("VARIABLE", "A").replace("VALUE", value)
        Path(folder).mkdir()
        Path(folder, "z\nall jobs  no changes\n.yaml").write_text(text, encoding="utf-8")
    shown = run("diff", "old", "new", "--release", "2.3").stdout
    assert "because of" in shown
    assert "\nall jobs  no changes" not in shown

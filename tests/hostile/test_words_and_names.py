"""Names of files, links, and what looks like a credential: nothing is written where or as its reader does not expect."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from commands import run

from trainc.features.gitops.diff.markdown import cell

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


@pytest.mark.parametrize("text", [ATTACK, f"`{ATTACK}", f"``{ATTACK}`", f"a `b` {ATTACK} `", f"\\`{ATTACK}`"])
def test_no_text_in_a_comment_is_a_mention_a_link_or_markup(text: str) -> None:
    shown = re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", cell(text))
    assert not re.search(r"(?<!\\)[*~`]|\]\(|@\w|#\d|://|www\.|GH-\d", shown), shown


def test_no_entity_in_a_comment_is_a_mention_or_a_link() -> None:
    shown = html.unescape(cell("&commat;octocat &num;1 &#64;hubot a<b &colon;//c &lt;"))
    assert not re.search(r"@\w|#\d|://", shown), shown
    assert "a<b" in shown


def test_a_file_name_forges_no_line_of_a_diff() -> None:
    for folder, value in (("old", "b"), ("new", "c")):
        text = JOB.replace("NAME", "llm").replace("OPTION", "x").replace("VARIABLE", "A").replace("VALUE", value)
        Path(folder).mkdir()
        Path(folder, "z\nall jobs  no changes\n.yaml").write_text(text, encoding="utf-8")
    shown = run("diff", "old", "new", "--release", "2.3").stdout
    assert "because of" in shown
    assert "\nall jobs  no changes" not in shown


def test_the_comment_of_a_diff_notifies_nobody() -> None:
    for name, image in (("old", "a/b:1"), ("new", ATTACK)):
        text = JOB.replace("NAME", "llm").replace("OPTION", "x").replace("VARIABLE", "A").replace("VALUE", "b")
        Path(f"{name}.yaml").write_text(f'{text}    image: "{image}"\n', encoding="utf-8")
    shown = run("diff", "old.yaml", "new.yaml", "--format", "markdown", "--release", "2.3").stdout
    outside = re.sub(r"(?s)^(```+)diff.*?^\1$|(?<!`)(`+)(?!`)(.+?)(?<!`)\2(?!`)", "", shown, flags=re.MULTILINE)
    assert "octocat" in shown
    assert not re.search(r"@\w|#\d|://evil|www\.evil|\*\*LGTM", outside), outside

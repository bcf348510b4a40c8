"""The files that a host, an index or a stranger looks for: valid, in agreement with each other, and nothing invented."""

from __future__ import annotations

import re
import tomllib
from email.utils import parseaddr
from pathlib import Path

import jsonschema
import pytest
import yaml
from published_schemas import published

import trainc

TOP = Path(__file__).parents[2]
FORMS = sorted((TOP / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WRITTEN = [
    *TOP.glob("*.md"),
    *(path for path in (TOP / ".github").rglob("*") if path.is_file()),
    TOP / "CITATION.cff",
]


@pytest.mark.parametrize(
    ("file", "schema"),
    [(".github/dependabot.yml", "dependabot-2.0.json"), ("CITATION.cff", "1.2.0/schema.json")]
    + [(path.relative_to(TOP).as_posix(), "github-issue-forms.json") for path in FORMS if path.stem != "config"],
)
def test_a_file_is_valid_by_its_published_schema(file: str, schema: str) -> None:
    validator = published(schema)
    jsonschema.validators.validator_for(validator)(validator).validate(
        yaml.safe_load((TOP / file).read_text(encoding="utf-8"))
    )


def test_each_form_asks_for_what_an_answer_needs() -> None:
    assert {path.stem for path in FORMS} == {"bug", "config", "feature", "question", "wrong-verdict"}
    for path in FORMS:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        fields = [field for field in form.get("body", []) if field["type"] != "markdown"]
        assert path.stem == "config" or any(field.get("validations", {}).get("required") for field in fields)
        assert len({field["id"] for field in fields}) == len(fields)


def test_a_citation_names_this_version() -> None:
    citation = yaml.safe_load((TOP / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == trainc.__version__


def test_code_owners_name_folders_that_exist_and_roles_that_there_are() -> None:
    lines = (TOP / ".github" / "CODEOWNERS").read_text(encoding="utf-8").splitlines()
    for pattern, *owners in (line.split() for line in lines if line and not line.startswith("#")):
        assert pattern == "*" or (TOP / pattern.strip("/")).exists()
        assert {owner.split("/")[-1].removeprefix("@") for owner in owners} <= {
            "trainc-maintainers",
            "trainc-compiler",
            "trainc-features",
            "trainc-docs",
        }


def test_nobody_is_invented() -> None:
    assert [person["name"] for person in (*PROJECT["authors"], *PROJECT["maintainers"])] == [
        "The trainc authors",
        "The trainc maintainers",
    ]
    text = "\n".join(path.read_text(encoding="utf-8") for path in WRITTEN)
    mails = {parseaddr(mail)[1] for mail in re.findall(r"[\w.+-]+@[\w-]+\.[\w.]+", text)}
    assert {mail for mail in mails if not re.match(r"git@|site@users\.noreply\.", mail)} == set()
    roadmap = (TOP / "docs" / "roadmap.md").read_text(encoding="utf-8")
    assert re.findall(r"\b20\d\d\b|\bQ[1-4]\b", roadmap) == []


def test_a_url_of_the_project_is_one_that_exists() -> None:
    """A page on PyPI must not link to a place that nobody has made; `make release-check` asks for the real ones."""
    assert PROJECT["urls"] == {"Kubeflow Trainer": "https://github.com/kubeflow/trainer"}


def test_latest_is_pushed_after_the_index_has_the_version() -> None:
    release = yaml.safe_load((TOP / ".github" / "workflows" / "release.yaml").read_text(encoding="utf-8"))["jobs"]
    assert [name for name, job in release.items() if ":latest" in str(job)] == ["image"]
    assert set(release["image"]["needs"]) == {"images", "publish"}
    assert {row["platform"] for row in release["images"]["strategy"]["matrix"]["include"]} == {"amd64", "arm64"}
    build = next(step["run"] for step in release["images"]["steps"] if "buildx build" in step.get("run", ""))
    assert "BASE=python:3.13-slim@$base" in build

"""Paths: which files are read, in which order, under which names, and which are refused."""

from __future__ import annotations

import io
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from trainc.findings import Diagnostic
from trainc.options import Limits
from trainc.reading.files import read_paths


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a few files."""
    monkeypatch.chdir(tmp_path)
    for name in ("jobs/b.yaml", "jobs/a/z.yml", "jobs/a.json", "jobs/B.yaml", "other/c.yaml"):
        write(tmp_path / name)
    for name in ("jobs/.hidden/x.yaml", "jobs/.hidden.yaml", "jobs/notes.txt", "jobs/t.j2"):
        write(tmp_path / name, "not: [yaml")
    return tmp_path


def write(path: Path, text: str = "kind: TrainJob\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def names(*paths: str | Path, skip: str | None = None, allow_outside: bool = False) -> list[str]:
    documents, diagnostics = read_paths(paths, Limits(allow_outside=allow_outside), skip=skip)
    assert diagnostics == []
    return [document.file for document in documents]


def problem(*paths: str | Path, limits: Limits = Limits()) -> Diagnostic:
    _, [diagnostic] = read_paths(paths, limits)
    assert diagnostic.severity == "error"
    assert diagnostic.hint
    return diagnostic


def test_a_folder_is_walked_in_the_order_of_its_names(folder: Path) -> None:
    assert names("jobs") == ["jobs/B.yaml", "jobs/a/z.yml", "jobs/a.json", "jobs/b.yaml"]


def test_names_are_shown_as_the_user_gave_them(folder: Path) -> None:
    assert names(".")[-1] == "other/c.yaml"
    assert names("other/") == ["other/c.yaml"]
    assert names("other/c.yaml", Path("jobs/b.yaml")) == ["other/c.yaml", "jobs/b.yaml"]
    assert names(folder / "other") == [f"{folder.as_posix()}/other/c.yaml"]


def test_a_file_is_read_whatever_its_name_if_it_is_named(folder: Path) -> None:
    write(folder / "jobs" / "notes.txt")
    assert names("jobs/notes.txt", "other/c.yaml") == ["jobs/notes.txt", "other/c.yaml"]


def test_the_folder_to_skip_is_not_entered(folder: Path) -> None:
    assert names(".", skip="jobs") == ["other/c.yaml"]
    assert names("jobs", skip="./jobs/a") == ["jobs/B.yaml", "jobs/a.json", "jobs/b.yaml"]


def test_the_folder_to_skip_is_not_entered_from_the_top_of_the_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if any(part.startswith(".") for part in folder.parts):
        pytest.skip("the folder for temporary files is below a hidden one, which no walk enters")
    scandir = os.scandir

    def on_the_way(path: str) -> nullcontext[list[os.DirEntry[str]]]:
        """What leads to the test's folder or lies below it, so that the rest of the disk is left alone."""
        with scandir(path) as found:
            return nullcontext(
                [e for e in found if folder.is_relative_to(e.path) or Path(e.path).is_relative_to(folder)]
            )

    monkeypatch.setattr("os.scandir", on_the_way)
    assert names(folder.anchor, skip=str(folder / "jobs")) == [str(folder / "other" / "c.yaml")]


def test_a_file_met_twice_is_read_once(folder: Path) -> None:
    (folder / "other" / "link.yaml").symlink_to("c.yaml")
    assert names("other", "./other/c.yaml", folder / "other", "other") == ["other/c.yaml"]


def test_standard_input_is_read_for_a_dash() -> None:
    documents, diagnostics = read_paths(["-", "-"], Limits(), stdin=io.BytesIO(b"kind: A\n---\nkind: [\n"))
    assert [(document.file, document.data) for document in documents] == [("-", {"kind": "A"})]
    assert [str(diagnostic.source) for diagnostic in diagnostics] == ["-:3:8"]


def test_errors_carry_the_name_of_their_file(folder: Path) -> None:
    write(folder / "jobs" / "a" / "z.yml", "kind: TrainJob\nkind: B\n")
    assert str(problem("jobs").source) == "jobs/a/z.yml:2:1"


def test_a_missing_path_is_named_with_what_is_near(folder: Path) -> None:
    missing = problem("jobs/c.yaml")
    assert missing.code == "NoSuchPath"
    assert "jobs/c.yaml" in missing.message
    assert "jobs/b.yaml" in missing.hint
    assert problem("job").hint == "did you mean jobs?"
    write(folder / "a" / "compiled" / "c.yaml", "# Compiled by trainc from other/c.yaml. Edit that file instead.\n")
    assert problem("jobs/moved/c.yaml").hint == "did you mean other/c.yaml?"


@pytest.mark.parametrize("path", ["", "a\0b", "jobs/b.yaml/c", "nowhere/at/all.yaml", "x\udcff"])
def test_a_path_that_cannot_exist_is_missing(folder: Path, path: str) -> None:
    missing = problem(path)
    assert missing.code == "NoSuchPath"
    assert missing.message.encode()


def test_every_path_is_reported(folder: Path) -> None:
    documents, diagnostics = read_paths(["nope.yaml", "other", "neither.yaml"], Limits())
    assert len(documents) == 1
    assert [diagnostic.code for diagnostic in diagnostics] == ["NoSuchPath"] * 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_not_a_regular_file_is_not_opened_in_a_folder(folder: Path) -> None:
    os.mkfifo(folder / "other" / "pipe.yaml")
    assert problem("other").code == "UnreadableFile"


def test_a_file_that_cannot_be_opened_is_unreadable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    unreadable = problem("other/c.yaml")
    assert (unreadable.code, "permission denied" in unreadable.message) == ("UnreadableFile", True)


def test_a_path_too_long_for_the_system_is_unreadable(folder: Path) -> None:
    assert problem("x" * 5000).code == "UnreadableFile"


class TestLinks:
    @pytest.mark.parametrize("target", ["../other/c.yaml", "../nowhere.yaml"])
    def test_a_link_that_leaves_the_folder_is_refused(self, folder: Path, target: str) -> None:
        (folder / "jobs" / "link.yaml").symlink_to(target)
        outside = problem("jobs")
        assert (outside.code, "jobs/link.yaml" in outside.message) == ("OutsideRoot", True)

    def test_a_link_to_a_folder_outside_is_refused(self, folder: Path) -> None:
        (folder / "jobs" / "link").symlink_to("../other")
        assert problem("jobs").code == "OutsideRoot"

    def test_it_may_be_allowed(self, folder: Path) -> None:
        (folder / "jobs" / "link.yaml").symlink_to("../other/c.yaml")
        assert names("jobs", allow_outside=True)[-1] == "jobs/link.yaml"

    def test_a_file_that_was_refused_as_a_link_is_read_where_it_stands(self, folder: Path) -> None:
        (folder / "jobs" / "link.yaml").symlink_to("../other/c.yaml")
        documents, _ = read_paths(["jobs", "other"], Limits())
        assert documents[-1].file == "other/c.yaml"

    def test_a_link_inside_the_folder_is_followed(self, folder: Path) -> None:
        (folder / "other" / ".data").mkdir()
        write(folder / "other" / ".data" / "d.yaml")
        (folder / "other" / "d.yaml").symlink_to(".data/d.yaml")
        assert names("other") == ["other/c.yaml", "other/d.yaml"]

    def test_a_named_link_is_followed(self, folder: Path) -> None:
        (folder / "link").symlink_to("other")
        assert names("link") == ["link/c.yaml"]

    def test_a_circle_ends(self, folder: Path) -> None:
        (folder / "other" / "again").symlink_to("..")
        (folder / "other" / "self").symlink_to(".")
        _, diagnostics = read_paths(["other"], Limits())
        assert [diagnostic.code for diagnostic in diagnostics] == ["OutsideRoot"]
        assert len(names(".")) == 5


def test_the_number_of_documents_counts_all_files(folder: Path) -> None:
    assert problem(".", limits=Limits(documents=3)).code == "TooManyDocuments"
    documents, _ = read_paths(["jobs", "other"], Limits(documents=3))
    assert len(documents) == 3


def test_the_limit_says_its_own_number(folder: Path) -> None:
    assert "more than 3 documents" in problem(".", limits=Limits(documents=3)).message

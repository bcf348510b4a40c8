"""Output folders that somebody has prepared: nothing outside is read, replaced or removed, and nothing of others inside."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from trainc.output.folder import Plan, apply_plan, plan
from trainc.output.ownership import first_line

MARK = first_line("jobs.yaml")
WANTED = {"a/one.yaml": f"{MARK}one\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An output folder beside a file that is no business of trainc's."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "one.yaml").write_text("victim\n", encoding="utf-8")
    out = tmp_path / "out"
    (out / ".trainc").mkdir(parents=True)
    return out


def victim(folder: Path) -> str:
    return (folder.parent / "outside" / "one.yaml").read_text(encoding="utf-8")


def build(folder: Path, wanted: dict[str, str] = WANTED) -> Plan:
    return apply_plan(plan(str(folder), wanted, prune=True))


def codes(done: Plan) -> list[str]:
    return [diagnostic.code for diagnostic in done.refused]


@pytest.mark.parametrize(
    "path", ["../outside/one.yaml", "a/../../outside/one.yaml", "/etc/one.yaml", ".git/config.yaml", "a/b/c.yaml", "."]
)
def test_the_list_of_files_cannot_name_one_outside(path: str, folder: Path) -> None:
    (folder / ".trainc" / "owned").write_text(f"{path}\na/gone.yaml\n", encoding="utf-8")
    assert list(build(folder).actions()) == [("created", "a/one.yaml")]
    assert victim(folder) == "victim\n"


def test_a_list_removes_nothing(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "two.yaml").write_text("by hand\n", encoding="utf-8")
    (folder / ".trainc" / "owned").write_text("a/two.yaml\n", encoding="utf-8")
    assert list(build(folder).actions()) == [("created", "a/one.yaml")]
    assert (folder / "a" / "two.yaml").exists()


def test_a_journal_neither_removes_nor_replaces_a_file_without_trainc_s_first_line(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "two.yaml").write_text("by hand\n", encoding="utf-8")
    (folder / ".trainc" / "staged").mkdir()
    (folder / ".trainc" / "staged" / "0").write_text(f"{MARK}evil\n", encoding="utf-8")
    for entry in ("-", "0"):
        (folder / ".trainc" / "journal").write_text(f"trainc journal 1\n{entry} a/two.yaml\n", encoding="utf-8")
        assert codes(build(folder)) == ["InterruptedBuild"]
    assert (folder / "a" / "two.yaml").read_text(encoding="utf-8") == "by hand\n"


@pytest.mark.parametrize("owned", [True, False], ids=["listed as trainc's", "not listed"])
def test_a_link_in_the_folder_is_in_the_way(owned: bool, folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "one.yaml").symlink_to(folder.parent / "outside" / "one.yaml")
    (folder / ".trainc" / "owned").write_text("a/one.yaml\n" if owned else "", encoding="utf-8")
    done = build(folder)
    assert (codes(done), victim(folder)) == (["FileInTheWay"], "victim\n")
    assert "victim" not in str(done)


def test_a_link_to_a_folder_is_in_the_way(folder: Path) -> None:
    (folder / "a").symlink_to(folder.parent / "outside")
    (folder / ".trainc" / "owned").write_text("a/one.yaml\n", encoding="utf-8")
    assert codes(build(folder)) == ["FileInTheWay"]
    assert build(folder, {}).refused == ()
    assert victim(folder) == "victim\n"


def test_a_link_for_the_folder_of_trainc_s_own_is_in_the_way(folder: Path) -> None:
    (folder / ".trainc").rmdir()
    (folder / ".trainc").symlink_to(folder.parent / "outside")
    assert codes(build(folder)) == ["FileInTheWay"]
    assert [path.name for path in (folder.parent / "outside").iterdir()] == ["one.yaml"]


@pytest.mark.parametrize("name", ["owned", "lock", "journal", "staged"])
def test_a_link_among_trainc_s_own_files_is_not_followed(name: str, folder: Path) -> None:
    link, target = folder / ".trainc" / name, folder.parent / "outside" / ("" if name == "staged" else "one.yaml")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    with pytest.raises(OSError, match="lock") if name == "lock" else nullcontext():
        build(folder)
    assert victim(folder) == "victim\n"


@pytest.mark.parametrize(
    "journal",
    [
        "trainc journal 1\n- ../outside/one.yaml\n",
        "trainc journal 1\n0 ../outside/one.yaml\n",
        "trainc journal 1\n../../evil a/one.yaml\n",
        "trainc journal 1\n- linked/one.yaml\n",
        "trainc journal 1\n0 a.yaml\n0 a.yaml/b.yaml\n",
        "trainc journal 2\n",
        "\0\n",
        "",
    ],
)
def test_a_journal_that_trainc_did_not_write_is_refused(journal: str, folder: Path) -> None:
    (folder / "linked").symlink_to(folder.parent / "outside")
    (folder / ".trainc" / "staged").mkdir()
    (folder / ".trainc" / "staged" / "0").write_text("evil\n", encoding="utf-8")
    (folder / ".trainc" / "journal").write_text(journal, encoding="utf-8")
    assert codes(build(folder)) == ["InterruptedBuild"]
    assert victim(folder) == "victim\n"
    assert not (folder / "a").exists()


@pytest.mark.parametrize(
    "path", ["../one.yaml", "/one.yaml", ".hidden.yaml", "a/.hidden/one.yaml", "a\nb.yaml", ".yaml"]
)
def test_what_is_not_a_name_for_a_file_of_trainc_s_is_never_written(path: str, folder: Path) -> None:
    assert codes(build(folder, {path: "text\n"})) == ["FileInTheWay"]


def test_a_folder_where_a_file_should_be_is_in_the_way(folder: Path) -> None:
    (folder / "a" / "one.yaml").mkdir(parents=True)
    assert codes(build(folder)) == ["FileInTheWay"]


def test_a_file_where_a_folder_should_be_is_in_the_way(folder: Path) -> None:
    (folder / "a").write_text("mine\n", encoding="utf-8")
    assert codes(build(folder)) == ["FileInTheWay"]


def test_refusing_makes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert codes(build(out, {"../one.yaml": MARK})) == ["FileInTheWay"]
    assert not out.exists()


@pytest.mark.parametrize("name", ["owned", "journal", "lock", "staged", ".gitignore"])
@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a link to /dev/zero"])
def test_what_stands_in_place_of_trainc_s_own_files_is_neither_waited_for_nor_believed(
    name: str, kind: str, folder: Path
) -> None:
    path = folder / ".trainc" / name
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
        (path / "mine").write_text("by hand\n", encoding="utf-8")
    else:
        path.symlink_to("/dev/zero")
    # An error of the system names the file, and the command ends with status 1.
    with suppress(OSError):
        build(folder)
    assert victim(folder) == "victim\n"
    built = (folder / "a" / "one.yaml").exists()
    assert built == ((name, kind) in BUILT)


# What is not read, or is thrown away.
BUILT = {
    *(("owned", kind) for kind in ("a pipe", "a folder", "a link to /dev/zero")),
    *(("staged", kind) for kind in ("a folder", "a link to /dev/zero")),
    *((".gitignore", kind) for kind in ("a pipe", "a link to /dev/zero")),
    ("lock", "a pipe"),
}


def test_a_folder_called_as_the_old_list_does_not_leave_each_build_interrupted(folder: Path) -> None:
    (folder / ".trainc" / "owned").mkdir()
    assert codes(build(folder)) == []
    assert plan(str(folder), WANTED, prune=True).interrupted == ()


@pytest.mark.parametrize("path", ["a/one.yaml", "a/gone.yaml", "a"])
def test_a_pipe_among_the_files_is_not_waited_for(path: str, folder: Path) -> None:
    if path != "a":
        (folder / "a").mkdir()
    os.mkfifo(folder / path)
    assert codes(build(folder)) == ([] if path == "a/gone.yaml" else ["FileInTheWay"])
    assert (folder / path).is_fifo()


@pytest.mark.parametrize("staged", ["a pipe", "a link", "a folder", "a file without the mark"])
def test_what_a_planted_journal_moves_has_trainc_s_first_line(staged: str, folder: Path) -> None:
    path = folder / ".trainc" / "staged" / "0"
    path.parent.mkdir()
    (folder / ".trainc" / "journal").write_text("trainc journal 1\n0 a/two.yaml\n", encoding="utf-8")
    if staged == "a pipe":
        os.mkfifo(path)
    elif staged == "a link":
        marked = folder.parent / "outside" / "marked.yaml"
        marked.write_text(MARK, encoding="utf-8")
        path.symlink_to(marked)
    elif staged == "a folder":
        path.mkdir()
    else:
        path.write_text("evil\n", encoding="utf-8")
    assert codes(build(folder)) == ["InterruptedBuild"]
    assert not (folder / "a").exists()


def test_a_hard_link_is_replaced_and_what_it_shares_stays(folder: Path) -> None:
    shared = folder.parent / "outside" / "marked.yaml"
    shared.write_text(f"{MARK}shared\n", encoding="utf-8")
    (folder / "a").mkdir()
    (folder / "a" / "one.yaml").hardlink_to(shared)
    assert codes(build(folder)) == []
    assert shared.read_text(encoding="utf-8") == f"{MARK}shared\n"


def test_a_marked_file_larger_than_any_manifest_is_not_read(folder: Path) -> None:
    (folder / "a").mkdir()
    with (folder / "a" / "one.yaml").open("wb") as stream:
        stream.write(MARK.encode())
        stream.truncate(8 << 30)
    assert codes(build(folder)) == ["FileInTheWay"]

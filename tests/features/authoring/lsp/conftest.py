"""Workspaces and sessions that the tests of the language server share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from editor import Editor, editing, written

from trainc.cli.command import commands
from trainc.cli.parser import build_parser, parse_arguments
from trainc.features.authoring.lsp.workspace import Workspace


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return written(tmp_path.resolve())


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """One session for the tests of a module, which open what they change under names of their own."""
    with editing(written(tmp_path_factory.mktemp("repository").resolve())) as session:
        yield session


@pytest.fixture(scope="session")
def workspace_at() -> Callable[[Path], Workspace]:
    """A workspace without a server around it."""
    check = next(command for command in commands() if command.name == "check")
    return lambda root: Workspace(parse_arguments(build_parser(check), []), str(root))

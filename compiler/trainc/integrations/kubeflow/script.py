"""A script that uses the SDK, run with its client replaced: every TrainerClient that it makes compiles and keeps its jobs."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO
from unittest import mock

from kubeflow.trainer import TrainerClient

from trainc.api.documents import Manifest
from trainc.diagnostics import CompileError
from trainc.integrations.kubeflow.backend import OfflineBackend
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """What a script left: the backends of its clients in order, and its exit status."""

    backends: list[OfflineBackend]
    status: int

    @property
    def trainjobs(self) -> list[Manifest]:
        """The TrainJobs of all clients."""
        return [job for backend in self.backends for job in backend.trainjobs]


def run_script(
    path: str, words: Sequence[str], backend_of: Callable[[str | None], OfflineBackend], out: TextIO
) -> ScriptResult:
    """Run the script as `python PATH WORDS` would. What it prints goes to `out`.

    `backend_of` makes the backend of a client, which may name a namespace. Raises CompileError for a refused job, and
    ScriptError for whatever else the script raises and does not catch.
    """
    backends: list[OfflineBackend] = []

    def replaced(client: Any, backend_config: Any = None) -> None:
        client.backend = backend_of(getattr(backend_config, "namespace", None))
        backends.append(client.backend)

    with mock.patch.object(TrainerClient, "__init__", replaced), _as_main(path, words), contextlib.redirect_stdout(out):
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as left:
            return ScriptResult(backends, _status(left.code, out))
        except CompileError:
            raise
        except Exception as error:
            raise ScriptError(_place(error, path)) from error
    return ScriptResult(backends, 0)


class ScriptError(Exception):
    """What a script raised; the message has its place and its words."""


@contextlib.contextmanager
def _as_main(path: str, words: Sequence[str]) -> Iterator[None]:
    folder = os.path.dirname(os.path.abspath(path))
    with mock.patch.object(sys, "argv", [path, *words]), mock.patch.object(sys, "path", [folder, *sys.path]):
        yield


def _status(code: object, out: TextIO) -> int:
    """As Python itself takes the argument of sys.exit."""
    if code is None or isinstance(code, int):
        return int(code or 0)
    out.write(f"{code}\n")
    return 1


def _place(error: Exception, path: str) -> str:
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = path if line is None else f"{path}:{line}"
    return f"{where}: {type(error).__name__}: {error}"

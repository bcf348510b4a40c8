"""What the cluster was doing: the dump that CI publishes, which `live:` in trainc.yaml names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from trainc.cli.causes import merge_diagnostics
from trainc.cli.command import Arguments
from trainc.cli.revisions import copy_of_revision, here
from trainc.cli.settings import Settings
from trainc.findings import CompileError, Diagnostic
from trainc.findings.text import counted
from trainc.kube.documents import identity_of
from trainc.kube.live_objects import state_of
from trainc.reading.document import Document
from trainc.reading.files import read_paths
from trainc.reading.git import commit_of, run_git
from trainc.reading.opening import read_file
from trainc.reading.yaml_reader import read_documents
from trainc.startup.records import replace
from trainc.startup.typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from trainc.cli.at_base import Bases

_Read: TypeAlias = tuple[list[Document], list[Diagnostic]]
_STATES = {"running": "running", "suspended": "waiting", "succeeded": "finished", "failed": "finished"}
# So many seconds the clock of who took it may be ahead.
_CLOCKS_DIFFER = 300
_HINT = "let CI publish a new one (`trainc init --only dump`), or raise `live.maxAge` in trainc.yaml"


class Live:
    """The states of JobSets, by namespace and name: one of `STATES`. Empty with a `problem` if the dump does not count."""

    def __init__(self, live: tuple[str, int] | None, arguments: Arguments) -> None:
        self.problem: Diagnostic | None = None
        self.states: Mapping[tuple[str, str], str] = {}
        # When it was taken, and whether it does not count for another reason than that it has become old.
        self.taken, self.is_spoiled = "", False
        self._limits = Settings.limits_of(arguments)
        if live is None:
            return
        folder, most = live
        documents, problems = self._documents(folder, arguments) or (None, [])
        self.taken = taken = _taken(documents or ())
        missing = "is of the change alone" if os.path.exists(folder) else "does not exist"
        broken = next((d for d in problems if d.severity == "error"), None)
        unread = f"cannot be read ({broken.message})" if broken else missing if documents is None else ""
        if reason := unread or _outdated(taken, most):
            time = _time(taken)
            is_of_no_time = time is None or time > datetime.now(UTC)
            self.is_spoiled = broken is not None or (not unread and bool(documents) and is_of_no_time)
            message = f"the dump {folder} {reason}, so it counts for nothing"
            hint = _HINT if taken and not unread else _HINT.partition(", or")[0]
            stated = next((d for d in documents or () if d.data.get("takenAt")), None)
            source = broken.source if broken else stated.locate(("takenAt",)) if stated else None
            ended = [state for state in _states(documents or ()).values() if state == "finished"]
            if ended:
                message += f": {counted(len(ended), 'job')} that it has as finished {'counts' if len(ended) == 1 else 'count'} as running"
            self.problem = Diagnostic("SnapshotIncomplete", "warning", message, hint, source=source)
            return
        self.states = _states(documents or ())

    def state(self, body: str) -> str:
        """Return the state of the JobSet in a rendered file; empty if the dump does not have it."""
        for document in read_documents(body.encode(), "", self._limits)[0] if self.states else ():
            if document.data.get("kind") == "JobSet":
                namespace, name = identity_of(document.data)
                return self.states.get((namespace or "", name), "")
        return ""

    def _documents(self, folder: str, arguments: Arguments) -> _Read | None:
        """Read the dump of the named revision itself, whose merge base has an old one; one that git lacks is an artifact."""
        if arguments.base in (None, "none"):
            return self._read(folder)
        with suppress(CompileError):
            repository = here()
            top = os.path.realpath(repository.top)
            inside = os.path.relpath(os.path.realpath(folder), top)
            with copy_of_revision(commit_of(repository, str(arguments.base)), arguments, [inside]) as copy:
                if (documents := self._read(os.path.join(copy.tree, inside))) is not None:
                    return documents
            # A link or a submodule of the change leads to what HEAD itself does not have.
            parts = os.path.relpath(os.path.join(os.path.realpath(os.curdir), folder), top).split(os.sep)
            for end in range(1, len(parts) + 1):
                entry = run_git(top, ("ls-tree", "--full-tree", "HEAD", "--", "/".join(parts[:end])))
                if entry and (end == len(parts) or not entry.startswith(b"040000")):
                    return None
        return self._read(folder)

    def _read(self, folder: str) -> _Read | None:
        return read_paths([folder], self._limits, everything=True) if os.path.exists(folder) else None


def spoiled_dumps(settings: Iterable[Settings], bases: Bases) -> list[Diagnostic]:
    """Return the dumps without a time, with a later one than now or an earlier one than at the base, and those that cannot be read.

    One that has only become old is reported to who asks for what it says.
    """
    found = dict[str, list[Diagnostic]]()
    for each in settings:
        live = each.configuration.live
        here = Live(live, bases.arguments.but(base=None))
        if here.problem is not None and (here.is_spoiled or _is_set_back(here, live, bases)):
            source = here.problem.source or each.place("live")
            found[each.configuration.environment] = [replace(here.problem, source=source)]
    return merge_diagnostics(found)


def _is_set_back(here: Live, live: tuple[str, int] | None, bases: Bases) -> bool:
    """Return whether a dump is older than the base's; one in whose files nothing has changed since is not."""
    revision, time = bases.find(), _time(here.taken)
    if revision is None or live is None or time is None:
        return False
    limits = Settings.limits_of(bases.arguments)
    entries = os.scandir(live[0]) if os.path.isdir(live[0]) else ()
    files = [entry.path for entry in entries if entry.is_file() and entry.name.endswith((".json", ".yaml", ".yml"))]
    was = revision.changed({file: read_file(file, limits.file_bytes) for file in files})
    times = [_time(_taken(read_documents(text, file, limits)[0])) for file, text in was.items() if text]
    return any(earlier is not None and earlier > time for earlier in times)


def _states(documents: Iterable[Document]) -> dict[tuple[str, str], str]:
    return {
        (namespace or "", name): _STATES[state]
        for document in documents
        if document.data.get("kind") == "JobSet" and (state := state_of(document.data)[0]) in _STATES
        for namespace, name in [identity_of(document.data)]
    }


def _taken(documents: Iterable[Document]) -> str:
    return next((str(d.data["takenAt"]) for d in documents if d.data.get("takenAt")), "")


def _time(taken: str) -> datetime | None:
    with suppress(ValueError):
        time = datetime.fromisoformat(taken)
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    return None


def _outdated(taken: str, most: int) -> str:
    if not taken:
        return "has no document with `takenAt`"
    if (time := _time(taken)) is None:
        return f"has a `takenAt` that is not a time: {taken}"
    age = datetime.now(UTC) - time
    return "" if -_CLOCKS_DIFFER <= age.total_seconds() <= most else f"is from {taken}"

"""What the cluster was doing: the dump that CI publishes, which `live:` in trainc.yaml names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from trainc.cli.command import Arguments
from trainc.cli.revisions import copy_of_revision, here
from trainc.cli.settings import Settings
from trainc.findings import CompileError, Diagnostic
from trainc.kube.documents import identity_of
from trainc.kube.live_objects import state_of
from trainc.reading.document import Document
from trainc.reading.files import read_paths
from trainc.reading.git import commit_of, run_git
from trainc.reading.yaml_reader import read_documents
from trainc.startup.typing import TypeAlias

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
        self._limits = Settings.limits_of(arguments)
        if live is None:
            return
        folder, most = live
        documents, problems = self._documents(folder, arguments) or (None, [])
        taken = next((str(d.data["takenAt"]) for d in documents or () if d.data.get("takenAt")), "")
        missing = "is of the change alone" if os.path.exists(folder) else "does not exist"
        broken = next((d for d in problems if d.severity == "error"), None)
        unread = f"cannot be read ({broken.message})" if broken else missing if documents is None else ""
        if reason := unread or _outdated(taken, most):
            message = f"the dump {folder} {reason}, so it counts for nothing"
            hint = _HINT if taken and not unread else _HINT.partition(", or")[0]
            self.problem = Diagnostic(
                "SnapshotIncomplete", "warning", message, hint, source=broken.source if broken else None
            )
            return
        self.states = {
            (namespace or "", name): _STATES[state]
            for document in documents or ()
            if document.data.get("kind") == "JobSet" and (state := state_of(document.data)[0]) in _STATES
            for namespace, name in [identity_of(document.data)]
        }

    def state(self, body: str) -> str:
        """Return the state of the JobSet in a rendered file; empty if the dump does not have it."""
        for document in read_documents(body.encode(), "", self._limits)[0]:
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


def _outdated(taken: str, most: int) -> str:
    if not taken:
        return "has no document with `takenAt`"
    try:
        time = datetime.fromisoformat(taken)
    except ValueError:
        return f"has a `takenAt` that is not a time: {taken}"
    age = datetime.now(UTC) - (time if time.tzinfo else time.replace(tzinfo=UTC))
    return "" if -_CLOCKS_DIFFER <= age.total_seconds() <= most else f"is from {taken}"

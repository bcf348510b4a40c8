"""What an editor is answered from: one open file, and what the workspace around it has to do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from trainc.compilation import CompiledJob
from trainc.diagnostics import Diagnostic
from trainc.fits.answer import Fit
from trainc.pipeline.session import Session
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field

Schema: TypeAlias = Mapping[str, Any]


def _no_schema(kind: str) -> Schema | None:
    return None


@dataclass(frozen=True, slots=True)
class Built:
    """The file as one environment of trainc.yaml has it: a session with its jobs, and what they compile to.

    The session's jobs are those of the file; where it has runtimes, some that use them too.
    """

    environment: str
    session: Session
    compiled: tuple[CompiledJob, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One file as the editor has it. Nothing in it changes: another text is another snapshot.

    `file` is what diagnostics call it, and so is `Document.file` of all documents: paths lead from `root`. `documents`
    are those of the file, `workspace` all that were read, both as they are written. `schema` gives the JSON Schema of
    a kind, or of `trainc.yaml`. `queues` are the LocalQueues of the cluster that trainc.yaml names, and `fits` says
    whether it can ever admit the jobs of the file. It is `complete` once what all jobs together show is known.
    """

    root: str
    file: str
    text: str
    documents: Sequence[Document] = ()
    workspace: Sequence[Document] = ()
    built: Sequence[Built] = ()
    diagnostics: Sequence[Diagnostic] = ()
    schema: Callable[[str], Schema | None] = field(default=_no_schema, repr=False)
    queues: Sequence[str] = ()
    fits: Sequence[Fit] = ()
    complete: bool = True

    @property
    def lines(self) -> list[str]:
        """The lines of the text, without their ends."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class Workspace(Protocol):
    """A folder with its trainc.yaml, if it has one, as the editor has its files: what makes snapshots."""

    root: str

    def changed(self) -> None:
        """Take notice that something on the disk has changed."""

    def look_at(self, file: str, texts: Mapping[str, str], *, thorough: bool = True) -> Snapshot:
        """One file, by its real path; `texts` are those of all open files. `thorough` asks the cluster, too."""

    def at_head(self, file: str, texts: Mapping[str, str]) -> Sequence[Sequence[CompiledJob]] | None:
        """What the jobs of a file were in git's HEAD, for each environment; None where there is no HEAD."""

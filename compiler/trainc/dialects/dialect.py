"""What a dialect is: the documents it claims, what makes them differ from trainer.kubeflow.org/v1alpha1, and their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from trainc.api import names
from trainc.api.documents import Json
from trainc.diagnostics import Finding, Path
from trainc.startup.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class NamingConvention:
    """The names that tell which replicated job trains, and which of its containers.

    `trainer_jobs` and `containers` are in order of preference; `contract` is the job name that the dialect itself
    fixes, so that finding it is no guess. With `guesses`, a job or container that is alone is taken whatever it is
    called, and having to choose is an error.
    """

    trainer_jobs: tuple[str, ...]
    containers: tuple[str, ...]
    contract: str = ""
    guesses: bool = False


# trainer.kubeflow.org/v1alpha1: the label decides, and only the names that the API knows may stand in for it.
LABELLED = NamingConvention((names.NODE,), (names.NODE,))

# kubeflow.org/v2alpha1 and OME: the API fixed the names trainer-node and trainer, its documents use others.
NAMED = NamingConvention(
    ("trainer-node", names.NODE, "worker"), ("trainer", names.NODE), contract="trainer-node", guesses=True
)


@dataclass(frozen=True, slots=True)
class Move:
    """What is at `now` was at `was`; with `whole`, all of it was that one value, and has no parts there."""

    now: Path
    was: Path
    whole: bool = False


def original_path(path: Path, moves: Sequence[Move]) -> Path:
    """The place of `path` in the document as written: the longest move that covers it decides."""
    covering = [move for move in moves if path[: len(move.now)] == move.now]
    if not covering:
        return path
    move = max(covering, key=lambda m: len(m.now))
    return move.was if move.whole else (*move.was, *path[len(move.now) :])


def move_finding(finding: Finding, moves: Sequence[Move]) -> Finding:
    """A finding about a converted document as one about the document as written."""
    if not moves:
        return finding
    source_path = None if finding.source_path is None else original_path(finding.source_path, moves)
    return replace(finding, path=original_path(finding.path, moves), source_path=source_path)


@dataclass(frozen=True, slots=True)
class DialectContext:
    """What a conversion may know of the rest of the input: where each base model is stored, by name."""

    base_models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A document as trainer.kubeflow.org/v1alpha1 would have it.

    `moves` says where its fields were; the paths of `findings` lie in the document as written.
    """

    data: dict[str, Any]
    moves: tuple[Move, ...] = ()
    findings: tuple[Finding, ...] = ()


Convert: TypeAlias = Callable[[Json, str, DialectContext], Conversion]


if TYPE_CHECKING:

    class DialectModule(Protocol):
        """What the module of a dialect offers."""

        convert: Convert


@dataclass(frozen=True, slots=True)
class Dialect:
    """An API group that documents may be written in. `kinds` maps its kinds to those of trainer.kubeflow.org.

    With `needs_initializers`, every job has to name its data and its model, so that a runtime may have no use for them.
    What the dialect does is in the module of its name beside this one, imported for the first document that needs it:
    most input has none.
    """

    module: str
    group: str
    api_versions: tuple[str, ...]
    kinds: Mapping[str, str]
    naming: NamingConvention = NAMED
    needs_initializers: bool = False

    def convert(self, document: Json, kind: str, context: DialectContext) -> Conversion:
        """A document of this dialect, of `kind` in trainer.kubeflow.org, as that API would have it."""
        return self._module().convert(document, kind, context)

    def _module(self) -> DialectModule:
        return cast("DialectModule", import_module(f"trainc.dialects.{self.module}"))

"""The definition of a dialect: which documents belong to it, and how they differ from trainer.kubeflow.org/v1alpha1."""

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
    """The names that identify the replicated job for training and its main container.

    `trainer_jobs` and `containers` are in order of preference. `contract` is the job name that the dialect prescribes,
    so using it is not a guess. With `guesses`, the only job or container is used regardless of its name, and ambiguity
    is an error.
    """

    trainer_jobs: tuple[str, ...]
    containers: tuple[str, ...]
    contract: str = ""
    guesses: bool = False


# trainer.kubeflow.org/v1alpha1: the label decides, and only names defined by the API can replace it.
LABELLED = NamingConvention((names.NODE,), (names.NODE,))

# kubeflow.org/v2alpha1 and OME: the API prescribes trainer-node and trainer, but documents also use other names.
NAMED = NamingConvention(
    ("trainer-node", names.NODE, "worker"), ("trainer", names.NODE), contract="trainer-node", guesses=True
)


@dataclass(frozen=True, slots=True)
class Move:
    """`now` is the path after the conversion of what was at `was`.

    With `whole`, everything below `now` was derived from the single value at `was`.
    """

    now: Path
    was: Path
    whole: bool = False


def original_path(path: Path, moves: Sequence[Move]) -> Path:
    """Return the path in the original document; the longest matching move applies."""
    covering = [move for move in moves if path[: len(move.now)] == move.now]
    if not covering:
        return path
    move = max(covering, key=lambda m: len(m.now))
    return move.was if move.whole else (*move.was, *path[len(move.now) :])


def move_finding(finding: Finding, moves: Sequence[Move]) -> Finding:
    """Translate the paths of a finding from the converted to the original document."""
    if not moves:
        return finding
    source_path = None if finding.source_path is None else original_path(finding.source_path, moves)
    return replace(finding, path=original_path(finding.path, moves), source_path=source_path)


@dataclass(frozen=True, slots=True)
class DialectContext:
    """What a conversion needs from other documents: the storage URI of each base model, by name."""

    base_models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A document converted to trainer.kubeflow.org/v1alpha1.

    `moves` maps its fields to their original paths. The paths of `findings` refer to the original document.
    """

    data: dict[str, Any]
    moves: tuple[Move, ...] = ()
    findings: tuple[Finding, ...] = ()


Convert: TypeAlias = Callable[[Json, str, DialectContext], Conversion]


if TYPE_CHECKING:

    class DialectModule(Protocol):
        """The interface of a dialect's module."""

        convert: Convert


@dataclass(frozen=True, slots=True)
class Dialect:
    """An API group that documents can use; `kinds` maps its kinds to those of trainer.kubeflow.org.

    With `needs_initializers`, every job must specify a dataset and a model, even if its runtime does not use them. The
    conversion is in trainc.dialects.<module>, which is imported for the first document that needs it, since most input
    does not.
    """

    module: str
    group: str
    api_versions: tuple[str, ...]
    kinds: Mapping[str, str]
    naming: NamingConvention = NAMED
    needs_initializers: bool = False

    def convert(self, document: Json, kind: str, context: DialectContext) -> Conversion:
        """Convert a document of this dialect; `kind` is the corresponding kind of trainer.kubeflow.org."""
        return self._module().convert(document, kind, context)

    def _module(self) -> DialectModule:
        return cast("DialectModule", import_module(f"trainc.dialects.{self.module}"))

"""What a dialect is: the documents it claims, and what makes them differ from trainer.kubeflow.org/v1alpha1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from trainc.diagnostics import Finding
from trainc.dialects.moves import Move
from trainc.dialects.naming import NAMED, Naming
from trainc.startup.records import dataclass, field

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Surroundings:
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


Convert: TypeAlias = Callable[[Json, str, Surroundings], Conversion]


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
    naming: Naming = NAMED
    needs_initializers: bool = False

    def convert(self, document: Json, kind: str, surroundings: Surroundings) -> Conversion:
        """A document of this dialect, of `kind` in trainer.kubeflow.org, as that API would have it."""
        return self._module().convert(document, kind, surroundings)

    def _module(self) -> DialectModule:
        return cast("DialectModule", import_module(f"trainc.dialects.{self.module}"))

"""What a plugin is: a name and a function for each extension point it takes part in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

from trainc.api.documents import Manifest
from trainc.diagnostics import Finding
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.startup.records import dataclass

if TYPE_CHECKING:
    from trainc.ir.provided_secret import ProvidedSecret

Pass: TypeAlias = Callable[[TrainJob, Info], Info]
Validation: TypeAlias = Callable[[TrainJob, Info], Iterable[Finding]]
Builder: TypeAlias = Callable[[TrainJob, Info], Iterable[Manifest]]
ExtensionPoint: TypeAlias = Literal["enforce_ml_policy", "enforce_pod_group_policy", "pre_build_sync"]

PASSES: tuple[ExtensionPoint, ...] = ("enforce_ml_policy", "enforce_pod_group_policy", "pre_build_sync")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin as a record: an extension point it has no function for does not concern it.

    A pass takes (job, info) and returns a new Info, or the same object when there is nothing to do; a validation
    returns findings with upstream's field paths; `build_failures` says on what a release's controller, having accepted
    the job, fails or crashes while it builds; a builder returns objects. `secrets` describes the Secrets that the built
    pods mount and that somebody must provide: key material is never built.
    """

    name: str
    validate: Validation | None = None
    build_failures: Validation | None = None
    enforce_ml_policy: Pass | None = None
    enforce_pod_group_policy: Pass | None = None
    pre_build_sync: Pass | None = None
    build: Builder | None = None
    secrets: Callable[[TrainJob, Info], Iterable[ProvidedSecret]] | None = None

"""What a secrets mode is: a function from the Secret that pods expect to the objects that provide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.diagnostics import Finding
from trainc.ir.provided_secret import ProvidedSecret
from trainc.ir.trainjob import TrainJob
from trainc.options import Options
from trainc.startup.records import dataclass

Json: TypeAlias = Mapping[str, Any]
Manifest: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Provision:
    """Objects to emit beside the job's, and what there is to say. Neither holds key material."""

    manifests: tuple[Manifest, ...] = ()
    findings: tuple[Finding, ...] = ()


Mode: TypeAlias = Callable[[TrainJob, ProvidedSecret, Sequence[Json], Options], Provision]

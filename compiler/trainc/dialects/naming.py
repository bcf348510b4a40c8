"""Naming: what a dialect calls the parts of a job, as data for the passes that look for them."""

from __future__ import annotations

from trainc.api import names
from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Naming:
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
LABELLED = Naming((names.NODE,), (names.NODE,))

# kubeflow.org/v2alpha1 and OME: the API fixed the names trainer-node and trainer, its documents use others.
NAMED = Naming(("trainer-node", names.NODE, "worker"), ("trainer", names.NODE), contract="trainer-node", guesses=True)

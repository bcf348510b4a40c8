"""Which jobs `build` is told to build again or to keep: by name, by state, or in waves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from trainc.findings.policy import matches
from trainc.kube.documents import Manifest, qualified
from trainc.kube.jobset import JobSet
from trainc.startup.records import dataclass

# A job's namespace and name.
JobKey: TypeAlias = tuple[str, str]
EVERY = "all"
# What a cluster is doing with a job, as a dump shows it.
STATES = ("running", "finished", "waiting")


@dataclass(slots=True)
class Wave:
    """A part of a roll-out: jobs in order, up to a number of GPUs. A job that needs more goes alone."""

    most: int
    gpus: int = 0
    jobs: int = 0
    left: int = 0

    def takes(self, manifests: Iterable[Manifest]) -> bool:
        """Return whether a job is part of the wave. Those after the first that is not are left for the next one."""
        needed = sum(job.pods * sum(job.devices.values()) for jobset in JobSet.among(manifests) for job in jobset.jobs)
        if self.left or (self.jobs and self.gpus + needed > self.most):
            self.left += 1
            return False
        self.jobs, self.gpus = self.jobs + 1, self.gpus + needed
        return True


@dataclass(frozen=True, slots=True)
class Choices:
    """The jobs to build again and to keep whatever has changed: names, NAMESPACE/NAME, globs, or `all`."""

    rebuild: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    wave: Wave | None = None

    @property
    def asks_states(self) -> bool:
        """Return whether jobs are chosen by what the cluster was doing with them."""
        return any(choice in STATES for choice in self.rebuild)

    def unused(self, jobs: Iterable[JobKey]) -> list[str]:
        """Return the choices that name no job."""
        job_keys = list(jobs)
        return [
            choice
            for choice in (*self.rebuild, *self.keep)
            if choice not in STATES and not any(is_chosen((choice,), *job) for job in job_keys)
        ]

    def needs_file(self, namespace: str, name: str) -> bool:
        """Return whether a job is to be kept under its own name; globs and `all` are about the files that there are."""
        return is_chosen(
            (choice for choice in self.keep if choice != EVERY and not {*"*?"} & {*choice}), namespace, name
        )

    def names(self, namespace: str, name: str) -> bool:
        """Return whether a job is to be built again under its own name."""
        return any(choice in (name, f"{namespace}/{name}") for choice in self.rebuild)

    def keeps(self, namespace: str, name: str) -> bool:
        """Return whether a job is to be kept in any case."""
        return is_chosen(self.keep, namespace, name)

    def rebuilds(self, namespace: str, name: str, state: str = "") -> bool:
        """Return whether a job in a state is to be built again in any case. What is to be kept wins."""
        chosen = is_chosen(self.rebuild, namespace, name) or state in self.rebuild
        return chosen and not self.keeps(namespace, name)


def is_chosen(choices: Iterable[str], namespace: str, name: str) -> bool:
    """Return whether a job is among names, NAMESPACE/NAME, globs or `all`."""
    full = qualified(namespace, name)
    return any(choice == EVERY or matches(full if "/" in choice else name, choice) for choice in choices)


def read_wave(text: str) -> Wave:
    """Read how much a wave of a roll-out takes at most."""
    number = text.lower().removesuffix("gpus").removesuffix("gpu").strip()
    if not number.isascii() or not number.isdecimal() or not int(number):
        from argparse import ArgumentTypeError

        raise ArgumentTypeError("write a number of GPUs, such as 64gpus")
    return Wave(int(number))

"""A Secret that built pods mount and that somebody must provide: trainc names it and never fills it."""

from __future__ import annotations

from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class ProvidedSecret:
    """What pods expect of a Secret, and how one is made by hand.

    `files` pairs each key of the Secret with the file that `make`, a shell command, writes for it. `key_pair` is
    whether it is an SSH key pair, which a secrets mode can have made in the cluster.
    """

    name: str
    type: str
    purpose: str
    files: tuple[tuple[str, str], ...]
    make: str
    key_pair: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that the Secret must hold."""
        return tuple(key for key, _ in self.files)

    def create(self, namespace: str) -> str:
        """The kubectl command that creates the Secret from the files, in `namespace` where that is not empty."""
        place = f" --namespace {namespace}" if namespace else ""
        sources = "".join(f" --from-file {key}={file}" for key, file in self.files)
        return f"kubectl create secret generic {self.name}{place} --type {self.type}{sources}"

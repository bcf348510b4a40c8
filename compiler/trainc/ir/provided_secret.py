"""Secrets that pods mount and that someone must provide; trainc names them but never creates their content."""

from __future__ import annotations

from trainc.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class ProvidedSecret:
    """What pods expect of a Secret, and how to create it manually.

    `files` pairs each key of the Secret with the file that `make`, a shell command, creates for it. `key_pair` means
    that it is an SSH key pair, which some secrets modes can generate in the cluster.
    """

    name: str
    type: str
    purpose: str
    files: tuple[tuple[str, str], ...]
    make: str
    key_pair: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that the Secret must have."""
        return tuple(key for key, _ in self.files)

    def create(self, namespace: str) -> str:
        """Return the kubectl command that creates the Secret from the files, in `namespace` unless that is empty."""
        place = f" --namespace {namespace}" if namespace else ""
        sources = "".join(f" --from-file {key}={file}" for key, file in self.files)
        return f"kubectl create secret generic {self.name}{place} --type {self.type}{sources}"

"""Skips unrelated files by name and content before parsing.

Helm charts, playbooks, and other YAML that is not plain YAML or not for Kubernetes therefore cost no time and cause no
errors.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from trainc.diagnostics import Diagnostic
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# Every relevant document contains one of these: its API group, or, if that is missing (for example in a fragment), a
# word that is specific to Trainer.
_WORDS = (
    b"kubeflow.org",
    b"jobset.x-k8s.io",
    b"ome.io/",
    b"SealedSecret",
    b"PersistentVolumeClaim",
    b"TrainJob",
    b"TrainingJob",
    b"TrainingRuntime",
    b"mlPolicy",
    b"podGroupPolicy",
    b"runtimeRef",
    b"runtimePatches",
    b"podTemplateOverrides",
    b"replicatedJobs",
)
# Statements with which a template may load the words from other files.
_TAKEN_IN = (b"include", b"import", b"extends")
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff")
_NEAR_NAME = pattern(r"(?i)\.(?:ya?ml|json)\b|\.te?mpl$|\.tpl$|\.gotmpl$")
_OURS = pattern(rb"(?m)^kind:[ \t]*[\"']?(TrainJob|TrainingRuntime|ClusterTrainingRuntime|TrainingJob)\b")


@dataclass(frozen=True, slots=True)
class Exclude:
    """The `exclude` globs in trainc.yaml, relative to `folder`. Paths on the command line are never excluded."""

    folder: str = ""
    globs: tuple[str, ...] = ()

    def __call__(self, path: str) -> bool:
        """Return whether to skip a path found in a directory."""
        if not self.globs:
            return False
        from trainc.diagnostics.globs import matches

        inside = os.path.relpath(path, self.folder or os.curdir).replace(os.sep, "/")
        return any(matches(inside, glob) for glob in self.globs)


def is_unrelated(data: bytes, *, template: bool = False) -> bool:
    """Return whether a file contains nothing that is relevant to trainc."""
    words = (*_WORDS, *_TAKEN_IN) if template else _WORDS
    return not (any(word in data for word in words) or b"\0" in data[:64] or data.startswith(_OTHER_ENCODINGS))


def unrelated_files(count: int, paths: Sequence[str]) -> Diagnostic:
    """Create the info that reports the number of skipped files."""
    files = f"{count:,} file{'' if count == 1 else 's'}"
    who = "it mentions" if count == 1 else "they mention"
    message = f"skipped {files} in {', '.join(paths)}: {who} none of the API groups that trainc reads"
    return Diagnostic("SkippedDocument", "info", message)


def has_near_name(name: str) -> bool:
    """Return whether an ignored file looks misnamed: `llm.yaml.bak`, `llm.yml.txt`, `llm.tpl`, `LLM.YAML`."""
    return _NEAR_NAME.search(name) is not None


def near_file(path: str, data: bytes) -> Diagnostic | None:
    """Create an info about a misnamed file if it contains one of our documents."""
    found = _OURS.search(data)
    if found is None:
        return None
    message = f"{path} contains a {found[1].decode()}, but was not read: its name does not end in .yaml, .yml or .json"
    hint = "rename it, pass it on the command line, or list it under `exclude` in trainc.yaml"
    return Diagnostic("OtherExtension", "info", message, hint)

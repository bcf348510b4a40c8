"""Foreign files: what lies in a folder beside TrainJobs, told from names and bytes alone, before anything is parsed.

Helm charts, playbooks and other YAML that is not plain YAML, or not Kubernetes', thereby cost nothing and break nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from trainc.diagnostics import Diagnostic
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

# A document that trainc has a use for holds one of these: its API group, or, where that was forgotten or is not wanted,
# as in a fragment, a word of Trainer's own.
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
# What a template may take its words from.
_TAKEN_IN = (b"include", b"import", b"extends")
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff")
_NEAR_NAME = pattern(r"(?i)\.(?:ya?ml|json)\b|\.te?mpl$|\.tpl$|\.gotmpl$")
_OURS = pattern(rb"(?m)^kind:[ \t]*[\"']?(TrainJob|TrainingRuntime|ClusterTrainingRuntime|TrainingJob)\b")


@dataclass(frozen=True, slots=True)
class Exclude:
    """The globs of `exclude` in trainc.yaml, over paths from its `folder`. A file that is named is never excluded."""

    folder: str = ""
    globs: tuple[str, ...] = ()

    def __call__(self, path: str) -> bool:
        """Whether a path that a walk has met is left out."""
        if not self.globs:
            return False
        from trainc.diagnostics.globs import matches

        inside = os.path.relpath(path, self.folder or os.curdir).replace(os.sep, "/")
        return any(matches(inside, glob) for glob in self.globs)


def is_unrelated(data: bytes, *, template: bool = False) -> bool:
    """Whether nothing in a file can be meant for trainc."""
    words = (*_WORDS, *_TAKEN_IN) if template else _WORDS
    return not (any(word in data for word in words) or b"\0" in data[:64] or data.startswith(_OTHER_ENCODINGS))


def unrelated_files(count: int, paths: Sequence[str]) -> Diagnostic:
    """The info that counts them."""
    files = f"{count:,} file{'' if count == 1 else 's'}"
    who = "it mentions" if count == 1 else "they mention"
    message = f"skipped {files} in {', '.join(paths)}: {who} none of the API groups that trainc reads"
    return Diagnostic("SkippedDocument", "info", message)


def has_near_name(name: str) -> bool:
    """Whether a file that is not read is called as if it should be: `llm.yaml.bak`, `llm.yml.txt`, `llm.tpl`, `LLM.YAML`."""
    return _NEAR_NAME.search(name) is not None


def near_file(path: str, data: bytes) -> Diagnostic | None:
    """What to say of a file with such a name, if it holds a document of ours."""
    found = _OURS.search(data)
    if found is None:
        return None
    message = f"{path} contains a {found[1].decode()}, but was not read: its name does not end in .yaml, .yml or .json"
    hint = "rename it, pass it on the command line, or list it under `exclude` in trainc.yaml"
    return Diagnostic("OtherExtension", "info", message, hint)

"""The content hash in a job's name, with which a changed job is a new object.

Almost all fields of an existing JobSet are immutable, so a changed job needs a new name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable

from trainc.findings import Path
from trainc.kube.documents import Manifest

# The alphabet of Kubernetes' generated names: without vowels, so that no words occur, and without ambiguous characters
# (kubernetes/apimachinery pkg/util/rand).
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
LENGTH = 6
_HOOK = "argocd.argoproj.io/hook"
_MUTABLE_METADATA = ("labels", "annotations")
_MUTABLE_SPEC = ("suspend", "ttlSecondsAfterFinished")
_JOBSET = "JobSet"


def name_hash(manifests: Iterable[Manifest]) -> str:
    """Return the suffix of the job's name, `-` and six characters, from the objects built under its plain name.

    The hash does not depend on fields that can be updated in place, on hooks, which run before the job starts, or on the
    order of objects and keys.
    """
    content = content_to_hash(manifests)
    texts = sorted(
        json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=True) for manifest in content
    )
    number = int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest(), "big")
    digits = []
    for _ in range(LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "-" + "".join(digits)


def content_to_hash(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return what the hash is taken of."""
    content = []
    for manifest in manifests:
        is_jobset = manifest["kind"] == _JOBSET
        if not _is_hook(manifest):
            metadata = {key: value for key, value in manifest["metadata"].items() if key not in _MUTABLE_METADATA}
            content.append({**manifest, "metadata": metadata})
        if is_jobset:
            spec = {key: value for key, value in manifest.get("spec", {}).items() if key not in _MUTABLE_SPEC}
            content[-1]["spec"] = spec
    return content


def _is_hook(manifest: Manifest) -> bool:
    return manifest["kind"] != _JOBSET and _HOOK in (manifest["metadata"].get("annotations") or {})


def what_changes_it(before: Manifest, after: Manifest) -> Callable[[Path], bool]:
    """Return what tells of a field in which two versions of an object differ whether that alone changes the hash."""
    was_hook = _is_hook(before)
    mutable = {("metadata", name) for name in _MUTABLE_METADATA}
    mutable |= {("spec", name) for name in _MUTABLE_SPEC if before["kind"] == _JOBSET}
    # An object that becomes a hook, or no longer is one.
    turns = ("metadata", "annotations", _HOOK) if was_hook != _is_hook(after) else ()
    return lambda path: path == turns[: len(path)] or not (was_hook or path[:2] in mutable)


def job_in(file: str) -> str:
    """Return the name of the job that a rendered file is of: `llm` for `rendered/nlp/llm.yaml`."""
    return os.path.basename(file).removesuffix(".yaml").removesuffix(".jobset")


def plain_name(name: str) -> str:
    """Return a name of a JobSet without what may be a hash: a name that only looks as if it had one loses that, too."""
    return name_in_file(name, name[: -LENGTH - 1])


def name_in_file(name: str, file: str) -> str:
    """Return the name of the TrainJob that a JobSet in a rendered file was compiled from.

    The file is called like the TrainJob, so it tells a hash from a name that looks like one. Elsewhere, the name of the
    JobSet is all there is.
    """
    plain = job_in(file)
    suffix = name.removeprefix(f"{plain}-")
    return plain if len(suffix) == LENGTH and suffix != name and set(suffix) <= set(ALPHABET) else name

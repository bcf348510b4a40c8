"""The content hash of a job's name: a changed job is a new object, an unchanged one is untouched.

Almost nothing in a JobSet may change once it exists, so that a change has to come under a new name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from trainc.api.documents import Manifest

# Kubernetes' own choice for generated names: no vowels, so no words, and nothing that is read as something else
# (kubernetes/apimachinery pkg/util/rand).
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
LENGTH = 6
_HOOK = "argocd.argoproj.io/hook"
_MUTABLE_METADATA = ("labels", "annotations")
_MUTABLE_SPEC = ("suspend", "ttlSecondsAfterFinished")


def name_hash(manifests: Iterable[Manifest]) -> str:
    """The suffix for the name of the job that has these objects under its plain name: `-` and six characters.

    What an update may change in place does not count, nor does a hook, which has run before the job begins. The order
    of the objects counts as little as that of their keys.
    """
    texts = sorted(_canonical(_immutable(m)) for m in manifests if not _is_hook(m))
    number = int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest(), "big")
    digits = []
    for _ in range(LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "-" + "".join(digits)


def _is_hook(manifest: Manifest) -> bool:
    return manifest["kind"] != "JobSet" and _HOOK in (manifest["metadata"].get("annotations") or {})


def _immutable(manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in _MUTABLE_METADATA}
    if manifest["kind"] != "JobSet":
        return {**manifest, "metadata": metadata}
    spec = {key: value for key, value in manifest["spec"].items() if key not in _MUTABLE_SPEC}
    return {**manifest, "metadata": metadata, "spec": spec}


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

"""The configuration files that the command of a TrainJob names and that the repository holds beside it.

A relative path is looked up in the folder of the job's file, and in each folder above it up to the root of the
repository; the nearest one counts. What the command itself makes, changes or fetches is not looked up: see `_MADE`.
"""

from __future__ import annotations

import os

from trainc.findings import Source
from trainc.kube.documents import items, mapping, value_at
from trainc.options import Limits
from trainc.reading.document import TEXT_FILE, Document
from trainc.reading.files import shown_path
from trainc.reading.opening import is_inside, read_file, root_around
from trainc.reading.settings import LIMITS
from trainc.startup.patterns import pattern
from trainc.startup.records import replace

_SUFFIXES = (".yaml", ".yml", ".json", ".toml")
_PATH = pattern(r"(?<![\w./${}~-])(?:\./)?(?:[\w-][\w.-]*/){0,9}[\w-][\w.-]*\.(?:ya?ml|json|toml)(?![\w./${}-])")
# With one of these, a file of the repository may not be the one in the pod.
_MADE = pattern(
    r"<<|[^|]>|\b(?:git|wget|curl|cp|mv|sed|tee|rsync|aws|gsutil|gcloud|huggingface-cli|hf|envsubst|s5cmd|azcopy)\b"
)
_MOST_FILES = 8


def with_files(document: Document, limits: Limits) -> Document:
    """Return a TrainJob with the files that its command names, as documents with a text."""
    trainer = mapping(value_at(document.data, ("spec", "trainer")))
    words = [str(word) for key in ("command", "args") for word in items(trainer.get(key))]
    if not document.file or not any(suffix in word for word in words for suffix in _SUFFIXES):
        return document
    text = " ".join(words)
    if _MADE.search(text):
        return document
    paths = dict.fromkeys(os.path.normpath(match[0]) for match in _PATH.finditer(text))
    folder = os.path.dirname(document.file) or os.curdir
    root = root_around(folder)
    found = (_read(path, folder, root, limits) for path in [*paths][:_MOST_FILES])
    return replace(document, siblings=tuple(file for file in found if file is not None))


def _read(path: str, folder: str, root: str, limits: Limits) -> Document | None:
    while is_inside(folder, root):
        candidate = os.path.join(folder, path)
        if os.path.isfile(candidate):
            return _document(candidate, path) if limits.allow_outside or is_inside(candidate, root) else None
        folder = os.path.join(folder, os.pardir)
    return None


def _document(file: str, path: str) -> Document | None:
    shown = shown_path(os.path.normpath(file))
    try:
        text = read_file(file, LIMITS.document_bytes).decode()
    except (OSError, ValueError):
        return None
    return Document({"kind": TEXT_FILE, "metadata": {"name": path}, "text": text}, shown, lambda _: Source(shown, 1, 1))

"""The configuration files that the command of a TrainJob names and that the repository holds beside it.

A relative path is looked up in the folder of the job's file, and in each folder above it up to the root of the
repository; the nearest one counts. What the command itself makes, changes or fetches is not looked up: see `_MADE`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from trainc.findings import Source
from trainc.kube.documents import items, mapping, value_at
from trainc.kube.names import JOB_KINDS
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


def with_files(documents: Iterable[Document], limits: Limits) -> list[Document]:
    """Return documents of which the TrainJobs have the files that their commands name, as documents with a text."""
    upward: dict[str, list[str]] = {}
    roots: dict[str, str] = {}

    def read(path: str, folder: str) -> Document | None:
        file = next(filter(os.path.isfile, (os.path.join(parent, path) for parent in upward[folder])), None)
        return _document(file, path) if file and (limits.allow_outside or is_inside(file, roots[folder])) else None

    result = []
    for document in documents:
        if paths := _paths_named(document):
            folder = os.path.dirname(document.file) or os.curdir
            if folder not in upward:
                roots[folder] = root_around(folder)
                upward[folder] = [*_up_to(folder, roots[folder])]
            found = (read(path, folder) for path in paths)
            document = replace(document, siblings=tuple(file for file in found if file is not None))  # noqa: PLW2901
        result.append(document)
    return result


def _paths_named(document: Document) -> list[str]:
    if document.data.get("kind") not in JOB_KINDS or not document.file:
        return []
    trainer = mapping(value_at(document.data, ("spec", "trainer")))
    words = [str(word) for key in ("command", "args") for word in items(trainer.get(key))]
    if not any(suffix in word for word in words for suffix in _SUFFIXES):
        return []
    text = " ".join(words)
    if _MADE.search(text):
        return []
    return [*dict.fromkeys(os.path.normpath(match[0]) for match in _PATH.finditer(text))][:_MOST_FILES]


def _up_to(folder: str, root: str) -> Iterator[str]:
    while is_inside(folder, root):
        yield folder
        folder = os.path.join(folder, os.pardir)


def _document(file: str, path: str) -> Document | None:
    shown = shown_path(os.path.normpath(file))
    try:
        text = read_file(file, LIMITS.document_bytes).decode()
    except (OSError, ValueError):
        return None
    return Document({"kind": TEXT_FILE, "metadata": {"name": path}, "text": text}, shown, lambda _: Source(shown, 1, 1))

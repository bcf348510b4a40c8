"""The kustomization that runs trainc, to report misuse that kustomize would not explain, and what kustomize has to know."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainc.api.documents import Document, opening, yaml_reader
from trainc.api.findings import Diagnostic, Path, format_path
from trainc.api.kube import Json, identity_of
from trainc.api.output import dump_yaml, ownership
from trainc.api.records import dataclass
from trainc.api.settings import Limits, is_overlay

_NAMES_KUSTOMIZATIONS = ("resources", "components", "bases")
# No real stack is deeper; kustomize itself refuses cycles.
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization: its folder, file name and content. Files outside `root` are not read."""

    folder: str
    file: str
    data: Json
    root: str

    def entries(self, field: str) -> list[Any]:
        """The items of a list field; empty if it is not a list."""
        value = self.data.get(field)
        return value if isinstance(value, list) else []

    def documents(self, entry: Any) -> Sequence[dict[str, Any]]:
        """The documents of an entry, which is a file path or, if it contains line breaks, inline YAML."""
        if not isinstance(entry, str):
            return ()
        return _parsed(entry.encode()) if "\n" in entry.strip() else _documents(self.path_of(entry), self.root)

    def beneath(self) -> Iterator[Kustomization]:
        """This kustomization and those it builds on, without duplicates."""
        waiting, folders = [self], {os.path.realpath(self.folder)}
        while waiting:
            kustomization = waiting.pop()
            yield kustomization
            for entry in (entry for field in _NAMES_KUSTOMIZATIONS for entry in kustomization.entries(field)):
                folder = os.path.realpath(kustomization.path_of(entry)) if isinstance(entry, str) else ""
                if folder and folder not in folders and len(folders) < _MOST and os.path.isdir(folder):
                    folders.add(folder)
                    child = kustomization_in(folder)
                    waiting += [child] if child else []

    def path_of(self, entry: str) -> str:
        """The path that an entry refers to."""
        return os.path.join(self.folder, entry)


def kustomization_in(folder: str) -> Kustomization | None:
    """The kustomization in a folder; None if there is none or it cannot be read."""
    root = opening.root_around(os.curdir)
    for file in ownership.KUSTOMIZATIONS:
        for data in _documents(os.path.join(folder, file), root):
            return Kustomization(folder, file, data, root)
    return None


def used_as_validator(folder: str, configuration: Document | None) -> list[Diagnostic]:
    """An error if the kustomization in `folder` lists `configuration` among its validators; otherwise empty.

    kustomize compares a validator's output with its input and refuses any difference, with an unhelpful message.
    """
    kustomization = kustomization_in(folder)
    if configuration is None or kustomization is None:
        return []
    documents = (data for entry in kustomization.entries("validators") for data in kustomization.documents(entry))
    name = identity_of(configuration.data)[1]
    if name not in (identity_of(data)[1] for data in documents if is_overlay(data)):
        return []
    message = f"{kustomization.file} lists trainc under `validators`, which cannot change resources; trainc replaces TrainJobs"
    hint = "move the entry to `transformers`"
    return [Diagnostic("UsedAsValidator", "error", message, hint, "Kustomization", "validators")]


def _documents(path: str, root: str) -> Sequence[dict[str, Any]]:
    try:
        if not opening.is_inside(path, root):
            return ()
        return _parsed(opening.read_file(path, Limits().file_bytes))
    except (OSError, ValueError):
        return ()


def _parsed(text: bytes) -> Sequence[dict[str, Any]]:
    """The documents that can be parsed; kustomize has read the same text and reports errors in the others."""
    return [document.data for document in yaml_reader.read_documents(text, "", Limits())[0]]


# What kustomize has to know of TrainJobs, runtimes and JobSets: `configurations`, with which names and images follow.
#
# kustomize knows the references of built-in kinds alone. Without this file a generator's hash, a prefix or an entry
# of `images` never reaches a TrainJob, and no error says so.
#
# Source: kubernetes-sigs/kustomize api/internal/konfig/builtinpluginconsts (namereference.go, images.go,
# commonlabels.go).


_HEAD = """\
# What kustomize needs to know about TrainJobs, runtimes and JobSets. In the kustomization that lists trainc as a transformer:
#
#   configurations: [kustomizeconfig.yaml]
"""

# `templates` are where each kind has a pod template; `pods` where a pod names objects of each kind, from the pod's spec on;
# `others` what else names objects: (kind of the object, kind that names it, path); `groups` the API groups of referents
# whose kind alone says too little, and of those that have versions of their own.
_DATA: Json = opening.read_data(__file__, "references.json")
_TEMPLATES: Mapping[str, str] = _DATA["templates"]
_POD_SPECS: tuple[tuple[str, str], ...] = (
    *(("TrainJob", path) for path in _DATA["patches"]),
    *((kind, f"{template}/spec") for kind, template in _TEMPLATES.items()),
)
_IMAGES: Sequence[dict[str, str]] = [
    {"kind": "TrainJob", "path": "spec/trainer/image"},
    *(
        {"kind": kind, "path": f"{spec}/{field}"}
        for kind, spec in _POD_SPECS
        for field in ("containers/image", "initContainers/image")
    ),
]
_REFERENTS = tuple(dict.fromkeys((*_DATA["pods"], *(kind for kind, _, _ in _DATA["others"]))))


def kustomize_config() -> str:
    """The file's text."""
    references, groups = [], _DATA["groups"]
    for kind in _REFERENTS:
        # kustomize adds to what it knows of a built-in kind, if the version is the same too.
        group_and_kind = {"group": groups[kind], "kind": kind} if kind in groups else {"kind": kind, "version": "v1"}
        references.append({**group_and_kind, "fieldSpecs": list(_referrers(kind))})
    configuration = {
        "images": _IMAGES,
        "nameReference": references,
        "commonLabels": list(_pods_metadata("labels")),
        "templateLabels": list(_pods_metadata("labels")),
        "commonAnnotations": list(_pods_metadata("annotations")),
    }
    return _HEAD + dump_yaml([configuration])


def _referrers(kind: str) -> Iterator[dict[str, str]]:
    """Every field in which an object of `kind` is named."""
    for referrer, spec in _POD_SPECS:
        yield from ({"kind": referrer, "path": f"{spec}/{field}"} for field in _DATA["pods"].get(kind, ()))
    yield from ({"kind": referrer, "path": path} for referent, referrer, path in _DATA["others"] if referent == kind)


def _pods_metadata(field: str) -> Iterator[dict[str, object]]:
    """Where labels and annotations for pods belong: wherever a runtime or a JobSet has a template of them."""
    for kind, template in _TEMPLATES.items():
        if kind != "TrainJob":
            yield {"kind": kind, "path": f"{template}/metadata/{field}", "create": True}


def references_of(jobset: Json) -> Iterator[tuple[str, str, str]]:
    """(field path, kind, name) of every object that a JobSet names, as far as the table knows."""
    for kind in _REFERENTS:
        for field in (field for field in _referrers(kind) if field["kind"] == "JobSet"):
            yield from ((path, kind, name) for path, name in _texts(jobset, field["path"]))


def images_of(item: Json) -> Iterator[tuple[str, str]]:
    """(field path, image) of every image of a TrainJob, runtime or JobSet."""
    for field in _IMAGES:
        if field["kind"] == item.get("kind"):
            yield from _texts(item, field["path"])


def _texts(item: Json, path: str) -> Iterator[tuple[str, str]]:
    """Every text at a path of kustomize's, which has `/` between keys, `\\/` in them, and nothing for lists."""

    def texts_below(value: Any, steps: Sequence[str], base: Path) -> Iterator[tuple[str, str]]:
        if isinstance(value, list):
            for index, inner in enumerate(value):
                yield from texts_below(inner, steps, (*base, index))
        elif not steps and isinstance(value, str):
            yield format_path(base), value
        elif steps and isinstance(value, Mapping):
            yield from texts_below(value.get(steps[0]), steps[1:], (*base, steps[0]))

    return texts_below(item, [step.replace("\0", "/") for step in path.replace(r"\/", "\0").split("/")], ())

"""The content of `overlay.yaml` after reading and checking, before it is applied."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from trainc.findings import Diagnostic, Path, format_path
from trainc.findings.policy import Rule, read_rules
from trainc.findings.text import did_you_mean
from trainc.kube.documents import Json
from trainc.kube.kueue import checked_kueue
from trainc.kube.releases import normalize_kubernetes, normalize_release
from trainc.options import Delivery, Gang, SecretsMode, Semantics
from trainc.project.overlays.patterns import TARGET_FIELDS, Target, target_of
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field

API = "trainc/v1alpha1"
KIND = "Overlay"
FIELDS = (
    "resources", "patches", "namespace", "namePrefix", "nameSuffix", "labels", "commonAnnotations", "images", "values",
    "runtimes", "release", "semantics", "secrets", "keygenImage", "delivery", "syncOptions", "nameHash", "gang", "kubernetes", "kueue",
    "rules",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PatchEntry:
    """An item of `patches`: either a body, or a file with bodies. `path` is its path in the overlay."""

    path: Path
    body: Json | Sequence[Any] | str | None
    file: str | None
    target: Target | None


@dataclass(frozen=True, slots=True)
class ImageChange:
    """An item of `images`: the new name, tag or digest for an image."""

    path: Path
    name: str
    new_name: str | None
    new_tag: str | None
    digest: str | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A label or annotation to set, and its path in the overlay."""

    key: str
    value: str
    path: Path


@dataclass(frozen=True, slots=True)
class Overlay:
    """The content of an `overlay.yaml`.

    `settings` are `Options` fields. `runtimes` and `resources` are paths relative to the overlay.
    """

    document: Document
    resources: tuple[str, ...] = ()
    patches: tuple[PatchEntry, ...] = ()
    namespace: str | None = None
    name_prefix: str = ""
    name_suffix: str = ""
    labels: tuple[Pair, ...] = ()
    annotations: tuple[Pair, ...] = ()
    images: tuple[ImageChange, ...] = ()
    values: Json = field(default_factory=dict)
    runtimes: tuple[str, ...] = ()
    settings: Json = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    @property
    def label(self) -> str:
        """The name of the overlay in diagnostics."""
        metadata = self.document.data.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return f"{KIND} {name or self.document.file}".rstrip()


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch to apply; `prefix` is the path of its body in `document`."""

    body: Json | Sequence[Any]
    document: Document
    prefix: Path
    target: Target
    entry: PatchEntry


# Reads `overlay.yaml`: kustomize's field names, with every field checked and problems reported with positions.


_HEAD = ("apiVersion", "kind", "metadata")
# kustomize fields that are deprecated or do not apply to TrainJobs, with a hint what to do instead.
_ELSEWHERE = {
    "bases": "list the folder under `resources`",
    "components": "list the folder under `resources`",
    "patchesStrategicMerge": "list it under `patches`",
    "patchesJson6902": "list it under `patches`, with a target",
    "commonLabels": "list them under `labels`, as in labels: [{pairs: {team: a}}]",
    "replicas": "set spec.trainer.numNodes with a patch",
    "configMapGenerator": "keep it in a kustomization: trainc only writes what TrainJobs need",
    "secretGenerator": "create the Secret in another way (see `trainc rule SecretNeeded`): trainc never writes Secrets",
}
_PREFIX = re.compile(r"([a-z][-a-z0-9]*)?")
_SUFFIX = re.compile(r"([-a-z0-9]*[a-z0-9])?")


def is_overlay(data: Any) -> bool:
    """Return whether a document is an overlay of any version."""
    api = str(data.get("apiVersion", "")) if isinstance(data, Mapping) else ""
    return api.startswith("trainc/") and data.get("kind") == KIND


def read_overlay(document: Document) -> tuple[Overlay, list[Diagnostic]]:
    """Read the overlay in a document; return it and all problems."""
    data = {name: value for name, value in document.data.items() if value is not None}
    fields = TypedFields(document, Overlay(document).label)
    if (data.get("apiVersion"), data.get("kind")) != (API, KIND):
        fields.report((), "this is not an overlay", f"start it with apiVersion: {API} and kind: {KIND}")
    fields.unknown(data, (*_HEAD, *FIELDS), (), _ELSEWHERE)
    values = data.get("values", {})
    overlay = Overlay(
        document,
        resources=fields.texts(data, "resources"),
        patches=fields.items(data, "patches", lambda item, path: _patch(item, path, fields)),
        namespace=fields.text(data, "namespace"),
        name_prefix=_name_part(data, "namePrefix", _PREFIX, fields),
        name_suffix=_name_part(data, "nameSuffix", _SUFFIX, fields),
        labels=tuple(
            pair
            for group in fields.items(data, "labels", lambda item, path: _label_group(item, path, fields))
            for pair in group
        ),
        annotations=_pairs(data.get("commonAnnotations", {}), ("commonAnnotations",), fields),
        images=fields.items(data, "images", lambda item, path: _image(item, path, fields)),
        values=values if fields.is_mapping(values, ("values",)) else {},
        runtimes=fields.texts(data, "runtimes"),
        settings=_settings(data, fields),
        rules=_rules(data, os.path.dirname(document.file), fields),
    )
    return overlay, fields.diagnostics


def _rules(data: Json, folder: str, fields: TypedFields) -> tuple[Rule, ...]:
    rules, problems = read_rules(data.get("rules", {}), ("rules",), folder)
    for problem in problems:
        fields.report(*problem)
    return tuple(rules)


def _settings(data: Json, fields: TypedFields) -> dict[str, Any]:
    """Return the `Options` fields that the overlay sets."""
    settings: dict[str, Any] = {
        "release": _minor(data, "release", normalize_release, fields),
        "semantics": fields.choice(data, "semantics", get_args(Semantics)),
        "secrets": fields.choice(data, "secrets", get_args(SecretsMode)),
        "keygen_image": fields.text(data, "keygenImage"),
        "delivery": fields.choice(data, "delivery", get_args(Delivery)),
        "sync_options": fields.texts(data, "syncOptions") if "syncOptions" in data else None,
        "name_hash": fields.truth(data, "nameHash"),
        "gang": fields.choice(data, "gang", get_args(Gang)),
        "kubernetes": _minor(data, "kubernetes", normalize_kubernetes, fields),
        "kueue": _minor(data, "kueue", checked_kueue, fields),
    }
    return {name: value for name, value in settings.items() if value is not None}


def _minor(data: Json, name: str, normalize: Callable[[str], str], fields: TypedFields) -> str | None:
    text = fields.text(data, name)
    try:
        return None if text is None else normalize(text)
    except ValueError as unknown:
        fields.report((name,), str(unknown), "upgrade trainc to a version that has it")
        return None


def _patch(item: Any, path: Path, fields: TypedFields) -> PatchEntry | None:
    if not fields.is_mapping(item, path):
        return None
    fields.unknown(item, ("path", "patch", "target"), path)
    body, file = item.get("patch"), fields.text(item, "path", path)
    if (body is None) is (file is None):
        fields.report(
            path,
            "a patch needs either `patch` or `path`",
            "write the patch inline under `patch`, or name its file under `path`",
        )
    if body is not None and not isinstance(body, str | dict | list):
        fields.report(
            (*path, "patch"),
            f"{body!r} is not a patch",
            "write a mapping (strategic merge patch) or a list of JSON Patch operations",
        )
        body = None
    target = item.get("target")
    return PatchEntry(path, body, file, None if target is None else _target(target, (*path, "target"), fields))


def _target(target: Any, path: Path, fields: TypedFields) -> Target:
    if not fields.is_mapping(target, path):
        return Target()
    fields.unknown(target, TARGET_FIELDS, path)
    try:
        return target_of(target)
    except ValueError as wrong:
        hint = "write names as regular expressions, and selectors as for kubectl -l"
        fields.report(path, f"the target is not valid: {wrong}", hint)
        return Target()


def _label_group(item: Any, path: Path, fields: TypedFields) -> tuple[Pair, ...] | None:
    if not fields.is_mapping(item, path):
        return None
    selecting = ("includeSelectors", "includeTemplates", "fields")
    fields.unknown(item, ("pairs", *selecting), path)
    for name in selecting:
        if item.get(name):
            hint = "remove it: labels are added to the metadata of TrainJobs; to label pods, patch the runtime"
            fields.report((*path, name), f"{name} is not supported", hint)
    return _pairs(item.get("pairs") or {}, (*path, "pairs"), fields)


def _pairs(pairs: Any, path: Path, fields: TypedFields) -> tuple[Pair, ...]:
    if not fields.is_mapping(pairs, path):
        return ()
    for key, value in pairs.items():
        if not isinstance(value, str):
            fields.report((*path, key), f"{value!r} is not a string", "put the value in quotes")
    return tuple(Pair(key, str(value), (*path, key)) for key, value in pairs.items())


def _image(item: Any, path: Path, fields: TypedFields) -> ImageChange | None:
    if not fields.is_mapping(item, path):
        return None
    fields.unknown(item, ("name", "newName", "newTag", "digest"), path)
    name = fields.text(item, "name", path)
    new_name, new_tag, digest = (fields.text(item, field, path) for field in ("newName", "newTag", "digest"))
    if not name or not (new_name or new_tag or digest):
        hint = "write the name as in the manifests, without the tag"
        fields.report(path, "an image needs `name` and one of `newName`, `newTag` and `digest`", hint)
    return ImageChange(path, name or "", new_name, new_tag, digest)


def _name_part(data: Json, name: str, form: re.Pattern[str], fields: TypedFields) -> str:
    text = fields.text(data, name) or ""
    if not form.fullmatch(text):
        hint = "use lowercase letters, digits and `-`; a name starts with a letter and does not end with `-`"
        fields.report((name,), f"{text!r} cannot be part of a name", hint)
    return text


# Typed access to fields; values of the wrong type are reported and treated as absent.


_T = TypeVar("_T")


class TypedFields:
    """Reads fields of a document and collects problems as errors with the same code."""

    def __init__(self, document: Document, label: str, code: str = "InvalidOverlay") -> None:
        self.diagnostics: list[Diagnostic] = []
        self._code = code
        self._document = document
        self._label = label

    def report(self, path: Path, message: str, hint: str) -> None:
        """Report an error about the field at `path`."""
        where, place = format_path(path), self._document.locate(path)
        self.diagnostics.append(
            Diagnostic(self._code, "error", message, hint=hint, object=self._label, path=where, source=place)
        )

    def text(self, data: Json, name: str, path: Path = ()) -> str | None:
        """Return a string field, or None if it is missing."""
        value = data.get(name)
        if value is None or isinstance(value, str):
            return value
        self.report((*path, name), f"{name} is {value!r}, which is not a string", "put it in quotes")
        return None

    def choice(self, data: Json, name: str, choices: tuple[str, ...]) -> str | None:
        """Return a string field that must be one of `choices`."""
        value = self.text(data, name)
        if value is None or value in choices:
            return value
        self.report((name,), f"{name} is {value!r}", f"choose {' or '.join(choices)}")
        return None

    def truth(self, data: Json, name: str) -> bool | None:
        """Return a boolean field, or None if it is missing."""
        value = data.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.report((name,), f"{name} is {value!r}", "write true or false, without quotes")
        return None

    def texts(self, data: Json, name: str) -> tuple[str, ...]:
        """Return a field that is a list of strings."""
        return self.items(data, name, self._one_text)

    def items(self, data: Json, name: str, parse: Callable[[Any, Path], _T | None]) -> tuple[_T, ...]:
        """Return a list field with each item converted by `parse`, which reports invalid items and returns None."""
        items = data.get(name, [])
        if not isinstance(items, list):
            self.report((name,), f"{name} is not a list", "write a list, each item after '- '")
            return ()
        parsed = [parse(item, (name, i)) for i, item in enumerate(items)]
        return tuple(item for item in parsed if item is not None)

    def is_mapping(self, value: Any, path: Path) -> bool:
        """Return whether a value is a mapping; reports an error if it is not."""
        if isinstance(value, Mapping):
            return True
        self.report(path, f"{format_path(path)} is not a mapping", "write `key: value` lines")
        return False

    def unknown(self, data: Json, known: tuple[str, ...], path: Path, hints: Mapping[str, str] | None = None) -> None:
        """Report fields that are not in `known`; `hints` overrides the spelling suggestion for specific fields."""
        for name in data:
            if name not in known:
                hint = did_you_mean(str(name), known) or f"choose one of {', '.join(known)}"
                self.report((*path, name), f"unknown field {name!r}", (hints or {}).get(name, hint))

    def _one_text(self, item: Any, path: Path) -> str | None:
        if isinstance(item, str) and item:
            return item
        self.report(path, f"{item!r} is not a string", "write a string")
        return None

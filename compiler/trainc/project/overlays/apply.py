"""Applies overlays in kustomize's order: patches first, then namespace, names, labels, annotations and images."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trainc.findings import Diagnostic, Finding, Path, Severity, format_path
from trainc.findings.text import did_you_mean, first_of
from trainc.kube.documents import FieldPath, Json, identity_of, mapping, stable_path, walk
from trainc.kube.names import JOB_KINDS, QUEUE_LABEL, full_name, is_in_registry, join_image, split_image
from trainc.kube.strategic_merge import Copies, PatchFailedError, merge_overlay
from trainc.project.dialects import is_trainer_document
from trainc.project.overlays.overlay import ImageChange, Overlay, Patch
from trainc.project.overlays.patterns import Edited, Origin, Target, identity_target
from trainc.startup.records import dataclass

# JSON Patch (RFC 6902) with JSON Pointers (RFC 6901).


_END = "-"
_FIX = "fix the patch (`op: add` also sets what is missing), or narrow its target to the documents it is written for"
# Repeated copies grow exponentially, like nested aliases, and repeated additions can nest deeply.
_MOST_COPIED = 10_000
_MOST_VALUES = 5_000_000
_DEEPEST = 300
_WITH_VALUE = ("add", "replace", "test")
_WITH_FROM = ("move", "copy")
_OPERATIONS = ("remove", *_WITH_VALUE, *_WITH_FROM)


class _MissingError(Exception):
    """The path of an operation does not exist."""


@dataclass(frozen=True, slots=True)
class _Operation:
    index: int
    name: str
    path: tuple[str, ...]
    value: Any = None
    source: tuple[str, ...] = ()


def apply_operations(
    data: Mapping[str, Any], operations: Sequence[Any], copies: Copies | None = None
) -> tuple[dict[str, Any], list[tuple[FieldPath, Path]]]:
    """Apply all operations; return the result and (path, path in `operations`) of each field written.

    Containers of `data` that `copies` owns are changed in place, and all others are copied first. Raises
    PatchFailedError with the path of the first operation that is malformed or does not apply.
    """
    result: Any = data
    value_count, owned = 0, copies or Copies()
    written: list[tuple[FieldPath, Path]] = []
    for operation in [_read_operation(i, raw) for i, raw in enumerate(operations)]:
        try:
            result, at, values = _apply(result, operation, owned)
        except _MissingError as missing:
            raise PatchFailedError(str(missing), (operation.index, "path")) from None
        value_count += values
        if value_count > _MOST_VALUES:
            raise PatchFailedError("the operations would make the document too large", (operation.index,))
        if at is not None:
            source: Path = (operation.index, "value") if operation.name in _WITH_VALUE else (operation.index,)
            written.append((stable_path(at, result), source))
    if not isinstance(result, dict):
        raise PatchFailedError("the operations remove the whole object", (0,))
    return result, written


def _read_operation(index: int, raw: Any) -> _Operation:
    if not isinstance(raw, Mapping):
        raise PatchFailedError("an operation needs op and path, and value where op is add, replace or test", (index,))
    name = raw.get("op")
    if name not in _OPERATIONS:
        raise PatchFailedError(f"op {name!r} is not supported; use one of {', '.join(_OPERATIONS)}", (index, "op"))
    needed = ("path", *(("value",) if name in _WITH_VALUE else ()), *(("from",) if name in _WITH_FROM else ()))
    for field in needed:
        if field not in raw:
            raise PatchFailedError(f"{name} needs {field!r}", (index,))
    source = _parse_pointer(raw["from"], (index, "from")) if name in _WITH_FROM else ()
    return _Operation(index, name, _parse_pointer(raw["path"], (index, "path")), raw.get("value"), source)


def _parse_pointer(text: Any, path: Path) -> tuple[str, ...]:
    if text == "":
        return ()
    if not isinstance(text, str) or not text.startswith("/"):
        raise PatchFailedError(f"{text!r} is not a valid JSON Pointer; write it like /spec/trainer/env/0", path)
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def _apply(data: Any, operation: _Operation, copies: Copies) -> tuple[Any, Path | None, int]:
    """Apply one operation; return the data, the path written (if any), and the number of values added."""
    if operation.name == "test":
        if _get(data, operation.path) != operation.value:
            raise _MissingError(f"the value at {_format_pointer(operation.path)} is not the value that `test` expects")
        return data, None, 0
    if operation.name == "remove":
        return _edit(data, operation.path, _remove, copies), None, 0
    value = _get(data, operation.source) if operation.source else operation.value
    size, height = _size_limit(value)
    if len(operation.path) + height > _DEEPEST:
        raise _MissingError(f"{_format_pointer(operation.path)} would nest the document too deeply")
    if operation.name == "replace":
        _get(data, operation.path)
    elif operation.name == "copy":
        if size > _MOST_COPIED:
            raise _MissingError(
                f"more than {_MOST_COPIED:,} values at {_format_pointer(operation.source)} are too many to copy"
            )
        value = _copy(value)
    elif operation.name == "move":
        data = _edit(data, operation.source, _remove, copies)
    return *_write(data, operation.path, value, copies, adding=operation.name != "replace"), size


def _write(data: Any, path: tuple[str, ...], value: Any, copies: Copies, *, adding: bool) -> tuple[Any, Path]:
    if not path:
        return value, ()
    where: list[str | int] = []
    parent = data
    for step in path:
        where.append(_step(parent, step, path, adding))
        parent = parent[where[-1]] if _has(parent, where[-1]) else None

    def insert(container: Any, step: str | int) -> None:
        if isinstance(step, int) and adding:
            container.insert(step, value)
        else:
            container[step] = value

    return _edit(data, path, insert, copies), tuple(where)


def _edit(data: Any, path: tuple[str, ...], change: Callable[[Any, str | int], None], copies: Copies) -> Any:
    """Apply `change` to the parent container of `path`, copying shared containers on the way."""
    if not path:
        raise _MissingError("an operation cannot remove the whole document; use a patch with `$patch: delete`")
    step = _step(data, path[0], path, adding=True)
    owned = copies.of(data)
    if len(path) == 1:
        change(owned, step)
        return owned
    if not _has(data, step):
        raise _MissingError(f"{_format_pointer(path)} does not exist: there is nothing at {_format_pointer(path[:1])}")
    owned[step] = _edit(owned[step], path[1:], change, copies)
    return owned


def _remove(container: Any, step: str | int) -> None:
    if not _has(container, step):
        raise _MissingError(f"there is no {step!r} to remove")
    del container[step]


def _copy(value: Any) -> Any:
    """Return a deep copy, so that later changes to the original do not affect it."""
    if isinstance(value, Mapping):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _get(data: Any, path: tuple[str, ...]) -> Any:
    for i, step in enumerate(path):
        at = _step(data, step, path, adding=False)
        if not _has(data, at):
            near = did_you_mean(step, map(str, data)) if isinstance(data, Mapping) else ""
            raise _MissingError(
                f"there is nothing at {_format_pointer(path)}: {_format_pointer(path[:i]) or '/'} has no {step}{near and f'; {near}'}"
            )
        data = data[at]
    return data


def _step(container: Any, step: str, path: tuple[str, ...], adding: bool) -> str | int:
    if isinstance(container, Mapping):
        return step
    if not isinstance(container, list):
        raise _MissingError(
            f"there is nothing at {_format_pointer(path)}: {step!r} goes into a value that is neither a mapping nor a list"
        )
    if step == _END:
        return len(container)
    if not step.isdecimal() or not step.isascii() or (step != "0" and step.startswith("0")):
        raise _MissingError(f"{step!r} in {_format_pointer(path)} is not a valid list index")
    if int(step) > len(container) - (not adding):
        raise _MissingError(f"the list in {_format_pointer(path)} has only {len(container)} items")
    return int(step)


def _size_limit(value: Any) -> tuple[int, int]:
    """Return the number of values in `value` (shared ones count each time) and its depth, up to the limits."""
    level, size, height = [value], 0, 0
    while level and height <= _DEEPEST and size <= _MOST_VALUES:
        inner = [
            item.values() if isinstance(item, Mapping) else item for item in level if isinstance(item, Mapping | list)
        ]
        size += sum(map(len, inner))
        height += bool(inner)
        level = [child for children in inner for child in children if isinstance(child, Mapping | list)]
    return size, height


def _has(container: Any, step: str | int) -> bool:
    if isinstance(step, str):
        return isinstance(container, Mapping) and step in container
    return isinstance(container, list) and step < len(container)


def _format_pointer(path: tuple[str, ...]) -> str:
    return "/" + "/".join(path)


# Fields that identify the document to patch, and are not themselves changes.
_IDENTITY = ("apiVersion", "kind")
_IDENTITY_METADATA = ("name", "namespace")
# Of comparing patches with documents, for one overlay.
_MOST_STEPS = 1_000_000
# Each hint searches all documents.
_MOST_HINTS = 20

# An image or patch that matched a document: the number of its layer, its kind, and its index in the layer.
Use: TypeAlias = tuple[int, Literal["image", "patch"], int]


class Layer:
    """One overlay during application. Its effect on a document does not depend on other documents."""

    def __init__(self, overlay: Overlay, patches: Sequence[Patch], number: int = 0) -> None:
        self._overlay = overlay
        self._patches = patches
        self._number = number
        self._steps = 0
        self._named: dict[str, list[int]] = {}
        self._others: list[int] = []
        for index, patch in enumerate(patches):
            name = patch.target.only_name
            (self._others if name is None else self._named.setdefault(name, [])).append(index)
        self.diagnostics: list[Diagnostic] = []

    def apply(self, documents: Iterable[Edited], uses: set[Use]) -> list[Edited]:
        """Apply the overlay; returns the remaining documents and adds everything that matched one to `uses`."""
        images: set[int] = set()
        patched = (self._apply_patches(document, uses) for document in documents)
        done = [transform(d, self._overlay, images) for d in patched if d is not None]
        uses.update((self._number, "image", index) for index in images)
        return done

    def find_unused(
        self, documents: Sequence[Edited], uses: set[Use], elsewhere: Collection[str] = ()
    ) -> list[Diagnostic]:
        """Return an error for each patch that matches nothing, and a warning for each image that no container uses.

        `elsewhere` are the names of jobs that only other environments have.
        """
        unused = (p for i, p in enumerate(self._patches) if (self._number, "patch", i) not in uses)
        patches = [*unused] if self._steps <= _MOST_STEPS else []
        images = [c for i, c in enumerate(self._overlay.images) if (self._number, "image", i) not in uses]
        last = {change.name: change.path for change in self._overlay.images}
        names = image_names(documents) if images or self._overlay.mirrors else []
        return [
            *(self._missing_target(patch, documents, elsewhere) for patch in patches[:_MOST_HINTS]),
            *(self._no_target("fix the first ones first", patch.entry.path) for patch in patches[_MOST_HINTS:]),
            *(
                self._missing_image(change, names if number < _MOST_HINTS else names[:_MOST_HINTS], last[change.name])
                for number, change in enumerate(images)
            ),
            *self._missing_registries(names),
        ]

    def _apply_patches(self, document: Edited, uses: set[Use]) -> Edited | None:
        patched: Edited | None = document
        named = [index for name in {name for _, name in document.identities} for index in self._named.get(name, ())]
        for index in sorted((*self._others, *named)) if named else self._others:
            patch = self._patches[index]
            if patched is not None and self._matches(patch.target, patched):
                uses.add((self._number, "patch", index))
                patched = self._apply_patch(patched, patch)
        return patched

    def _matches(self, target: Target, document: Edited) -> bool:
        """Return whether a document is the target of a patch; so many patches and documents are an error, once."""
        if self._steps > _MOST_STEPS:
            return False
        before = target.visits
        found = target.matches(document)
        self._steps += 1 + (target.visits - before) // 10
        if self._steps > _MOST_STEPS:
            message = f"{len(self._others):,} patches without a name are compared with too many documents"
            hint = "give each the name of its document in `target`"
            finding = Finding("PatchFailed", "error", message, hint, ("patches",))
            self.diagnostics.append(self._overlay.document.diagnose(finding, self._overlay.label))
        return found

    def _apply_patch(self, document: Edited, patch: Patch) -> Edited | None:
        try:
            if isinstance(patch.body, Mapping):
                data, written = merge_overlay(document.data, _change(patch.body), document.copies)
            else:
                data, written = apply_operations(document.data, patch.body, document.copies)
        except PatchFailedError as failed:
            self._report_failure(document, patch, failed)
            return document
        if data is None:
            return None
        origins = [(path, Origin(patch.document, (*patch.prefix, *path_in_patch))) for path, path_in_patch in written]
        return document.with_data(data, origins)

    def _report_failure(self, document: Edited, patch: Patch, failed: PatchFailedError) -> None:
        namespace, name = identity_of(document.data)
        label = f"{document.data.get('kind')} {'/'.join(part for part in (namespace, name) if part)}"
        in_place = ("patch", *failed.path) if patch.entry.file is None else ("path",)
        self.diagnostics.append(
            Diagnostic(
                "PatchFailed",
                "error",
                f"the patch does not apply to {label}: {failed}",
                "write its name first, as in `- name: node`" if "has no 'name'" in str(failed) else _FIX,
                self._overlay.label,
                format_path((*patch.entry.path, *in_place)),
                patch.document.locate((*patch.prefix, *failed.path)),
            )
        )

    def _missing_target(self, patch: Patch, documents: Sequence[Edited], elsewhere: Collection[str]) -> Diagnostic:
        names = [identity_of(document.data)[1] for document in documents]
        # A patch without an explicit target applies to the apiVersion, kind and name in its body.
        target_name = patch.target.name.text if patch.target.name is not None else ""
        labels = [f"{document.data.get('kind')} {identity_of(document.data)[1]}" for document in documents]
        hint = did_you_mean(target_name, names) or f"documents here: {first_of(labels) or 'none'}"
        for field, requirements in (("labels", patch.target.labels), ("annotations", patch.target.annotations)):
            written = [mapping(mapping(d.data.get("metadata")).get(field)) for d in documents]
            pairs = {f"{key}={value}" for one in written for key, value in one.items()}
            texts = [f"{r.key}={value}" for r in requirements if r.operator == "In" for value in r.values]
            hint = next(filter(None, (did_you_mean(t, pairs, 0.8) for t in texts if t not in pairs)), hint)
        if target_name in elsewhere:
            hint = (
                f"`select` in trainc.yaml leaves {target_name} to another environment; patch it in the overlay of that "
                "one, or take this overlay away from this environment"
            )
        if target_name in names:
            index = names.index(target_name)
            what = patch.target.difference(documents[index]) or "correct the selectors of the target"
            hint = f"there is a {labels[index]}: {what}"
        kind = patch.target.kind.text if patch.target.kind else ""
        if kind in JOB_KINDS and kind not in {label.split()[0] for label in labels} and target_name not in elsewhere:
            hint = f"there is no {kind} here: remove the patch, or the environment if it is to have no jobs"
        kinds = {str(document.data.get("kind")) for document in documents}
        near = did_you_mean(kind, kinds, 0.8) if kind not in {"", *kinds, *JOB_KINDS} else ""
        path = (*patch.entry.path, "target", "kind") if near and patch.entry.target is not None else patch.entry.path
        about = f" for {kind or 'document'} {target_name}" if target_name else ""
        return self._no_target(near or hint, path, about)

    def _no_target(self, hint: str, path: Path, about: str = "") -> Diagnostic:
        return self._diagnostic("PatchTargetMissing", "error", f"the patch{about} matches no document", hint, path)

    def _missing_image(self, change: ImageChange, here: Sequence[str], last: Path) -> Diagnostic:
        # As they are before `mirrors`, which come after `images`.
        mirrors = [(mirror, registry) for registry, mirror in self._overlay.mirrors.items()]
        written, *names = (
            next((registry + name.removeprefix(m) for m, registry in mirrors if is_in_registry(name, m)), name)
            for name in (change.name, *here)
        )
        hint = did_you_mean(change.name, names)
        if written != change.name and written in names:
            hint = f"write {written}: `mirrors` come after `images`"
        hint = hint or f"images here: {', '.join(names[:5]) or 'none'}"
        message = f"no container uses the image {change.name!r}"
        if change.path != last:
            message, hint = f"a later entry for {change.name!r} wins, so this one has no effect", "keep one entry"
        return self._diagnostic("ImageNotUsed", "warning", message, hint, change.path)

    def _missing_registries(self, names: Sequence[str]) -> Iterator[Diagnostic]:
        """Yield mirrors of registries that are almost those of images here; others may serve jobs to come."""
        mirrors, near = self._overlay.mirrors, dict[int, list[str]]()
        parts = [full_name(name).split("/") for name in names]
        holders = {"/".join(steps[:end]) for steps in parts for end in range(1, len(steps) + 1)}
        for registry, mirror in mirrors.items():
            if mirror not in holders and registry not in holders:
                depth = registry.count("/") + 1
                if depth not in near:
                    near[depth] = sorted({"/".join(steps[:depth]) for steps in parts} - {*mirrors})
                if hint := did_you_mean(registry, near[depth], 0.93):  # ghcr.io is not meant by gcr.io.
                    message = f"no container uses an image from {registry!r}"
                    yield self._diagnostic("ImageNotUsed", "warning", message, hint, ("mirrors", registry))

    def _diagnostic(self, code: str, severity: Severity, message: str, hint: str, path: Path) -> Diagnostic:
        return self._overlay.document.diagnose(Finding(code, severity, message, hint, path), self._overlay.label)


def _change(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a strategic merge patch without the fields that identify its document."""
    change = {key: value for key, value in body.items() if key not in _IDENTITY}
    metadata = change.get("metadata")
    if isinstance(metadata, Mapping):
        change["metadata"] = {key: value for key, value in metadata.items() if key not in _IDENTITY_METADATA}
    return change


def target_of_body(body: Any) -> Any:
    """Return the target that a patch identifies in its body, or None if it lacks a kind or name."""
    is_identified = isinstance(body, Mapping) and body.get("kind") and isinstance(body.get("metadata"), Mapping)
    return identity_target(body) if is_identified and body["metadata"].get("name") else None


# Everything that overlays change apart from patches: namespace, name, labels, annotations, images. TrainJobs get all of
# it. Runtimes are never applied to the cluster. They get the namespace, so that they stay with their TrainJobs, and the
# images, but keep their names, so that runtimeRefs stay valid. Other documents are left alone: a SealedSecret, for
# example, is bound to its name and namespace.


# TrainJob is the kind of Trainer and v2alpha1, TrainingJob that of OME.
_NAMESPACED_KINDS = (*JOB_KINDS, "TrainingRuntime")
_KINDS = (*_NAMESPACED_KINDS, "ClusterTrainingRuntime")
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")


def _is_concerned(data: Mapping[str, Any]) -> bool:
    """Return whether a document is a TrainJob or a runtime, in any dialect."""
    return data.get("kind") in _KINDS and is_trainer_document(data)


def transform(document: Edited, overlay: Overlay, used_images: set[int]) -> Edited:
    """Apply everything except patches; adds the indexes of images that are in use to `used_images`."""
    if not _is_concerned(document.data):
        return document
    before, kind = document, document.data["kind"]
    if overlay.namespace and kind in _NAMESPACED_KINDS:
        document = _set_field(document, overlay, ("metadata", "namespace"), overlay.namespace, ("namespace",))
    if kind in JOB_KINDS:
        document = _rename(document, overlay)
        for field, pairs in (("labels", overlay.labels), ("annotations", overlay.annotations)):
            for pair in pairs:
                path, origin = ("metadata", field, pair.key), Origin(overlay.document, pair.path)
                # The queue is the job's own, wherever it is set.
                is_own = pair.key == QUEUE_LABEL
                set_field = document.with_field if is_own else document.with_common_field
                document = set_field(path, pair.value, origin)
    document = _mirror_images(_replace_images(document, overlay, used_images), overlay)
    return document if document is before else before.keep_identities(document)


def _set_field(document: Edited, overlay: Overlay, path: Path, value: Any, origin: Path) -> Edited:
    return document.with_field(path, value, Origin(overlay.document, origin))


def _rename(document: Edited, overlay: Overlay) -> Edited:
    metadata = document.data.get("metadata")
    if not isinstance(metadata, Mapping):
        return document
    name = metadata.get("name")
    new = f"{overlay.name_prefix}{name}{overlay.name_suffix}"
    if not isinstance(name, str) or new == name:
        return document
    # No origin: diagnostics about the name should point at the document, which is where its author looks.
    return document.with_data({**document.data, "metadata": {**metadata, "name": new}}, ())


def _replace_images(document: Edited, overlay: Overlay, used: set[int]) -> Edited:
    if not overlay.images:
        return document
    changes: dict[str, list[int]] = {}
    for index, change in enumerate(overlay.images):
        changes.setdefault(change.name, []).append(index)
    for path, image in list(_images(document.data)):
        if indexes := changes.get(split_image(image)[0]):
            used.add(indexes[-1])
            last = overlay.images[indexes[-1]]
            new, origin = change_image(image, last), Origin(overlay.document, last.path)
            document = document.with_field(path, new, origin, derived=True)
    return document


def _mirror_images(document: Edited, overlay: Overlay) -> Edited:
    """Replace the registries of all images; of several mirrors, the one for the longest name counts."""
    for path, image in list(_images(document.data)) if overlay.mirrors else ():
        name, tag, digest = split_image(image)
        full = full_name(name)
        matching = [registry for registry in overlay.mirrors if is_in_registry(full, registry)]
        if matching:
            registry = max(matching, key=len)
            new = join_image(f"{overlay.mirrors[registry]}{full.removeprefix(registry)}", tag, digest)
            origin = Origin(overlay.document, ("mirrors", registry))
            document = document.with_common_field(path, new, origin, derived=True)
    return document


def _images(data: Json) -> Iterator[tuple[Path, str]]:
    """Yield the path and image of every container and of the trainer."""
    for path, value in walk(data):
        holds_image = path[-1:] == ("trainer",) or (len(path) > 1 and path[-2] in _CONTAINER_LISTS)
        if holds_image and isinstance(value, Mapping) and isinstance(value.get("image"), str):
            yield (*path, "image"), value["image"]


def change_image(image: str, change: ImageChange) -> str:
    """Return the image with `change` applied: a new digest replaces the tag, and a new tag replaces both."""
    name, tag, digest = split_image(image)
    name = change.new_name or name
    if change.digest or change.new_tag:
        return join_image(name, change.new_tag, change.digest)
    return join_image(name, tag, digest)


def image_names(documents: Sequence[Edited]) -> list[str]:
    """Return the names of all images in use, for a hint."""
    images = (image for d in documents if _is_concerned(d.data) for _, image in _images(d.data))
    return list(dict.fromkeys(split_image(image)[0] for image in images))

"""The content of `overlay.yaml` after reading and checking, before it is applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainc.api.documents import Json
from trainc.diagnostics import Path
from trainc.diagnostics.policy import Rule
from trainc.overlays.selectors import Target
from trainc.reading.document import Document
from trainc.startup.records import dataclass, field

API = "trainc/v1alpha1"
KIND = "Overlay"
FIELDS = (
    "resources", "patches", "namespace", "namePrefix", "nameSuffix", "labels", "commonAnnotations", "images", "values",
    "runtimes", "release", "semantics", "secrets", "keygenImage", "delivery", "syncOptions", "nameHash", "gang", "kubernetes",
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

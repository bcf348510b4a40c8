"""Volumes with files that Kubernetes writes: projected and downward API volumes.

Source: kubernetes pkg/apis/core/validation/validation.go, validateProjectionSources, validateDownwardAPIVolumeFile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.findings import Finding, Path
from trainc.kube.documents import Json, items, mapping
from trainc.pods import mistakes
from trainc.pods.checks import Check, number, relative_file, struct
from trainc.pods.environment import VOLUME_FIELDS, field_ref, resource_ref
from trainc.pods.volumes import FILE_MODE, KEYS_TO_PATHS

_SHORTEST_TOKEN = 600
_LONGEST_TOKEN = 2**32
_REFERENCES = ("fieldRef", "resourceFieldRef")
_FILE = struct(
    {
        "path": relative_file,
        "mode": FILE_MODE,
        "fieldRef": field_ref(VOLUME_FIELDS),
        "resourceFieldRef": struct({}, needs=("containerName", "resource"), also=resource_ref),
    },
    needs=("path",),
)


def check_downward_api(value: Any, path: Path) -> Iterator[Finding]:
    """Check the files of a downward API volume."""
    for i, item in enumerate(map(mapping, items(value.get("items")))):
        place = (*path, "items", i)
        yield from _FILE(item, place)
        given = [name for name in _REFERENCES if item.get(name) is not None]
        if not given:
            yield mistakes.missing_choice(place, _REFERENCES, "an item of downwardAPI")
        elif len(given) > 1:
            yield mistakes.conflict(place, "an item of downwardAPI has both fieldRef and resourceFieldRef")


# The feature gates of clusterTrustBundle and podCertificate are off in 1.36, so the API server drops both.
_SOURCES: dict[str, Check] = {
    "secret": struct({"items": KEYS_TO_PATHS}, needs=("name",)),
    "configMap": struct({"items": KEYS_TO_PATHS}, needs=("name",)),
    "downwardAPI": struct({}, also=check_downward_api),
    "serviceAccountToken": struct(
        {"path": relative_file, "expirationSeconds": number(_SHORTEST_TOKEN, _LONGEST_TOKEN)}, needs=("path",)
    ),
}


def check_projected(value: Any, path: Path) -> Iterator[Finding]:
    """Check the sources of a projected volume, and that no two of them write the same file."""
    if value.get("sources") is None:
        # Go serializes a missing list as null, which JobSet's CRD rejects.
        yield mistakes.missing((*path, "sources"))
    seen: set[str] = set()
    for i, source in enumerate(map(mapping, items(value.get("sources")))):
        place = (*path, "sources", i)
        given = [name for name in source if source[name] is not None]
        if len(given) > 1:
            yield mistakes.conflict(
                place, f"an item of sources has {' and '.join(map(str, given))}", "split it into one item each"
            )
        for name in given:
            if name in _SOURCES:
                yield from _SOURCES[name](source[name], (*place, name))
        for file in _files(source, place):
            where, where_to = file
            if where_to in seen:
                message = f"two sources write to {where_to!r}"
                yield Finding(
                    "ConflictingFields", "error", message, hint="rename one of them", path=path, source_path=where
                )
            seen.add(where_to)


def _files(source: Json, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a source with the paths of their fields."""
    for name in ("secret", "configMap", "downwardAPI"):
        for i, item in enumerate(map(mapping, items(mapping(source.get(name)).get("items")))):
            if item.get("path"):
                yield (*path, name, "items", i, "path"), str(item["path"])

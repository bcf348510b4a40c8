"""Manifests as syrupy snapshots: one YAML file a test, written as trainc writes output, so that diffs stay small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from trainc.compilation import Compilation
from trainc.target.yaml_writer import dump_yaml


class ManifestSnapshotExtension(SingleFileSnapshotExtension):
    """Stores a manifest, a list of manifests or a `Compilation` as `__snapshots__/<module>/<test>.yaml`."""

    _write_mode = WriteMode.TEXT
    file_extension = "yaml"
    # The name of the same attribute before syrupy 5.
    _file_extension = "yaml"

    def serialize(self, data: Any, **filters: Any) -> str:
        """`data` as YAML. TypeError for anything that is no manifest, and for syrupy's filters, which know none."""
        used = sorted(name for name, value in filters.items() if value is not None)
        if used:
            raise TypeError(
                f"manifest snapshots are stored whole, without {' or '.join(used)}; change the manifests first"
            )
        return dump_yaml(_manifests(data))


def _manifests(data: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(data, Compilation):
        return data.manifests
    manifests = [data] if isinstance(data, Mapping) else data
    if not isinstance(manifests, Sequence) or not all(isinstance(one, Mapping) and "kind" in one for one in manifests):
        raise TypeError(f"this is no manifest and no list of manifests, but {type(data).__name__}")
    return manifests

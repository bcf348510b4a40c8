"""Manifests as syrupy snapshots: one YAML file per test, formatted like trainc's output to keep diffs small."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from trainc.compilation import Compilation
from trainc.emit.yaml_writer import dump_yaml

# The path to a value as syrupy passes it to filters: each key or index with the type of its value.
PropertyPath: TypeAlias = tuple[tuple[Any, type], ...]


class ManifestSnapshotExtension(SingleFileSnapshotExtension):
    """Store a manifest, a list of manifests or a `Compilation` as `__snapshots__/<module>/<test>.yaml`."""

    _write_mode = WriteMode.TEXT
    file_extension = "yaml"
    # The name of this attribute before syrupy 5.
    _file_extension = "yaml"

    def serialize(
        self,
        data: Any,
        *,
        exclude: Callable[..., bool] | None = None,
        include: Callable[..., bool] | None = None,
        matcher: Callable[..., Any] | None = None,
    ) -> str:
        """Serialize `data` as YAML after applying syrupy's filters. Raises TypeError if it is not a manifest."""

        def filter_fields(value: Any, path: PropertyPath) -> Any:
            """`value` without the excluded fields; replacements by a matcher are written as text."""
            if matcher is not None and (matched := matcher(data=value, path=path)) is not value:
                return str(matched)
            if isinstance(value, Mapping):
                keys = [key for key in value if exclude is None or not exclude(prop=key, path=path)]
                keys = [key for key in keys if include is None or include(prop=key, path=path)]
                return {key: filter_fields(value[key], (*path, (key, type(value[key])))) for key in keys}
            if isinstance(value, list | tuple):
                return [filter_fields(item, (*path, (i, type(item)))) for i, item in enumerate(value)]
            return value

        return dump_yaml(filter_fields(manifest, ((i, dict),)) for i, manifest in enumerate(_manifests(data)))


def _manifests(data: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(data, Compilation):
        return data.manifests
    manifests = [data] if isinstance(data, Mapping) else data
    if not isinstance(manifests, Sequence) or not all(
        isinstance(manifest, Mapping) and "kind" in manifest for manifest in manifests
    ):
        raise TypeError(f"expected a manifest or a list of manifests, got {type(data).__name__}")
    return manifests

"""Where syrupy keeps goldens: in folders of golden/, which people read, and not beside the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

ROOT = Path(__file__).parents[1]


class GoldenFile(SingleFileSnapshotExtension):
    """One YAML file of text for each name, at the top level of golden/."""

    _write_mode = WriteMode.TEXT
    file_extension = "yaml"
    folder = ROOT / "golden"

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:  # noqa: ARG003 - syrupy's signature
        return str(cls.folder)

    @classmethod
    def get_snapshot_name(cls, *, test_location: Any, index: Any = 0) -> str:  # noqa: ARG003 - as above
        return str(index)

    def serialize(self, data: Any, **_: Any) -> str:
        return str(data)

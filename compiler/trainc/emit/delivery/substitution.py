"""Flux's variable substitution: once a Kustomization substitutes anything, every `${VAR}` it does not know becomes "".

Training commands are full of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainc.diagnostics import Finding
from trainc.emit.delivery.annotations import About, Manifest, annotations_of
from trainc.startup.patterns import pattern

SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
# `$${VAR}` is escaped already. The name ends where a default or an operation on it begins.
_VARIABLE = pattern(r"(?<!\$)\$\{(\w+)")


def variables_of(manifest: Manifest) -> list[str]:
    """Names of the variables that substitution would replace, in the order they occur."""
    return list(dict.fromkeys(name for text in _texts(manifest) for name in _VARIABLE.findall(text)))


def substitution_findings(manifests: Sequence[Manifest]) -> Iterator[About]:
    """What was done about variables in each object, or what the author's own annotation will do to them."""
    for manifest in manifests:
        names = variables_of(manifest)
        if names:
            metadata = manifest["metadata"]
            place = "/".join(metadata[part] for part in ("namespace", "name") if part in metadata)
            yield f"{manifest['kind']} {place}", _finding(names, annotations_of(manifest).get(SUBSTITUTE))


def _finding(names: Sequence[str], setting: str | None) -> Finding:
    shown = ", ".join(f"${{{name}}}" for name in names[:3]) + (" and others" if names[3:] else "")
    path = ("metadata", "annotations", SUBSTITUTE)
    if setting == "disabled":
        message = f"Flux would replace {shown}; the object is exempt from substitution"
        hint = "nothing to do; where substitution is meant, render the value with an overlay"
        return Finding("FluxSubstitution", "info", message, hint, path)
    message = (
        f"Flux replaces {shown} as soon as its Kustomization substitutes anything, by nothing if it knows no value"
    )
    hint = f"drop the annotation {SUBSTITUTE}: {setting}, or write $${{...}} for what the pod's shell is to see"
    return Finding("FluxSubstitution", "warning", message, hint, path)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)

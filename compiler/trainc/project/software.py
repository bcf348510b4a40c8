"""The versions of packages in images: `software` in trainc.yaml, and the SBOMs beside it that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.findings import CompileError, Diagnostic, Source
from trainc.kube.documents import is_deeper
from trainc.kube.names import normalized_package
from trainc.options import Limits
from trainc.project.configuration import CODE
from trainc.reading.files import missing_in_settings, shown_path
from trainc.reading.opening import error_reason, read_file
from trainc.startup.patterns import pattern
from trainc.startup.typing import Any

_FORMS = "write it as CycloneDX or SPDX in JSON, for example with `syft IMAGE -o cyclonedx-json`"


def read_software(
    images: Mapping[str, Mapping[str, str] | str], limits: Limits
) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Return the packages of images, by globs of these. Raises CompileError for an SBOM that cannot be read."""
    return tuple((glob, _packages(packages, limits)) for glob, packages in images.items())


def _packages(packages: Mapping[str, str] | str, limits: Limits) -> tuple[tuple[str, str], ...]:
    if isinstance(packages, str):
        return tuple(_of_file(packages, limits).items())
    return tuple((normalized_package(name), version) for name, version in packages.items())


def _of_file(path: str, limits: Limits) -> dict[str, str]:
    import json  # most settings name no such file

    try:
        text = read_file(path, limits.file_bytes).decode("utf-8-sig")
        found = None if is_deeper(text, limits.depth) else of_sbom(json.loads(text))
    except OSError as error:
        source = (missing_in_settings.get() or {}).get(path)
        message = f"{shown_path(path)} cannot be read: {error_reason(error)}"
        hint = "create it, or remove it from `software`"
        raise CompileError([Diagnostic(CODE, "error", message, hint, source=source)]) from None
    except (ValueError, RecursionError):
        found = None
    if found is None:
        message = f"{shown_path(path)} is not an SBOM that trainc reads"
        raise CompileError([Diagnostic(CODE, "error", message, _FORMS, source=Source(shown_path(path), 1, 1))])
    return found


_PURL = pattern(r"pkg:pypi/([^@?#/]+)@([^?#]+)")
# The letters that names of Python packages are made of.
_NAME = pattern(r"[A-Za-z0-9][\w.-]*")
_MOST_COMPONENTS = 50_000


def of_sbom(data: Any) -> dict[str, str] | None:
    """Return the Python packages of an SBOM in CycloneDX or SPDX, as JSON; None if it is neither.

    A package that is there in two versions is left out.
    """
    if not isinstance(data, Mapping):
        return None
    lists = (data.get("components"), data.get("packages"), data.get("@graph"))
    listed = next((each for each in lists if isinstance(each, list)), None)
    if listed is None or not ({"bomFormat", "spdxVersion", "@graph"} & {*data}):
        return None
    found: dict[str, set[str]] = {}
    for component in _components(listed):
        references = component.get("externalRefs")
        purls = [component.get("purl"), component.get("software_packageUrl")]
        purls += [
            reference.get("referenceLocator")
            for reference in (references if isinstance(references, list) else ())
            if isinstance(reference, Mapping)
        ]
        name, version = component.get("name"), component.get("version")
        if not any(purls) and component.get("type") == "library" and isinstance(name, str) and isinstance(version, str):
            # Some tools write no purl. What is no package of Python is asked for by nobody.
            purls = [f"pkg:pypi/{name}@{version}"] if _NAME.fullmatch(name) else []
        for match in map(_PURL.match, (purl for purl in purls if isinstance(purl, str))):
            if match is not None:
                found.setdefault(normalized_package(match[1]), set()).add(match[2])
    return {name: versions.pop() for name, versions in sorted(found.items()) if len(versions) == 1}


def _components(listed: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield components, also those inside of others."""
    waiting, left = [*listed], _MOST_COMPONENTS
    while waiting and left:
        component, left = waiting.pop(), left - 1
        if isinstance(component, Mapping):
            yield component
            inner = component.get("components")
            waiting += inner if isinstance(inner, list) else ()

"""Which Python packages an SBOM lists: CycloneDX, SPDX 2 or SPDX 3, as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.kube.names import normalized_package
from trainc.startup.patterns import pattern
from trainc.startup.typing import Any

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

"""The versions of packages in images: `software` in trainc.yaml, and the SBOMs beside it that it names."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.findings import CompileError, Diagnostic, Source
from trainc.kube.documents import is_deeper
from trainc.kube.names import normalized_package
from trainc.options import Limits
from trainc.project.configuration import CODE
from trainc.reading.files import missing_in_settings, shown_path
from trainc.reading.opening import error_reason, read_file
from trainc.reading.sbom import of_sbom

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

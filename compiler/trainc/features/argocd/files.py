"""Files that a platform team applies to run trainc inside Argo CD, and the parameters of Applications."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def _template(name: str, version: str) -> str:
    from importlib.resources import files
    from string import Template

    text = files(__package__).joinpath(name).read_text("utf-8")
    return Template(text).substitute(version=version, parameters=_parameters() if name == "plugin.yaml" else "")


def _parameters() -> str:
    """Return the part of plugin.yaml that announces the parameters."""
    from trainc.api.output import dump_yaml
    from trainc.features.argocd.parameters import PARAMETERS

    text = dump_yaml([{"static": [parameter.announcement for parameter in PARAMETERS]}])
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


_MERGE = """\
# Health checks of JobSets and PodGroups, to be merged into the ConfigMap argocd-cm, which has other settings as well. This is a patch,
# not an object, so that it cannot replace the ConfigMap:
#
#   kubectl -n argocd patch configmap argocd-cm --patch-file argocd-cm.yaml
"""


def _health(name: str, version: str) -> str:
    """A patch of the ConfigMap with this name in Argo CD."""
    from trainc.api.output import dump_yaml
    from trainc.features.argocd.health import argocd_health_checks

    return _MERGE + dump_yaml([{"data": argocd_health_checks()}])


# File name -> the function that generates its text.
_FILES: Mapping[str, Callable[[str, str], str]] = {
    "plugin.yaml": _template,
    "sidecar.yaml": _template,
    "Dockerfile": _template,
    "application.yaml": _template,
    "argocd-cm.yaml": _health,
}
FILE_NAMES = tuple(_FILES)


def text_of(name: str, version: str) -> str:
    """Return one of FILE_NAMES, generated for a version of trainc."""
    return _FILES[name](name, version)

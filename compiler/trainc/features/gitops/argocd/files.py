"""Files that a platform team applies to run trainc inside Argo CD, and the parameters of Applications."""

from __future__ import annotations

_MERGE = """\
# Health checks of JobSets and PodGroups, to be merged into the ConfigMap argocd-cm, which has other settings as well. This is a patch,
# not an object, so that it cannot replace the ConfigMap:
#
#   kubectl -n argocd patch configmap argocd-cm --patch-file argocd-cm.yaml
"""


FILE_NAMES = ("plugin.yaml", "sidecar.yaml", "Dockerfile", "application.yaml", "argocd-cm.yaml")


def text_of(name: str, version: str, image: str = "", index: str = "") -> str:
    """Return one of FILE_NAMES for a version of trainc; in the Dockerfile, the image with Python and pip's package index."""
    from trainc.api.output import dump_yaml

    if name == "argocd-cm.yaml":  # A patch of the ConfigMap with this name in Argo CD.
        from trainc.features.gitops.argocd.health import argocd_health_checks

        return _MERGE + dump_yaml([{"data": argocd_health_checks()}])
    from importlib.resources import files
    from string import Template

    parameters = ""
    if name == "plugin.yaml":  # It announces the parameters.
        from trainc.features.gitops.argocd.parameters import PARAMETERS

        text = dump_yaml([{"static": [parameter.announcement for parameter in PARAMETERS]}])
        parameters = "".join(f"    {line}" for line in text.splitlines(keepends=True))
    return Template(files(__package__).joinpath(name).read_text("utf-8")).substitute(
        version=version, parameters=parameters, image=image or "python:3.13-slim", index=f"={index}" if index else ""
    )

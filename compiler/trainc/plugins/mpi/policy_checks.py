"""Checks for fields of an MPI policy that have no effect with the runtime in question.

Source: kubeflow/trainer pkg/runtime/framework/plugins/mpi (EnforceMLPolicy), which supports only OpenMPI.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.api import names
from trainc.diagnostics import Finding, Path, Severity
from trainc.ir.info import Info

_POLICY: Path = ("spec", "mlPolicy", "mpi")


def ignored_fields(info: Info, policy: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for an empty implementation, and one for runLauncherAsNode without a launcher."""
    launcher = info.pod_set_in_role(names.LAUNCHER)
    if policy.get("mpiImplementation") == "" and (info.gitops or not _fails_at_launcher(info)):
        yield _missing_implementation("error" if info.gitops and launcher is not None else "warning")
    if policy.get("runLauncherAsNode") and launcher is None:
        message = "runLauncherAsNode has no effect: the runtime has no job 'launcher'"
        hint = "add a job called launcher, or remove the field"
        yield Finding("FieldIgnored", "warning", message, hint, (*_POLICY, "runLauncherAsNode"), about="runtime")


def unnamed_launcher(info: Info, policy: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield an error for an empty implementation, if the launcher has the container at which the controller fails."""
    if policy.get("mpiImplementation") == "" and _fails_at_launcher(info):
        yield _missing_implementation("error")


def _fails_at_launcher(info: Info) -> bool:
    launcher = info.pod_set_in_role(names.LAUNCHER)
    return launcher is not None and any(container.name == launcher.main for container in launcher.containers)


def _missing_implementation(severity: Severity) -> Finding:
    message = "mpiImplementation is empty: the controller creates nothing for such a job with a launcher"
    hint = "write mpiImplementation: OpenMPI, or remove the field"
    return Finding("UnsupportedValue", severity, message, hint, (*_POLICY, "mpiImplementation"), about="runtime")

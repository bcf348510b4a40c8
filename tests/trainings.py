"""Jobs that train on the catalog's runtimes, and what is reported of them."""

from __future__ import annotations

from typing import Any

from builders import Json, trainjob

from trainc import CompileError, Diagnostic, Options, catalog, compile_trainjob

RUNTIMES = list(catalog("2.3"))


def shell(script: str) -> list[str]:
    return ["bash", "-c", script]


def training(
    command: list[str] | str | None = None,
    *,
    nodes: int = 4,
    gpus: int = 8,
    runtime: str = "torch-distributed",
    env: dict[str, Any] | None = None,
    pod: Json | None = None,
    mounts: list[Json] | None = None,
    security: Json | None = None,
    limits: Json | None = None,
    initializer: Json | None = None,
    **trainer: Any,
) -> Json:
    """A TrainJob; a command that is text runs in a shell, and `pod` and `mounts` are those of a patch."""
    fields: Json = {"numNodes": nodes, **trainer}
    if command is not None:
        fields["command"] = shell(command) if isinstance(command, str) else command
    amounts = {**({"nvidia.com/gpu": gpus} if gpus else {}), **(limits or {})}
    if amounts:
        fields["resourcesPerNode"] = {"limits": amounts}
    if env:
        fields["env"] = [
            {"name": n, **({"value": v} if isinstance(v, str) else {"valueFrom": v})} for n, v in env.items()
        ]
    spec: Json = {}
    if initializer is not None:
        spec["initializer"] = initializer
    if pod or mounts:
        containers: list[Json] = [{"name": "node", **({"volumeMounts": mounts} if mounts else {})}]
        if security:
            containers[0]["securityContext"] = security
        template = {"spec": {"template": {"spec": {**(pod or {}), "containers": containers}}}}
        jobs = [{"name": "node", "template": template}]
        patch = {"manager": "acme.io/me", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
        spec["runtimePatches"] = [patch]
    return trainjob(fields, runtime=runtime, **spec)


def reported(document: Json, *others: Json) -> list[Diagnostic]:
    """Everything that is reported of a job, whether it compiles or not."""
    try:
        return compile_trainjob(document, [*RUNTIMES, *others], options=Options(release="2.3")).diagnostics
    except CompileError as error:
        return error.diagnostics


def findings(document: Json, *others: Json) -> list[tuple[str, str]]:
    """Severity and code of everything that is worse than an info."""
    return [(d.severity, d.code) for d in reported(document, *others) if d.severity != "info"]

"""torchrun flags that beat the injected environment: what the runtime and the TrainJob say then reaches nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.diagnostics import Finding
from trainc.ir.entrypoints import entrypoints
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.torch.torchrun_command import Flag, torchrun_flags
from trainc.startup.patterns import pattern

_PREFIX = "PET_"
_OWN_RENDEZVOUS = "standalone"
# What decides the value of a variable, for the mend.
_DECIDED_BY = {
    "PET_NNODES": "numNodes",
    "PET_NPROC_PER_NODE": "numProcPerNode",
    "PET_MAX_RESTARTS": "the elastic policy's maxRestarts",
}
_REFERENCE = pattern(r"\$\((\w+)\)")
_SHELL_REFERENCE = pattern(r"\$(?:\{(\w+)\}|(\w+))")


def torchrun_args_override_policy(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A warning for each flag that says another thing than the variable it beats. Looks at sized pod sets."""
    asked = _asked_processes(job, info)
    for entrypoint in entrypoints(job, info):
        env = {str(v["name"]): v.get("value") for v in entrypoint.container.env}
        if any(name.startswith(_PREFIX) for name in env):
            for flag in torchrun_flags(entrypoint):
                if (flag.name, flag.value) != ("nproc-per-node", asked):
                    yield from _judged(flag, env)


def _asked_processes(job: TrainJob, info: Info) -> str:
    """The process count as it was asked for: without a GPU, `auto` becomes a number in the variable only."""
    own = job.trainer.num_proc_per_node if job.trainer else None
    return str(own if own is not None else (info.policy("torch") or {}).get("numProcPerNode", "auto"))


def _judged(flag: Flag, env: Mapping[str, str | None]) -> Iterator[Finding]:
    if flag.name == _OWN_RENDEZVOUS and env.get("PET_NNODES", "1") not in ("1", "1:1"):
        message = f"--standalone makes each pod a rendezvous of its own, and PET_NNODES is {env['PET_NNODES']}"
        yield _finding(flag, message, "drop the flag: the runtime injects what the nodes need to meet")
        return
    name = _PREFIX + flag.name.upper().replace("-", "_")
    wanted = _injected(name, env)
    said = _expanded(flag, env)
    if wanted is None or said is None or said in (wanted, name):
        return
    shown = wanted if wanted != name else "taken from the pod's index"
    message = f"{flag.written} {flag.value} beats {name}, which is {shown}"
    decided = _DECIDED_BY.get(name)
    hint = "drop the flag" + (f", and set {decided} instead" if decided else ": the runtime injects the value")
    yield _finding(flag, message, hint)


def _injected(name: str, env: Mapping[str, str | None]) -> str | None:
    """The value of a variable; its own name where only the pod knows it; None where it is not injected."""
    if name == "PET_RDZV_ENDPOINT" and name not in env and "PET_MASTER_ADDR" in env:
        # The static rendezvous is at the master's address.
        return f"{env['PET_MASTER_ADDR']}:{env.get('PET_MASTER_PORT')}"
    return (env[name] or name) if name in env else None


def _expanded(flag: Flag, env: Mapping[str, str | None]) -> str | None:
    """The value that torchrun sees; None where it depends on what nobody here knows."""
    if flag.value is None:
        return None
    if "$" not in flag.value:
        return None if "`" in flag.value else flag.value
    text = _REFERENCE.sub(lambda m: (env[m[1]] or m[1]) if m[1] in env else m[0], flag.value)
    if flag.script:
        text = _SHELL_REFERENCE.sub(lambda m: _value(m[1] or m[2], m[0], env), text)
    # Without a shell, `$NAME` is another lint's; in one, it is set by the image or by the script itself.
    return None if "$" in text or "`" in text else text


def _value(name: str, written: str, env: Mapping[str, str | None]) -> str:
    return (env[name] or name) if name in env else written


def _finding(flag: Flag, message: str, hint: str) -> Finding:
    return Finding("TorchrunArgOverridesPolicy", "warning", message, hint, flag.path, about=flag.about)

"""Commands that train, with the nodes, devices, variables and launchers that the job gives them."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.findings import Finding, Path, Severity
from trainc.ir.commands.launcher import Launch, Launcher, Starting
from trainc.ir.commands.started import CommandLine, Start, read_command
from trainc.ir.entrypoints import About, Entrypoint
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob, subdomain
from trainc.kube import names
from trainc.kube.devices import accelerators
from trainc.plugins.registry import PLUGINS, programs, starting
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass

_KUBERNETES = pattern(r"\$\((\w+)\)")
_SHELL = pattern(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True, slots=True)
class Training:
    """A container that trains, in a sized job.

    `nodes` is the number of pods, and `devices` the number of whole accelerators of one kind in each; 0 if unknown.
    `policy` is the framework's key in mlPolicy, or empty. `variables` are the container's own; a value is None if it is
    known only in the pod.
    """

    job: TrainJob
    info: Info
    entry: Entrypoint
    line: CommandLine
    policy: str
    nodes: int
    devices: int
    device: str
    variables: Mapping[str, str | None]

    @property
    def starting(self) -> Starting | None:
        """How the framework's processes start, or None if it has no launchers."""
        return starting(self.policy)

    def native(self, launcher: Launcher) -> bool:
        """Return whether the framework configures this launcher."""
        own = self.starting
        if own is None:
            return False
        return launcher in own.launchers and (launcher.reaches == "node" or own.hosts)

    def place(self, index: int) -> tuple[Path, About]:
        """Return the path of a word of the command, and its document."""
        return self.entry.place(self.line.word(index))

    def finding(self, code: str, severity: Severity, message: str, hint: str, index: int) -> Finding:
        """Return a finding about a word of the command."""
        path, about = self.place(index)
        return Finding(code, severity, message, hint=hint, path=path, about=about)

    def value(self, text: str, launch: Launch | None = None) -> str | None:
        """Return a word as the program sees it.

        If a variable's value is known only in the pod, the result is the variable's name; if it is unknown, None.
        """
        known = {**self.variables, **(launch.variables if launch else {})}
        if "$" not in text:
            return None if "`" in text else text
        text = _KUBERNETES.sub(lambda m: _known(m[1], m[0], self.variables), text)
        if self.line.script is not None:
            text = _SHELL.sub(lambda m: _known(m[1] or m[2], m[0], known), text)
        return None if "$" in text or "`" in text else text

    @property
    def launches_with_options(self) -> list[tuple[Start, Launch]]:
        """Return the launchers that have options or need one, each with its command."""
        launches = ((start, start.launch) for start in self.line.starts if start.launch is not None)
        return [(start, found) for start, found in launches if found.options or found.launcher.together]

    @property
    def hosts(self) -> frozenset[str]:
        """Return all DNS names of rank 0's pod, from the shortest that resolves."""
        trainer = self.info.trainer or self.entry.pod_set
        first = names.first_host(self.job.name, trainer.name, subdomain(self.job, self.info))
        spaced = f"{first}.{self.job.namespace}" if self.job.namespace else first
        return frozenset((first, spaced, f"{spaced}.svc", f"{spaced}.svc.{self.info.cluster_domain}"))


def _known(name: str, written: str, known: Mapping[str, str | None]) -> str:
    return (known[name] or name) if name in known else written


_POLICIES = tuple(plugin.policy for plugin in PLUGINS if plugin.policy)


def training_of(job: TrainJob, info: Info, entry: Entrypoint) -> Training | None:
    """Return the trainer's container, or another with rendezvous variables, as a Training; None for all others."""
    env = entry.container.env
    if not (entry.trains or any(str(v["name"]).startswith("PET_") for v in env)):
        return None
    policy = policy_of(info)
    found = accelerators(entry.container.resources)
    if policy == "mpi" and not found and (node := info.pod_set_in_role(names.NODE)) is not None:
        found = accelerators(next((c.resources for c in node.containers if c.name == node.main), {}))
    device, devices = next(iter(found.items())) if len(found) == 1 else ("", 0)
    line = read_command(tuple(map(str, entry.words)), programs(policy))
    known = {str(v["name"]): v.get("value") for v in env}
    return Training(job, info, entry, line, policy, _nodes(entry, info, policy), devices, device, known)


def policy_of(info: Info) -> str:
    """Return the key of the framework in the runtime's mlPolicy, or an empty string."""
    chosen = info.ml_policy or {}
    for policy in _POLICIES:
        if chosen.get(policy) is not None:
            return policy
    return ""


def _nodes(entry: Entrypoint, info: Info, policy: str) -> int:
    if policy != "mpi":
        return entry.pod_set.count * entry.pod_set.replicas
    node = info.pod_set_in_role(names.NODE)
    hosts = node.count * node.replicas if node is not None else 0
    launcher_too = bool((info.policy("mpi") or {}).get("runLauncherAsNode")) or node is None
    return hosts + launcher_too

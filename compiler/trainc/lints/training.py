"""Commands that train, with the nodes, devices, variables and launchers that the job gives them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from trainc.findings import Finding, Severity
from trainc.ir.commands.programs import Launch, Launcher, Option, Starting
from trainc.ir.commands.started import CommandLine, Start, read_command
from trainc.ir.entrypoints import Entrypoint
from trainc.ir.info import Info
from trainc.ir.trainjob import NO_TRAINER, TrainJob, subdomain
from trainc.kube import names
from trainc.kube.devices import accelerators, claimed_devices
from trainc.kube.documents import Json
from trainc.kube.quantity import whole_number
from trainc.plugins.registry import PLUGINS, programs, starting
from trainc.reading.document import Surroundings
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, field
from trainc.startup.typing import Any

_KUBERNETES = pattern(r"\$\((\w+)\)")
_SHELL = pattern(r"\$(?:\{(\w+)\}|(\w+))")
# Words for "as many processes as devices", which launchers resolve on the node.
AS_DEVICES = ("auto", "gpu", "xpu", "tpu")


@dataclass(frozen=True, slots=True)
class Training:
    """A container that trains, in a sized job.

    `nodes` is the number of pods, and `devices` the number of accelerators of one kind in each; 0 if unknown. `policy` is
    the framework's key in mlPolicy, or empty. `variables` are the container's own; a value is None if it is known only in
    the pod. `around` is what the input has beside jobs. `built` is the number
    of words that Trainer puts in the place of the command, 0 if it does not.
    """

    entry: Entrypoint
    line: CommandLine
    policy: str
    nodes: int
    devices: int
    device: str
    variables: Mapping[str, str | None]
    around: Surroundings = field(default_factory=Surroundings)
    built: int = 0
    # What `config_files.visible_files` found, once it was asked.
    found_files: list[Any] = field(default_factory=list, compare=False, repr=False)

    @property
    def job(self) -> TrainJob:
        """The job."""
        return self.entry.job

    @property
    def info(self) -> Info:
        """The job as it is compiled."""
        return self.entry.info

    @property
    def replicated_job(self) -> Json:
        """The replicated job of the runtime to which the container belongs."""
        job: Json = self.info.template["replicatedJobs"][self.info.pod_sets.index(self.entry.pod_set)]
        return job

    @property
    def launches(self) -> list[tuple[Start, Launch]]:
        """The launchers, each with its command."""
        return [(start, start.launch) for start in self.line.starts if start.launch is not None]

    @property
    def starting(self) -> Starting | None:
        """How the framework's processes start, or None if it has no launchers."""
        return starting(self.policy)

    @property
    def folder(self) -> str:
        """The folder in which the command runs, as far as the manifests say it."""
        return str(self.entry.container.fields.get("workingDir", "/"))

    @property
    def text(self) -> str:
        """The whole command line, to see whether something occurs in it."""
        return " ".join(self.line.argv) if self.built else self.entry.text

    def native(self, launcher: Launcher) -> bool:
        """Return whether the framework configures this launcher."""
        framework = self.starting
        if framework is None:
            return False
        return launcher in framework.launchers and (launcher.reaches == "node" or framework.hosts)

    def finding(self, code: str, severity: Severity, message: str, hint: str, index: int) -> Finding:
        """Return a finding about a word of the command."""
        position = self.line.word(index)
        if self.built:
            position = 0 if index < self.built else index - self.built + len(self.entry.command)
        return self.entry.finding(code, severity, message, hint, position)

    def reference(self, name: str) -> str:
        """Return how the command refers to a variable of the pod."""
        return f"$({name})" if self.line.script is None else f"${name}"

    def value(self, text: str, launch: Launch | None = None) -> str | None:
        """Return a word as the program sees it.

        If a variable's value is known only in the pod, the result is the variable's name; if it is unknown, None.
        """
        if "$" not in text:
            return None if "`" in text else text
        text = _KUBERNETES.sub(lambda m: self._variable_value(m[1], m[0]), text)
        if self.line.script is not None:
            text = _SHELL.sub(lambda m: self._variable_value(m[1] or m[2], m[0], launch), text)
        return None if "$" in text or "`" in text else text

    def _variable_value(self, name: str, reference: str, launch: Launch | None = None) -> str:
        for variables in (launch.variables if launch else {}, self.variables):
            if name in variables:
                return variables[name] or name
        return reference

    def arguments(self, start: Start) -> tuple[str, ...]:
        """Return the arguments of the program that a command launches, or of the program that it is.

        Variables of the container have their values, as far as these are known.
        """
        words = self.line.argv if self.line.script is None else start.argv
        first = start.program.start if start.launch is None else len(start.argv) - len(start.launch.program)
        return tuple(self._filled(word) if "$" in word else word for word in words[first:])

    def _filled(self, word: str) -> str:
        filled = _KUBERNETES.sub(lambda m: self.variables.get(m[1]) or m[0], word)
        if self.line.script is not None:
            filled = _SHELL.sub(lambda m: self.variables.get(m[1] or m[2]) or m[0], filled)
        return word if " " in filled else filled

    @property
    def launches_with_options(self) -> list[tuple[Start, Launch]]:
        """The launchers that have options, or read one from a variable, each with its command."""
        configured = any(name.startswith(("PET_RDZV", "PET_STANDALONE")) for name in self.variables)
        return [pair for pair in self.launches if pair[1].options or configured]

    def setting(self, launch: Launch, name: str) -> tuple[str | None, Option | None]:
        """Return an option's value, and the option if it is given: else the value is that of the variable, or empty.

        The value is None if it is unknown.
        """
        option = launch.find_option(frozenset((name,)))
        if option is not None:
            return self.value(option.value or "", launch), option
        variable = launch.launcher.reads + name.upper().replace("-", "_")
        return self.variables.get(variable, "") if launch.launcher.reads else "", None

    def processes(self, launch: Launch) -> int | None:
        """Return the number of processes that a launcher starts in each pod, or None if it is unknown."""
        roles = launch.launcher
        if (option := launch.find_option(roles.per_node)) is not None:
            return self._count(self.value(option.value or "", launch))
        if launch.find_option(roles.own_way) is not None:
            return None
        if roles.total:
            option, several = launch.find_option(roles.total), launch.find_option(roles.nodes)
            total = self._count(self.value(option.value or "", launch)) if option is not None else self.devices
            # accelerate takes one machine for all if it is not given their number.
            nodes = self._count(self.value(several.value or "", launch)) if several is not None else 1
            if roles.reaches == "hosts":
                total, nodes = (total if option is not None else 0), self.nodes
            return total // nodes if total and nodes else None
        if launch.find_option(roles.hosts) is not None:
            return None
        if roles.reads:
            return self._count(self.variables.get(f"{roles.reads}NPROC_PER_NODE") or "")
        return self.devices or None

    def started_by(self, launch: Launch) -> CommandLine:
        """Return what the program of a launcher starts, which may be a launcher for each node."""
        return read_command(launch.program, programs(self.policy).all)

    def _count(self, value: str | None) -> int | None:
        if value in AS_DEVICES:
            return self.devices or None
        return whole_number(value) or None

    def patch(self, spec: str) -> str:
        """Return, in one line, the field of a TrainJob that adds fields to the pod spec."""
        field, name = self.info.release.patch_field, self.entry.pod_set.name
        if field == "runtimePatches":
            job = f"{{name: {name}, template: {{spec: {{template: {{spec: {{{spec}}}}}}}}}}}"
            template = f"{{template: {{spec: {{replicatedJobs: [{job}]}}}}}}"
            return f"runtimePatches: [{{manager: acme.io/me, trainingRuntimeSpec: {template}}}]"
        target = f"targetJobs: [{{name: {name}}}]"
        return f"{field}: [{{{target}, {f'spec: {{{spec}}}' if field == 'podTemplateOverrides' else spec}}}]"

    @property
    def hosts(self) -> frozenset[str]:
        """Return all DNS names of rank 0's pod, from the shortest that resolves."""
        trainer = self.info.trainer or self.entry.pod_set
        first = names.first_host(self.job.name, trainer.name, subdomain(self.job, self.info))
        spaced = f"{first}.{self.job.namespace}" if self.job.namespace else first
        return frozenset((first, spaced, f"{spaced}.svc", f"{spaced}.svc.{self.info.cluster_domain}"))


_POLICIES = tuple(plugin.policy for plugin in PLUGINS if plugin.policy)


def training_of(entry: Entrypoint, around: Surroundings) -> Training | None:
    """Return the trainer's container, or another with rendezvous variables, as a Training; None for all others."""
    env, info = entry.container.env, entry.info
    if not (entry.trains or any(str(v["name"]).startswith("PET_") for v in env)):
        return None
    policy = policy_of(info)
    counts = accelerators(entry.container.resources) or _claimed(entry, around)
    if policy == "mpi" and not counts and (node := info.pod_set_in_role(names.NODE)) is not None:
        counts = accelerators(container.resources if (container := node.main_container) else {})
    device, devices = next(iter(counts.items())) if len(counts) == 1 else ("", 0)
    built = entry.trainer is not NO_TRAINER and info.command is not None and info.command != entry.trainer.command
    words = tuple(map(str, (*(info.command or ()), *entry.args))) if built else entry.argv
    line = read_command(words, programs(policy))
    variables = {str(v["name"]): v.get("value") for v in env}
    built_words = len(info.command or ()) if built else 0
    nodes = sum(p.pods for p in (info.mpi_hosts if policy == "mpi" else [entry.pod_set]))
    return Training(entry, line, policy, nodes, devices, device, variables, around, built_words)


def _claimed(entry: Entrypoint, around: Surroundings) -> dict[str, int]:
    used = {claim.get("name") for claim in entry.container.resources.get("claims") or ()}
    pods = {**entry.info.pod_spec(entry.pod_set.name), **entry.pod_set.pod_fields} if used else {}
    claims = pods.get("resourceClaims") or ()
    template_names = {
        claim.get("resourceClaimTemplateName") or claim.get("resourceClaimName")
        for claim in claims
        if claim.get("name") in used
    }
    counts: dict[str, int] = {}
    for kind, template in product(("ResourceClaimTemplate", "ResourceClaim"), map(str, template_names)):
        document = around.of(kind, entry.job.namespace).get(template)
        for name, count in claimed_devices(document.data).items() if document is not None else ():
            counts[name] = counts.get(name, 0) + count
    return counts


def policy_of(info: Info) -> str:
    """Return the key of the framework in the runtime's mlPolicy, or an empty string."""
    chosen = info.ml_policy or {}
    return next((policy for policy in _POLICIES if chosen.get(policy) is not None), "")

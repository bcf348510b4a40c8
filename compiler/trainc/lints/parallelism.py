"""Lints that compare degrees of parallelism and batch sizes with the ranks of a job, where every factor is visible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd

from trainc.findings import Finding, Severity
from trainc.ir.commands.started import Start
from trainc.ir.parallelism import Arguments, Division, Setting, divisions, read_arguments
from trainc.lints.config_files import ConfigFile, files_by_path, visible_files
from trainc.lints.training import Training
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace

# The degrees and batch sizes.


# Systems whose NVLink connects the GPUs of several nodes, as labels, instance types and devices name them.
_RACK_SCALE = pattern(r"gb[23]00|vr200|nvl\d+|compute-?domain|gpu\.clique|a4x-|p6e-|nd[a-z]*gb\d", 2)  # re.IGNORECASE
# Options of Megatron-LM with which the batch is not the same from the beginning.
_GROWING_BATCH = frozenset(("rampup_batch_size", "decrease_batch_size_if_needed", "step_batch_size_schedule"))
_CONFIG_OPTIONS = ("config_file", "job.config_file", "config")


@dataclass(frozen=True, slots=True)
class _Job:
    """A launcher in a job whose number of ranks is known; `first` is the index of the words that have the settings."""

    training: Training
    start: Start
    nodes: int
    per_node: int
    first: int
    files: Mapping[str, ConfigFile]

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node

    @property
    def text(self) -> str:
        """The ranks, as in `24 ranks (3 nodes x 8 processes)`."""
        return f"{self.ranks} ranks ({self.nodes} nodes x {self.per_node} processes)"

    def finding(self, code: str, severity: Severity, message: str, hint: str, setting: Setting) -> Finding:
        """Return a finding at a setting; a command that may not run gives a warning at most."""
        sure = severity if self.start.sure else "warning"
        finding = self.training.finding(code, sure, message, hint, self.first + setting.index)
        key, _, path = setting.text.partition(": ")
        file = self.files.get(path.removeprefix(f"{setting.value} in "))
        return finding if file is None else file.at(key, finding)


def parallelism(training: Training) -> Iterator[Finding]:
    """Yield findings about each program that a launcher starts."""
    files = files_by_path(visible_files(training))
    for start in training.line.starts:
        launch = start.launch
        if launch is None or not (files or launch.launcher.total or read_arguments(training.arguments(start)).divides):
            continue
        arguments, per_node = read_arguments(training.arguments(start)), training.processes(launch)
        if per_node is None or _is_elastic(training, start):
            continue
        job = _Job(training, start, training.nodes, per_node, len(start.argv) - len(launch.program), files)
        yield from _check_divisions(job, arguments, files, "")
        if launch.launcher.total:
            of_launcher = read_arguments(start.argv[launch.index + 1 : job.first])
            job = replace(job, first=launch.index + 1)
            yield from _check_divisions(job, of_launcher, files, launch.launcher.name)


def _is_elastic(training: Training, start: Start) -> bool:
    """Return whether the number of nodes is not that of the job: a range, or another one, which is reported elsewhere."""
    assert start.launch is not None
    option = start.launch.find_option(start.launch.launcher.nodes)
    value = (
        training.value(option.value or "", start.launch) if option is not None else training.variables.get("PET_NNODES")
    )
    if value in (None, "PET_NNODES"):
        return value is None and option is not None
    return value != str(training.nodes)


def _check_divisions(
    job: _Job, arguments: Arguments, files: Mapping[str, ConfigFile], launcher: str
) -> Iterator[Finding]:
    configs = {}
    for option in _CONFIG_OPTIONS if files else ():
        setting = arguments.settings.get(option)
        file = files.get(setting.value or "") if setting is not None else None
        if file is not None and file.value is not None:
            from trainc.knowledge.words import flat

            configs[option] = {
                key.rpartition("_config.")[2].replace("-", "_"): str(value) for key, value in flat(file.value).items()
            }
    for division in divisions(arguments, configs, launcher):
        problem = next(_mismatches(job, division), None)
        if problem is not None:
            yield problem
            continue
        yield from _batch(job, division)
        yield from _across_nodes(job, division)


def _mismatches(job: _Job, division: Division) -> Iterator[Finding]:
    framework = division.framework
    for divided in framework.divides:
        axes = _with_default(division, divided)
        product = division.product(axes)
        if product > 1 and job.ranks % product:
            message = (
                f"{division.format(axes)} is {product}, which does not divide the {job.text}: {framework.name} exits"
            )
            yield _mismatch(job, division, axes, message, _instead(job, product))
    fills = framework.fills
    product = division.product(fills)
    if product < 2:
        return
    all_known = all(division.degree(axis) for axis in fills)
    if all_known or (division.complete and (not framework.inferred or division.degree(framework.inferred))):
        if product != job.ranks:
            message = f"{division.format(fills)} is {product}, but there are {job.text}: {framework.name} exits"
            yield _mismatch(job, division, fills, message, _filled(job, division, product))
    elif job.ranks % product:
        message = f"{division.format(fills)} is {product}, which does not divide the {job.text}: {framework.name} exits"
        yield _mismatch(job, division, fills, message, _instead(job, product))


def _with_default(division: Division, axes: tuple[str, ...]) -> tuple[str, ...]:
    """Experts are divided among as many tensor-parallel ranks as the rest, unless they have a degree of their own."""
    if "etp" in axes and "etp" not in division.settings:
        return tuple("tp" if axis == "etp" else axis for axis in axes) if division.degree("ep") else ()
    return axes if "ep" not in axes or division.degree("ep") else ()


def _mismatch(job: _Job, division: Division, axes: tuple[str, ...], message: str, hint: str) -> Finding:
    largest = max((axis for axis in axes if division.degree(axis)), key=lambda axis: division.degree(axis) or 0)
    return job.finding("ParallelismMismatch", "error", message, hint, division.settings[largest])


def _instead(job: _Job, product: int) -> str:
    multiple = product // gcd(product, job.per_node)
    return f"use degrees whose product divides {job.ranks}, or set numNodes to a multiple of {multiple}"


def _filled(job: _Job, division: Division, product: int) -> str:
    other_product = product // (division.degree("dp_shard") or 1)
    if job.ranks % other_product == 0 and "dp_shard" in division.settings:
        option = division.settings["dp_shard"].text.partition(":")[0].partition("=")[0].partition(" ")[0]
        return f"set {option} to {job.ranks // other_product}"
    return f"use degrees whose product is {job.ranks}"


def _batch(job: _Job, division: Division) -> Iterator[Finding]:
    setting = division.settings.get("global_batch")
    count = setting.number if setting is not None else None
    if setting is None or not count or count < 1 or not division.complete or division.framework.config:
        return
    if not _GROWING_BATCH.isdisjoint(division.arguments):
        return
    model = division.product(("tp", "pp", "cp"))
    data = job.ranks // model
    micro = division.degree("micro_batch") or 1
    if count % (micro * data):
        micro_text = f" x micro batch {micro}" if micro > 1 else ""
        message = f"a global batch of {count} is not a multiple of {micro * data} (data {data}{micro_text}), so {division.framework.name} exits"
        less, more = count - count % (micro * data), count - count % (micro * data) + micro * data
        hint = f"write a multiple of {micro * data}, such as {less or more}{f' or {more}' if less else ''}"
        yield job.finding("BatchDoesNotDivide", "error", message, hint, setting)


def _across_nodes(job: _Job, division: Division) -> Iterator[Finding]:
    """Yield a warning for tensor-parallel groups that are on several nodes, whose network is much slower than NVLink."""
    tensor = division.degree("tp")
    if not tensor or tensor < 2 or job.nodes < 2 or job.per_node % tensor == 0 or _is_rack_scale(job.training):
        return
    spread = "each group is on two nodes or more" if tensor > job.per_node else "some groups are on two nodes"
    message = f"tensor {tensor} with {job.per_node} processes per node: {spread}, and every layer waits for the network between them"
    fitting = max(size for size in range(1, min(tensor, job.per_node) + 1) if job.per_node % size == 0)
    hint = f"use tensor {fitting}, with more pipeline or data parallelism"
    yield job.finding("TensorParallelAcrossNodes", "warning", message, hint, division.settings["tp"])


def _is_rack_scale(training: Training) -> bool:
    """Return whether the pods are meant for nodes that one NVLink domain connects, or may be."""
    spec = training.info.pod_spec(training.entry.pod_set.name)
    scheduling = [spec.get(field) for field in ("nodeSelector", "affinity", "tolerations", "resourceClaims")]
    template = training.replicated_job["template"]
    pods = (template.get("spec") or {}).get("template") or {}
    metadata = (pods.get("metadata"), template.get("metadata"), training.job.annotations, training.job.labels)
    return _RACK_SCALE.search(repr((*scheduling, *metadata))) is not None

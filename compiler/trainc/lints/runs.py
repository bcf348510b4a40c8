"""The settings of each program of a command: by its words, its variables, the files that it reads, and the job."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from posixpath import basename, join, normpath

from trainc.findings import Finding, Path, Severity
from trainc.ir.commands.programs import Launch
from trainc.ir.commands.started import Start
from trainc.ir.entrypoints import pod_path
from trainc.ir.info import About
from trainc.knowledge.conditions import Fact, Facts
from trainc.knowledge.derived import derived, numbers_of_texts, of_registry, of_script, overrides_of_nobody
from trainc.knowledge.hosts import Hosts, read_file, read_list
from trainc.knowledge.software import changes_image, installed, of_image
from trainc.knowledge.tables import (
    ALWAYS,
    Table,
    count_anywhere,
    is_meant,
    read,
    table,
    table_of_file,
    tables_of_options,
    tables_of_program,
    tables_of_text,
)
from trainc.knowledge.words import flat, options_of, shown
from trainc.kube.documents import items, mapping, value_at
from trainc.kube.quantity import read_quantity, whole_number
from trainc.lints.config_files import ConfigFile, files_by_path, visible_files
from trainc.lints.storage import security_of, unused_claim, unwritable, volume_at
from trainc.lints.training import Training
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace
from trainc.startup.typing import Any

_PYTHON = pattern(r"(?:.*/)?(?:python[\d.]*|(?:ba|da|z)?sh)")
# Variables that MPI itself reads or hands on, that only rank 0 needs, or that change nothing that ranks agree on.
_OWN_TO_LAUNCHER = pattern(read("readings")["own_to_launcher"])
# What nearly every image sets.
_OF_IMAGES = ("LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_HOME", "HOME", "LANG", "LD_PRELOAD", "LIBRARY_PATH", "CPATH")
_OTHER_PYTHON = pattern(r"conda|mamba|\buv\b|pyenv|pixi|apt|python3\.\d|activate")
_FILE = pattern(r".*\.(?:ya?ml|json|toml|ini|cfg)")
_DEEPSPEED = ("deepspeed", "deepspeed_config", "deepspeed_config_file", "ds_config")
# Options whose files hold data, or settings of another space, and no further options.
_DATA = pattern(r".*(?:data|train|valid|test|vocab|merge|token|prompt|eval|image|index|label|deepspeed|ds_config).*")
_TOPOLOGY, _SCALER = "cloud.google.com/gke-tpu-topology", "karpenter.sh/"
_ANNOTATIONS = "template", "spec", "template", "metadata", "annotations"
# Labels of nodes that show what their devices are.
_PRODUCTS: Sequence[str] = read("readings")["products"]
# A login that does not need what nothing sets.
_LOGIN = pattern(r"(?<!import) login\b|\blogin\((?!\s*(?:token\s*=\s*)?os\.environ\[)|\.netrc")
_AMOUNTS = {"cpus": "cpu", "cpus_asked": "cpu", "memory_asked": "memory", "efas": "vpc.amazonaws.com/efa"}
_SECURITY = {"user": "runAsUser", "nonroot": "runAsNonRoot", "readonly_root": "readOnlyRootFilesystem"}


@dataclass(frozen=True, slots=True)
class Run:
    """A program that a command starts, the tables about it, and all facts about its run.

    `name` is that of the program, and `files` has the table of each file that it reads. `placed` are the facts that somebody
    wrote, but for variables, by their spaces.
    """

    training: Training
    start: Start
    tables: tuple[Table, ...]
    facts: Facts
    name: str
    files: Mapping[str, str | None]
    placed: Mapping[str, Sequence[Fact]]

    def finding(self, code: str, severity: Severity, message: str, hint: str, fact: Fact | None) -> Finding:
        """Return a finding where something is set, or at the program."""
        if fact is not None and fact.file is not None:
            file, key = fact.file
            of_file: Finding = file.at(key, self.training.finding(code, severity, message, hint, 0))
            return of_file
        if fact is not None and fact.variable:
            if fact.variable in {str(variable["name"]) for variable in self.training.entry.container.env}:
                return Finding(code, severity, message, hint, *self.training.entry.variable_path(fact.variable))
        elif fact is not None and fact.word >= 0:
            return self.training.finding(code, severity, message, hint, fact.word)
        elif fact is not None and (place := self.place(fact.key)) is not None:
            return Finding(code, severity, message, hint, *place)
        return self.training.finding(code, severity, message, hint, self.start.program.index)

    def place(self, key: str) -> tuple[Path, About] | None:
        """Return where a fact of the job is that is in no command, variable or file; None if it is not said there."""
        entry, trainer = self.training.entry, self.training.job.trainer
        limits, device = (trainer.resources_per_node or {}).get("limits") or {}, self.training.device
        where = self.training.job, self.training.info, entry.pod_set.name
        amount = {"device": device, "no_slice": device, **_AMOUNTS}.get(key.removeprefix("job:"))
        places: dict[str, tuple[Path, About]] = {
            "job:ssh": (("spec", "mlPolicy", "mpi", "sshAuthMountPath"), "runtime"),
            "job:fetched_dataset": (("spec", "initializer", "dataset", "storageUri"), "trainjob"),
            "job:fetched_model": (("spec", "initializer", "model", "storageUri"), "trainjob"),
        }
        if trainer.num_nodes is not None:
            places["job:gpus"] = ("spec", "trainer", "numNodes"), "trainjob"
        if amount in limits:
            places[key] = ("spec", "trainer", "resourcesPerNode", "limits", str(amount)), "trainjob"
        if key in ("job:shape", "job:product", "job:gke", "job:scaler"):
            selector = where[1].pod_spec(where[2]).get("nodeSelector") or {}
            known = _PRODUCTS if key != "job:scaler" else [one for one in selector if one.startswith(_SCALER)]
            product = next((one for one in known if one in selector), "")
            label = {"job:shape": _TOPOLOGY, "job:gke": "cloud.google.com/gke-accelerator"}.get(key, product)
            return pod_path(*where, "nodeSelector", label)
        if (field := _SECURITY.get(key.removeprefix("job:"))) is not None:
            is_own = field in mapping(entry.container.fields.get("securityContext"))
            return entry.at("securityContext", field) if is_own else pod_path(*where, "securityContext", field)
        if key == "job:added":
            return entry.at("securityContext", "capabilities", "add")
        if key == "job:shm_size":
            volume = "name", volume_at(self.training, "/dev/shm")[1]  # noqa: S108
            return pod_path(*where, "volumes", volume, "emptyDir", "sizeLimit")
        return entry.image_path() if key == "job:image" else places.get(key)


# Each is looked at beside all others; of programs that nothing is known of, as many more.
_MOST_RUNS = 200


def runs(training: Training) -> Iterator[Run]:
    """Yield each program that the command starts; of a script that starts very many, the first ones."""
    files = visible_files(training)
    by_path = files_by_path(files)
    left = {True: _MOST_RUNS, False: _MOST_RUNS}
    for start in training.line.starts:
        is_known = start.kind in ("launcher", "python", "code")
        if start.argv and (is_known or start.kind in ("unknown", "shell")) and left[is_known]:
            left[is_known] -= 1
            yield _run(training, start, by_path)


def _names(start: Start, words: Sequence[str]) -> list[str]:
    """Return the names of a program, the most exact first: its path, and that with the first argument."""
    plain = [word for word in words if not word.startswith("-")]
    name = (
        start.argv[0] if start.kind == "unknown" else next((word for word in plain if not _PYTHON.fullmatch(word)), "")
    )
    before = start.argv[start.program.start - 2 : start.program.start]
    if start.kind == "python" and len(before) == 2 and before[0].startswith("-") and before[0].endswith("m"):
        name = before[1]
    if start.kind == "unknown":
        following = [word for word in start.argv[1:2] if not word.startswith("-")]
        return [" ".join((basename(name), *following)), basename(name)]
    return [name, basename(name)]


def _run(training: Training, start: Start, by_path: dict[str, ConfigFile]) -> Run:
    facts = Facts()
    facts.add(job_facts(training, start))
    words = list(training.arguments(start))
    first = len(start.argv) - len(start.launch.program) if start.launch is not None else start.program.start
    code = [ConfigFile("python -c", words.pop(0))] if start.kind == "code" and words else []
    names = _names(start, words)
    given, others, hidden = options_of(words, first + len(code))
    launched: list[Fact] = []
    found: dict[str, Table] = {}
    if start.launch is not None:
        for name in tables_of_program([start.launch.launcher.name]):
            found[name] = table(name)
        space = next((known.space for known in found.values() if known.space), "launcher:")
        launched = [_of_launcher(training, start, option, space) for option in start.launch.options]
        facts.spaces.add(space.rstrip(":"))
        if start.launch.find_option(start.launch.launcher.own_way) is None:
            facts.certain.add(space.rstrip(":"))
    _choose(found, names, [one.key for one in given])
    paths = [str(one.value) for one in (*launched, *given) if isinstance(one.value, str)]
    paths += [*(word for _, word in others), *_composed(given)]
    read = [*_files(training, paths, by_path), *code]
    base = tuple(name for known in found.values() for name in known.base)
    further = [
        str(one.value) for one in (*launched, *given) if isinstance(one.value, str) and not _DATA.fullmatch(one.key)
    ]
    further = [path for path in (*further, *(word for _, word in others)) if not (base and path.endswith(base))]
    facts.hidden = hidden or any(
        _FILE.fullmatch(path) and normpath(join(training.folder, path)) not in by_path for path in further
    )
    in_files: list[Fact] = []
    homes: dict[str, str | None] = {}
    of_deepspeed = {basename(str(one.value)) for one in (*launched, *given) if one.name in _DEEPSPEED}
    for file in read:
        values = flat(file.value)
        keys = frozenset((*values, *(key.partition(".")[0] for key in values)))
        name_of_file = table_of_file(keys) or ("ds_config" if file.name in of_deepspeed else None)
        homes[file.path] = name_of_file
        values = {**_leaves(values), **values} if name_of_file is None else values
        keys |= values.keys()
        known = table(name_of_file) if name_of_file is not None else None
        if known is not None:
            found[known.name] = known
            facts.spaces.add(known.space.rstrip(":"))
        if file.name.endswith(".py"):  # Calls of two scripts are not those of one.
            in_files = [one for one in in_files if not one.key.startswith(("call", "maybe"))]
        in_files += [file.fact(key, value, known.space if known is not None else "") for key, value in values.items()]
        for name in tables_of_options(keys):
            if known is None or known.name in table(name).family or name.endswith("calls"):
                found[name] = table(name)
    facts.add((*in_files, *launched, *given))
    of_files = (*numbers_of_texts(facts, by_path.values()), *overrides_of_nobody(given, read, by_path))
    facts.add((*of_script(facts, words, start), *of_files, *of_registry(facts, by_path)))
    found |= {name: table(name) for name in ALWAYS}
    if "shell" in tables_of_text(training.text):
        found["shell"] = table("shell")
    whole, facts.roles = _together(tuple(found))
    facts.add(_derived(training, start, facts, others, words))
    return Run(training, start, whole, facts, names[-1], homes, facts.placed())


@lru_cache(maxsize=64)
def _together(names: tuple[str, ...]) -> tuple[tuple[Table, ...], Mapping[str, Collection[str]]]:
    """Return those tables that no other one extends, which have all, and the keys of all roles: the first takes precedence."""
    found = [table(name) for name in names]
    roles: dict[str, dict[str, None]] = {}
    for known in found:
        for role, keys in known.roles.items():
            roles.setdefault(role, {}).update(dict.fromkeys(keys))
    return tuple(known for known in found if sum(known.name in other.family for other in found) == 1), roles


def _leaves(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of sections that count anywhere; what two sections say differently is about each of them alone."""
    found: dict[str, list[Any]] = {}
    for key, value in values.items():
        name = key.rpartition(".")[2]
        if name != key and count_anywhere(name):
            found.setdefault(name, []).append(value)
    return {name: given[0] for name, given in found.items() if given.count(given[0]) == len(given)}


def _choose(found: dict[str, Table], names: Sequence[str], options: Sequence[str]) -> None:
    """Add the tables of a program, and those of its options unless it has all of them itself."""
    for name in tables_of_program(names):
        if is_meant(name, options):
            found[name] = table(name)
    whole = next((known for known in found.values() if "" in known.strict), None)
    for name in tables_of_options(options):
        if whole is None or whole.name in table(name).family or name in whole.family:
            found[name] = table(name)


def _of_launcher(training: Training, start: Start, option: Any, space: str) -> Fact:
    value = training.value(option.value, start.launch) if option.value is not None else True
    value = None if value in training.variables and "$" in str(option.value) else value  # It is known only in the pod.
    form = f"{option.spelling}={{}}"
    return Fact(f"{space}{option.name.replace('-', '_')}", value, option.spelling, form, word=option.index)


def _composed(facts: Sequence[Fact]) -> Iterator[str]:
    by_key = {one.key: str(one.value) for one in facts}
    for folder, name in (("config_path", "config_name"), ("config_dir", "config_name")):
        if folder in by_key and name in by_key:
            yield join(by_key[folder], by_key[name] + ("" if by_key[name].endswith(".yaml") else ".yaml"))


def _files(training: Training, paths: list[str], by_path: dict[str, ConfigFile]) -> list[ConfigFile]:
    """Return the files that words name, and those that these name, weakest first."""
    read: list[ConfigFile] = []
    waiting = deque(paths if by_path else ())
    while waiting and len(read) < 20:
        path = waiting.popleft()
        # What a script writes may be relative to a folder that nobody knows.
        file = by_path.get(normpath(join(training.folder, path))) or by_path.get(normpath(path))
        if file is not None and file not in read:
            read.append(file)
            waiting += [str(value) for value in flat(file.value).values() if isinstance(value, str)]
    return read[::-1]


def job_facts(training: Training, start: Start) -> Iterator[Fact]:
    """Yield the facts of the job: its nodes and devices, and the variables of the container and the script."""
    spec = training.info.pod_spec(training.entry.pod_set.name)
    selector = spec.get("nodeSelector") or {}
    resources = training.entry.container.resources
    unknown = bool(resources.get("claims")) or any("/" in name for name in resources.get("limits") or {})
    values = {
        "nodes": (training.nodes, "nodes"),
        "devices": (training.devices or None, f"{training.device or 'devices'} per pod"),
        "gpus": (training.nodes * training.devices or None, "devices of the job"),
        "device": (training.device or (None if unknown else "none"), "the device"),
        "policy": (training.policy, "the policy"),
        "image": (training.entry.image, "the image"),
        "name": (training.job.name, "the job"),
        "label": (selector.get("nvidia.com/gpu.product"), "the label of the node"),
        "arch": (selector.get("kubernetes.io/arch"), "the architecture of the node"),
        "scaler": (next((one for one in selector if one.startswith(_SCALER)), None), "the label of the node"),
        "annotations": (" ".join(mapping(value_at(training.replicated_job, _ANNOTATIONS))), "annotations"),
        "kind": (start.kind, "the program"),
        "before": (" ".join(start.argv[: start.program.start]), "the words before the script"),
        "gke": (selector.get("cloud.google.com/gke-accelerator"), "the accelerator"),
        "product": (next((str(selector[one]) for one in _PRODUCTS if one in selector), None), "the node's devices"),
    }
    launch = start.launch
    topology = [whole_number(side) for side in str(selector.get(_TOPOLOGY, "")).split("x")]
    chips = prod(side or 1 for side in topology) if all(topology) else None
    values["topology"] = (chips, "the chips of the topology")
    values["shape"] = (selector.get(_TOPOLOGY), "the topology of the slice")
    values["slice_hosts"] = ((chips or 0) // (training.devices or 1) or None, "the hosts of the topology")
    per_node = training.processes(launch) if launch is not None else training.devices
    values["per_node"] = (per_node or None, "processes per node")
    values["ranks"] = ((per_node or 0) * training.nodes or None, "ranks")
    for name, step in (("model", training.job.model), ("dataset", training.job.dataset)):
        values[f"fetched_{name}"] = (str(step and step.storage_uri).removeprefix("hf://"), "what the initializer has")
    # A rank only where all pods of the job count in one row.
    env = training.entry.container.env if len(training.info.pod_sets) == 1 else ()
    indexed = [str(one["name"]) for one in env if "job-completion-index" in str(one.get("valueFrom"))]
    values["indexed"] = (" ".join(indexed) or None, "the variables that have the index of the pod")
    for name, (value, text) in values.items():
        yield Fact(f"job:{name}", value, text)
    later = {str(one["name"]): one.get("value") for one in training.entry.trainer.env}  # MPI gives them later.
    for name, value in {**training.variables, **later}.items():
        yield Fact(f"env:{name}", None if "$(" in str(value) else value, name, variable=name)
    yield from _packages(training)
    for name, value in start.variables.items():
        if not name.isdecimal():
            known = None if "$" in str(value) else value
            yield Fact(f"env:{name}", known, name, f"{name}={{}}", word=start.program.index)


def _packages(training: Training) -> Iterator[Fact]:
    """Yield the versions of packages, where they are known: what the command installs comes before what the image has."""
    changed = changes_image(training.text)
    for package, version, known_by in of_image(training.entry.image, training.info.software):
        # pip leaves Python as it is.
        if not changed or (package == "python" and not _OTHER_PYTHON.search(training.text)):
            yield Fact(f"package:{package}", version, f"{package} {version}, {known_by}")
    if not changed:
        return
    for package, installed_version in installed((one.argv, one.sure) for one in training.line.starts).items():
        text = f"{package} {installed_version}, which the command installs"
        yield Fact(f"package:{package}", installed_version, text)


# What follows from several of them.


def _derived(
    training: Training, start: Start, facts: Facts, others: Sequence[tuple[int, str]], words: Sequence[str]
) -> Iterator[Fact]:
    """Yield what follows from other facts: the model, the precision, and what else there is in the pod."""
    container, text = training.entry.container, training.text
    named = any(facts.find(key) for key in ("vllm_server_host", "vllm_server_base_url"))
    amounts = {**(container.resources.get("requests") or {}), **(container.resources.get("limits") or {})}
    network = (*amounts, *map(str, container.resources.get("claims") or ()))
    mpi = training.info.policy("mpi")
    yield Fact("job:script", text, "the command")
    stuck = unwritable(training, training.folder) if "workingDir" in container.fields else None
    yield Fact("job:folder", int("workingDir" not in container.fields or stuck is not None), "the working folder")
    again = mapping(training.info.template.get("failurePolicy")).get("maxRestarts")
    yield Fact("job:restarts", again, "the restarts of the JobSet")
    if start.launch is not None and start.launch.program:
        first = start.launch.program[0]
        yield Fact("tune:distributed", first.replace("single_device", "distributed"), first)
        yield Fact("job:program", first, first, word=len(start.argv) - len(start.launch.program))
    if start.launch is not None:
        yield Fact("job:options", len(start.launch.options), "options")
        yield Fact("job:launcher", start.launch.launcher.name, "the launcher")
    yield Fact("job:launched", int(any(one.launch is not None for one in training.line.starts)), "launchers")
    yield Fact("job:secrets", int(_has_secrets(training)), "Secrets")
    yield Fact("job:servers", int(named or "vllm-serve" in text or "vllm serve" in text), "servers")
    yield Fact("job:efa", int(any("efa" in name for name in network)), "EFA devices")
    yield from _resources(training, network)
    cpus = read_quantity(amounts.get("cpu"))
    yield Fact("job:cpus", int(cpus.units) if cpus is not None else None, "CPUs of the pod")
    cpus = read_quantity((amounts | (container.resources.get("requests") or {})).get("cpu"))
    yield Fact("job:cpus_asked", int(cpus.units) if cpus is not None else None, "the CPUs that the scheduler looks for")
    mounts = {normpath(str(mount.get("mountPath"))): not mount.get("readOnly") for mount in container.mounts}
    yield Fact("job:mounts", " ".join((*mounts, "")), "the mounts")
    spec = training.info.pod_spec(training.entry.pod_set.name)
    shared = volume_at(training, "/dev/shm")[0] is not None or spec.get("hostIPC") is True  # noqa: S108
    yield Fact("job:shm", int(shared), "a volume at /dev/shm")
    yield Fact("job:writable", sum(mounts.values()) - mounts.get("/dev/shm", False), "volumes to write to")  # noqa: S108
    yield Fact("job:containers", len(training.entry.pod_set.containers), "containers")
    installed_mpi = "Intel" if "intel/oneapi" in f"{training.entry.image} {text}" else ""
    yield Fact("job:implementation", str(mpi.get("mpiImplementation") or "OpenMPI") if mpi else installed_mpi, "MPI")
    if mpi:
        yield Fact("job:ssh", str(mpi.get("sshAuthMountPath") or "/root/.ssh"), "sshAuthMountPath")
    yield Fact("job:host_network", int(bool(spec.get("hostNetwork"))), "hostNetwork")
    yield Fact("job:prte", int(any(name.startswith("PRTE_MCA") for name in training.variables)), "PRTE")
    if len(others) > 1:
        at, word = others[1]
        place = at - others[0][0] + 1
        yield Fact("job:second", words[place] if place < len(words) else "nothing", f"the word after {word}", word=at)
    if training.device.startswith("nvidia.com/mig-"):
        yield Fact("job:slices", training.devices, "MIG slices")
    yield from derived(facts)
    yield from _reached(training, start)
    yield from _paths(training, facts)


def _paths(training: Training, facts: Facts) -> Iterator[Fact]:
    """Yield in which volume each path is, if it can be written to, and the claim that may be meant."""
    for role in [name for name in facts.roles if name.startswith("path.")]:
        for one in facts.all_of(role):
            kind, name = volume_at(training, str(one.value))
            kind = kind or "none"
            source = next((volume for volume in training.entry.pod_set.volumes if volume.get("name") == name), {})
            size = read_quantity(mapping(source.get("emptyDir")).get("sizeLimit"))
            if size is not None:
                yield replace(one, key=f"{role}:size", value=size.units >> 20, text=f"the size of {one.value} in Mi")
            kind_of = kind if str(one.value).startswith("/") else None
            yield replace(one, key=f"{role}:volume", text=shown(one), value=kind_of)
            # What is mounted read-only may have been filled before.
            if unwritable(training, str(one.value)) is not None:
                yield replace(one, key=f"{role}:{'unwritable' if kind == 'none' else 'readonly'}")
            if kind == "none" and (claim := unused_claim(training, str(one.value))):
                yield replace(one, key=f"{role}:unused")
                yield Fact("job:claim", claim, "a claim")


def _resources(training: Training, network: Sequence[str]) -> Iterator[Fact]:
    """Yield what a container has besides its devices: RDMA and what it needs, folders of the node, and memory."""
    container = training.entry.container
    rdma = ("rdma", "hostdev", "mlnx", "openshift.io/ib", "mellanox.com/")
    yield Fact("job:rdma", int(any(part in name for name in network for part in rdma)), "RDMA devices")
    for key, field in _SECURITY.items():
        if (value := security_of(training.entry, field)) is not None:
            yield Fact(f"job:{key}", value, field)
    security = mapping(container.fields.get("securityContext"))
    added = (*items(mapping(security.get("capabilities")).get("add")), "ALL" if security.get("privileged") else "")
    yield Fact("job:locks", int(not {"IPC_LOCK", "ALL"}.isdisjoint(map(str, added))), "IPC_LOCK")
    yield Fact("job:added", " ".join(map(str, added)).strip(), "the capabilities that are added")
    sources = {v.get("name"): v for v in training.entry.pod_set.volumes}
    paths = " ".join(str(mapping(v.get("hostPath")).get("path", "")) for v in sources.values())
    yield Fact("job:host_paths", paths, "the folders of the node")
    in_memory = mapping(mapping(sources.get(volume_at(training, "/dev/shm")[1])).get("emptyDir"))  # noqa: S108
    limits = mapping(container.resources.get("limits"))
    yield Fact("job:cpus_limited", int("cpu" in limits), "the limit of CPUs")
    yield Fact("job:efas", whole_number(str(limits.get("vpc.amazonaws.com/efa"))), "vpc.amazonaws.com/efa per pod")
    sizes = ("memory_limit", limits.get("memory")), ("ephemeral_limit", limits.get("ephemeral-storage"))
    wanted = ("memory_asked", {**limits, **mapping(container.resources.get("requests"))}.get("memory"))
    for key, amount in (*sizes, wanted, ("shm_size", in_memory.get("sizeLimit"))):
        read = read_quantity(amount)
        yield Fact(f"job:{key}_given", str(amount), key)
        yield Fact(f"job:{key}", read.units >> 20 if read is not None else None, f"{key.split('_')[0]}: {amount}")


def _reached(training: Training, start: Start) -> Iterator[Fact]:
    """Yield what a launcher that reaches other hosts finds there: its hosts, their slots, and which variables they lack."""
    launch = start.launch
    if launch is None or launch.launcher.reaches != "hosts":
        return
    mounts = training.entry.container.mounts
    found = any("/job/hostfile".startswith(str(mount.get("mountPath"))) for mount in mounts)
    yield Fact("job:hosts", int(found), "the hostfile that deepspeed looks for")
    option = launch.find_option(launch.launcher.hosts)
    value = training.value(option.value or "", launch) if option is not None else None
    size = training.info.processes
    per_node = whole_number(str(size.value))
    if option is not None and option.name in ("H", "host", "hosts") and value:
        hosts = read_list(value)
        yield Fact("hosts:slots", hosts.slots, f"the slots of {option.spelling}")
        yield from _strange(training, hosts, Fact("", "", option.spelling, word=option.index))
    elif option is not None and value in (files := files_by_path(visible_files(training))):
        file = files[value]
        hosts = read_file(file.text or "")
        if hosts.wrong:
            yield Fact("hosts:wrong", hosts.wrong, f"{hosts.wrong} in {file.name}", file=(file, hosts.wrong))
        yield Fact("hosts:slots", hosts.slots, f"the slots of {file.name}")
        if hosts.names[1:] and hosts.slots is None and not hosts.wrong:
            yield Fact("hosts:unsaid", hosts.names[0], file.name, file=(file, hosts.names[0]))
        yield from _strange(training, hosts, Fact("", "", file.name, file=(file, "")))
    elif option is not None and value and value.startswith("/") and value != "/etc/mpi/hostfile":
        if volume_at(training, value)[0] is None and training.text.count(value) == 1:
            yield Fact("job:missing_hosts", value, option.spelling, f"{option.spelling}={{}}", word=option.index)
    elif training.policy == "mpi" and (option is None or value == "/etc/mpi/hostfile") and per_node:
        # The controller counts GPUs by their name in the place of the runtime's 1.
        counted = per_node == 1 and size.about == "runtime" and "gpu" in training.device
        slots = (training.devices if counted else per_node) * training.nodes
        yield Fact("hosts:slots", slots, f"the slots of the {training.nodes} nodes")
        yield Fact("hosts:each", slots // (training.nodes or 1), "the slots of each node")
    for inner in training.started_by(launch).launches:
        yield Fact("job:inner", training.processes(inner), f"processes of {inner.launcher.name}")
    given = f"{[(one.name, one.value) for one in launch.options]} {dict(training.variables)}"
    yield Fact("job:oversubscribed", int("oversub" in given), "oversubscription")
    yield from _forwarded(training, start, launch)


def _forwarded(training: Training, start: Start, launch: Launch) -> Iterator[Fact]:
    """Yield the variables that `-x` and `--mca` set for all ranks, one that is named and not set, and one that is left out."""
    variables = [*map(str, (variable["name"] for variable in training.entry.trainer.env))]
    known = {*variables, *training.variables, *start.variables}
    for one in launch.options:
        if one.name in ("mca", "gmca"):
            name, _, value = (one.value or "").partition(" ")
            text = f"{one.spelling} {name}"
            yield Fact(f"env:OMPI_MCA_{name}", value or None, text, f"{text} {{}}", word=one.index)
        name, equals, value = (one.value or "").partition("=") if one.name == "x" else ("", "", "")
        if equals:
            form = f"{one.spelling} {name}={{}}"
            yield Fact(f"env:{name}", None if "$" in value else value, name, form, word=one.index)
        elif name.isidentifier() and name not in (*known, *_OF_IMAGES) and not _OWN_TO_LAUNCHER.match(name):
            yield Fact("job:unset", name, one.spelling, word=one.index)
    for name in variables if training.policy == "mpi" else ():
        if not _OWN_TO_LAUNCHER.match(name) and name not in training.text:
            yield Fact("job:unforwarded", name, name, variable=name)
            return


def _strange(training: Training, hosts: Hosts, place: Fact) -> Iterator[Fact]:
    """Yield a host that is no pod of the job, or the pod of the launcher if there is no other. Alone, a pod may have aliases."""
    names, pod = hosts.names, training.info.pod_spec(training.entry.pod_set.name)
    own = [name for name in names if name.startswith(f"{training.job.name}-")]
    if not names or own:
        yield from [replace(place, key="hosts:bare", value=name) for name in own if "." not in name][:1]
        return
    if all(name in ("localhost", "127.0.0.1") for name in names):
        yield replace(place, key="hosts:own", value=names[0])
    elif not any(name[:1].isdecimal() for name in names) and (training.nodes > 1 or "hostAliases" not in pod):
        yield replace(place, key="hosts:strange", value=names[0])


def _has_secrets(training: Training) -> bool:
    """Return whether a container may get a login from elsewhere: from a Secret, a service account or its script."""
    container = training.entry.container
    kinds = {"secret", "projected", "csi"}
    sources = any(not kinds.isdisjoint(volume) for volume in training.entry.pod_set.volumes)
    return sources or bool(container.fields.get("envFrom")) or _LOGIN.search(training.text) is not None

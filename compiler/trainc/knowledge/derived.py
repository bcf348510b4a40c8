"""What follows from the facts about a run alone: the model, the precision, the capability of the GPUs, and the trackers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from posixpath import basename, join, normpath

from trainc.findings.text import correct_spelling
from trainc.ir.commands.started import Start
from trainc.knowledge.conditions import Fact, Facts, is_on
from trainc.knowledge.tables import read
from trainc.knowledge.words import flat
from trainc.kube.documents import mapping
from trainc.reading.settings import Expression, line_of
from trainc.startup.patterns import matcher, pattern
from trainc.startup.records import replace
from trainc.startup.typing import Any

_READINGS = read("readings")
_PRECISIONS = ("accelerate:mixed_precision", "mixed_precision", "precision", "accelerate:precision")
_SWITCHES = {"bf16": "bf16", "ds:bf16.enabled": "bf16", "fp8": "fp8", "fp8_format": "fp8"}
# deepspeed's zero3, ds_z3_config.json, stage2.json; and lists of devices: [0, 1], "0,1", or those of a file.
_STAGE = pattern(r"(?:zero|z|stage)[_-]?([0-3])(?![0-9])")
_LIST = pattern(r"[\[(](?:\d{1,3}[, ]*)+[\])]|\d{1,3}(?:[, ]+\d{1,3})+,?|\d{1,3},")
# What options are called that name devices, and those of which one number is no count; a device of PyTorch; and what examples have.
_LISTS = pattern(_READINGS["lists"], 2)
_INDEX = pattern(r"(?:.*[._])?(?:(?:gpu|device|cuda)_?(?:ids?|idx|index|indices)|cuda_device)", 2)
_DEVICE = pattern(r"cuda:(\d{1,3})(,.*)?")
_EXAMPLE = pattern(r"(?:.*[/=])?path[/_]to[/_].*|(?:.*/)?<?your[-_ /].*|/absolute/path.*", 2)
# What the processes that load data are called; those that prepare it beforehand end before the training.
_WORKERS = pattern(_READINGS["workers"])
_BATCH = pattern(r"(?:.*[._/])?(?:(?:train_|per_(?:gpu|device)_(?:train_)?)?(?:batch_?size|bs)|samples_per_gpu)")
# What the width of a transformer and the number of its heads are called; and the width of one head.
_WIDTH = pattern(_READINGS["width"])
_HEADS = "num_attention_heads attention_heads num_heads n_heads n_head nheads nhead attn_layers_heads".split()
_OF_GRAPHS = ("num_heads", "n_heads")
_OWN_WIDTH = pattern(r"head_(?:dim|size)|dim_head|d_head|d_kv|kv_channels|key_dim|qk_|lstm|rnn|gat")
_FAMILIES = pattern(_READINGS["families"])
_MODELS = ("model.name", "model_name_or_path", "base_model", "base_model_name_or_path", "pretrained_model_name_or_path")
# How many thousand millions of parameters a model has, by its name; one of several experts says less.
_SIZE = pattern(r"(?<![\d.x])(?<!\d_)(\d+(?:\.\d+)?)b(?![a-z])")
# Parts of names of options and packages with which less than the weights is on the devices.
_REDUCED = ("qlora", "quant", "4bit", "8bit", "offload", "awq", "gptq", "bnb", "qdora", "cpu", "lomo", "nf4", "fp8")
_SLICE = pattern(r"nvidia\.com/mig-\dg\.(\d+)gb(?:\.me)?")
_HUB_ID = pattern(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_VARIANT = pattern(r"-(?:instruct|chat|base|it|hf|sft|mcore|v0\.\d|bnb-4bit|awq|gptq)(?:-.*)?$|-\d{4}$")
# Settings that choose trackers by name, and those that switch one on.
_CHOOSING = pattern(r"(?:.*[._])?(?:report_to|log_with|loggers?|trackers?|logger_name|logging_backend)")
_SWITCHING = pattern(_READINGS["switching"])
_TRACKER = pattern(r"(?:.*[^a-z_]|)(wandb|comet_ml|comet|neptune|swanlab|clearml)(?:[^a-z_].*|)", 16)


def derived(facts: Facts) -> Iterator[Fact]:
    """Yield all of it."""
    written = [fact for fact in facts.by_key.values() if fact.is_placed and fact.key != "call:TEXT"]
    device = facts.find("job:device")
    if device is not None and str(device.value).startswith("nvidia.com/gpu"):
        yield Fact("job:capability", _of_hardware("capability", facts), "the compute capability")
    if device is not None and str(device.value).startswith(("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-")):
        yield from _memory(facts, written)
    product = facts.find("job:product")
    if product is not None and product.value is not None:
        maker = _kind("hardware", "maker", str(product.value).lower()) or None
        yield Fact("job:of_node", maker, "the devices of the node")
    for what in ("host_memory", "host_cpus"):
        yield Fact(f"job:{what.removeprefix('host_')}_of_node", int(_of_hardware(what, facts) or 0) or None, what)
    yield from _slices(facts, str(device and device.value).removesuffix(".shared"))
    yield Fact("job:efa_of_node", int(_of_hardware("efa", facts) or 1), "the EFA devices of a node")
    yield from _named(facts, written)
    yield from _widths(facts, written)
    yield from [replace(one, key=kind) for one in written if (kind := _loading(one.name.lower(), str(one.value)))]
    processes = facts.find("launcher:nproc_per_node") or facts.find("accelerate:num_processes")
    if processes is not None:
        yield replace(processes, key="job:processes")
    total = facts.find("accelerate:num_processes") or facts.find("mpirun.processes") or facts.find("horovodrun:np")
    if total is not None:
        yield replace(total, key="job:ranks")
    yield from _precision(facts)
    yield from _trackers(written)
    model = next(filter(None, map(facts.find, _MODELS)), None)
    if model is not None and isinstance(model.value, str):
        gated, known = _model(model.value)
        if gated is not None:
            yield replace(model, key="job:hub_id")
        if gated:
            yield replace(model, key="job:gated")
        yield from known


def _slices(facts: Facts, device: str) -> Iterator[Fact]:
    """Yield a MIG slice that the GPUs of the node do not have, and the one that is meant."""
    product = facts.find("job:product")
    has = _kind("hardware", "slices", str(product.value).lower()) if product is not None else ""
    name = device.removeprefix("nvidia.com/mig-").removesuffix(".me")
    if has and name != device and name not in has.split():
        meant = next((one for one in has.split() if one.partition("g")[0] == name.partition("g")[0]), has.split()[-1])
        yield Fact("job:no_slice", name, device)
        yield Fact("job:slices_of_node", has if has == "none" else has.replace(" ", ", "), "the slices of the node")
        yield Fact("job:meant_slice", f"nvidia.com/mig-{meant}", "a slice")


def _trackers(written: Sequence[Fact]) -> Iterator[Fact]:
    """Yield the first setting by which a tracker of experiments, such as wandb, is used."""
    for fact in written:
        if fact.variable or fact.value is None:
            continue
        chooses, switched = _tracking(fact.name)
        chosen = _TRACKER.fullmatch(str(fact.value)) if chooses else None
        if switched and str(fact.value).lower() in ("true", "1", "yes", "{...}")[: 4 if "." in fact.name else 3]:
            yield replace(fact, key="job:tracker", value=switched)
            return
        if chosen is not None:
            yield replace(fact, key="job:tracker", value=chosen[1])
            return


@lru_cache(maxsize=1024)  # Jobs of one program have the same options.
def _tracking(name: str) -> tuple[bool, str]:
    """Return whether a setting chooses a tracker by its value, and which one it switches on."""
    switched = _SWITCHING.fullmatch(name)
    return _CHOOSING.fullmatch(name) is not None, next(filter(None, switched.groups())) if switched else ""


@lru_cache(maxsize=1024)
def _devices(name: str) -> tuple[bool, bool]:
    """Return whether a setting names devices, and whether one number is no count of them."""
    return _LISTS.fullmatch(name) is not None, _INDEX.fullmatch(name) is not None


@lru_cache(maxsize=1024)
def _loading(name: str, value: str) -> str:
    """Return the fact that a setting is if it says how many processes load data, or how many samples they put together."""
    is_workers = value.isdecimal() and _WORKERS.fullmatch(name)
    return "job:workers" if is_workers else "job:batch" if value.isdecimal() and _BATCH.fullmatch(name) else ""


def _widths(facts: Facts, written: Sequence[Fact]) -> Iterator[Fact]:
    """Yield a width that heads of the same section, call or command do not divide, unless they have a width of their own."""
    found = [(one, match) for one in written if str(one.value).isdecimal() and (match := _WIDTH.fullmatch(one.key))]
    sections = Counter(match[1] for _, match in found)
    own = sorted(filter(_OWN_WIDTH.search, facts.by_key)) if found else []
    for one, match in found:
        first = bisect_left(own, match[1])
        # Of two widths, the heads may be those of either.
        if sections[match[1]] > 1 or any(key.startswith(match[1]) for key in own[first : first + 1]):
            continue
        # What layers of graphs call hidden is the width of one head.
        names = (
            [name for name in _HEADS if name not in _OF_GRAPHS] if match[2].startswith("hidden") else (*_HEADS, "heads")
        )
        heads = next((facts.by_key[key] for name in names if (key := f"{match[1]}{name}") in facts.by_key), None)
        if heads is not None and str(heads.value).isdecimal():
            yield from (replace(one, key="job:width"), replace(heads, key="job:heads"))


def _of_hardware(what: str, facts: Facts) -> float | None:
    """Return the compute capability of the GPUs, or their memory in GB, by what a label calls them or their node."""
    product = facts.find("job:product")
    name = str(product.value).lower() if product is not None and product.value is not None else ""
    amount = _kind("hardware", what, name)
    return float(amount) if amount else None


@lru_cache(maxsize=1024)
def _kind(of: str, what: str, name: str) -> str:
    """Return the first kind of which a glob is like a name, or an empty string."""
    kinds: Mapping[str, Sequence[str]] = read(of)[what]
    return next((kind for kind, globs in kinds.items() if any(matcher(glob)(name) for glob in globs)), "")


def _memory(facts: Facts, written: Sequence[Fact]) -> Iterator[Fact]:
    """Yield the memory of all GPUs of the job, and whether a model may take less of it than its weights."""
    of_device, gpus, script = _of_hardware("memory", facts), facts.find("job:gpus"), facts.find("job:script")
    device = facts.find("job:device")
    if device is not None and (part := _SLICE.fullmatch(str(device.value))) is not None:
        of_device = float(part[1])
    if of_device is not None and gpus is not None and gpus.value is not None:
        yield Fact("job:memory", int(of_device) * gpus.value, "the memory of all devices")
        yield Fact("job:memory_each", int(of_device), "the memory of a device")
    on = [f"{fact.key}={fact.value}" for fact in written if fact.value is None or is_on(fact.value)]
    unread = facts.hidden or ("deepspeed" in facts.by_key and "ds" not in facts.spaces)
    reduced = unread or _is_reduced("\n".join(on)) or _is_reduced(str(script and script.value))
    yield Fact("job:reduced", int(reduced), "reductions")


@lru_cache(maxsize=64)  # Each command of a script asks the whole script.
def _is_reduced(text: str) -> bool:
    """Return whether a text speaks of what takes less memory."""
    return any(map(text.lower().__contains__, _REDUCED))


def _named(facts: Facts, written: Sequence[Fact]) -> Iterator[Fact]:
    """Yield what the words of a setting say: the stage of ZeRO in the name of a file, and the highest of some devices."""
    file = facts.find("deepspeed") or facts.find("deepspeed_config")
    if file is not None and isinstance(file.value, str) and "ds" not in facts.spaces:
        stage = _STAGE.search(basename(file.value).lower())
        if stage is not None:
            yield replace(
                file, key="ds:zero_optimization.stage", value=int(stage[1]), text=f"the stage of {file.value}"
            )
            yield Fact("job:named", 1, "the name of a file")
    highest = -1
    for one in written:
        if one.value is None or one.value is True or one.key.startswith(("env:", "call", "maybe")):
            continue
        text = str(one.value)
        if one.file is not None and (text == "???" or _EXAMPLE.fullmatch(text)):
            yield replace(one, key="job:mandatory" if text == "???" else "job:example")
        device = _DEVICE.fullmatch(text) if text.startswith("cuda") else None
        if device is not None and device[2]:
            yield replace(one, key="job:no_device")
            continue
        names_devices, is_index = _devices(one.name) if ":" not in one.key else (False, False)
        listed = _LIST.fullmatch(text) if names_devices else None
        if names_devices and (device or listed or is_index):
            parts = (device[1] if device else text.strip("[]()")).replace(",", " ").split()
            numbers = [int(part) for part in parts if part.isdecimal()]
            if max(numbers, default=-1) > highest:
                highest = max(numbers)
                yield replace(one, key="job:highest", value=highest, text=f"the highest of {one.text}")
            if listed and not text.endswith(","):
                yield replace(one, key="job:listed", value=len(numbers), text=f"the number of devices in {one.text}")


def _precision(facts: Facts) -> Iterator[Fact]:
    for key, value in _SWITCHES.items():
        fact = facts.find(key)
        if fact is not None and fact.value is not None and is_on(fact.value):
            yield replace(fact, key="job:precision", value=value)
    for key in _PRECISIONS:
        fact = facts.find(key)
        if fact is not None and isinstance(fact.value, str) and fact.value.startswith(("bf16", "fp8")):
            yield replace(fact, key="job:precision", value=fact.value[:4].rstrip("-"))


@lru_cache(maxsize=256)
def _model(name: str) -> tuple[bool | None, tuple[Fact, ...]]:
    """Return whether a model of a hub is gated, None if it is of none, and its layers, heads and positions."""
    data, short = read("models"), name.rstrip("/").rpartition("/")[2].lower()
    starts = tuple(start.lower() for start in data["gated"])
    gated = name.lower().startswith(starts) if _HUB_ID.fullmatch(name) else None
    facts: list[Fact] = []
    known = data["models"].get(short) or data["models"].get(_VARIANT.sub("", short))
    # The family of models whose parts are called otherwise has no name itself.
    if kind := known[4] if known is not None else _kind("models", "families", short):
        facts.append(Fact("model:type", kind, f"the type of {name}"))
        facts.append(Fact("model:targets", data["targets"].get(kind), "targets"))
        facts.append(Fact("model:layer", data["layer"].get(kind), f"the layer of {name}"))
    if known is not None:
        for key, value in zip(("layers", "heads", "kv_heads", "positions", "type", "experts"), known, strict=False):
            facts.append(Fact(f"model:{key}", value, f"the {key} of {name}"))
    if (size := _SIZE.search(short)) is not None and (known is not None or _FAMILIES.match(short)):
        facts.append(Fact("model:weights", round(2 * float(size[1])), f"the weights of {name}"))
        facts.append(Fact("model:adam", round(8 * float(size[1])), f"weights, gradients and averages of {name}"))
        facts.append(Fact("model:states", round(16 * float(size[1])), f"the states of {name}"))
        facts.append(Fact("model:trained", round(4 * float(size[1])), f"weights and gradients of {name}"))
    return gated, tuple(facts)


# What a script in Python says about a run: its variables and arguments, options that it lacks, and settings it cannot use.

# What reads a number of a file for an optimizer, and which readers know more numbers than PyYAML.
_OPTIMIZING = pattern(
    r"call\d?:(?:torch\.optim\..*/.+|(?:transformers|trl)\.\w+(?:Arguments|Config)/(?:learning_rate|weight_decay))"
)
_READ = pattern(r"(?:yaml\.(?:\w+_)?load|[a-z_]\w*)\(.*?\)((?:\['\w+'\]|\.get\('\w+'(?:, [^()]*)?\))*)")
_PART = pattern(r"(?:\[|get\()'(\w+)'")
_BY_PYYAML, _BY_OTHERS = pattern(r"\byaml\.\w*load\("), pattern(r"ruamel|[Rr]esolver|[Oo]mega[Cc]onf|json\.load")
# Variables that launchers, Trainer, Kubernetes, webhooks of clouds or public images set (TPU_ by GKE's webhook for TPUs, AWS_
# by aws/amazon-eks-pod-identity-webhook, AZURE_ by Azure/azure-workload-identity, HOST and PORT of a Service by the kubelet).
_GIVEN = pattern(_READINGS["given"])
_HYDRA = pattern(r"config_(path|name)\s*=\s*[\"']([^\"']+)")
_EXPONENT = pattern(r""":\s*["']?([+-]?\d+)(\.\d*)?[eE]([+-]?)(\d+)(?=["']?\s*(?:$|[#,}]))""")


def of_script(facts: Facts, words: Sequence[str], start: Start) -> Iterator[Fact]:
    """Yield the variables, settings and arguments of classes that a script in Python sets, and what is wrong with its options."""
    named = facts.by_key.get("call:NAMES")
    classes: Mapping[str, str] = read("calls")["classes"] if named is not None else {}
    # With both, a parameter may be that of either.
    is_mixed = named is not None and " lightgbm " in str(named.value) and " xgboost " in str(named.value)
    for fact in [one for one in facts.by_key.values() if one.key.startswith("call:")]:
        name, _, argument = fact.name.partition("/")
        text = f"{argument} in {fact.text.rpartition(' in ')[2]}"
        if name == "os.environ.set":
            yield replace(fact, key=f"env:{argument}", text=text)
        elif name == "deepspeed.initialize" and "/" in argument[6:] and not str(fact.value).startswith("{"):
            key = argument.partition("/")[2].replace("/", ".")
            facts.spaces.add("ds")
            yield replace(fact, key=f"ds:{key}", text=f"{key} in {fact.text.rpartition(' in ')[2]}")
        elif (of := f"{name}/{argument.partition('/')[0]}") in classes and "/" in argument:
            yield from () if is_mixed else (replace(fact, key=f"{classes[of]}{argument.partition('/')[2]}", text=text),)
        elif name in classes and argument.isidentifier():
            space, value = classes[name], None if isinstance(fact.value, Expression) else fact.value
            yield replace(fact, key=f"{space}{argument}", value=value, text=text)
        elif name == "os.environ" and f"env:{argument}" not in facts.by_key:
            yield from () if _GIVEN.match(argument) else (replace(fact, key="job:unread", value=argument),)
    yield from _of_options(facts, words, start)


def numbers_of_texts(facts: Facts, files: Iterable[Any]) -> Iterator[Fact]:
    """Yield a number that a script hands to an optimizer, and that PyYAML reads as a text: it wants a dot, and a sign."""
    for fact in [one for key, one in facts.by_key.items() if _OPTIMIZING.fullmatch(key)]:
        found, script = _READ.fullmatch(str(fact.value)), fact.file[0].text
        above = ".".join(_PART.findall(found[1])) if found and _BY_PYYAML.search(script) else None
        for file in files if above is not None and not _BY_OTHERS.search(script) else ():
            values = flat(file.value) if file.name.endswith((".yaml", ".yml")) else {}
            for key in [one for one in values if above == (one if fact.name[-2:] != "**" else one.rpartition(".")[0])]:
                number = _EXPONENT.search((file.text or "").splitlines()[line_of(file.text or "", key)])
                if number is not None and not (number[2] and number[3]):
                    better = f"{number[1]}{number[2] or '.0'}e{number[3] or '+'}{number[4]}"
                    yield replace(file.fact(key, number[0].strip(": '\""), ""), key="job:text_number")
                    yield Fact("job:number", f"{key.rpartition('.')[2]}: {better}", "a number")


def of_registry(facts: Facts, by_path: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield a data set that the list of LLaMA-Factory lacks, or of what kind the one is that is in it."""
    folder, named = facts.find("dataset_dir"), facts.find("dataset")
    if folder is None or named is None or "finetuning_type" not in facts.by_key:
        return
    file = by_path.get(normpath(join(str(folder.value), "dataset_info.json")))
    known = mapping(file.value) if file is not None else {}
    names = str(named.value).replace(",", " ").split() if known else []
    for name in names:
        entry = known.get(name)
        kind = "no_entry" if entry is None else "pairs" if mapping(entry).get("ranking") is True else "no_pairs"
        yield replace(named, key=f"job:{kind}", value=name)
    for missing in [name for name in names if name not in known][-1:]:
        near = correct_spelling(missing, known, 4) or ", ".join(map(str, known))
        yield Fact("job:entries", near, "its data sets")


def overrides_of_nobody(given: Sequence[Fact], files: Sequence[Any], by_path: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield an override of Hydra, which takes no keys that its file lacks, if that is the one that a script names."""
    script = next((one for one in files if one.name.endswith(".py") and "hydra.main(" in (one.text or "")), None)
    named = dict(_HYDRA.findall(script.text or "")) if script is not None and script.text is not None else {}
    path = join(script.path, "..", named.get("path", "."), f"{named.get('name')}.yaml") if script is not None else ""
    file = by_path.get(normpath(path))
    whole = file.value if file is not None else None
    composed = "ConfigStore" in str(script and script.text) or any(one.key.startswith("config_") for one in given)
    for fact in given if isinstance(whole, Mapping) and "defaults" not in whole and not composed else ():
        known = whole
        for part in fact.key.split(".") if fact.text[:1].isalpha() and not fact.text.startswith("hydra") else ():
            if not isinstance(known, Mapping):
                break
            if part not in known:
                near = correct_spelling(part, known)
                yield replace(fact, key="job:no_override", value=fact.text)
                yield Fact("job:has", fact.text.replace(part, near) if near else ", ".join(map(str, known)), "its keys")
                return
            known = known[part]


def _of_options(facts: Facts, words: Sequence[str], start: Start) -> Iterator[Fact]:
    """Yield an option that a script does not take, a value that it refuses, and one that it needs and does not get."""
    known = {key[13:]: one for key, one in facts.by_key.items() if key.startswith("call:OPTIONS/-")}
    whole = "call:OPTIONS" in facts.by_key
    at = next((n for n, word in enumerate(words) if word.endswith(".py")), None)
    if at is None or not (known or whole) or any("$" in word or "`" in word for word in words):
        return
    given = [(n, word.partition("=")[0]) for n, word in enumerate(words) if n > at and word.startswith("--")]
    first = start.program.start if start.launch is None else len(start.argv) - len(start.launch.program)
    for n, word in given:
        if whole and word != "--" and not any(option.startswith(word) for option in (*known, "--help")):
            alike = [option for option in known if option.strip("-").replace("-", "_") == word[2:].replace("-", "_")]
            yield Fact("job:no_option", word.lstrip("-"), word, word=first + n)
            yield Fact("job:options_of_script", (alike or [", ".join(sorted(known)) or "none"])[0], "its options")
        value = (words[n].partition("=")[2] or " ".join(words[n + 1 : n + 2])).lower()
        if word in known and known[word].value == "bool" and value in ("false", "0", "no", "off"):
            yield Fact("job:true_option", value, word, f"{word} {{}}", word=first + n)
    for option, fact in known.items():
        if fact.value == "required" and not any(option.startswith(word) for _, word in given):
            yield Fact("job:needs_option", option, option, word=start.program.index)

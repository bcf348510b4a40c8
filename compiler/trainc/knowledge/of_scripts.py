"""What a script in Python says about a run: its variables and arguments, options that it lacks, and settings it cannot use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import join, normpath

from trainc.findings.text import correct_spelling
from trainc.ir.commands.started import Start
from trainc.knowledge.conditions import Fact, Facts
from trainc.knowledge.tables import read
from trainc.knowledge.words import flat
from trainc.reading.settings import Expression, line_of
from trainc.startup.patterns import pattern
from trainc.startup.records import replace
from trainc.startup.typing import Any

# What reads a number of a file for an optimizer, and which readers know more numbers than PyYAML.
_OPTIMIZING = pattern(
    r"call\d?:(?:torch\.optim\..*/.+|(?:transformers|trl)\.\w+(?:Arguments|Config)/(?:learning_rate|weight_decay))"
)
_READ = pattern(r"(?:yaml\.(?:\w+_)?load|[a-z_]\w*)\(.*?\)((?:\['\w+'\]|\.get\('\w+'(?:, [^()]*)?\))*)")
_PART = pattern(r"(?:\[|get\()'(\w+)'")
_BY_PYYAML, _BY_OTHERS = pattern(r"\byaml\.\w*load\("), pattern(r"ruamel|[Rr]esolver|[Oo]mega[Cc]onf|json\.load")
# Variables that launchers, Trainer, Kubernetes, webhooks of clouds or public images set (TPU_ by GKE's webhook for TPUs, AWS_
# by aws/amazon-eks-pod-identity-webhook, AZURE_ by Azure/azure-workload-identity, HOST and PORT of a Service by the kubelet).
_GIVEN = pattern(
    r"(?:PET|TORCHELASTIC|JAX|OMPI|PMI|PMIX|DMLC|KUBERNETES|JOB_COMPLETION|SLURM|CUDA|NVIDIA|HOROVOD|MPI|PADDLE|ACCELERATE|TF_CONFIG"
    r"|TPU_|MEGASCALE_|AWS_|AZURE_|FSDP_|MEGATRON_LM_|PYTHON|PYTORCH_|TORCH_|NCCL_|OMP_|ROCM_|HABANA_|ASCEND_)"
    r"|\w*(?:_TOKEN|_KEY|_URI|_ID|_PORT|_SERVICE_HOST)$|\w+_PORT_\w+"
    r"|(?:\w*RANK|\w*WORLD_SIZE|MASTER_\w+|NNODES|NPROC\w*|PATH|HOME|USER|LOGNAME|HOSTNAME|PWD|OLDPWD|SHLVL|SHELL|TERM|LANG"
    r"|TMPDIR|LD_LIBRARY_PATH|CONDA\w*|VIRTUAL_ENV|DEBIAN_FRONTEND|GPG_KEY)$"
)
_HYDRA = pattern(r"config_(path|name)\s*=\s*[\"']([^\"']+)")
_EXPONENT = pattern(r""":\s*["']?([+-]?\d+)(\.\d*)?[eE]([+-]?)(\d+)(?=["']?\s*(?:$|[#,}]))""")


def of_script(facts: Facts, words: Sequence[str], start: Start) -> Iterator[Fact]:
    """Yield the variables, settings and arguments of classes that a script in Python sets, and what is wrong with its options."""
    known: dict[str, Fact] = {}
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
        elif name == "OPTIONS" and argument.startswith("-"):
            known[argument] = fact
    yield from _of_options(known, words, start, whole="call:OPTIONS" in facts.by_key)


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


def _of_options(known: Mapping[str, Fact], words: Sequence[str], start: Start, *, whole: bool) -> Iterator[Fact]:
    """Yield an option that a script does not take, and one that it needs and does not get."""
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

"""Lints for torchtune: arguments that are dropped, given twice or without effect, and models of another recipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from trainc.findings import Finding
from trainc.ir.entrypoints import Entrypoint
from trainc.plugins.torch import TORCHTUNE, calls_torchtune
from trainc.startup.patterns import pattern

# Source: the names of pytorch/torchtune recipes/ (torchtune/_recipe_registry.py).
_RECIPE = pattern(r"[a-z_]+_(?:distributed|single_device)")
_LOW_RANK = ("model.lora_", "model.use_dora", "model.quantize_base")
_DECIDES = "model.lora_attn_modules"
_CONFIG = pattern(r"([a-z]++)[\w.]*+/(\d+(?:\.\d+)?)B(?:_\w+)?")
_SIZE = pattern(r"(?<![\d.])(\d+(?:\.\d+)?)b(?![a-z])")
_LETTERS = pattern(r"[a-z]+")
_FAMILIES = (
    *("llama", "qwen", "mistral", "mixtral", "gemma", "phi", "falcon", "bloom", "deepseek", "smollm", "olmo"),
    *("granite", "gpt", "bert", "pythia", "stablelm", "starcoder", "internlm", "baichuan", "glm", "nemotron", "kimi"),
)


def torchtune_words(entry: Entrypoint) -> Iterator[Finding]:
    """Yield warnings about the arguments of a container that runs `tune run`. Runs on sized jobs."""
    if not entry.trains or tuple(entry.argv[:2]) != TORCHTUNE:
        return
    yield from _other_model(entry)
    builds = calls_torchtune(entry.job)
    before = tuple(map(str, (entry.info.command or ()) if builds else entry.command))
    args = tuple(map(str, entry.args))
    if builds:
        yield from _dropped_arguments(entry, args)
    if argument := _second_recipe(before, args):
        index = len(entry.command) + args.index(argument)
        message = f"the command already has a recipe before {argument!r}, and torchtune expects only key=value after the first one"
        hint = (
            "remove it together with its --config: Trainer selects the recipe by the size of the job"
            if builds
            else f"write the whole command: command: [tune, run, ...] instead of args with {argument!r}"
        )
        yield entry.finding("RecipeTwice", "error", message, hint, index)
    else:
        yield from _without_effect(entry, before, args, builds=builds)


def _second_recipe(before: Sequence[str], args: Sequence[str]) -> str:
    has_recipe, has_config = any(_RECIPE.fullmatch(word) for word in before), "--config" in before
    return next((w for w in args if _RECIPE.fullmatch(w) or (has_config and w == "--config")), "") if has_recipe else ""


def _dropped_arguments(entry: Entrypoint, args: Sequence[str]) -> Iterator[Finding]:
    """Yield a warning for settings of the runtime's command that the TrainJob's command does not keep."""
    subjects = {_subject(arg) for arg in args}
    dropped = [
        word
        for word in map(str, entry.container.command)
        if "=" in word
        and not word.startswith("-")
        and word not in (entry.info.command or ())
        and _subject(word) not in subjects
    ]
    if dropped:
        message = f"Trainer builds the command from the size of the job, without the runtime's {', '.join(dropped)}"
        hint = f"repeat the arguments to keep: args: [{', '.join(dropped)}]"
        yield entry.finding("ArgumentsDropped", "warning", message, hint, 0)


def _subject(word: str) -> str:
    """Return the component that a setting configures: `dataset` for `dataset.source=parquet`."""
    return word.partition("=")[0].partition(".")[0]


def _without_effect(
    entry: Entrypoint, before: Sequence[str], args: Sequence[str], *, builds: bool
) -> Iterator[Finding]:
    recipe = next((word for word in before if _RECIPE.fullmatch(word)), "")
    requested = [arg for arg in args if arg.startswith(_LOW_RANK) and not arg.lower().endswith("=false")]
    if not requested or not recipe.startswith("full"):
        return
    message = f"{recipe} trains the full model, and {', '.join(word.partition('=')[0] for word in requested)} has no effect there"
    hint = "add command: [tune, run] to spec.trainer to use the recipe in args"
    if builds and not any(_DECIDES in arg for arg in args):
        hint = f"add {_DECIDES}=[q_proj,v_proj] to the args, which selects the LoRA recipe"
    elif builds:
        hint = "set numNodes to 1, or remove the argument: LoRA works on one node only, and since Trainer 2.1"
    yield entry.finding("LoRAIgnored", "warning", message, hint, len(entry.command) + args.index(requested[0]))


def _other_model(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for a model of Hugging Face that is not the one that the recipe is configured for.

    Only its family and its number of parameters are compared, as far as the name has them.
    """
    source = entry.job.model.storage_uri if entry.job.model is not None else None
    words = (*(entry.info.command or entry.command), *entry.args)
    config = next((str(after) for word, after in pairwise(words) if word == "--config"), "")
    expected = _CONFIG.fullmatch(config)
    if expected is None or not (source or "").lower().startswith("hf://"):
        return
    if any(str(word).startswith("model._component_=") for word in words):
        return  # A model of one's own.
    name = str(source).rpartition("/")[2].lower()
    sizes = _SIZE.findall(name)
    words_of_name = _LETTERS.findall(name)
    families = [f for f in _FAMILIES if any(word.startswith(f) or word.endswith(f) for word in words_of_name)]
    if (sizes and expected[2] not in sizes) or (families and expected[1] not in families):
        message = f"{source} is downloaded, but the recipe's configuration {config} is for another model"
        hint = f"use the runtime of this model, or a model for {config.partition('_full')[0].partition('_lora')[0]}"
        yield Finding("ModelNotOfRecipe", "warning", message, hint, ("spec", "initializer", "model", "storageUri"))

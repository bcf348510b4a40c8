"""Torchtune: adds to `tune run` the recipe, configuration and rendezvous address that fit the job's size.

Source: kubeflow/trainer pkg/runtime/framework/plugins/torch/torchtune.go and, for v2.0.1, torch.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding, Fix, Hint, remove
from trainc.ir.entrypoints import gpus, resources_per_node
from trainc.ir.info import Info
from trainc.ir.provenance import derived
from trainc.ir.release import controller_panics
from trainc.ir.trainjob import TrainJob, master_host
from trainc.kube import names
from trainc.plugins.torch import TORCHTUNE

_LORA = "model.lora_attn_modules"
_QUANTIZE = "model.quantize_base"
_DORA = "model.use_dora"
_ANY_SIZE = "llama3_3/70B"
_ONE_DEVICE_QLORA = ("llama3_2/1B", "llama3_2/3B")


def validate(job: TrainJob, info: Info, processes: int | str) -> Iterator[Finding]:
    """Yield errors for a job that torchtune cannot run, with the field paths of upstream's webhook."""
    trainer, model = job.trainer, model_of(job.runtime_name)
    if model not in info.release.torchtune_models:
        model_text = f" (model: {model})" if model else ""
        message = f"the name of runtime {job.runtime_name!r} does not contain a model that torchtune supports in Trainer {info.release.minor}{model_text}"
        hint = f"use a runtime called torchtune-<model>-<size>, with one of the models {', '.join(info.release.torchtune_models)}"
        yield Finding("UnsupportedModel", "error", message, hint, ("spec", "runtimeRef", "name"))
    requested = info.nodes.requested
    if requested is None and info.release.torch_checks_need_num_proc and not info.gitops:
        yield controller_panics("trainer.numNodes is not set", ("spec", "trainer"))
        return
    nodes = 1 if requested is None else requested
    if nodes > 1 and model != _ANY_SIZE:
        message = f"torchtune trains {model or 'this model'} on one node, but numNodes is {nodes}"
        hint = Hint("set numNodes to 1", Fix("set", "1", "numNodes"))
        yield Finding("TooManyNodes", "error", message, hint, ("spec", "trainer", "numNodes"))
    yield from _lora(job, info, model, nodes, processes)
    for index, arg in enumerate(trainer.args or ()):
        key = arg.partition("=")[0]
        if info.release.torchtune_kept_are_reserved and key in info.release.torchtune_kept:
            message = f"the runtime already sets {key} to the path of its volume"
            path = ("spec", "trainer", "args", index)
            yield Finding("ReservedArgument", "error", message, remove("remove this argument"), path)


def _lora(job: TrainJob, info: Info, model: str, nodes: int, processes: int | str) -> Iterator[Finding]:
    devices = gpus(resources_per_node(job, info))
    _, config = recipe_and_config(job, info, nodes, processes, devices)
    kind = lora_kind(job.trainer.args or (), info)
    if "_qlora" in config and model.startswith("qwen"):
        message = f"torchtune has no QLoRA recipe for {model}"
        hint = "remove model.quantize_base, or use a Llama runtime"
        yield Finding("UnsupportedQLoRA", "error", message, hint, ("spec", "runtimeRef", "name"))
    if config.endswith("_qlora") and model in _ONE_DEVICE_QLORA:
        hint = "request one GPU per node, or set numProcPerNode to 1"
        message = f"QLoRA on {model} runs on a single device"
        for field in ("numProcPerNode", "resourcesPerNode"):
            yield Finding("UnsupportedQLoRA", "error", message, hint, ("spec", "trainer", field))
    if nodes > 1 and kind and info.release.torchtune_lora == "parsed":
        message = f"torchtune supports LoRA on one node only; with {nodes} nodes it would train the full model"
        hint = "set numNodes to 1, or remove the model.lora_* arguments"
        yield Finding("MultiNodeLoRA", "error", message, hint, ("spec", "trainer", "numNodes"))


def command(job: TrainJob, info: Info, processes: int | str) -> tuple[str, ...]:
    """Return the full `tune run` command of a job that `calls_torchtune`."""
    nodes = info.trainer.count if info.trainer else 1
    devices = gpus(resources_per_node(job, info))
    master = master_host(job, info, names.TRAINER_PORT)
    rendezvous = info.made(f"--rdzv_endpoint={master}", master)
    tune_run = job.trainer.command or TORCHTUNE
    recipe, config = recipe_and_config(job, info, nodes, processes, devices)
    return (
        *tune_run,
        *((rendezvous,) if _needs_rendezvous(info, nodes, processes, devices) else ()),
        recipe,
        derived("--config", tune_run[0]),
        config,
        *_kept_overrides(info),
    )


def recipe_and_config(job: TrainJob, info: Info, nodes: int, processes: int | str, devices: int) -> tuple[str, str]:
    """Return the recipe and the name of its configuration for a job of this size.

    LoRA is for exactly one node: with zero or several nodes upstream uses the full distributed recipe, even if the
    arguments configure LoRA.
    """
    model, args = model_of(job.runtime_name), job.trainer.args or ()
    if nodes != 1:
        config = f"{model}_full_multinode" if nodes > 1 else f"{model}_full"
        recipe = info.made("full_finetune_distributed", rule="several nodes train the full model")
        return recipe, info.made(config, job.runtime_name, nodes)
    lora, counts_devices = lora_kind(args, info), info.release.torchtune_lora != "unknown"
    kind, single = "lora" if lora else "full", processes == 1 or (counts_devices and devices == 1)
    recipe = f"{kind}_finetune_{'single_device' if single else 'distributed'}"
    config = f"{model}_{lora or 'full'}{'_single_device' if single else ''}"
    if not info.traced:
        return recipe, config
    quantized = _is_mentioned(args, _QUANTIZE)
    words = (_LORA, *((_QUANTIZE, _DORA) if quantized else ())) if counts_devices else ()
    read: list[object] = [arg for arg in args if any(_is_mentioned((arg,), word) for word in words)]
    if counts_devices and devices == 1:
        read += () if processes == 1 else (devices,)
    else:
        read += (processes,) if processes == 1 else (processes, devices)
    sized = (nodes,) if not config.endswith("_full") or _ANY_SIZE in config else ()
    return info.made(recipe, *((nodes,) if lora else ()), *read), info.made(config, job.runtime_name, *sized, *read)


def lora_kind(args: tuple[str, ...], info: Info) -> str:
    """Return the low-rank adaptation that the arguments configure: "qlora", "lora" (which includes DoRA) or ""."""
    reading = info.release.torchtune_lora
    if reading == "unknown":
        return ""
    enabled = _is_mentioned if reading == "mentioned" else _is_true
    if enabled(args, _QUANTIZE) and not enabled(args, _DORA):
        return "qlora"
    return "lora" if _is_mentioned(args, _LORA) else ""


def model_of(runtime_name: str) -> str:
    """Return the model of a runtime: "llama3_2/1B" for `torchtune-llama3.2-1b`, "" for names of another form."""
    parts = runtime_name.split("-")
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}" if len(parts) == 3 else ""


def _needs_rendezvous(info: Info, nodes: int, processes: int | str, devices: int) -> bool:
    if info.release.torch_processes == "limits then requests":
        return nodes > 1 or processes != 1
    return nodes > 1 or (processes > 1 if isinstance(processes, int) else devices > 1)


def _kept_overrides(info: Info) -> tuple[str, ...]:
    """Return the arguments of the runtime's command that upstream keeps, such as the paths of its volumes."""
    return tuple(
        word
        for pod_set in info.pod_sets
        if pod_set.ancestor == names.TRAINER
        for container in pod_set.containers
        if container.name == names.NODE
        for word in container.command
        if word.partition("=")[0] in info.release.torchtune_kept
    )


def _is_mentioned(args: tuple[str, ...], setting: str) -> bool:
    return any(setting in arg for arg in args)


def _is_true(args: tuple[str, ...], setting: str) -> bool:
    return any(
        setting in name and value.strip().lower() == "true"
        for name, separator, value in (arg.partition("=") for arg in args)
        if separator
    )

"""Validation for Torch, with the field paths of upstream's webhook.

Source: kubeflow/trainer pkg/runtime/framework/plugins/torch (Validate) at each release's tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from trainc.findings import Finding, Fix, Hint, remove
from trainc.ir.devices import ambiguous_gpus, gpus, resources_per_node
from trainc.ir.info import Info
from trainc.ir.release import controller_panics
from trainc.ir.trainjob import Trainer, TrainJob
from trainc.kube.documents import Json
from trainc.plugins.torch import RESERVED, calls_torchtune
from trainc.plugins.torch.processes import AUTO, requested_processes

_WORDS = (AUTO, "cpu", "gpu")
_ANY_SIZE = "llama3_3/70B"
_ONE_DEVICE_QLORA = ("llama3_2/1B", "llama3_2/3B")


def validate(job: TrainJob, policy: Json, info: Info) -> Iterator[Finding]:
    """Yield errors for injection targets that do not exist, and for jobs that torchtune cannot run."""
    yield from _missing_targets(info, policy)
    if info.gitops and (requested_processes(job, info) == AUTO or calls_torchtune(job)):
        yield from ambiguous_gpus(job, info)
    if policy.get("elasticPolicy") is not None:
        from trainc.plugins.torch import elastic

        yield from elastic.validate(job, info)
    if _skips_validation(job.trainer, info):
        return
    yield from _unknown_word(job.trainer)
    if calls_torchtune(job):
        yield from _torchtune(job, job.trainer, info)


def reserved(job: TrainJob, policy: Json, info: Info) -> AbstractSet[str]:
    """Return the variables of torchrun's rendezvous, including those of an elastic job if it is one."""
    if _skips_validation(job.trainer, info):
        return frozenset()
    if policy.get("elasticPolicy") is None:
        return RESERVED
    from trainc.plugins.torch import elastic

    return RESERVED if elastic.elastic_range(info) is None else RESERVED | elastic.RESERVED


def _skips_validation(trainer: Trainer, info: Info) -> bool:
    """Return whether the webhook skips validation: until 2.1 it checks nothing unless numProcPerNode is set."""
    return info.release.torch_checks_need_num_proc and trainer.num_proc_per_node is None and not info.gitops


def _missing_targets(info: Info, policy: Json) -> Iterator[Finding]:
    targets = (policy.get("envInjection") or {}).get("targets", ())
    for target in targets:
        pod_set = info.pod_set(target["jobName"])
        for name in target.get("containerNames", ()):
            if pod_set is None or pod_set.container(name) is None:
                yield Finding(
                    "EnvInjectionTargetMissing",
                    "error",
                    f"torch.envInjection lists container {name!r} of job {target['jobName']!r}, "
                    "which the runtime does not have",
                    "use a replicated job and a container of the runtime's template, or remove the entry",
                    ("spec", "runtimeRef"),
                )


def _unknown_word(trainer: Trainer) -> Iterator[Finding]:
    requested = trainer.num_proc_per_node
    if isinstance(requested, str) and requested not in _WORDS:
        yield Finding(
            "InvalidNumProcPerNode",
            "error",
            f"numProcPerNode is {requested!r}; it must be a number or one of {', '.join(_WORDS)}",
            "write a number without quotes, such as 8, or remove it to use one process per GPU",
            ("spec", "trainer", "numProcPerNode"),
        )


def _torchtune(job: TrainJob, trainer: Trainer, info: Info) -> Iterator[Finding]:
    from trainc.plugins.torch import torchtune

    model = torchtune.model_of(job.runtime_name)
    if model not in info.release.torchtune_models:
        yield Finding(
            "UnsupportedModel",
            "error",
            f"the name of runtime {job.runtime_name!r} does not contain a model that torchtune supports in Trainer {info.release.minor}"
            + (f" (model: {model})" if model else ""),
            f"use a runtime called torchtune-<model>-<size>, with one of the models {', '.join(info.release.torchtune_models)}",
            ("spec", "runtimeRef", "name"),
        )
    if trainer.num_nodes is None and info.release.torch_checks_need_num_proc and not info.gitops:
        yield controller_panics("trainer.numNodes is not set", ("spec", "trainer"))
        return
    nodes = 1 if trainer.num_nodes is None else trainer.num_nodes
    if nodes > 1 and model != _ANY_SIZE:
        yield Finding(
            "TooManyNodes",
            "error",
            f"torchtune trains {model or 'this model'} on one node, but numNodes is {nodes}",
            Hint("set numNodes to 1", Fix("set", "1", "numNodes")),
            ("spec", "trainer", "numNodes"),
        )
    yield from _lora(job, trainer, info, model, nodes)
    yield from _reserved_args(trainer, info)


def _lora(job: TrainJob, trainer: Trainer, info: Info, model: str, nodes: int) -> Iterator[Finding]:
    from trainc.plugins.torch import torchtune

    devices = gpus(resources_per_node(job, info))
    _, config = torchtune.recipe_and_config(job, info, nodes, requested_processes(job, info), devices)
    kind = torchtune.lora_kind(trainer.args or (), info)
    if "_qlora" in config and model.startswith("qwen"):
        yield Finding(
            "UnsupportedQLoRA",
            "error",
            f"torchtune has no QLoRA recipe for {model}",
            "remove model.quantize_base, or use a Llama runtime",
            ("spec", "runtimeRef", "name"),
        )
    if config.endswith("_qlora") and model in _ONE_DEVICE_QLORA:
        hint = "request one GPU per node, or set numProcPerNode to 1"
        message = f"QLoRA on {model} runs on a single device"
        for field in ("numProcPerNode", "resourcesPerNode"):
            yield Finding("UnsupportedQLoRA", "error", message, hint, ("spec", "trainer", field))
    if nodes > 1 and kind and info.release.torchtune_lora == "parsed":
        yield Finding(
            "MultiNodeLoRA",
            "error",
            f"torchtune supports LoRA on one node only; with {nodes} nodes it would train the full model",
            "set numNodes to 1, or remove the model.lora_* arguments",
            ("spec", "trainer", "numNodes"),
        )


def _reserved_args(trainer: Trainer, info: Info) -> Iterator[Finding]:
    if not info.release.torchtune_kept_are_reserved:
        return
    for index, arg in enumerate(trainer.args or ()):
        key = arg.partition("=")[0]
        if key in info.release.torchtune_kept:
            yield Finding(
                "ReservedArgument",
                "error",
                f"the runtime already sets {key} to the path of its volume",
                remove("remove this argument"),
                ("spec", "trainer", "args", index),
            )

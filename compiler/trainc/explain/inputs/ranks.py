"""Torch, JAX and XGBoost: sizes, rendezvous and ranks."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.api import names
from trainc.explain.inputs.jobset import COUNTS, trainer_env
from trainc.explain.inputs.row import Row, when
from trainc.explain.processes import devices, torch_processes
from trainc.explain.readings import (
    job_name,
    master,
    ml_policy,
    torch_nodes,
    torch_pods,
    trainer_nodes,
)
from trainc.explain.situation import Because, InJobSet, InTrainJob, Ref, Situation, jobset_path
from trainc.ir.devices import gpus, resources_per_node
from trainc.ir.env import subdomain


def _elsewhere(s: Situation) -> bool:
    """Whether the controller's fixed address would be another."""
    trainer = s.info.trainer
    return trainer is not None and (trainer.name != names.NODE or subdomain(s.job, s.info) != s.job.name)


def _no_trainer(s: Situation) -> bool:
    return s.job.trainer is None


ADDRESS = when(_elsewhere, "real-master-address")
UNASKED = when(_no_trainer, "rank-environment-without-trainer")


def _address_deviation(s: Situation) -> str:
    return ADDRESS(s) or UNASKED(s)


def _counts_deviation(s: Situation) -> str:
    asked = s.job.trainer.resources_per_node if s.job.trainer else None
    merged = s.info.trainer_container.resources if s.info.trainer_container else {}
    differs = s.info.gitops and asked is not None and asked != merged
    return "counts-from-merged-resources" if differs else UNASKED(s)


def _torchtune_word(s: Situation) -> Iterator[Ref]:
    """The words of `tune run`, each from what decides it."""
    word = str(s.value)
    if word.startswith("--rdzv_endpoint="):
        yield from master(s)
    elif word.partition("=")[0] in s.info.release.torchtune_kept:
        yield from _runtime_words(s, word)
    elif word in ("tune", "run", "--config"):
        yield InTrainJob(("spec", "trainer", "command"))
    else:
        yield from _recipe(s, names_model="/" in word)


def _recipe(s: Situation, *, names_model: bool) -> Iterator[Ref]:
    """The recipe and its configuration: the job's size and its LoRA arguments, and for the latter the model."""
    word = str(s.value)
    if names_model:
        yield InTrainJob(("spec", "runtimeRef", "name"))
    # Only one model trains on several nodes, so that for the others what is plain says nothing of them.
    if word.startswith("lora") or (names_model and (not word.endswith("_full") or "70B" in word)):
        yield from trainer_nodes(s)
    if s.info.trainer is None or s.info.trainer.count != 1:
        yield Because("several nodes train the full model")
    else:
        yield from _one_or_many(s)
        knows_lora = s.info.release.torchtune_lora != "unknown"
        if knows_lora and s.job.trainer is not None and torchtune_arguments(s.job.trainer.args or ()):
            yield InTrainJob(("spec", "trainer", "args"))


def _one_or_many(s: Situation) -> Iterator[Ref]:
    """Whether one process trains: because there is only one, or one GPU for it."""
    counts_devices = s.info.release.torchtune_lora != "unknown"
    if counts_devices and gpus(resources_per_node(s.job, s.info)) == 1:
        asked = s.job.trainer.num_proc_per_node if s.job.trainer else None
        yield from (Because("one process and one GPU"),) if asked == 1 else devices(s)
    else:
        yield from torch_processes(s)


def torchtune_arguments(args: tuple[str, ...]) -> bool:
    """Whether arguments say something about low-rank adaptation."""
    return any(arg.startswith("model.") for arg in args)


def _runtime_words(s: Situation, word: str) -> Iterator[Ref]:
    """The word of the runtime's own command that was kept."""
    trainer, container = s.info.trainer, s.info.trainer_container
    for i, kept in enumerate(container.command if container else ()):
        if trainer is not None and kept == word:
            path = jobset_path(trainer, trainer.main, "command", i)
            yield InJobSet(path) if s.origin_of(path) else Because("kept from the runtime's command")
            return


TORCH = (
    Row("...template.spec.parallelism", (torch_pods,)),
    Row("...template.spec.completions", (torch_pods,)),
    Row("...env[PET_NNODES].value", (torch_nodes,), UNASKED),
    Row("...env[PET_RDZV_ENDPOINT].value", (master,)),
    Row("...env[PET_RDZV_ID].value", (job_name,)),
    Row("...env[PET_RDZV_BACKEND]", (ml_policy("torch", "elasticPolicy"),)),
    Row("...env[PET_MAX_RESTARTS].value", (ml_policy("torch", "elasticPolicy", "maxRestarts"),)),
    Row("spec.failurePolicy.maxRestarts", (ml_policy("torch", "elasticPolicy", "maxRestarts"),)),
    Row("...env[PET_NPROC_PER_NODE].value", (torch_processes,), _counts_deviation),
    Row("...env[PET_MASTER_ADDR].value", (master,), _address_deviation),
    Row("...env[PET_*]", (ml_policy("torch"),), UNASKED),
    Row("...ports", (ml_policy("torch"),), UNASKED),
    Row("...command", (_torchtune_word,)),
    Row("...env", (trainer_env,)),
)

JAX = (
    *COUNTS,
    Row("...env[JAX_NUM_PROCESSES].value", (trainer_nodes,), UNASKED),
    Row("...env[JAX_COORDINATOR_ADDRESS].value", (master,), _address_deviation),
    Row("...env[JAX_*]", (ml_policy("jax"),), UNASKED),
    Row("...ports", (ml_policy("jax"),), UNASKED),
    Row("...env", (trainer_env,)),
)

XGBOOST = (
    *COUNTS,
    Row("...env[DMLC_TRACKER_URI].value", (master,), _address_deviation),
    Row("...env[DMLC_NUM_WORKER].value", (trainer_nodes, devices), _counts_deviation),
    Row("...env[DMLC_*]", (ml_policy("xgboost"),), UNASKED),
    Row("...ports", (ml_policy("xgboost"),), UNASKED),
)

"""What `explain` says about Torch: sizes, rendezvous, ranks and torchtune's arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.findings import Path
from trainc.ir.devices import gpus, is_gpu, resources_per_node
from trainc.kube.documents import Json
from trainc.plugins.rows import (
    WITHOUT_TRAINER,
    FixedRule,
    JobSetField,
    Reading,
    Ref,
    Row,
    Rows,
    RuntimeField,
    Situation,
    TrainJobField,
    address_deviation,
    amount,
    cores,
    counts_deviation,
    devices,
    job_name,
    jobset_path,
    master,
    ml_policy,
    nodes,
    processes,
    trainer_env,
    trainer_nodes,
)
from trainc.plugins.torch.passes import AUTO, counts_cpus, requested_processes

_POLICY: Path = ("spec", "mlPolicy")
_TRAINER: Path = ("spec", "trainer")


def _elastic(*bounds: str) -> Reading:
    """Read the given bounds of the elastic policy or, if none of them is set, the inputs of numNodes."""

    def refs(s: Situation) -> Iterator[Ref]:
        policy = _elastic_policy(s) or {}
        fields = [RuntimeField((*_POLICY, "torch", "elasticPolicy", bound)) for bound in bounds if bound in policy]
        yield from fields or nodes(s)

    return refs


def _elastic_policy(s: Situation) -> Json | None:
    """Return the policy of a job that has a range of nodes, or None."""
    return (s.info.policy("torch") or {}).get("elasticPolicy") if s.info.gitops else None


def _nodes(s: Situation) -> Iterable[Ref]:
    """Return the inputs of PET_NNODES, which is a range or a number."""
    return trainer_nodes(s) if _elastic_policy(s) is None else _elastic("minNodes", "maxNodes")(s)


def _pods(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of the initial number of pods: numNodes, else the minimum of an elastic job."""
    policy = _elastic_policy(s)
    if policy is None or s.info.nodes.path:
        yield from nodes(s)
        return
    yield from _elastic("minNodes" if "minNodes" in policy else "maxNodes")(s)


def _limits_then_requests(s: Situation, requested: int | str) -> Iterator[Ref]:
    """Yield the inputs in Trainer 2.0: limits if they decide a CPU count, else requests; without requests it is 1."""
    resources = s.job.trainer.resources_per_node
    if resources is None:
        yield from processes(s, AUTO)
        return
    for kind in ("limits", "requests"):
        amounts = resources.get(kind)
        if amounts is None:
            if kind == "requests":
                yield FixedRule("one process, because resourcesPerNode has no requests (Trainer 2.0)")
            continue
        by_cpu = counts_cpus(requested, amounts)
        if by_cpu or kind == "requests":
            yield from processes(s, AUTO)
            resource_names = [
                name for name in amounts if (by_cpu and name == "cpu") or (requested == AUTO and is_gpu(name))
            ]
            yield from (TrainJobField((*_TRAINER, "resourcesPerNode", kind, name)) for name in resource_names)
            return


def _processes(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of PET_NPROC_PER_NODE: a number that is set, else the node's GPUs or CPUs."""
    requested = requested_processes(s.info)
    if s.info.release.torch_processes == "limits then requests" and not s.info.gitops:
        yield from _limits_then_requests(s, requested)
        return
    yield from processes(s, AUTO)
    has_gpus = bool(amount(s, is_gpu))
    if requested == "cpu" or (requested == AUTO and not has_gpus):
        yield from cores(s)
    elif requested == AUTO:
        yield from devices(s)


def _torchtune_word(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of one argument of `tune run`."""
    word = str(s.value)
    if word.startswith("--rdzv_endpoint="):
        yield from master(s)
    elif word.partition("=")[0] in s.info.release.torchtune_kept:
        yield from _runtime_words(s, word)
    elif word in ("tune", "run", "--config"):
        yield TrainJobField(("spec", "trainer", "command"))
    else:
        yield from _recipe(s, names_model="/" in word)


def _recipe(s: Situation, *, names_model: bool) -> Iterator[Ref]:
    """Yield the inputs of the recipe and its configuration: the size, the LoRA arguments and, for the latter, the model."""
    word = str(s.value)
    if names_model:
        yield TrainJobField(("spec", "runtimeRef", "name"))
    # Only the 70B model has a recipe for several nodes, so the other full configurations do not depend on numNodes.
    if word.startswith("lora") or (names_model and (not word.endswith("_full") or "70B" in word)):
        yield from trainer_nodes(s)
    if s.info.trainer is None or s.info.trainer.count != 1:
        yield FixedRule("several nodes train the full model")
    else:
        knows_lora = s.info.release.torchtune_lora != "unknown"
        if knows_lora and gpus(resources_per_node(s.job, s.info)) == 1:
            alone = s.job.trainer.num_proc_per_node == 1
            yield from (FixedRule("one process and one GPU"),) if alone else devices(s)
        else:
            yield from _processes(s)
        # Arguments that configure the model include those of LoRA.
        if knows_lora and any(argument.startswith("model.") for argument in s.job.trainer.args or ()):
            yield TrainJobField(("spec", "trainer", "args"))


def _runtime_words(s: Situation, word: str) -> Iterator[Ref]:
    """Yield the argument of the runtime's own command that was kept."""
    trainer, container = s.info.trainer, s.info.trainer_container
    for i, runtime_word in enumerate(container.command if container else ()):
        if trainer is not None and runtime_word == word:
            path = jobset_path(trainer, trainer.main, "command", i)
            yield JobSetField(path) if s.is_set(path) else FixedRule("kept from the runtime's command")
            return


_PASS = (
    Row("...template.spec.parallelism", (_pods,)),
    Row("...template.spec.completions", (_pods,)),
    Row("...env[PET_NNODES].value", (_nodes,), WITHOUT_TRAINER),
    Row("...env[PET_RDZV_ENDPOINT].value", (master,)),
    Row("...env[PET_RDZV_ID].value", (job_name,)),
    Row("...env[PET_RDZV_BACKEND]", (ml_policy("torch", "elasticPolicy"),)),
    Row("...env[PET_MAX_RESTARTS].value", (ml_policy("torch", "elasticPolicy", "maxRestarts"),)),
    Row("spec.failurePolicy.maxRestarts", (ml_policy("torch", "elasticPolicy", "maxRestarts"),)),
    Row("...env[PET_NPROC_PER_NODE].value", (_processes,), counts_deviation),
    Row("...env[PET_MASTER_ADDR].value", (master,), address_deviation),
    Row("...env[PET_*]", (ml_policy("torch"),), WITHOUT_TRAINER),
    Row("...ports", (ml_policy("torch"),), WITHOUT_TRAINER),
    Row("...command", (_torchtune_word,)),
    Row("...env", (trainer_env,)),
)

ROWS: Rows = {"enforce_ml_policy": _PASS}

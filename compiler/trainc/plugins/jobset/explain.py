"""What `explain` says about the JobSet: the fields of the runtime's template that lowering and building overwrite."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.kube import names
from trainc.plugins.rows import (
    FixedRule,
    JobSetField,
    Ref,
    Row,
    Rows,
    RuntimeField,
    Situation,
    TrainJobField,
    fixed_rule,
    job_name,
    namespace,
    replicated_job,
    trainer_env,
    trainjob,
)


def _pod_count(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of pod counts during lowering: numNodes of the policy for a trainer, else the template's."""
    pod_set = s.pod_set
    if pod_set is None:
        return
    if pod_set.ancestor == names.TRAINER and s.info.ml_policy is not None:
        if "numNodes" in s.info.ml_policy:
            yield RuntimeField(("spec", "mlPolicy", "numNodes"))
        else:
            yield FixedRule("one pod, because numNodes is not set")
    elif s.path[-1] == "completions":
        parallelism = replicated_job(pod_set, "template", "spec", "parallelism")
        yield (
            JobSetField(parallelism) if s.is_set(parallelism) else FixedRule("one pod, because parallelism is not set")
        )
    else:
        yield FixedRule("one pod, because parallelism is not set")


def _copied_from_trainer(field: str, of_trainer: str) -> Row:
    """Return a row for a field that has the same structure in the TrainJob, as `of_trainer` of its trainer."""

    def refs(s: Situation) -> Iterator[Ref]:
        at = len(s.path) - 1 - s.path[::-1].index(field)
        yield TrainJobField(("spec", "trainer", of_trainer, *s.path[at + 1 :]))

    return Row(f"...{field}", (refs,), verbatim=True)


_BUILD = (
    Row("apiVersion", (fixed_rule("the same in every JobSet"),)),
    Row("kind", (fixed_rule("the same in every JobSet"),)),
    Row("metadata.name", (job_name,), verbatim=True),
    Row("metadata.namespace", (namespace,), verbatim=True),
    Row("spec.suspend", (trainjob("spec", "suspend"),), verbatim=True),
    Row("spec.replicatedJobs.*.replicas", (fixed_rule("a labeled step runs as one replica"),)),
    Row("...template.spec.parallelism", (_pod_count,), verbatim=True),
    Row("...template.spec.completions", (_pod_count,), verbatim=True),
    Row("...containers.*.image", (trainjob("spec", "trainer", "image"),), verbatim=True),
    Row("...containers.*.env", (trainer_env,), verbatim=True),
    Row("...ports", (fixed_rule("the controller replaces ports of the same name or number"),)),
    _copied_from_trainer("command", "command"),
    _copied_from_trainer("args", "args"),
    _copied_from_trainer("resources", "resourcesPerNode"),
    Row(
        f'...template.metadata.labels["{names.ANCESTOR_LABEL}"]',
        (fixed_rule("pods have the step label of their job"),),
        lambda _: "ancestor-label-injection",
    ),
)

ROWS: Rows = {"build": _BUILD}

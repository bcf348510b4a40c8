"""What `explain` says about Flux: the wrapped command, the installer, volumes and scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from trainc.kube import names
from trainc.plugins.rows import (
    FixedRule,
    JobSetField,
    Reading,
    Ref,
    Row,
    Rows,
    Situation,
    TrainJobField,
    devices,
    host_domain,
    job_name,
    jobset_path,
    ml_policy,
    namespace,
    nodes,
    processes,
    replicated_job,
)

_ON = ml_policy("flux")
_ENTRYPOINT_WORDS = 2


def _setting(name: str) -> Reading:
    """Read a variable that configures Flux: the TrainJob's, else the runtime's, else Flux's default."""

    def refs(s: Situation) -> Iterator[Ref]:
        for i, variable in enumerate(s.job.trainer.env):
            if variable["name"] == name:
                yield TrainJobField(("spec", "trainer", "env", i, "value"))
                return
        trainer, container = s.info.trainer, s.info.trainer_container
        for variable in container.env if container else ():
            if trainer is not None and variable["name"] == name:
                yield JobSetField(jobset_path(trainer, trainer.main, "env", name, "value"))
                return
        yield FixedRule(f"{name} is not set")

    return refs


def _word(s: Situation) -> Iterator[Ref]:
    """Yield the inputs of a word of the command: the entrypoint's, then those of the TrainJob or the template."""
    at = int(s.path[-1]) - _ENTRYPOINT_WORDS if isinstance(s.path[-1], int) else -1
    if at < 0:
        yield from _ON(s)
        return
    words = [origin(path) for origin, path in _original_words(s)]
    if s.info.gitops:
        words = words[at : at + 1]
    yield from words or (FixedRule("the image's own command, which trainc cannot see"),)


def _original_words(s: Situation) -> Iterator[tuple[Callable[[tuple[str | int, ...]], Ref], tuple[str | int, ...]]]:
    job_trainer, trainer, container = s.job.trainer, s.info.trainer, s.info.trainer_container
    for field in ("command", "args"):
        requested = getattr(job_trainer, field)
        sees_template = field == "command" and s.info.release.flux_sees_template_command
        if requested is not None:
            for i in range(len(requested)):
                yield TrainJobField, ("spec", "trainer", field, i)
        elif trainer is not None and container is not None and (s.info.gitops or sees_template):
            for i in range(len(container.fields.get(field, ()))):
                yield JobSetField, jobset_path(trainer, trainer.main, field, i)


def _domain(s: Situation) -> Iterable[Ref]:
    """Return the inputs of the hosts' domain. The controller uses the job's name, even if there is a subdomain."""
    return host_domain(s) if s.info.gitops else job_name(s)


def _hosts(s: Situation) -> Iterator[Ref]:
    node = s.info.pod_set_in_role(names.NODE)
    if s.info.nodes.about == "runtime" and node is not None:
        yield JobSetField(replicated_job(node, "template", "spec", "parallelism"))
    else:
        yield from nodes(s)


_PASS = (
    Row("...command", (_word,)),
    Row("...initContainers[flux-installer].image", (_setting("FLUX_VIEW_IMAGE"),)),
    Row("...volumes[*-flux-entrypoint]", (job_name,)),
    Row("...volumes[flux-curve].secret.secretName", (job_name,)),
    Row('...volumeMounts["/etc/flux-config"].name', (job_name,)),
    Row("...volumes", (_ON,)),
    Row("...volumeMounts", (_ON,)),
    Row("...initContainers[flux-installer]", (_ON,)),
)

_BUILD = (
    Row("metadata.name", (job_name,)),
    Row("metadata.namespace", (namespace,)),
    Row(
        'data["entrypoint.sh"]',
        (job_name, _hosts, processes, devices),
        lambda s: "flux-command-words" if s.info.gitops else "",
    ),
    Row(
        'data["init.sh"]',
        (job_name, namespace, _domain, _hosts, _setting("FLUX_NETWORK_DEVICE"), _setting("FLUX_QUEUE_POLICY")),
    ),
    Row("...", (_ON,)),
)

ROWS: Rows = {"enforce_ml_policy": _PASS, "build": _BUILD}

"""Rules for several values: the CEL rules of the CRDs, as functions of one struct.

A rule is called with a struct as written. Its fields have the right types, but can be null. It yields findings with
paths relative to that struct. Source: x-kubernetes-validations in the CRDs of kubeflow/trainer and jobset. Rules for a
single value that can be expressed as bounds or enums are in constraints.py. Rules for updates are out of scope.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

from trainc.api.releases import Since
from trainc.api.schema.object_meta import jobset_metadata, object_metadata, trainjob_metadata
from trainc.api.schema.scalars import quote
from trainc.diagnostics import Finding, Path
from trainc.startup.patterns import pattern

Struct: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Struct], Iterator[Finding]]

ML_POLICY = "trainer.MLPolicy"
_NPROC_WORDS = ("auto", "cpu", "gpu")
_URI = pattern(r"[A-Za-z][A-Za-z0-9+.-]*://[^\n]+")
_MAIN_CONTAINER = "node"


def one_framework(fields: Collection[str]) -> Rule:
    """Return the rule that at most one of these fields of an MLPolicy is set: a runtime has one framework."""

    def rule(policy: Struct) -> Iterator[Finding]:
        configured = [name for name in fields if policy.get(name) is not None]
        if len(configured) > 1:
            from trainc.api.schema.descriptions import DESCRIPTIONS

            place = {key: index for index, key in enumerate(DESCRIPTIONS)}
            configured.sort(key=lambda name: place.get(f"{ML_POLICY}.{name}", len(place)))
            message = f"{' and '.join(configured)} cannot be used together"
            yield Finding("MutuallyExclusivePolicies", "error", message, "keep one of them", (configured[-1],))

    return rule


def elastic_without_num_nodes(policy: Struct) -> Iterator[Finding]:
    """Reject numNodes for an elastic job, which has a range of sizes (2.0 and 2.1)."""
    torch = policy.get("torch")
    if policy.get("numNodes") is not None and torch is not None and torch.get("elasticPolicy") is not None:
        message = "numNodes cannot be used together with torch.elasticPolicy"
        hint = "remove numNodes: minNodes and maxNodes of the elastic policy set the number of nodes"
        yield Finding("ElasticWithNumNodes", "error", message, hint, ("numNodes",))


def torch_processes(torch: Struct) -> Iterator[Finding]:
    """Check that `numProcPerNode` is a positive number or one of three words (2.0 and 2.1)."""
    processes = torch.get("numProcPerNode")
    if processes is None or processes in _NPROC_WORDS or (not isinstance(processes, str) and processes > 0):
        return
    message = f"{quote(str(processes))} is not a valid number of processes"
    hint = f"write a number without quotes, such as 8, or one of {', '.join(_NPROC_WORDS)}"
    yield Finding("UnsupportedValue", "error", message, hint, ("numProcPerNode",))


def storage_uri(initializer: Struct) -> Iterator[Finding]:
    """Check that `storageUri` is empty or a URI (2.3)."""
    uri = initializer.get("storageUri")
    if uri and not _URI.match(uri):
        hint = f"add a scheme: write hf://{uri[:80]} for Hugging Face, or s3://bucket/path"
        yield Finding("InvalidStorageUri", "error", f"{quote(uri)} is not a URI", hint, ("storageUri",))


def injection_targets(target: Struct) -> Iterator[Finding]:
    """Reject the main container as an injection target, since it always gets the environment (2.3)."""
    for index, name in enumerate(target.get("containerNames") or ()):
        if name == _MAIN_CONTAINER:
            message = "container node always gets the PET_ variables and cannot be listed"
            path = ("containerNames", index)
            yield Finding("NodeAlreadyInjected", "error", message, "list only the other containers", path)


def in_order_without_depends_on(holder: Struct) -> Iterator[Finding]:
    """Reject the combination of JobSet's two ways to order jobs."""
    spec = holder.get("spec") or {}
    order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder")
    depends = [i for i, job in enumerate(spec.get("replicatedJobs") or ()) if job.get("dependsOn") is not None]
    if order == "InOrder" and depends:
        message = "startupPolicyOrder InOrder and dependsOn cannot be used together"
        hint = "keep only one of them, preferably dependsOn"
        path = ("spec", "replicatedJobs", depends[0], "dependsOn")
        yield Finding("StartupPolicyWithDependsOn", "error", message, hint, path)


def volume_claim_namespace(policy: Struct) -> Iterator[Finding]:
    """Reject namespaces in volume claim templates, which are always in the JobSet's namespace (2.2).

    The CRD's rule fails if `templates` or the metadata of one is missing, so such policies are rejected too.
    """
    if policy.get("templates") is None:
        message = "a volume claim policy needs its list of templates"
        yield Finding("MissingRequired", "error", message, "add templates, or remove the policy", ("templates",))
    for index, template in enumerate(policy.get("templates") or ()):
        if template.get("metadata") is None:
            place = ("templates", index, "metadata")
            message = "a volume claim template needs a name"
            yield Finding("MissingRequired", "error", message, "add metadata: {name: data}", place)
        if (template.get("metadata") or {}).get("namespace"):
            path = ("templates", index, "metadata", "namespace")
            message = "a volume claim template cannot have a namespace"
            hint = "remove it: the claim is created in the namespace of the JobSet"
            yield Finding("VolumeClaimNamespaceSet", "error", message, hint, path)


def sources_of_jobset_volumes(jobset: Struct) -> Iterator[Finding]:
    """Require sources in projected volumes: JobSet's webhook re-encodes the object, with null for missing ones."""
    for index, job in enumerate((jobset.get("spec") or {}).get("replicatedJobs") or ()):
        yield from _sources(job, ("spec", "replicatedJobs", index))


def sources_of_patched_volumes(trainjob: Struct) -> Iterator[Finding]:
    """Like `sources_of_jobset_volumes`, for Trainer's webhook (2.2), which only re-encodes to add `time` to patches."""
    patches = (trainjob.get("spec") or {}).get("runtimePatches") or ()
    if all(patch.get("time") is not None for patch in patches):
        return
    for index, patch in enumerate(patches):
        template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        place = ("spec", "runtimePatches", index, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for number, job in enumerate((template.get("spec") or {}).get("replicatedJobs") or ()):
            yield from _sources(job, (*place, number))


def _sources(job: Struct, place: Path) -> Iterator[Finding]:
    pods = ((job.get("template") or {}).get("spec") or {}).get("template") or {}
    for index, volume in enumerate((pods.get("spec") or {}).get("volumes") or ()):
        projected = volume.get("projected")
        if projected is not None and projected.get("sources") is None:
            path = (*place, "template", "spec", "template", "spec", "volumes", index, "projected", "sources")
            hint = "list what to project: sources: [{configMap: {name: ...}}], or remove the volume"
            yield Finding("MissingRequired", "error", "sources is missing", hint, path)


RULES = Since[tuple[Rule, ...]](
    {
        "2.0": {
            "trainer.TrainJob": (trainjob_metadata,),
            "trainer.TrainingRuntime": (object_metadata,),
            "trainer.ClusterTrainingRuntime": (object_metadata,),
            ML_POLICY: (elastic_without_num_nodes,),
            "trainer.TorchMLPolicySource": (torch_processes,),
            "trainer.JobSetTemplateSpec": (in_order_without_depends_on,),
            "jobset.JobSet": (jobset_metadata, in_order_without_depends_on, sources_of_jobset_volumes),
            "jobset.VolumeClaimPolicy": (volume_claim_namespace,),
        },
        "2.2": {
            "trainer.TrainJob": (trainjob_metadata, sources_of_patched_volumes),
        },
        "2.3": {
            "trainer.DatasetInitializer": (storage_uri,),
            "trainer.ModelInitializer": (storage_uri,),
            "trainer.EnvInjectionTarget": (injection_targets,),
        },
    }
)

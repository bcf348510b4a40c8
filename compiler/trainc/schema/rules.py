"""What the CRDs check beyond types: constraints on values, their CEL rules, and rules about runtimes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache

from trainc.findings import TEMPLATE_HINT, Finding, Fix, Hint, Path, remove, write
from trainc.kube.documents import JOBS, POD_SPEC, Json, pod_spec_of
from trainc.kube.names import (
    ANCESTOR_LABEL,
    DATASET_INITIALIZER,
    LABEL_LIMIT,
    LAUNCHER,
    MODEL_INITIALIZER,
    NODE,
    SUBDOMAIN_LIMIT,
    TRAINER,
    is_dns1035_label,
    is_dns1123_label,
    is_label_key,
    is_label_value,
    is_subdomain,
    length,
    suggest_name,
)
from trainc.kube.releases import Since
from trainc.schema.shapes import Struct, definition, keywords, quote
from trainc.startup.patterns import pattern
from trainc.startup.typing import Any, TypeAlias

_ANNOTATIONS_TOTAL = 256 * 1024

_NAME = ("metadata", "name")
_LOWERCASE = "lowercase letters, digits and '-', starting and ending with a letter or digit"


def trainjob_metadata(trainjob: Json) -> Iterator[Finding]:
    """Check the metadata of a TrainJob, whose name must be an RFC 1035 label because host names contain it.

    The webhook enforces this in 2.0, and CEL in the CRD since 2.1; both reject the same names.
    """
    metadata = trainjob.get("metadata") or {}
    generated = metadata.get("generateName")
    yield from _required_name(
        metadata,
        "replace generateName with name: a job in git needs its final name; --name-hash changes it with every change of the job"
        if generated
        else "add the name of this job under metadata, such as name: llm",
    )
    name = metadata.get("name")
    if name and len(name) > LABEL_LIMIT:
        message = f"the name has {len(name)} characters; at most {LABEL_LIMIT} are allowed"
        yield Finding("InvalidName", "error", message, f"shorten it by {len(name) - LABEL_LIMIT} characters", _NAME)
    if name and not is_dns1035_label(name):
        rule = "lowercase letters, digits and '-', starting with a letter and ending with a letter or digit"
        message = f"{quote(name)} is not a valid TrainJob name"
        yield Finding("InvalidName", "error", message, _name_hint(name, rule, letter_first=True), _NAME)
    yield from _object_meta(metadata)


def object_metadata(document: Json) -> Iterator[Finding]:
    """Check the metadata of a runtime."""
    metadata = document.get("metadata") or {}
    yield from _required_name(metadata, "add a name under metadata, such as name: my-runtime: TrainJobs refer to it")
    yield from _subdomain_name(metadata)
    yield from _object_meta(metadata)


def jobset_metadata(jobset: Json) -> Iterator[Finding]:
    """Check the metadata of a JobSet, where the API server supports `generateName`."""
    metadata = jobset.get("metadata") or {}
    if not metadata.get("generateName"):
        yield from _required_name(metadata, "add metadata.name or metadata.generateName")
    yield from _subdomain_name(metadata)
    yield from _object_meta(metadata)


def _name_hint(name: str, rule: str, *, letter_first: bool = False) -> str:
    """Return a hint with a valid name and the rule; for a template, a hint to render it."""
    from trainc.schema.unknown_fields import is_template

    if is_template(name):
        return TEMPLATE_HINT
    suggestion = suggest_name(name, letter_first=letter_first)
    return write(suggestion, f": {rule}") if suggestion else f"use {rule}"


def _required_name(metadata: Json, hint: str) -> Iterator[Finding]:
    if not metadata.get("name"):
        yield Finding("MissingRequired", "error", "metadata.name is missing", hint, _NAME)


def _subdomain_name(metadata: Json) -> Iterator[Finding]:
    name = metadata.get("name")
    if name and not is_subdomain(name):
        hint = _name_hint(name, f"{_LOWERCASE}; '.' is allowed between them")
        yield Finding("InvalidName", "error", f"{quote(name)} is not a valid name", hint, _NAME)


def _object_meta(metadata: Json) -> Iterator[Finding]:
    namespace = metadata.get("namespace")
    if namespace and not (is_dns1123_label(namespace) and len(namespace) <= LABEL_LIMIT):
        message = f"{quote(namespace)} is not a valid namespace name"
        hint = _name_hint(namespace, f"{_LOWERCASE}, at most {LABEL_LIMIT} of them")
        yield Finding("InvalidName", "error", message, hint, ("metadata", "namespace"))
    for key, value in (metadata.get("labels") or {}).items():
        if not is_label_key(key):
            yield _malformed_key(("metadata", "labels", key))
        if value and not is_label_value(value):
            message = f"{quote(value)} is not a valid label value"
            hint = "use at most 63 letters, digits, '-', '_' and '.', or move longer text to an annotation"
            yield Finding("InvalidLabel", "error", message, hint, ("metadata", "labels", key))
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        if not is_label_key(key.lower()):
            yield _malformed_key(("metadata", "annotations", key))
    size = sum(length(key) + length(value or "") for key, value in annotations.items())
    if size > _ANNOTATIONS_TOTAL:
        message = f"the annotations have {size} bytes in all; at most {_ANNOTATIONS_TOTAL} are allowed"
        yield Finding("TooLong", "error", message, "move data to a ConfigMap", ("metadata", "annotations"))


def _malformed_key(path: Path) -> Finding:
    message = f"{quote(str(path[-1]))} is not a valid key for a label or annotation"
    hint = "use at most 63 letters, digits, '-', '_' and '.', with or without a DNS prefix, as in acme.io/team"
    return Finding("InvalidLabel", "error", message, hint, path)


# Rules for several values: the CEL rules of the CRDs, as functions of one struct.
#
# A rule is called with a struct as written. Its fields have the right types, but can be null. It yields findings with
# paths relative to that struct. Source: x-kubernetes-validations in the CRDs of kubeflow/trainer and jobset. Rules
# for a single value that can be expressed as bounds or enums are in constraints.py. Rules for updates are out of
# scope.


Policy: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Policy], Iterator[Finding]]

ML_POLICY = "trainer.MLPolicy"
_NPROC_WORDS = ("auto", "cpu", "gpu")
_URI = pattern(r"[A-Za-z][A-Za-z0-9+.-]*://[^\n]+")


def one_framework(fields: Collection[str]) -> Rule:
    """Return the rule that at most one of these fields of an MLPolicy is set: a runtime has one framework."""

    def rule(policy: Policy) -> Iterator[Finding]:
        configured = [name for name in fields if policy.get(name) is not None]
        if len(configured) > 1:
            from trainc.schema.descriptions import DESCRIPTIONS

            rank = {key: index for index, key in enumerate(DESCRIPTIONS)}
            configured.sort(key=lambda name: rank.get(f"{ML_POLICY}.{name}", len(rank)))
            message = f"{' and '.join(configured)} cannot be used together"
            yield Finding("MutuallyExclusivePolicies", "error", message, "keep one of them", (configured[-1],))

    return rule


def elastic_without_num_nodes(policy: Policy) -> Iterator[Finding]:
    """Reject numNodes for an elastic job, which has a range of sizes (2.0 and 2.1)."""
    torch = policy.get("torch")
    if policy.get("numNodes") is not None and torch is not None and torch.get("elasticPolicy") is not None:
        message = "numNodes cannot be used together with torch.elasticPolicy"
        hint = remove("remove numNodes: minNodes and maxNodes of the elastic policy set the number of nodes")
        yield Finding("ElasticWithNumNodes", "error", message, hint, ("numNodes",))


def torch_processes(torch: Policy) -> Iterator[Finding]:
    """Check that `numProcPerNode` is a positive number or one of three words (2.0 and 2.1)."""
    processes = torch.get("numProcPerNode")
    if processes is None or processes in _NPROC_WORDS or (not isinstance(processes, str) and processes > 0):
        return
    message = f"{quote(str(processes))} is not a valid number of processes"
    hint = f"write a number without quotes, such as 8, or one of {', '.join(_NPROC_WORDS)}"
    yield Finding("UnsupportedValue", "error", message, hint, ("numProcPerNode",))


def storage_uri(initializer: Policy) -> Iterator[Finding]:
    """Check that `storageUri` is empty or a URI (2.3)."""
    uri = initializer.get("storageUri")
    if uri and not _URI.match(uri):
        address = uri[:80].replace(":/", "://", 1) if ":/" in uri else f"hf://{uri.removeprefix('hf:')[:80]}"
        hint = Hint(f"write {address}{', or s3://bucket/path' * (':/' not in uri)}", Fix("set", address))
        yield Finding("InvalidStorageUri", "error", f"{quote(uri)} is not a URI", hint, ("storageUri",))


def injection_targets(target: Policy) -> Iterator[Finding]:
    """Reject the main container as an injection target, since it always gets the environment (2.3)."""
    for index, name in enumerate(target.get("containerNames") or ()):
        if name == NODE:
            message = "container node always gets the PET_ variables and cannot be listed"
            path = ("containerNames", index)
            yield Finding("NodeAlreadyInjected", "error", message, "list only the other containers", path)


def in_order_without_depends_on(holder: Policy) -> Iterator[Finding]:
    """Reject the combination of JobSet's two ways to order jobs."""
    spec = holder.get("spec") or {}
    order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder")
    depends = [i for i, job in enumerate(spec.get("replicatedJobs") or ()) if job.get("dependsOn") is not None]
    if order == "InOrder" and depends:
        message = "startupPolicyOrder InOrder and dependsOn cannot be used together"
        hint = "keep only one of them, preferably dependsOn"
        path = ("spec", "replicatedJobs", depends[0], "dependsOn")
        yield Finding("StartupPolicyWithDependsOn", "error", message, hint, path)


def volume_claim_namespace(policy: Policy) -> Iterator[Finding]:
    """Reject namespaces in volume claim templates, which are always in the JobSet's namespace (2.2).

    The CRD's rule fails if `templates` or the metadata of one is missing, so such policies are rejected too.
    """
    if policy.get("templates") is None:
        message = "a volume claim policy needs its list of templates"
        yield Finding("MissingRequired", "error", message, "add templates, or remove the policy", ("templates",))
    for index, template in enumerate(policy.get("templates") or ()):
        if template.get("metadata") is None:
            message, hint = "a volume claim template needs a name", write("{name: data}", field="metadata", verb="add")
            yield Finding("MissingRequired", "error", message, hint, ("templates", index, "metadata"))
        elif template["metadata"].get("namespace"):
            message = "a volume claim template cannot have a namespace"
            hint = remove("remove it: the claim is created in the namespace of the JobSet")
            path = ("templates", index, "metadata", "namespace")
            yield Finding("VolumeClaimNamespaceSet", "error", message, hint, path)


def sources_of_jobset_volumes(jobset: Policy) -> Iterator[Finding]:
    """Require sources in projected volumes: JobSet's webhook re-encodes the object, with null for missing ones."""
    for index, job in enumerate((jobset.get("spec") or {}).get("replicatedJobs") or ()):
        yield from _sources(job, ("spec", "replicatedJobs", index))


def sources_of_patched_volumes(trainjob: Policy) -> Iterator[Finding]:
    """Like `sources_of_jobset_volumes`, for Trainer's webhook (2.2), which only re-encodes to add `time` to patches."""
    patches = (trainjob.get("spec") or {}).get("runtimePatches") or ()
    if all(patch.get("time") is not None for patch in patches):
        return
    for index, patch in enumerate(patches):
        template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        jobs = ("spec", "runtimePatches", index, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")
        for number, job in enumerate((template.get("spec") or {}).get("replicatedJobs") or ()):
            yield from _sources(job, (*jobs, number))


def _sources(job: Policy, job_path: Path) -> Iterator[Finding]:
    pods = ((job.get("template") or {}).get("spec") or {}).get("template") or {}
    for index, volume in enumerate((pods.get("spec") or {}).get("volumes") or ()):
        projected = volume.get("projected")
        if projected is not None and projected.get("sources") is None:
            path = (*job_path, *POD_SPEC, "volumes", index, "projected", "sources")
            hint = "list what to project: sources: [{configMap: {name: ...}}], or remove the volume"
            yield Finding("MissingRequired", "error", "sources is missing", hint, path)


def claims_per_node(trainer: Policy) -> Iterator[Finding]:
    """Check the names of claims per node, and keep claims out of resourcesPerNode (2.4)."""
    for index, claim in enumerate(trainer.get("resourceClaimsPerNode") or ()):
        for field, longest in (("name", LABEL_LIMIT), ("resourceClaimTemplateName", SUBDOMAIN_LIMIT)):
            if not is_dns1123_label(name := claim.get(field) or "") or length(name) > longest:
                message = f"{quote(name)} is not a valid name of a claim"
                hint = f"use at most {longest} lowercase letters, digits and '-', with a letter or digit first and last"
                yield Finding("InvalidName", "error", message, hint, ("resourceClaimsPerNode", index, field))
    resources = trainer.get("resourcesPerNode") or {}
    if resources.get("claims"):
        message = "resourcesPerNode cannot have claims"
        hint = remove(
            "name the ResourceClaimTemplate instead: resourceClaimsPerNode: "
            "[{name: gpus, resourceClaimTemplateName: NAME}]"
        )
        yield Finding("NotAllowedHere", "error", message, hint, ("resourcesPerNode", "claims"))


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
        "2.2": {"trainer.TrainJob": (trainjob_metadata, sources_of_patched_volumes)},
        "2.3": {
            "trainer.DatasetInitializer": (storage_uri,),
            "trainer.ModelInitializer": (storage_uri,),
            "trainer.EnvInjectionTarget": (injection_targets,),
        },
        "2.4": {"trainer.Trainer": (claims_per_node,)},
    }
)


def integer_bounds(key: str, release: str) -> tuple[int, int]:
    """Return the smallest and the largest allowed value of the integer field `key`."""
    words = keywords(release).get(key, {})
    bits = 63 if words.get("format") == "int64" else 31
    return words.get("minimum", -(1 << bits)), (1 << bits) - 1


@cache
def rules_of(release: str) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of `release` by definition.

    Each struct in an MLPolicy belongs to a framework, and they are mutually exclusive.
    """
    rules = RULES.at(release)
    fields = definition(release, ML_POLICY).fields
    frameworks = [field for field, shape in fields.items() if isinstance(shape, Struct)]
    return {**rules, ML_POLICY: (one_framework(frameworks), *rules[ML_POLICY])}


# Rules of Trainer's runtime webhooks for jobs with an ancestor label.
#
# Source: kubeflow/trainer pkg/webhooks/trainingruntime_webhook.go and clustertrainingruntime_webhook.go.


# The required container in jobs of each ancestor step.
REQUIRED_CONTAINER = Since[str](
    {"2.1": {TRAINER: NODE, DATASET_INITIALIZER: DATASET_INITIALIZER, MODEL_INITIALIZER: MODEL_INITIALIZER}}
)
# Jobs that must have one replica regardless of their label.
ONE_REPLICA = Since[bool]({"2.0": {LAUNCHER: True}, "2.1": {LAUNCHER: False}})
# Labels, with their values, that exempt a runtime from the webhook.
EXEMPT = Since[str]({"2.3": {"trainer.kubeflow.org/webhook-validation": "disabled"}})

# The longest name of a job.
LONGEST_JOB_NAME = Since[int]({"2.0": {"name": LABEL_LIMIT}, "2.4": {"name": 20}})
# Whether claims of containers must be among those of their pods.
CLAIMS_CHECKED = Since[bool]({"2.0": {"": False}, "2.4": {"": True}})

_STEPS = (TRAINER, DATASET_INITIALIZER, MODEL_INITIALIZER)


def runtime_rules(document: Json, release: str) -> list[Finding]:
    """Return all reasons why the webhook of `release` would reject a runtime with a valid schema.

    Runtimes with a label that exempts them from the webhook (since 2.3, all shipped runtimes) have none.
    """
    spec = ((document.get("spec") or {}).get("template") or {}).get("spec") or {}
    jobs = [((*JOBS, index), job) for index, job in enumerate(spec.get("replicatedJobs") or ())]
    findings = [finding for path, job in jobs for finding in _long_name(job["name"], path, release)]
    labels = document["metadata"].get("labels") or {}
    if any(labels.get(label) == value for label, value in EXEMPT.at(release).items()):
        return findings
    return [*findings, *(finding for path, job in jobs for finding in _job_rules(job, path, release))]


def _long_name(name: str, path: Path, release: str) -> Iterator[Finding]:
    longest = LONGEST_JOB_NAME.at(release)["name"]
    if length(name) > longest:
        message = f"the name of job {name} has {length(name)} characters; Trainer {release} allows {longest}"
        hint = f"choose a name of at most {longest} characters, here and in each dependsOn and policy that has it"
        yield Finding("TooLong", "error", message, hint, (*path, "name"), "runtime")


def unknown_claims(pod_spec: Json) -> Iterator[tuple[str, Path, str]]:
    """Yield each claim of a container that is not among its pod's: the container, the path of the claim, and its name."""
    declared = {claim["name"] for claim in pod_spec.get("resourceClaims") or ()}
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(pod_spec.get(kind) or ()):
            for number, claim in enumerate((container.get("resources") or {}).get("claims") or ()):
                if claim["name"] not in declared:
                    yield container["name"], (kind, index, "resources", "claims", number), claim["name"]


def _job_rules(job: Json, path: Path, release: str) -> Iterator[Finding]:
    for _, place, name in unknown_claims(pod_spec_of(job)) if CLAIMS_CHECKED.at(release)[""] else ():
        message = f"the claim {name!r} is not among the resourceClaims of the pod"
        hint = f"add it to the pod's spec: resourceClaims: [{{name: {name}, resourceClaimTemplateName: NAME}}]"
        yield Finding("NotInPod", "error", message, hint, (*path, *POD_SPEC, *place), "runtime")
    template = job["template"]
    ancestor = ((template.get("metadata") or {}).get("labels") or {}).get(ANCESTOR_LABEL, "")
    single = ancestor in _STEPS or ONE_REPLICA.at(release).get(job["name"], False)
    replicas = job.get("replicas")
    if single and replicas not in (None, 1):
        message = f"job {job['name']} has {replicas} replicas; only 1 is supported"
        hint = write(1, "; for more pods, use numNodes in mlPolicy or in the TrainJob", field="replicas", verb="set")
        yield Finding("ReplicasNotOne", "error", message, hint, (*path, "replicas"), "runtime")
    required = REQUIRED_CONTAINER.at(release).get(ancestor)
    containers = pod_spec_of(job).get("containers") or ()
    if required is not None and all(container["name"] != required for container in containers):
        message = f"job {job['name']} has the ancestor label {ancestor}, but no container called {required}"
        hint = f"rename its main container to {required}, or remove the label"
        path = (*path, *POD_SPEC, "containers")
        yield Finding("MissingAncestorContainer", "error", message, hint, path, "runtime")

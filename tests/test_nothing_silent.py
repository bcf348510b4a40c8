"""Nothing is dropped in silence: whatever field is set, the output shows it or a diagnostic speaks of it.

Every leaf of every schema is given two values in a job that is otherwise the same. A field passes if the two outputs
differ, or if each value is spoken of: by a diagnostic whose path leads to the field or which names it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from builders import container, job, runtime, trainjob
from schema_leaves import Json, Leaf, edges, leaves, values, with_value

from trainc import CompileError, Diagnostic, Options, compile_trainjob
from trainc.kube.releases import RELEASES
from trainc.schema.shapes import defaults_of

POLICIES: dict[str, Json | None] = {
    "none": None,
    "plain": {"numNodes": 1},
    "torch": {"torch": {}},
    "mpi": {"mpi": {}},
    "mpi, the launcher a node": {"mpi": {"runLauncherAsNode": True}},
    "jax": {"jax": {}},
    "xgboost": {"xgboost": {}},
    "flux": {"flux": {}},
}
SINCE_2_2 = ("jax", "xgboost", "flux")
STEPS = ("dataset-initializer", "model-initializer")


def initializer(step: str) -> Json:
    mounted = container(step, volumeMounts=[{"name": "initializer", "mountPath": "/w"}])
    return job(step, step, [mounted], pod={"volumes": [{"name": "initializer", "emptyDir": {}}]})


def surroundings(kind: str, policy: str, release: str, initializes: str) -> tuple[Json, Json]:
    """A TrainJob and a runtime in which every field could do something; one container `initializes`."""
    mounts = [{"name": "data", "mountPath": "/data"}] if release >= "2.2" else []
    main = [container(name) for name in ("node", "other", "more") if name != initializes]
    main = [{**each, "volumeMounts": mounts} if mounts else each for each in main]
    pod = {"restartPolicy": "Never", "initContainers": [container(initializes)]}
    trains = [job("node", containers=main, pod=pod)]
    if policy.startswith("mpi"):
        trains = [job("launcher"), job("node", None, main, pod=pod)]
    claims: Json = (
        {"volumeClaimPolicies": [{"templates": [{"metadata": {"name": "data"}, "spec": {}}]}]} if mounts else {}
    )
    return trainjob({"numNodes": 2} if (kind, policy) == ("TrainJob", "flux") else {}), runtime(
        *trains, *map(initializer, STEPS), policy=POLICIES[policy], **claims
    )


def outcome(trainjob: Json, runtime: Json, options: Options) -> tuple[Any, list[Diagnostic]]:
    try:
        compiled = compile_trainjob(trainjob, [runtime], options)
    except CompileError as error:
        return None, error.diagnostics
    return compiled.manifests, compiled.diagnostics


def silent(kind: str, policy: str, options: Options, paths: str = "") -> Iterator[str]:
    """The leaves whose path matches `paths` that neither the output nor a diagnostic shows, each with a value."""
    release = str(options.release)
    kinds = ("TrainJob", "ClusterTrainingRuntime")
    unsets: dict[str, Any] = {}
    # A patch speaks of the container `other`, which is one or the other, as no two may have one name.
    bases = {
        name: dict(zip(kinds, surroundings(kind, policy, release, name), strict=True)) for name in ("first", "other")
    }

    def compiled(document: Json) -> tuple[Any, list[Diagnostic]]:
        changed = {**documents, kind: document}
        return outcome(changed["TrainJob"], changed["ClusterTrainingRuntime"], options)

    for leaf in leaves(kind, release):
        if re.search(paths, str(leaf)):
            base = "other" if "initContainers" in leaf.path else "first"
            documents = bases[base]
            if base not in unsets:
                unsets[base] = compiled(documents[kind])[0]
            unset = unsets[base]
            assert unset is not None or options.semantics == "controller"
            tried = (*values(leaf, release), *edges(leaf))
            made = [compiled(with_value(documents[kind], leaf, value, release, kind)) for value in tried]
            # The first two are compared with each other, what might be clamped with what it would become.
            clamped = compiled(with_value(documents[kind], leaf, 1, release, kind))[0] if edges(leaf) else None
            others = [made[1][0], made[0][0], *(clamped for _ in edges(leaf))]
            for value, (manifests, reported), other in zip(tried, made, others, strict=True):
                shown = manifests is not None and manifests != (unset if other is None else other)
                is_reported = spoken_of(leaf, reported) or refused_by_the_api_server(reported)
                if not (shown or is_reported or value == default_of(leaf, release)):
                    errors = sorted({d.code for d in reported if d.severity == "error"})
                    yield f"{leaf}: {value}: {' '.join(errors) or 'not a word'}"
                    break


def refused_by_the_api_server(diagnostics: list[Diagnostic]) -> bool:
    """A field that needs others beside it makes a pod that is refused; with `controller` semantics it is compiled."""
    return any(d.severity == "error" and d.object.startswith("JobSet ") for d in diagnostics)


def default_of(leaf: Leaf, release: str) -> Any:
    definition, _, field = leaf.key.rpartition(".")
    return defaults_of(release).get(definition, {}).get(field)


def spoken_of(leaf: Leaf, diagnostics: list[Diagnostic]) -> bool:
    path = ".".join(str(step) for step in leaf.path if step != 0)
    # What is said of a built object has its path in there.
    return any(_speaks_of(path, d) or _speaks_of(path.removeprefix("spec.template."), d) for d in diagnostics)


def _speaks_of(path: str, diagnostic: Diagnostic) -> bool:
    place = re.sub(r"\[\d+\]", "", diagnostic.path).replace('["', ".").replace('"]', "")
    rest = path.removeprefix(f"{place}.").split(".")
    named = place and path.startswith(f"{place}.") and any(step in diagnostic.message for step in rest)
    listed = any(code == diagnostic.code and re.search(part, path) for code, part in SPEAKS_OF)
    return bool(path == place or place.startswith(f"{path}.") or named or listed)


# Diagnostics that point elsewhere, to where a defect shows, and speak of all fields whose path matches.
SPEAKS_OF = (
    ("ControllerPanics", r"^spec\.(podGroupPolicy|mlPolicy\.(flux|numNodes))"),
    ("DependsOnFirstJob", r"dependsOn"),
    ("ElasticWithNumNodes", r"elasticPolicy"),
    ("FeatureGateOff", r"[cC]laims"),
    ("FieldIgnored", r"^metadata\.ownerReferences\."),
    ("MetadataNotPropagated", r"^metadata\.(labels|annotations)\."),
    ("MissingRequired", r"volumes\.projected\."),
    ("MissingAncestorContainer", r"containers\.name$"),
    ("NotAllowedHere", r"resourcesPerNode\.claims"),
    ("NotInPod", r"resources\.claims"),
    ("OutOfRange", r"^spec\.(trainer|mlPolicy)\.numNodes$"),
    ("ResourceClaimsLost", r"resourcesPerNode\.claims"),
    ("ResourcesIgnored", r"resourcesPerNode"),
    ("ElasticMetricsNotEmitted", r"elasticPolicy\.metrics"),
    ("ElasticPolicyIgnored", r"elasticPolicy"),
    ("ElasticRangeInvalid", r"elasticPolicy"),
    ("EnvInjectionTargetMissing", r"envInjection"),
    ("MutuallyExclusivePolicies", r"^spec\.mlPolicy\."),
    ("OutOfRange", r"\.numNodes$"),
    ("RuntimeNotFound", r"^metadata\.name$"),
    ("UnnamedPortsLost", r"\.ports\."),
    ("VolumeClaimNotMounted", r"volumeClaimPolicies.*metadata\.name"),
)
# Fields that may be set in silence, and why.
EXCEPTIONS = {
    "TrainJob": {
        r"^(apiVersion|kind)$": "they have one valid value",
        r"^spec\.runtimePatches\.0\.manager$": "it says who patches; what and in which order, the list itself says",
        r"(targetJobs|replicatedJobs|[cC]ontainers)\.0\.name$": "it says what is patched; alone it patches nothing",
    },
    "ClusterTrainingRuntime": {
        r"^(apiVersion|kind)$": "they have one valid value",
        r"^metadata\.": "it describes the runtime; a job is made from the spec alone",
    },
}
CONTROLLER_EXCEPTIONS = {
    r"fieldRef\.apiVersion$": "v1 is the only valid value, and what the API server fills in where the controller drops it"
}
# What the controller's semantics change is the same in the releases between.
# `make growth` tries every release; a run of all tests the first, and the two that people come from and go to.
TRIED = RELEASES if os.environ.get("TRAINC_RELEASES") == "all" else (RELEASES[0], *RELEASES[-2:])
ALL = [(release, "gitops") for release in TRIED] + [(release, "controller") for release in (RELEASES[0], RELEASES[-1])]


def unexpected(kind: str, policy: str, release: str, semantics: Any, paths: str) -> list[str]:
    options = Options(release=release, semantics=semantics)
    excepted = [*EXCEPTIONS[kind], *(CONTROLLER_EXCEPTIONS if semantics == "controller" else ())]
    return [
        found
        for found in silent(kind, policy, options, paths)
        if not any(re.search(pattern, found.partition(":")[0]) for pattern in excepted)
    ]


# What goes into the pods as it is, is most of a schema and the same in all releases and semantics: once is enough.
PASSED_ON = r"^spec\..*\.(volumes|affinity|initContainers|ephemeralContainers|securityContext)\."


def paths_of(release: str, semantics: str) -> str:
    return "" if (release, semantics) == (RELEASES[-1], "gitops") else f"^(?!{PASSED_ON})"


@pytest.mark.parametrize(("release", "semantics"), ALL)
def test_no_field_of_a_trainjob_is_silent(release: str, semantics: str) -> None:
    assert unexpected("TrainJob", "torch", release, semantics, paths_of(release, semantics)) == []


@pytest.mark.parametrize(("release", "semantics"), ALL)
def test_no_field_of_a_runtime_is_silent(release: str, semantics: str) -> None:
    assert unexpected("ClusterTrainingRuntime", "torch", release, semantics, paths_of(release, semantics)) == []


@pytest.mark.parametrize(("release", "semantics"), [pair for pair in ALL if pair[0] in (RELEASES[0], RELEASES[-1])])
@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "torch"])
def test_no_field_is_silent_with_another_policy(policy: str, release: str, semantics: str) -> None:
    if policy in SINCE_2_2 and release < "2.2":
        return
    beside_patches = r"^spec\.(?!runtimePatches|podTemplateOverrides|podSpecOverrides)"
    assert unexpected("TrainJob", policy, release, semantics, beside_patches) == []
    assert unexpected("ClusterTrainingRuntime", policy, release, semantics, r"^spec\.(mlPolicy|podGroupPolicy)") == []

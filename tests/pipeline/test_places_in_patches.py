"""A finding about something that a patch wrote is shown in the patch, whether or not the runtime has that part."""

from __future__ import annotations

from typing import Any

from builders import job, runtime, trainjob
from tables import cases

from trainc import CompileError, Diagnostic, Options, compile_trainjob
from trainc.findings import Finding, Path, format_path
from trainc.ir.release import release_facts
from trainc.kube.documents import JOBS as PODS_OF_RUNTIME
from trainc.pipeline.patches import apply_patches, at_patch, read_patches

Json = dict[str, Any]
TOPOLOGY = "kueue.x-k8s.io/podset-unconstrained-topology"
MISSPELT = "kueue.x-k8s.io/podset-required-topolog"
JOBS = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0]"
IN_RUNTIME = "spec.template.spec.replicatedJobs[0]"


def patches(*templates: Json, metadata: Json | None = None) -> list[Json]:
    """A patch of the job `node` for each template."""
    return [
        {
            "manager": f"acme.io/{number}",
            "trainingRuntimeSpec": {
                "template": {
                    **({"metadata": metadata} if metadata else {}),
                    "spec": {"replicatedJobs": [{"name": "node", "template": template}]},
                }
            },
        }
        for number, template in enumerate(templates)
    ]


def of_pods(**metadata: Any) -> Json:
    return {"spec": {"template": {"metadata": metadata}}}


def found(code: str, written: list[Json], *jobs: Json, **fields: Any) -> list[Diagnostic]:
    document = trainjob({}, runtimePatches=written, **fields)
    document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    try:
        diagnostics = compile_trainjob(document, [runtime(*jobs)], Options(release="2.3")).diagnostics
    except CompileError as error:
        diagnostics = list(error.diagnostics)
    return [diagnostic for diagnostic in diagnostics if diagnostic.code == code]


def places(*arguments: Any, **fields: Any) -> list[tuple[str, str]]:
    return [(d.object.partition(" ")[0], d.path) for d in found(*arguments, **fields)]


def with_annotations(annotations: dict[str, str]) -> Json:
    made = job()
    made["template"]["spec"]["template"]["metadata"] = {"annotations": annotations}
    return made


def test_a_key_that_the_runtime_has_no_mapping_for() -> None:
    written = patches(of_pods(annotations={TOPOLOGY: "maybe"}))
    at = f'{JOBS}.template.spec.template.metadata.annotations["{TOPOLOGY}"]'
    assert places("InvalidTopologyRequest", written) == [("TrainJob", at)]


def test_a_key_beside_others_of_the_runtime() -> None:
    written = patches(of_pods(annotations={MISSPELT: "rack"}))
    at = f'{JOBS}.template.spec.template.metadata.annotations["{MISSPELT}"]'
    assert places("MisspeltKueueName", written, with_annotations({"other": "x"})) == [("TrainJob", at)]


def test_a_key_of_the_runtime_beside_others_of_the_patch() -> None:
    written = patches(of_pods(annotations={"other": "x"}))
    at = f'{IN_RUNTIME}.template.spec.template.metadata.annotations["{MISSPELT}"]'
    assert places("MisspeltKueueName", written, with_annotations({MISSPELT: "rack"})) == [
        ("ClusterTrainingRuntime", at)
    ]


def test_a_value_that_a_patch_replaces_belongs_to_the_last_patch() -> None:
    written = patches(of_pods(annotations={TOPOLOGY: "perhaps"}), of_pods(annotations={TOPOLOGY: "maybe"}))
    ((_, path),) = places("InvalidTopologyRequest", written, with_annotations({TOPOLOGY: "true"}))
    assert path.startswith("spec.runtimePatches[1].")


def test_a_label_of_the_job_set() -> None:
    key = "kueue.x-k8s.io/queue-nam"
    written = patches({}, metadata={"labels": {key: "q"}})
    at = f'spec.runtimePatches[0].trainingRuntimeSpec.template.metadata.labels["{key}"]'
    assert places("MisspeltKueueName", written) == [("TrainJob", at)]


PODS = (*PODS_OF_RUNTIME, 0, "template", "spec", "template", "spec")


@cases("patched", "about", "expected")
def test_fields_of_pods(patched: Json, about: Path, expected: str | None) -> None:
    own = job(pod={"volumes": [{"name": "own", "emptyDir": {}}], "nodeSelector": {"pool": "a"}})
    document = runtime(own)
    written = read_patches({"runtimePatches": patches({"spec": {"template": {"spec": patched}}})})
    template = apply_patches(document["spec"]["template"]["spec"], written, release_facts("2.3"))
    finding = Finding("X", "error", "x", path=(*PODS, *about), about="runtime")
    placed = at_patch(finding, template, document, written)
    if expected is None:
        assert placed == finding
    else:
        of = "trainjob" if expected.startswith("spec.runtimePatches") else "runtime"
        assert (placed.about, format_path(placed.path)) == (of, expected)


def test_overrides_of_older_releases() -> None:
    override = {"targetJobs": [{"name": "node"}], "spec": {"nodeSelector": {"zone": "b"}}}
    override["metadata"] = {"annotations": {"a": "b"}}
    written = read_patches({"podTemplateOverrides": [override]})
    document = runtime(job())
    template = apply_patches(document["spec"]["template"]["spec"], written, release_facts("2.1"))
    for path, expected in (
        ((*PODS, "nodeSelector", "zone"), "spec.podTemplateOverrides[0].spec.nodeSelector.zone"),
        ((*PODS[:-1], "metadata", "annotations", "a"), "spec.podTemplateOverrides[0].metadata.annotations.a"),
    ):
        finding = Finding("X", "error", "x", path=path, about="runtime")
        assert format_path(at_patch(finding, template, document, written).path) == expected

"""`trainc krm` in both of kustomize's protocols: what goes in, what comes out, and what is said on the way."""

from __future__ import annotations

import base64
import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders import job, runtime, trainjob
from commands import Result, run

from trainc.cli import main
from trainc.features.gitops.krm.transform import transform

Json = dict[str, Any]
RULES = Path(main.__file__).parents[1] / "features" / "gitops" / "krm" / "rules"
# What kustomize adds to everything that it hands to a function.
TOOLS = {
    "alpha.config.kubernetes.io/transformations": "- configuredIn: kustomization.yaml\n",
    "config.k8s.io/id": "1",
    "config.kubernetes.io/index": "0",
    "config.kubernetes.io/local-config": "true",
    "config.kubernetes.io/origin": "path: jobs/llm.yaml\n",
    "internal.config.kubernetes.io/previousNames": "llm",
    "kustomize.config.k8s.io/id": "kind: TrainJob\nname: llm\n",
}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "yes", "b": "0400"}}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def overlay(**fields: Any) -> Json:
    return {"apiVersion": "trainc/v1alpha1", "kind": "Overlay", "metadata": {"name": "x"}, "release": "2.3", **fields}


def marked(item: Json, **more: str) -> Json:
    """An item as kustomize hands it over."""
    metadata = item["metadata"]
    return {**item, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **TOOLS, **more}}}


def resource_list(*items: Any, config: Any = None) -> bytes:
    document = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": list(items)}
    return json.dumps(document | ({} if config is None else {"functionConfig": config})).encode()


def answered(result: Result) -> Json:
    answer: Json = yaml.safe_load(result.stdout)
    return answer


def function(*items: Any, config: Any = None, flags: tuple[str, ...] = ()) -> tuple[Result, Json]:
    result = run("krm", *flags, stdin=resource_list(*items, config=overlay() if config is None else config))
    return result, answered(result)


def kinds(items: list[Json]) -> list[str]:
    return [item["kind"] for item in items]


def test_trainjobs_and_runtimes_become_a_jobset_and_everything_else_stays() -> None:
    result, answer = function(CONFIG_MAP, trainjob(), runtime(), SERVICE)
    assert (result.status, result.stderr) == (0, "")
    assert answer["items"][:2] == [CONFIG_MAP, SERVICE]
    assert kinds(answer["items"][2:]) == ["JobSet"]
    assert answer["functionConfig"] == overlay()
    assert (answer["apiVersion"], answer["kind"]) == ("config.kubernetes.io/v1", "ResourceList")


def test_what_the_tools_write_for_themselves_stays_on_other_items_and_never_reaches_the_output() -> None:
    owned = marked(trainjob(), **{"example.com/owner": "me"})
    _, answer = function(marked(CONFIG_MAP), owned, marked(runtime()))
    passed, jobset = answer["items"]
    assert passed == marked(CONFIG_MAP)
    assert jobset["metadata"]["annotations"] == {"argocd.argoproj.io/sync-wave": "0", "example.com/owner": "me"}
    text = json.dumps(jobset)
    assert [key for key in TOOLS if key in text] == []


def test_the_functionconfig_is_an_overlay_with_all_that_an_overlay_can_say() -> None:
    config = overlay(
        namespace="prod",
        nameSuffix="-b",
        delivery="flux",
        images=[{"name": "example.com/train", "newTag": "2"}],
        patches=[{"target": {"kind": "TrainJob"}, "patch": {"spec": {"trainer": {"numNodes": 7}}}}],
    )
    _, answer = function(trainjob(), runtime(policy={"torch": {}}), config=config)
    (jobset,) = answer["items"]
    assert jobset["metadata"] == {"name": "llm-b", "namespace": "prod"}
    spec = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert spec["parallelism"] == 7
    container = spec["template"]["spec"]["containers"][0]
    assert container["image"] == "example.com/train:2"
    assert {"name": "PET_MASTER_ADDR", "value": "llm-b-node-0-0.llm-b"} in container["env"]


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
def test_the_functionconfig_chooses_the_semantics(semantics: str) -> None:
    _, answer = function(trainjob(), runtime(), config=overlay(semantics=semantics))
    assert ("successPolicy" in answer["items"][0]["spec"]) == (semantics == "gitops")


def test_paths_in_the_functionconfig_begin_at_the_folder_of_the_kustomization(tmp_path: Path) -> None:
    (tmp_path / "runtimes").mkdir()
    (tmp_path / "runtimes" / "rt.yaml").write_text(json.dumps(runtime()), encoding="utf-8")
    result, answer = function(trainjob(), config=overlay(runtimes=["runtimes"]))
    assert (result.status, kinds(answer["items"])) == (0, ["JobSet"])


def test_as_a_generator_it_compiles_what_the_functionconfig_brings(tmp_path: Path) -> None:
    for name, document in (("job", trainjob()), ("rt", runtime())):
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    config = overlay(resources=["job.json", "rt.json"])
    # kustomize gives a generator its own configuration as the only item.
    result, answer = function(marked(config), config=config)
    assert (result.status, kinds(answer["items"])) == (0, ["JobSet"])


def test_without_a_functionconfig_the_newest_release_is_compiled_and_reported() -> None:
    result = run("krm", stdin=resource_list(trainjob(), runtime()))
    assert result.status == 0
    assert [entry["tags"]["code"] for entry in answered(result)["results"]] == ["ReleaseNotPinned"]


def test_errors_leave_everything_as_it_was_and_end_with_one() -> None:
    bad = marked(trainjob({"numNode": 4}))
    result, answer = function(CONFIG_MAP, bad, runtime())
    assert result.status == 1
    assert answer["items"] == [CONFIG_MAP, bad, runtime()]
    assert "TrainJob team-a/llm: error[UnknownField] spec.trainer.numNode" in result.stderr
    assert answer["results"] == [
        {
            "message": "Trainer 2.3 has no field numNode here",
            "severity": "error",
            "field": {"path": "spec.trainer.numNode"},
            "file": {"path": "jobs/llm.yaml"},
            "resourceRef": {
                "apiVersion": "trainer.kubeflow.org/v1alpha1",
                "kind": "TrainJob",
                "name": "llm",
                "namespace": "team-a",
            },
            "tags": {"code": "UnknownField", "hint": "did you mean numNodes?"},
        }
    ]


@pytest.mark.parametrize(("name", "denied"), [("llm", ["PolicyDenied"]), ("vision", [])])
def test_policies_among_the_items_judge_what_is_compiled(name: str, denied: list[str]) -> None:
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "names"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["jobset.x-k8s.io"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE"],
                        "resources": ["jobsets"],
                    }
                ]
            },
            "validations": [{"expression": "object.metadata.name != 'llm'"}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "names"},
        "spec": {"policyName": "names", "validationActions": ["Deny"]},
    }
    named = trainjob()
    named["metadata"]["name"] = name
    result, answer = function(named, runtime(), policy, binding)
    assert [r["tags"]["code"] for r in answer.get("results", ()) if r["severity"] == "error"] == denied
    assert result.status == bool(denied)
    assert ("JobSet" in kinds(answer["items"])) is not bool(denied)


def test_every_error_is_reported_at_once() -> None:
    _, answer = function(trainjob({"numNode": 4}), trainjob(name="b", runtime="absent"), runtime())
    assert sorted(entry["tags"]["code"] for entry in answer["results"]) == ["RuntimeNotFound", "UnknownField"]


def test_a_result_about_an_object_that_is_not_there_names_it_in_its_message() -> None:
    _, answer = function(trainjob(), runtime(), config=overlay(nameSufix="-b"))
    (entry,) = answer["results"]
    assert entry["message"] == "Overlay x: nameSufix: an overlay has no field nameSufix here"
    assert "resourceRef" not in entry
    assert "field" not in entry


def test_no_trainjob_is_an_error_unless_it_is_expected() -> None:
    result, answer = function(CONFIG_MAP)
    assert (result.status, answer["results"][0]["tags"]["code"]) == (1, "NoTrainJob")
    result, answer = function(CONFIG_MAP, flags=("--allow-empty",))
    assert (result.status, answer["items"]) == (0, [CONFIG_MAP])


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b"", ""),
        (b"\xff\xfe\xfd", ""),
        (b"just a text", ""),
        (b"kind: List\nitems: []", ""),
        (b"apiVersion: v1\nkind: ResourceList\nitems: []", "apiVersion"),
        (b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList", "items"),
        (b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{}, 3]", "items[1]"),
        (b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig: 3", "functionConfig"),
    ],
)
def test_what_is_not_a_resource_list_is_refused_with_its_place(text: bytes, path: str) -> None:
    result = run("krm", stdin=text)
    assert (result.status, result.stdout) == (1, "")
    assert f"ResourceList: error[InvalidResourceList] {path}" in result.stderr


def test_yaml_that_cannot_be_read_is_shown() -> None:
    result = run("krm", stdin=b"kind: ResourceList\nitems: [\n")
    assert (result.status, result.stdout) == (1, "")
    assert re.match(r"-:\d+:\d+: error\[YAMLSyntax\]", result.stderr)


def test_a_reference_follows_a_runtime_that_kustomize_has_renamed() -> None:
    renamed = marked(runtime(name="dev-rt"), **{"internal.config.kubernetes.io/previousNames": "rt,rt"})
    result, answer = function(trainjob(), renamed)
    assert (result.status, kinds(answer["items"])) == (0, ["JobSet"])


def test_a_reference_stays_where_the_runtime_is_still_there_or_two_could_be_meant() -> None:
    first, second = (
        marked(runtime(name=name), **{"internal.config.kubernetes.io/previousNames": "rt"}) for name in ("a", "b")
    )
    result, _ = function(trainjob(), first, second)
    assert "RuntimeNotFound" in result.stderr
    (jobset,) = transform([trainjob(), runtime(), first], None, ".").items
    assert jobset["kind"] == "JobSet"


def test_a_cluster_runtime_may_carry_the_namespace_that_kustomize_gives_everything() -> None:
    stamped = runtime()
    stamped["metadata"]["namespace"] = "team-a"
    result, _ = function(trainjob(), stamped)
    assert (result.status, result.stderr) == (0, "")


def test_the_items_that_are_given_are_not_changed() -> None:
    items = [CONFIG_MAP, marked(trainjob()), marked(runtime())]
    before = deepcopy(items)
    transform(items, None, ".")
    assert items == before


def test_a_plugin_reads_its_configuration_from_a_file_and_streams_on_both_sides(tmp_path: Path) -> None:
    config = {**overlay(nameSuffix="-b"), "argsOneLiner": "--quiet"}
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    stream = "---\n".join(yaml.safe_dump(item) for item in (marked(CONFIG_MAP), marked(trainjob()), marked(runtime())))
    result = run("krm", "config", "--quiet", stdin=stream.encode())
    assert (result.status, result.stderr) == (0, "")
    passed, jobset = yaml.safe_load_all(result.stdout)
    assert passed == marked(CONFIG_MAP)
    assert jobset["metadata"]["name"] == "llm-b"


def test_a_plugin_that_fails_prints_nothing_to_stdout(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(json.dumps(overlay()), encoding="utf-8")
    result = run("krm", "config", stdin=json.dumps(trainjob(runtime="absent")).encode())
    assert (result.status, result.stdout) == (1, "")
    assert "error[RuntimeNotFound]" in result.stderr


@pytest.mark.parametrize(
    ("text", "code"),
    [(None, "UnreadableFile"), ("", "InvalidOverlay"), ("a: 1\n---\nb: 2\n", "InvalidOverlay"), ("a: [", "YAMLSyntax")],
)
def test_a_configuration_that_is_none_is_refused(text: str | None, code: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "config").write_text(text, encoding="utf-8")
    result = run("krm", "config", stdin=json.dumps(trainjob()).encode())
    assert (result.status, result.stdout) == (1, "")
    assert f"error[{code}]" in result.stderr


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("file", ["kustomization.yaml", "Kustomization"])
def test_as_a_validator_it_refuses_and_says_why(file: str, inline: bool, tmp_path: Path) -> None:
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(overlay()), encoding="utf-8")
    entry = yaml.safe_dump(overlay()) if inline else "overlay.yaml"
    (tmp_path / file).write_text(yaml.safe_dump({"validators": [entry]}), encoding="utf-8")
    result, answer = function(trainjob(), runtime())
    assert (result.status, kinds(answer["items"])) == (1, ["TrainJob", "ClusterTrainingRuntime"])
    assert f"error[UsedAsValidator] validators: {file} lists trainc under `validators`" in result.stderr


def test_other_validators_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(overlay(metadata={"name": "y"})), encoding="utf-8")
    kustomization = {"transformers": ["x.yaml"], "validators": ["other.yaml", "absent.yaml", 3]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    result, _ = function(trainjob(), runtime())
    assert result.status == 0


def sealed(name: str) -> Json:
    ciphertext = base64.b64encode(b"\x02\x00" + bytes(528)).decode()
    return {
        "apiVersion": "bitnami.com/v1alpha1",
        "kind": "SealedSecret",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {
            "encryptedData": {"ssh-privatekey": ciphertext, "ssh-publickey": ciphertext},
            "template": {"type": "kubernetes.io/ssh-auth"},
        },
    }


def test_a_sealed_secret_of_a_job_comes_out_once_and_others_stay() -> None:
    mpi = runtime(job("launcher"), job("node", None), policy={"mpi": {}})
    items = [marked(sealed("llm-mpi-ssh-auth")), sealed("other"), trainjob(), mpi]
    result, answer = function(*items, config=overlay(secrets="sealed"))
    assert "Trimmed" not in result.stderr
    assert kinds(answer["items"]) == ["SealedSecret", "SealedSecret", "ConfigMap", "JobSet"]
    assert answer["items"][0] == sealed("other")
    assert answer["items"][1]["metadata"]["annotations"] == {"argocd.argoproj.io/sync-wave": "-2"}


def test_the_page_of_a_code_shows_what_is_refused_and_what_is_not() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (RULES / "InvalidResourceList.md").read_text(encoding="utf-8"), re.DOTALL)
    wrong, right = (run("krm", stdin=block.encode()) for block in blocks)
    assert "InvalidResourceList" in wrong.stderr
    assert right.status == 0


@pytest.mark.parametrize("called", ["Overlay", "/plugins/trainc/v1alpha1/overlay/Overlay"])
def test_under_the_name_overlay_the_program_is_the_plugin(called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [called, "/tmp/config"])
    assert main._process_words() == ["krm", "/tmp/config"]
    monkeypatch.setattr("sys.argv", ["/bin/trainc", "build"])
    assert main._process_words() == ["build"]

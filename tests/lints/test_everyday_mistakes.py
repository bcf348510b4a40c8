"""Everyday mistakes of those who come from Slurm or a notebook, each next to what looks alike and is right."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders import Json
from tables import cases
from trainings import RUNTIMES, findings, reported, training

from trainc import Options, compile_paths

T = ["torchrun", "t.py"]
INSTANCE = "node.kubernetes.io/instance-type"


def codes(document: Json, severity: str) -> list[str]:
    return [d.code for d in reported(document) if d.severity == severity]


STANDS_FOR_A_VALUE: dict[str, dict[str, Any]] = {
    "a bucket in an argument": {"command": [*T, "--out=s3://<your-bucket>/run"]},
    "an account in capitals": {"command": [*T, "--project", "<YOUR_PROJECT>"]},
    "a bucket of a script": {"command": "torchrun t.py --out='gs://<bucket-name>/run'"},
    "a folder of a tutorial": {"command": [*T, "--data=/path/to/dataset"]},
    "a name of a tutorial": {"command": [*T, "--model=your-org/your-model"]},
    "a task that was left": {"command": [*T, "--project=TODO"]},
    "a variable": {"command": T, "env": {"WANDB_ENTITY": "<your-team>"}},
    "a variable that says so": {"command": T, "env": {"WANDB_PROJECT": "CHANGEME"}},
}
IS_A_VALUE: dict[str, dict[str, Any]] = {
    "special tokens": {"command": [*T, "--pad_token=<pad>", "--eos", "<|endoftext|>", "--image_token=<image>"]},
    "special tokens of two words": {"command": [*T, "--bos=<start_of_turn>", "--mask=<extra_id_0>"]},
    "a comparison": {"command": [*T, "--filter=length < 512 and bucket > 3"]},
    "a comment of a script": {"command": "# write <your-bucket> here\ntorchrun t.py --out=s3://acme/run"},
    "what a script prints": {"command": "echo 'usage: run.sh <your-bucket>'\ntorchrun t.py"},
    "a file in XML": {"command": "cat > a.xml <<'EOF'\n<project>a</project>\nEOF\ntorchrun t.py"},
    "a path that begins alike": {"command": [*T, "--data=/data/path/to-train"]},
    "a word that begins alike": {"command": [*T, "--prompt=in your own words"]},
    "a name of one's own": {"command": T, "env": {"WANDB_PROJECT": "todo-app"}},
}


@pytest.mark.parametrize("case", STANDS_FOR_A_VALUE)
def test_a_text_that_stands_for_a_value_is_a_warning(case: str) -> None:
    assert findings(training(**STANDS_FOR_A_VALUE[case])) == [("warning", "PlaceholderNotReplaced")]


@pytest.mark.parametrize("case", IS_A_VALUE)
def test_a_value_is_no_placeholder(case: str) -> None:
    assert findings(training(**IS_A_VALUE[case])) == []


IN_A_SCRIPT = {
    "export NCCL_IB_DISABLE=true\ntorchrun t.py": [("warning", "InvalidVariableValue")],
    "NCCL_SOCKET_IFNAM=eth0 torchrun t.py": [("warning", "MisspeltVariable")],
    "export NCCL_SOCKET_IFNAME=lo\ntorchrun t.py": [("error", "LoopbackInterface")],
    '[ -n "$A" ] && NCCL_SOCKET_IFNAME=lo torchrun t.py': [],
    "export NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=eth0 NCCL_DEBUG=$LEVEL\ntorchrun t.py": [],
    "export NCCL_IB_DISABLE=true\necho done\nexport NCCL_IB_DISABLE=1\ntorchrun t.py": [],
    "cat > env.sh <<'EOF'\nexport NCCL_IB_DISABLE=true\nEOF\ntorchrun t.py": [],
}


@pytest.mark.parametrize("script", IN_A_SCRIPT)
def test_variables_that_a_script_sets_are_read_too(script: str) -> None:
    assert findings(training(script)) == IN_A_SCRIPT[script]


def test_a_launcher_s_option_in_single_quotes_is_said_as_it_is_written() -> None:
    found = reported(training("torchrun --master_addr '$PET_MASTER_ADDR' t.py"))
    warned = [(d.code, "$PET_MASTER_ADDR" in d.message) for d in found if d.severity == "warning"]
    assert warned == [("UnexpandedShellVariable", True)]


CAPABILITIES = {"IPC_LOCK": [], "CAP_IPC_LOCK": ["SettingWithoutEffect"]}


@pytest.mark.parametrize("name", CAPABILITIES)
def test_kubernetes_itself_writes_cap_in_front_of_a_capability(name: str) -> None:
    document = training(T, pod={"volumes": []}, security={"capabilities": {"add": [name]}})
    assert codes(document, "warning") == CAPABILITIES[name]


def test_a_path_that_no_volume_has_is_named_once() -> None:
    found = reported(training(T, env={"GOOGLE_APPLICATION_CREDENTIALS": "/secrets/key.json"}))
    assert [d.message.count("GOOGLE_APPLICATION_CREDENTIALS") for d in found if d.code == "FileNotMounted"] == [1]


LISTS = {
    ("NCCL_ALGO", "Rings"): 1,
    ("NCCL_ALGO", "ring,tree"): 0,
    ("NCCL_ALGO", "^NVLS"): 0,
    ("NCCL_ALGO", "allreduce:ring;broadcast:tree"): 0,
    ("NCCL_PROTO", "Simpel"): 1,
    ("NCCL_PROTO", "LL,LL128"): 0,
    ("NCCL_DEBUG_SUBSYS", "INITT,NET"): 1,
    ("NCCL_DEBUG_SUBSYS", "INIT,NET"): 0,
    ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size:512"): 1,
    ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:512,roundup_power2_divisions:[256:1,512:2]"): 0,
    ("CUDA_LAUNCH_BLOCKING", "true"): 1,
    ("CUDA_LAUNCH_BLOCKING", "0"): 0,
}


@pytest.mark.parametrize(("name", "value"), LISTS)
def test_each_word_of_a_list_is_compared_with_those_that_are_read(name: str, value: str) -> None:
    expected = [("warning", "InvalidVariableValue")] * LISTS[name, value]
    assert findings(training(T, env={name: value})) == expected


def on(selector: dict[str, str], gpus: int) -> Json:
    return training(T, gpus=gpus, pod={"nodeSelector": selector})


def affine(*values: str, operator: str = "In") -> Json:
    expression = {"key": INSTANCE, "operator": operator, "values": list(values)}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    pod = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
    return training(T, gpus=8, pod=pod)


NODES: dict[str, tuple[Json, int]] = {
    "eight on Amazon's with four": (on({INSTANCE: "g5.12xlarge"}, 8), 1),
    "eight on Google's with four": (on({INSTANCE: "a2-highgpu-4g"}, 8), 1),
    "eight on Azure's with four": (on({INSTANCE: "Standard_NC96ads_A100_v4"}, 8), 1),
    "eight on GKE's label": (on({"cloud.google.com/gke-accelerator-count": "4"}, 8), 1),
    "eight on one of two types": (affine("g5.12xlarge", "g6.24xlarge"), 1),
    "four on Amazon's with four": (on({INSTANCE: "g5.12xlarge"}, 4), 0),
    "eight on Amazon's with eight": (on({INSTANCE: "p5.48xlarge"}, 8), 0),
    "sixteen on Google's with sixteen": (on({INSTANCE: "a2-megagpu-16g"}, 16), 0),
    "a type that is not known": (on({INSTANCE: "bm.gpu.4"}, 8), 0),
    "a type to which any number is attached": (on({INSTANCE: "n1-standard-8"}, 8), 0),
    "one type of two has eight": (affine("g5.12xlarge", "g5.48xlarge"), 0),
    "one type of two is not known": (affine("g5.12xlarge", "bm.gpu.8"), 0),
    "another type than this one": (affine("g5.12xlarge", operator="NotIn"), 0),
    "slices of a GPU": (
        training(T, gpus=0, limits={"nvidia.com/mig-1g.10gb": 7}, pod={"nodeSelector": {INSTANCE: "p4d.24xlarge"}}, numProcPerNode=7),
        0,
    ),
    "no node is selected": (training(T), 0),
}  # fmt: skip


@pytest.mark.parametrize("case", NODES)
def test_a_pod_needs_no_more_gpus_than_its_nodes_have(case: str) -> None:
    document, found = NODES[case]
    assert findings(document) == [("warning", "MoreDevicesThanNode")] * found


def test_the_hint_for_smaller_nodes_has_as_many_gpus_in_all() -> None:
    (found,) = [d for d in reported(on({INSTANCE: "g5.12xlarge"}, 8)) if d.code == "MoreDevicesThanNode"]
    assert found.path == 'spec.trainer.resourcesPerNode.limits["nvidia.com/gpu"]'
    assert "write nvidia.com/gpu: 4 and numNodes: 8" in found.hint


ACME, NIM = "registry.acme.example/team/train:1.0", "nvcr.io/nim/acme/train:1.0"


@cases("image", "pod", "others", "count")
def test_a_pull_secret_is_missed_where_the_input_shows_that_it_is_needed(
    image: str, pod: Json, others: list[Json], count: int, tmp_path: Path
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump_all([training(T, nodes=1, pod=pod, image=image), *others]))
    found = compile_paths([str(path)], options=Options(release="2.3")).diagnostics
    assert [d.code for d in found if d.severity != "info"] == []
    assert [d.code for d in found if d.code == "NoPullSecret"] == ["NoPullSecret"] * count


def test_what_a_crash_does_is_said_about_the_first_job_only(tmp_path: Path) -> None:
    code = "RestartsByDefault"
    assert codes(training(T), "info") == [code]
    for document in (
        training(T, nodes=1),
        training(T, nodes=3),
        training([*T, "--resume=latest"]),
        training(["torchrun", "--max_restarts=0", "t.py"]),
        training("torchrun t.py", nodes=2, gpus=0),
    ):
        assert code not in codes(document, "info")
    several = [training(T), training(T), training(T)]
    for name, document in zip("cab", several, strict=True):
        document["metadata"] = {"name": name, "namespace": "team-a"}
    (tmp_path / "jobs.yaml").write_text(yaml.safe_dump_all(several))
    found = compile_paths([str(tmp_path)], options=Options(release="2.3")).diagnostics
    assert [d.object for d in found if d.code == code] == ["JobSet team-a/a"]


@pytest.mark.parametrize("field", [{"backoffLimit": 0}, {"backoffLimit": 3}, {"podFailurePolicy": {"rules": []}}])
def test_what_a_crash_does_is_not_said_where_it_is_decided(field: Json) -> None:
    own = deepcopy(next(each for each in RUNTIMES if each["metadata"]["name"] == "torch-distributed"))
    own["metadata"]["name"] = "own"
    assert "RestartsByDefault" in [d.code for d in reported(training(T, runtime="own"), own)]
    own["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"] |= field
    assert "RestartsByDefault" not in [d.code for d in reported(training(T, runtime="own"), own)]


STARTED_WRONG = {
    "srun torchrun t.py": [("warning", "ForeignLauncher")],
    "srun --ntasks-per-node=1 torchrun t.py": [("warning", "ForeignLauncher")],
    'if [ -n "$SLURM_JOB_ID" ]; then srun torchrun t.py; else torchrun t.py; fi': [],
    "accelerate train.py": [("error", "InvalidLauncherArguments")],
    "accelerate lauch train.py": [("error", "InvalidLauncherArguments")],
    "tune full_finetune_distributed --config a": [("error", "InvalidLauncherArguments")],
    "accelerate env\ntorchrun t.py": [],
    "tune download acme/model --output-dir /tmp/m\ntorchrun t.py": [],
    "accelerate --help": [],
}


@pytest.mark.parametrize("script", STARTED_WRONG)
def test_a_program_is_started_by_its_own_command(script: str) -> None:
    found = [each for each in findings(training(script)) if each[1] in ("ForeignLauncher", "InvalidLauncherArguments")]
    assert found == STARTED_WRONG[script]


@cases("words", "named")
def test_an_option_that_no_shell_splits_from_its_value_is_named(words: list[str], named: list[str] | None) -> None:
    found = [d for d in reported(training(command=words)) if d.code == "ArgumentNotSplit"]
    assert [d.severity for d in found] == (["warning"] if named else [])
    assert all(word in d.hint for d in found for word in named or ())


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("torchrun t.py", "write [torchrun, t.py]"),
        ("python -c 'print(1)'", 'write [python, "-c", "print(1)"]'),
        ("cd /app && torchrun t.py", 'write [bash, -c, "cd /app && torchrun t.py"]'),
        ("pip install x; torchrun t.py", 'write [bash, -c, "pip install x; torchrun t.py"]'),
        ("OMP_NUM_THREADS=1 torchrun t.py", 'write [bash, -c, "OMP_NUM_THREADS=1 torchrun t.py"]'),
        ("torchrun t.py > log", 'write [bash, -c, "torchrun t.py > log"]'),
    ],
)
def test_a_command_line_in_one_word_is_split_or_given_to_a_shell(text: str, hint: str) -> None:
    (error,) = [d for d in reported(training(command=[text])) if d.code == "CommandCannotStart"]
    assert error.hint == hint


def test_a_very_long_word_is_neither_split_nor_shown_whole() -> None:
    (warning,) = [d for d in reported(training(command=[*T, f"--a {'b ' * 100_000}"])) if d.code == "ArgumentNotSplit"]
    assert len(warning.message) + len(warning.hint) < 300

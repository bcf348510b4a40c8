"""Wrong types, undecodable bytes and closed streams end in a diagnostic: exit code 3 is for defects of trainc."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run

API = "apiVersion: trainer.kubeflow.org/v1alpha1\n"
OLD = "apiVersion: kubeflow.org/v2alpha1\n"
JOB = API + "kind: TrainJob\nmetadata: {name: a, namespace: b}\nspec: {runtimeRef: {name: torch-distributed}}\n"
SHAPES = {
    "no targetJobs": API + "kind: TrainJob\nmetadata: {name: a}\nspec: {runtimeRef: {name: t}, podTemplateOverrides: [{spec: {}}]}\n",
    "targetJobs is a number": API + "kind: TrainJob\nmetadata: {name: a}\nspec: {runtimeRef: {name: t}, podTemplateOverrides: [{targetJobs: 3}]}\n",
    "an override is a text": API + "kind: TrainJob\nmetadata: {name: a}\nspec: {runtimeRef: {name: t}, podSpecOverrides: [x]}\n",
    "overrides are a number": API + "kind: TrainJob\nmetadata: {name: a}\nspec: {runtimeRef: {name: t}, podSpecOverrides: 3}\n",
    "patches are a number": API + "kind: TrainJob\nmetadata: {name: a}\nspec: {labels: {a: b}, runtimeRef: {name: t}, runtimePatches: 3}\n",
    "mlPolicy is a text": OLD + "kind: TrainingRuntime\nmetadata: {name: a}\nspec: {mlPolicy: x, template: {spec: {replicatedJobs: [{name: node}]}}}\n",
    "podGroupPolicy is a text": OLD + "kind: TrainingRuntime\nmetadata: {name: a}\nspec: {podGroupPolicy: x, template: {spec: {replicatedJobs: [{name: node}]}}}\n",
    "a runtime without spec": OLD + "kind: TrainingRuntime\nmetadata: {name: a}\n",
    "a job without name": OLD + "kind: TrainingRuntime\nmetadata: {name: a}\nspec: {template: {spec: {replicatedJobs: [{}]}}}\n",
    "jobs are a mapping": OLD + "kind: TrainingRuntime\nmetadata: {name: a}\nspec: {template: {spec: {replicatedJobs: {a: b}}}}\n",
    "runtimeRef is a text": OLD + "kind: TrainJob\nmetadata: {name: a}\nspec: {runtimeRef: torch}\n",
    "spec is a list": OLD + "kind: TrainJob\nmetadata: {name: a}\nspec: [a]\n",
    "metadata is a list": OLD + "kind: TrainJob\nmetadata: [a]\nspec: {runtimeRef: {name: t}}\n",
}  # fmt: skip


@pytest.mark.parametrize("flags", [(), ("--diff",), ("--check",)])
@pytest.mark.parametrize("name", SHAPES)
def test_migrate_leaves_what_build_refuses_alone(
    name: str, flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.yaml").write_text(SHAPES[name], encoding="utf-8")
    old = JOB.replace("{name: torch-distributed}}", "{name: torch-distributed}, labels: {a: b}}")
    Path("good.yaml").write_text(old, encoding="utf-8")
    result = run("migrate", ".", *flags)
    assert result.status in (0, 1)
    assert "Traceback" not in result.stderr
    assert Path("wrong.yaml").read_text(encoding="utf-8") == SHAPES[name] or result.status == 0
    assert ("runtimePatches" in Path("good.yaml").read_text(encoding="utf-8")) is (not flags)


_VALUES = ("auto", "gpu", "seven", '"4"', "0", "-1", "1.5", "true", "[]", "{}", "99999999999999999999")
_FIELDS = "numNodes: {}", "numProcPerNode: {}"


@pytest.mark.parametrize("semantics", ["gitops", "controller"])
@pytest.mark.parametrize("release", ["2.0", "2.1", "2.2", "2.3"])
def test_no_framework_trusts_the_type_of_a_size(release: str, semantics: str, tmp_path: Path) -> None:
    """Words where numbers belong, and the other way around, under every built-in runtime of the release."""
    listed = run("runtimes", "list", "--release", release).stdout.splitlines()[1:]
    trainers = [
        f"{'' if 'numNodes' in field else 'numNodes: 2, '}{field.format(v)}" for field in _FIELDS for v in _VALUES
    ]
    jobs = [
        JOB.replace("name: a,", f"name: a{i}-{j},").replace(
            "torch-distributed}", f"{line.split()[0]}}}, trainer: {{{trainer}}}"
        )
        for i, line in enumerate(listed)
        for j, trainer in enumerate(trainers)
    ]
    file = tmp_path / "jobs.yaml"
    file.write_text("---\n".join(jobs), encoding="utf-8")
    result = run("check", str(file), "--release", release, "--semantics", semantics)
    assert result.status == 1, result.stderr[-2_000:]


def trainc(*words: bytes | str, stdin: bytes | None = b"", closed: str = "", **environment: str) -> tuple[int, str]:
    """A process of trainc's: its status and all that it says. `closed` is what the shell leaves it without."""
    command = [b"bash", b"-c", b'exec "$@" ' + closed.encode(), b"-", sys.executable.encode(), b"-m", b"trainc"]
    done = subprocess.run(
        [*command, *(word.encode() if isinstance(word, str) else word for word in words)],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "surrogateescape")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_text(JOB, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "command", ["check jobs", "build jobs", "explain jobs", "build -", "krm", "rule UnknownField", "diff - jobs"]
)
def test_a_stream_that_is_closed_is_not_a_defect(command: str, closed: str, folder: Path) -> None:
    status, reported = trainc(*command.split(), "--release=2.3" if " jobs" in command else "-h", closed=closed)
    assert status in (0, 1, 2)
    assert "Traceback" not in reported


@pytest.mark.parametrize(
    "words",
    [
        (b"build", b"jobs", b"-o", b"out\xff", b"--check"),
        (b"diff", b"a\xff.yaml", b"jobs"),
        (b"diff", b"a\xff.yaml", b"jobs", b"--format", b"json"),
        (b"build", b"jobs", b"--keygen-image", b"\xff", b"--secrets", b"presync-job"),
        (b"build", b"\xff"),
        (b"build", b"jobs", b"--overlay", b"\xff"),
        (b"check", b"jobs", b"--config", b"\xff"),
        (b"report", b"jobs", b"-o", b"\xff.html", b"--title", b"\xff"),
        (b"explain", b"jobs#\xff"),
        (b"migrate", b"a\xff.yaml", b"--diff"),
        (b"rule", b"\xff"),
        (b"runtimes", b"show", b"\xff"),
        (b"krm", b"\xff"),
        (b"init", b"\xff", b"--repository", b"\xff"),
    ],
)
def test_bytes_that_are_no_text_are_no_defect(words: tuple[bytes, ...], folder: Path) -> None:
    (folder / os.fsdecode(b"a\xff.yaml")).write_text(JOB, encoding="utf-8")
    status, reported = trainc(*words)
    assert status in (0, 1, 2)
    assert "Traceback" not in reported


@pytest.mark.parametrize("text", ["\\ud800", "a\\u0000b"])
@pytest.mark.parametrize(
    "name", ["overlay", "runtimes", "keygen-image", "namespace", "secrets", "release", "cluster-domain"]
)
def test_parameters_of_argo_cd_that_are_no_text_are_refused(text: str, name: str, folder: Path) -> None:
    parameters = f'[{{"name": "{name}", "string": "{text}"}}, {{"name": "secrets", "string": "presync-job"}}]'
    status, reported = trainc("cmp", ARGOCD_APP_PARAMETERS=parameters)
    assert (status, "InvalidParameter" in reported) == (1, True), reported


@pytest.mark.parametrize("image", ["k\\0x", "a b", "\\ud83d", "\\x1b"])
def test_an_image_that_is_none_is_refused_in_settings_too(image: str, folder: Path) -> None:
    text = f'release: "2.3"\nsecrets: presync-job\nkeygenImage: "{image}"\n'
    (folder / "trainc.yaml").write_text(text, encoding="utf-8")
    result = run("build", "jobs")
    assert (result.status in (1, 2), result.stdout) == (True, "")


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\0", b"a: [", b"kind: ResourceList\n", b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: 3\n",
        b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [3, null, {metadata: 3}]\n",
        b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig: [a]\n",
        b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{apiVersion: 1, kind: [], metadata: []}]\n",
        b"\xff\xfe", b"[]", b"3", b"{}",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "command", ["krm", "build -", "migrate -", "check -", "explain -", "graph -", "report - -o -", "diff - jobs"]
)
def test_what_comes_through_a_pipe_is_refused(command: str, text: bytes, folder: Path) -> None:
    result = run(*command.split(), stdin=text)
    assert result.status in (0, 1, 2), result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        (["graph", "FILE"], "spec: {", "spec: {trainer: {command: [torchrun, --nproc-per-node=DIGITS, t.py]}, "),
        (["explain", "FILE#s#DIGITS"], "", ""),
        (["migrate", "--diff", "FILE"], "spec: {", 'spec: {trainer: {numProcPerNode: "DIGITS"}, '),
        (["check", "FILE"], "spec: {", 'spec: {trainer: {numProcPerNode: "DIGITS"}, '),
    ],
)
def test_a_number_of_thousands_of_digits_is_no_defect(words: list[str], old: str, new: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(JOB.replace(old, new.replace("DIGITS", "9" * 5_000)), encoding="utf-8")
    result = run(*(word.replace("FILE", str(file)).replace("DIGITS", "9" * 5_000) for word in words))
    assert result.status in (0, 1, 2), result.stderr[-1_000:]


def test_diff_takes_a_jobset_without_pods_for_what_it_is(tmp_path: Path) -> None:
    """A template whose fields are under annotations is refused, and compared all the same."""
    jobset = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: llm, namespace: a}\n"
        "spec: {replicatedJobs: [{name: node, template: {annotations: {completions: 1}}}]}\n"
    )
    (tmp_path / "old.yaml").write_text(jobset, encoding="utf-8")
    (tmp_path / "new.yaml").write_text(JOB, encoding="utf-8")
    for words in (("old.yaml", "new.yaml"), ("new.yaml", "old.yaml")):
        result = run("diff", *(str(tmp_path / word) for word in words), "--format", "markdown")
        assert result.status in (0, 1, 2), result.stderr[-1_000:]

"""What nobody reads to its end stops at a number, and says so: findings, fields, trials and environments."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from commands import run
from hostile_inputs import FLAGS, GROWING, HEAD, beside
from lsprotocol import types
from requests_of_editors import answer
from steps import assert_linear, steps

from trainc.explain.model import MOST_RECORDED
from trainc.features.authoring.lsp.names import _MOST_FIELDS as MOST_OUTLINED
from trainc.features.authoring.sweeps.matrix import SWEEP
from trainc.knowledge import conditions, hosts
from trainc.lints import runs
from trainc.options import Limits
from trainc.output import remains
from trainc.pipeline import valid_document
from trainc.project.overlays.overlay import OVERLAY
from trainc.project.trainc_yaml import TRAINC_YAML
from trainc.reading import files, python_calls, settings
from trainc.reading.cluster import CLUSTER
from trainc.reading.python_calls import calls
from trainc.reading.yaml_reader import read_documents
from trainc.schema.document_kinds import DocumentKind, accepts
from trainc.schema.shapes import MOST_LISTED
from trainc.schema.unknown_fields import without_nulls

MORE = "fix these first: the document has more problems"
WRONG = ("fields that are none in one line", "misspelt items in one line", "items with one name")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("shape", WRONG)
def test_a_document_says_that_it_has_more_problems_than_are_listed(shape: str) -> None:
    errors = []
    for count in (MOST_LISTED // 2, MOST_LISTED + 100, MOST_LISTED + 1_000):
        Path("job.yaml").write_text(GROWING[shape](count), encoding="utf-8")
        report = run("check", "job.yaml", *FLAGS, "--format", "json")
        assert report.status == 1
        assert (MORE in report.stdout) == (count > MOST_LISTED)
        errors.append(report.stdout.count('"severity": "error"'))
    assert errors[0] < errors[1] == errors[2], "the same number, however many there are"


@pytest.mark.parametrize("kind", [OVERLAY, TRAINC_YAML, SWEEP, CLUSTER], ids=lambda kind: kind.name)
def test_of_a_document_with_more_problems_than_are_listed_only_what_is_right_is_read(kind: DocumentKind) -> None:
    fields = kind.schema["properties"]
    first = next(name for name in sorted(fields) if fields[name].get("type") == "array")
    sound, _ = kind.check({first: [[1]] * (MOST_LISTED + 100), **{name: [[1]] for name in fields if name != first}})
    assert [name for name, value in sound.items() if not accepts(fields[name], value)] == []
    many = [f"{first}: [{'[1],' * (MOST_LISTED + 100)}]", *(f"{name}: [[1]]" for name in sorted({*fields} - {first}))]
    head = f"apiVersion: trainc/v1alpha1\nkind: {kind.name}\n"
    text = "\n".join(line for line in many if not line.startswith(("apiVersion", "kind")))
    Path("job.yaml").write_text(HEAD, encoding="utf-8")
    for file in ("trainc.yaml",) if kind is TRAINC_YAML else ("overlay/overlay.yaml", "any.yaml"):
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text(("" if kind is TRAINC_YAML else head) + text, encoding="utf-8")
    for words in (
        ["check", "."],
        ["check", "job.yaml", "--overlay", "overlay"],
        ["fits", "job.yaml", "--cluster", "any.yaml"],
    ):
        assert run(*words).status in (0, 1, 2)


def test_what_is_valid_of_a_document_is_still_looked_at_below_the_bound() -> None:
    missing = HEAD.replace("torch-distributed", "no-such-runtime")
    for count, looked_at in ((10, True), (MOST_LISTED, False)):
        text = missing + "".join(f"  a{i}: 1\n" for i in range(count)) + "  trainer: {command: [cd, x]}\n"
        Path("job.yaml").write_text(text.replace("no-such-runtime", "torch-distributed"), encoding="utf-8")
        assert ("CannotStart" in run("check", "job.yaml", *FLAGS).stderr) == looked_at


@pytest.mark.parametrize("text", [GROWING["labels"](2 * MOST_RECORDED), GROWING["volumes"](2 * MOST_RECORDED)])
def test_an_explanation_says_how_many_more_fields_there_are(text: str) -> None:
    Path("job.yaml").write_text(text, encoding="utf-8")
    explained = run("explain", "job.yaml", *FLAGS)
    assert explained.status == 0
    assert "more fields, of very long mappings and lists; name one to see it" in explained.stdout
    assert explained.stdout.count("\n") < MOST_RECORDED + 100
    (described,) = json.loads(run("explain", "job.yaml", *FLAGS, "--format", "json").stdout)["objects"]
    assert 10 < len(described["fields"]) <= MOST_RECORDED < described["leftOut"]
    # What is asked for is recorded, and nothing is said of anything that is not.
    last = f"a{2 * MOST_RECORDED - 1}"
    for field in (f'["{last}"]', f"{last[:-1]}*"):
        one = run("explain", "job.yaml", *FLAGS, field)
        assert one.status == 0
        assert f"job.yaml:{text[: text.index(last)].count(chr(10)) + 1}" in one.stdout
        assert "more fields" not in one.stdout


def test_what_changes_among_more_fields_than_are_recorded_has_its_cause() -> None:
    text = GROWING["labels"](2 * MOST_RECORDED)
    last = f"a{2 * MOST_RECORDED - 1}: "
    Path("was.yaml").write_text(text, encoding="utf-8")
    Path("now.yaml").write_text(text.replace(f"{last}b", f"{last}c"), encoding="utf-8")
    assert "because of now.yaml:" in run("diff", "was.yaml", "now.yaml", *FLAGS).stdout


def test_an_outline_says_where_it_ends(tmp_path: Path) -> None:
    symbols = answer(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, GROWING["labels"](MOST_OUTLINED), tmp_path)
    assert symbols[-1].name == "..."
    assert f"{MOST_OUTLINED:,}" in symbols[-1].detail
    small = answer(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, GROWING["labels"](10), tmp_path)
    assert [symbol.name for symbol in small] == ["llm"]


def test_a_report_of_very_long_manifests_says_where_the_origins_are() -> None:
    Path("job.yaml").write_text(GROWING["labels"](20_000), encoding="utf-8")
    page = run("report", "job.yaml", *FLAGS, "-o", "-").stdout
    assert "The page has no origins of fields" in page


@pytest.mark.parametrize(
    ("what", "most", "said"),
    [
        ("environments", 100, "environments: the mapping has 101 fields; at most 100 are allowed"),
        ("trials of a sweep", 5_000, "maxTrials: the number 5001 is out of range"),
    ],
)
def test_what_multiplies_the_work_is_bounded(what: str, most: int, said: str) -> None:
    result = run(*beside(Path(), what, most + 1))
    assert result.status == 1
    assert said in result.stderr


def test_as_many_trials_as_can_be_asked_for_are_not_suggested_where_there_are_more() -> None:
    Path("good.yaml").write_text(HEAD, encoding="utf-8")
    for count, hint in ((200, "or write maxTrials: 200"), (6_000, "list fewer values, or exclude combinations")):
        text = f"apiVersion: trainc/v1alpha1\nkind: Sweep\nbase: good.yaml\nparameters: {{a: {{min: 0, max: 1, count: {count}}}}}\n"
        Path("sweep.yaml").write_text(text, encoding="utf-8")
        assert hint in run("check", "sweep.yaml", *FLAGS).stderr


def test_names_that_share_their_lines_are_not_looked_at_for_ever() -> None:
    lines = remains._Lines(["metadata:", *["  name: job"] * 3_000, *[" x"] * 3_000])
    found = [lines.has_job(index, 8) for index in range(1, 3_001)]
    assert lines._steps <= remains._MOST_STEPS + len(lines.texts)
    # What was seen is no job, and what was not seen counts as one, so that nothing is removed.
    assert found == sorted(found)
    assert (found[0], found[-1]) == (False, True)


@pytest.mark.parametrize("text", [".".join("a" * 20_000) + " = 1", "a = {" + " . ".join("b" * 20_000) + " = 1}"])
def test_a_key_of_many_parts_is_not_read(text: str) -> None:
    assert settings.toml_value(text) is None
    assert settings.syntax_problem("a.toml", text) is None


def test_numbers_in_one_line_are_no_key() -> None:
    assert settings.toml_value("a = [" + "0.1, " * 300 + "]") == {"a": [0.1] * 300}


def test_brackets_without_an_end_are_not_followed() -> None:
    assert settings.syntax_problem("a.yaml", "[" * 100_000) is None
    assert settings.python_value("a = " + "(" * 100_000) is None
    assert settings.python_value("a = dict(b=" * 3_000) is None
    assert hosts.tasks("""export TF_CONFIG='{"cluster": {"a": """ + "[" * 5_000) is None


def test_a_word_of_a_hostfile_is_named_in_short() -> None:
    assert hosts.read_file("a " + "b" * 50_000).wrong == "b" * 200


@pytest.mark.parametrize(
    ("text", "values", "most"),
    [("a:\n" + "-\n" * 200_000, 1_000, 20), (f"env: [{'{name: A1},' * 40_000}]\n", 1_200_000, 30)],
    ids=["dashes, of which there are too many", "small mappings"],
)
def test_a_byte_of_a_document_takes_at_most_some_tens_of_bytes(text: str, values: int, most: int) -> None:
    tracemalloc.start()
    documents, _ = read_documents(text.encode(), "", Limits(values=values))
    for document in documents:
        assert without_nulls(document.data, "trainer.Trainer", "2.3") is document.data
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < most * len(text), peak / len(text)


_SELECTOR = (
    "  runtimePatches: [{manager: example.com/a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, "
    "template: {spec: {template: {spec: {nodeSelector: {%s}}}}}}]}}}}]\n"
)


def _many(count: int) -> str:
    return ", ".join(f"a{i}: b" for i in range(count))


@pytest.mark.parametrize(
    ("words", "text", "most"),
    [
        ("check job.yaml", f"{HEAD}  trainer: {{env: [{'{name: A1},' * 40_000}]}}\n", 36),
        ("import job.yaml -o jobs", f"{HEAD}  trainer:\n    args:" + "\n    - a" * 15_000 + "\n", 36),
        ("explain job.yaml", GROWING["labels"](8_000), 80),
        ("diff was.yaml job.yaml", GROWING["labels"](2_000), 180),
        ("diff was.yaml job.yaml", HEAD + _SELECTOR % _many(2_000), 275),
        (
            "diff was.yaml job.yaml",
            GROWING["jobs"](40).replace("runtimeRef", "trainer: {image: b}\n  runtimeRef"),
            165,
        ),
    ],
    ids=[
        "variables",
        "arguments",
        "labels explained",
        "labels that change",
        "a selector that changes",
        "jobs that change",
    ],
)
def test_a_command_takes_at_most_some_tens_of_bytes_for_each(words: str, text: str, most: int) -> None:
    """What is compared is counted on both sides. Of little text, what a command takes anyway is much."""
    command = [*words.split(), *(() if words.startswith("import") else FLAGS)]
    before = text.replace(": b", ": c") if words.startswith("diff") else ""
    Path("job.yaml").write_text(text, encoding="utf-8")
    Path("was.yaml").write_text(before, encoding="utf-8")
    assert run(*command).status == words.startswith("check")
    tracemalloc.start()
    run(*command)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < most * len(text + before), peak / len(text + before)


@pytest.mark.parametrize("settings_of", ["sources: [{}]\n", "overlay: over\n"])
def test_so_many_paths_that_are_missing_are_searched_for(settings_of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[str] = []
    walk = os.walk

    def counted(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
        walked.append(top)
        return walk(top)

    monkeypatch.setattr(os, "walk", counted)
    paths = [f"jobs/no{i}/x{i}.yaml" for i in range(90)]
    Path("over").mkdir()
    Path("good.yaml").write_text(HEAD, encoding="utf-8")
    Path("trainc.yaml").write_text(settings_of.format(", ".join(paths)), encoding="utf-8")
    text = "".join(f"- {{path: {path}, target: {{kind: TrainJob}}}}\n" for path in paths)
    Path("over/overlay.yaml").write_text(
        f"apiVersion: trainc/v1alpha1\nkind: Overlay\npatches:\n{text}", encoding="utf-8"
    )
    report = run("check", *FLAGS)
    assert (report.status, report.stderr.count("error[")) == (1, 90)
    assert 0 < len(walked) <= files.MOST_SEARCHES
    # One command leaves as many to the next.
    before = len(walked)
    run("check", *FLAGS)
    assert len(walked) == 2 * before


def test_a_missing_path_of_very_many_folders_is_no_nesting() -> None:
    path = f"{'a/' * 1_500}x.yaml"
    Path("trainc.yaml").write_text(f"sources: [{path}]\n", encoding="utf-8")
    for words in (["check"], ["check", path]):
        assert "error[NoSuchPath]" in run(*words).stderr


@pytest.mark.parametrize(
    "assigned",
    ["".join(f"a{i + 1} = [a{i}, a{i}]\n" for i in range(60)), "a60 = [a61, a61]\na61 = [a60]\n"],
    ids=["each stands for two of another", "each stands for the other"],
)
def test_names_of_a_script_are_not_written_out_for_ever(assigned: str) -> None:
    found = settings.python_value(f"import torch\na0 = torch.x\n{assigned}torch.cuda.set_device(a60)\n")
    assert len(str(found["call:torch.cuda.set_device/0"])) < 100


@pytest.mark.parametrize(
    "text",
    ["a" + " " * 100_000 + "b", "a = 1" + "\t" * 100_000 + "#b\n", "[x]\n" * 100_000],
    ids=["spaces without a value", "tabs before a comment", "longer than files of settings are"],
)
def test_a_file_in_ini_is_read_in_time_or_not_at_all(text: str) -> None:
    assert settings.ini_value(text) is None
    assert settings.ini_value(f"a = b{' ' * 90}# c") == {"a": "b"}


def test_toml_that_hides_how_deep_it_is_or_has_a_long_number_is_not_read() -> None:
    closed, nested = "]" * 3_000, f"{'[' * 3_000}{']' * 3_000}"
    hidden = (
        *(f"# {closed}", f"b = '{closed}'", f'b = "\\"{closed}"', f'b = """\n"{closed}"""'),
        *(f"b = '''\n{closed}'''", f'b = """a"""" # "{closed}'),
    )
    for text in (*(f"{text}\na = {nested}" for text in hidden), f"a = {'9' * 5_000}"):
        assert (settings.toml_value(text), settings.syntax_problem("a.toml", text)) == (None, None)


CALLS: Mapping[str, Callable[[int], str]] = {
    "calls of one name that differ": lambda n: (
        f"import torch\ntorch.f({','.join(f'a{i}=1' for i in range(n))})\n" + "torch.f(b=1)\n" * n
    ),
    "a name that stands for a long call": lambda n: "import torch\na = torch.f([1, 2, 3])\n" + "f(a, a)\n" * n,
}


@pytest.mark.parametrize("shape", CALLS)
def test_a_script_in_python_takes_steps_in_proportion(shape: str) -> None:
    found = []
    for n in (150, 300, 600):
        python_calls.calls.cache_clear()
        found.append(steps(lambda n=n: python_calls.calls(CALLS[shape](n))))  # type: ignore[misc]
    assert_linear(found)
    many = python_calls.calls("import torch\n" + "".join(f"torch.f(b={n})\n" for n in range(50)))
    assert sum(name.endswith(":torch.f/b") for name in many) == python_calls._MOST_CALLS
    assert settings.python_value("import torch\na = torch.f(1)\n" + "f(a)\n" * 20_000) is None


@pytest.mark.parametrize(
    "part",
    [
        "a{n} = torch.load(a{m})\ndef f{n}(x):\n    if a{n} == 0:\n        return\n    y = f{m}(x)\n",
        "m = torch.nn.Linear({n})\nm{n} = b\nm{n} = torch.compile(m{n})\nm{n}.f()\n",
        "if torch.distributed.get_rank() == 0:\n    torch.distributed.barrier()\n    p.add_argument('--a{n}')\n",
        "class C{n}:\n    def f(self):\n        return DataLoader(num_workers={n})\ng(**{{'a': {n}}})\n",
    ],
)
def test_a_script_is_read_in_steps_in_proportion_to_its_length(part: str) -> None:
    def text(size: int) -> str:
        head = "import torch, argparse\nfrom torch.utils.data import DataLoader\np = argparse.ArgumentParser()\n"
        return head + "".join(part.format(n=n, m=n - 1) for n in range(size)) + "p.parse_args()\n"

    calls.__wrapped__(text(2))
    assert_linear([steps(lambda size=size: calls.__wrapped__(text(size))) for size in (30, 60, 120)])  # type: ignore[misc]


@pytest.mark.parametrize("each", ["a;", "a|", "torchrun --nnodes 2 x.py;", "for i in a; do b; done;"])
def test_programs_that_a_script_starts_take_steps_in_proportion(each: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_MOST_RUNS", 5)

    def work(count: int) -> None:
        text = f"{HEAD}  trainer: {{command: [bash, -c, '{each * count}b']}}\n"
        Path("job.yaml").write_text(text, encoding="utf-8")
        assert run("check", "job.yaml", *FLAGS).status in (0, 1)

    work(3)
    assert_linear([steps(lambda n=n: work(n)) for n in (60, 120, 240)], 10_000)  # type: ignore[misc]


def test_only_some_better_sizes_are_tried() -> None:
    facts = conditions.Facts()
    facts.add([conditions.Fact("heads", 720720, "heads"), conditions.Fact("size", 4096, "size")])
    failed = conditions.failure(facts, "heads % size", {})
    assert failed is not None
    assert len(failed[2]["size"]) == conditions._MOST_TRIED
    facts.add([conditions.Fact("size", 99_991, "size")])
    failed = conditions.failure(facts, "heads % size", {})
    assert failed is not None
    assert "size" not in failed[2]


def test_a_dump_of_values_that_no_object_has_is_refused() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: [" + "1," * 1_200_001 + "1]\n"
    Path("dump.yaml").write_text(text, encoding="utf-8")
    assert "TooManyValues" in run("why", "--dump", "dump.yaml").stderr
    assert Limits(values=6_000_000).values_in("x" * 16_000_000) == 2_000_000


@pytest.mark.parametrize("command", ["check", "explain"])
def test_an_object_that_no_api_server_stores_is_refused_before_its_fields_are(command: str) -> None:
    Path("job.yaml").write_text(GROWING["labels"](150_000), encoding="utf-8")
    assert "error[DocumentTooLarge] the object has 1,9" in run(command, "job.yaml", *FLAGS).stderr


def test_an_object_is_as_large_as_its_json() -> None:
    most = valid_document._MOST_BYTES
    for data in ({"a": "x" * 1_000_000}, {"a": ["é\n", 1, None]}, {"a": ["b"] * 300_000}):
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        assert valid_document._stored_bytes(data) == (len(text.encode()) if len(text) * 2 > most else 0)
    assert valid_document._stored_bytes({"a": {1}}) == 0


def test_more_documents_are_read_of_a_longer_file() -> None:
    for size, most in ((5, 10_000), (100, 10_100)):
        documents, found = read_documents(("a: " + "1" * size + "\n---\n").encode() * 10_100, "", Limits())
        assert (len(documents), len(found)) == (most, size == 5)
    assert Limits(documents=7).documents_in("x" * 1_000) == 7

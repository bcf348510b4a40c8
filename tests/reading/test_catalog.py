"""The catalog: every runtime is found in the releases it says it serves, and a miss says what there is instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tables import cases

from trainc.kube.releases import PREVIEWS, RELEASES as ALL_RELEASES
from trainc.reading.catalog import CATALOG_PREFIX, NotFound, find, names, releases, releases_of, text_of
from trainc.reading.document import Document
from trainc.schema import check
from trainc.schema.rules import runtime_rules

RUNTIMES = Path(__file__).parents[2] / "runtimes"
FILES = sorted(path.relative_to(RUNTIMES).as_posix() for path in RUNTIMES.rglob("*.yaml"))
# No tag of a preview could be read.
RELEASES = [release for release in ALL_RELEASES if release not in PREVIEWS]
SHIPPED = {
    "2.0": "deepspeed mlx mpi torch tt-llama3.2-1b tt-llama3.2-3b",
    "2.1": "deepspeed mlx torch torch-with-cache tt-llama3.2-1b tt-llama3.2-3b tt-qwen2.5-1.5b",
    "2.2": "deepspeed flux jax mlx torch torch-with-cache tt-llama3.2-1b tt-llama3.2-3b tt-qwen2.5-1.5b xgboost",
    "2.3": "deepspeed flux jax mlx torch torch-with-cache tt-llama3.2-1b tt-llama3.2-3b tt-qwen2.5-1.5b xgboost",
}
# Trainer does not install these; they are for what its own do not do.
OURS = {"2.3": {"torch-distributed-with-initializers"}}
TAGS = {"2.0": "v2.0.1", "2.1": "v2.1.0", "2.2": "v2.2.1", "2.3": "v2.3.0"}


def found(name: str, release: str) -> Document:
    document = find(name, release)
    assert isinstance(document, Document)
    return document


def missed(name: str, release: str) -> NotFound:
    miss = find(name, release)
    assert not isinstance(miss, Document)
    return miss()


def full_name(short: str) -> str:
    if short.startswith("tt-"):
        return short.replace("tt-", "torchtune-")
    first, dash, rest = short.partition("-")
    return f"{first}-distributed{dash}{rest}"


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_has_the_runtimes_that_its_tag_ships(release: str) -> None:
    shipped = {full_name(short) for short in SHIPPED[release].split()}
    assert names(release) == sorted(shipped | OURS.get(release, set()))


@pytest.mark.parametrize(("name", "release"), [(n, r) for r in RELEASES for n in names(r)])
def test_a_runtime_is_what_it_says_and_valid_in_every_release_it_serves(name: str, release: str) -> None:
    document = found(name, release)
    assert document.data["metadata"]["name"] == name
    assert document.data["metadata"]["labels"]["trainer.kubeflow.org/framework"]
    assert release in releases_of(document)
    checked, findings = check(document.data, "ClusterTrainingRuntime", release)
    assert [*findings, *runtime_rules(checked, release)] == []


@pytest.mark.parametrize(("name", "release"), [(n, r) for r in RELEASES for n in names(r)])
def test_images_of_trainer_itself_are_those_of_the_release(name: str, release: str) -> None:
    images = list(values_of(found(name, release).data, "ghcr.io/kubeflow/trainer/"))
    assert [image for image in images if image.rpartition(":")[2] != TAGS[release]] == []


def values_of(tree: Any, prefix: str) -> Any:
    if isinstance(tree, str):
        yield from [tree] * tree.startswith(prefix)
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from values_of(item, prefix)


def test_every_file_serves_somebody_and_no_two_files_serve_the_same() -> None:
    served = [(name, release, found(name, release).file) for name in names() for release in releases(name)]
    assert {file.removeprefix(CATALOG_PREFIX) for _, _, file in served} == set(FILES)


@pytest.mark.parametrize("file", [file for file in FILES if "/" in file])
def test_a_file_of_several_is_named_for_the_first_release_it_serves(file: str) -> None:
    name, _, release = file.removesuffix(".yaml").partition("/")
    document = found(name, release)
    assert document.file == CATALOG_PREFIX + file
    assert releases_of(document)[0] == release


@pytest.mark.parametrize("file", FILES)
def test_a_file_begins_by_saying_what_the_runtime_is_for(file: str) -> None:
    assert text_of(CATALOG_PREFIX + file).startswith("# ")


@cases("name", "release", "expected")
def test_a_miss_says_what_there_is_instead(name: str, release: str, expected: str) -> None:
    miss = missed(name, release)
    text = f"{miss.instead} {miss.hint}".strip()
    assert expected in text
    assert bool(expected) == bool(text)


def test_an_initializer_can_always_be_configured() -> None:
    """Since 2.3 an initializer needs its mount, which the cache runtime as upstream ships it has not."""
    for release in releases("torch-distributed-with-cache"):
        jobs = found("torch-distributed-with-cache", release).data["spec"]["template"]["spec"]["replicatedJobs"]
        (container,) = jobs[0]["template"]["spec"]["template"]["spec"]["containers"]
        assert [mount["name"] for mount in container["volumeMounts"]] == ["initializer"]

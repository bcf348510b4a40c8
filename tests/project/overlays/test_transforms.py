"""What an overlay changes besides its patches: images, names, namespaces, labels."""

from __future__ import annotations

from typing import Any

import pytest

from trainc.project.overlays.apply import change_image, image_names, transform
from trainc.project.overlays.overlay import ImageChange, Overlay, Pair
from trainc.project.overlays.patterns import Edited
from trainc.reading.document import Document

API = "trainer.kubeflow.org/v1alpha1"
OVERLAY = Document.of({"kind": "Overlay"})
DIGEST = "sha256:1"


def change(
    name: str = "x", new_name: str | None = None, tag: str | None = None, digest: str | None = None
) -> ImageChange:
    return ImageChange(("images", 0), name, new_name, tag, digest)


def document(kind: str = "TrainJob", **metadata: Any) -> Edited:
    return Edited.of(Document.of({"apiVersion": API, "kind": kind, "metadata": {"name": "a", **metadata}}))


@pytest.mark.parametrize(
    ("image", "requested", "result"),
    [
        ("x:1", change(tag="2"), "x:2"),
        ("x", change(tag="2"), "x:2"),
        ("x:1@sha256:0", change(tag="2"), "x:2"),
        ("x:1", change(digest=DIGEST), "x@sha256:1"),
        ("x:1", change(digest=DIGEST, tag="2"), "x:2@sha256:1"),
        ("x:1", change(new_name="y"), "y:1"),
        ("x@sha256:0", change(new_name="y"), "y@sha256:0"),
        ("x:1@sha256:0", change(new_name="y"), "y:1@sha256:0"),
        ("x", change(new_name="y"), "y"),
        ("host:5000/x", change(new_name="y", tag="2"), "y:2"),
        ("host:5000/x", change(tag="2"), "host:5000/x:2"),
        ("host:5000/x:1", change(tag="2"), "host:5000/x:2"),
    ],
)
def test_an_image_is_changed_in_the_part_that_is_named(image: str, requested: ImageChange, result: str) -> None:
    assert change_image(image, requested) == result


def test_images_of_all_containers_and_of_the_trainer_change() -> None:
    pod = {
        "containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "z"}, {"name": "c"}],
        "initContainers": [{"image": "host:5000/x:1"}, {"image": 3}],
        "ephemeralContainers": [{"image": "x"}],
        "volumes": [{"image": "x:1"}],
    }
    data = {"apiVersion": API, "kind": "TrainJob", "spec": {"trainer": {"image": "x:1"}, "image": "x:1", "pod": pod}}
    used: set[int] = set()
    changes = (change("gone", tag="3"), change("x", tag="2"), change("host:5000/x", tag="4"))
    after = transform(Edited.of(Document.of(data)), Overlay(OVERLAY, images=changes), used).data["spec"]
    assert after["trainer"] == {"image": "x:2"}
    assert after["image"] == "x:1"
    assert [c.get("image") for c in after["pod"]["containers"]] == ["x:2", "z", None]
    assert after["pod"]["initContainers"] == [{"image": "host:5000/x:4"}, {"image": 3}]
    assert after["pod"]["ephemeralContainers"] == [{"image": "x:2"}]
    assert after["pod"]["volumes"] == [{"image": "x:1"}]
    assert used == {1, 2}
    assert image_names([Edited.of(Document.of(data))]) == ["x", "z", "host:5000/x"]


def test_changes_of_images_follow_each_other() -> None:
    data = {"apiVersion": API, "kind": "TrainJob", "spec": {"trainer": {"image": "x:1"}}}
    changes = (change("x", new_name="y"), change("x", tag="2"))
    after = transform(Edited.of(Document.of(data)), Overlay(OVERLAY, images=changes), set())
    assert after.data["spec"]["trainer"]["image"] == "x:2"


WHOLE = Overlay(
    OVERLAY,
    namespace="n",
    name_prefix="p-",
    name_suffix="-s",
    labels=(Pair("l", "1", ("labels", 0, "pairs", "l")),),
    annotations=(Pair("a", "2", ("commonAnnotations", "a")),),
)


@pytest.mark.parametrize(
    ("kind", "metadata"),
    [
        ("TrainJob", {"name": "p-a-s", "namespace": "n", "labels": {"k": "0", "l": "1"}, "annotations": {"a": "2"}}),
        ("TrainingRuntime", {"name": "a", "namespace": "n", "labels": {"k": "0"}}),
        ("ClusterTrainingRuntime", {"name": "a", "namespace": "m", "labels": {"k": "0"}}),
        ("SealedSecret", {"name": "a", "namespace": "m", "labels": {"k": "0"}}),
    ],
)
def test_who_takes_names_and_labels(kind: str, metadata: dict[str, Any]) -> None:
    before = document(kind, namespace="m", labels={"k": "0"})
    after = transform(before, WHOLE, set())
    assert after.data["metadata"] == metadata
    assert after.identities[-1] == (metadata["namespace"], metadata["name"])
    assert (after is before) is (metadata["namespace"] == "m")


@pytest.mark.parametrize("metadata", [None, ["a"], {}, {"name": 3}])
def test_a_job_without_a_name_gets_none(metadata: Any) -> None:
    data = {"apiVersion": API, "kind": "TrainJob", "metadata": metadata}
    after = transform(Edited.of(Document.of(data)), Overlay(OVERLAY, name_prefix="p-"), set())
    assert after.data == data


def test_an_overlay_that_says_nothing_leaves_documents_as_they_are() -> None:
    before = document()
    assert transform(before, Overlay(OVERLAY), set()) is before
    assert image_names([document("Secret")]) == []

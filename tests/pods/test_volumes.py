"""Volumes: what the API server refuses of each kind of source."""

from __future__ import annotations

from typing import Any

import pytest
from pod_templates import in_pod

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Ti"}}}


def ephemeral(**fields: Any) -> dict[str, Any]:
    spec = {name: value for name, value in {**CLAIM, **fields}.items() if value is not None}
    return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


def projected(*sources: Any) -> dict[str, Any]:
    return {"projected": {"sources": list(sources)}}


def file_of(kind: str, path: str) -> dict[str, Any]:
    return {kind: {"name": "a", "items": [{"key": "k", "path": path}]}}


PATH = "ephemeral.volumeClaimTemplate.spec"
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "two sources": ({"emptyDir": {}, "secret": {"secretName": "s"}}, "TwoVolumeSources", ""),
    "a medium that no kubelet has": ({"emptyDir": {"medium": "memory"}}, "UnsupportedValue", "emptyDir.medium"),
    "less than nothing": ({"emptyDir": {"sizeLimit": "-1Gi"}}, "OutOfRange", "emptyDir.sizeLimit"),
    "no path on the host": ({"hostPath": {"path": ""}}, "MissingRequired", "hostPath.path"),
    "a path that goes up": ({"hostPath": {"path": "/a/../b"}}, "InvalidPath", "hostPath.path"),
    "an unknown kind of path": ({"hostPath": {"path": "/a", "type": "Folder"}}, "UnsupportedValue", "hostPath.type"),
    "no name of a Secret": ({"secret": {}}, "MissingRequired", "secret.secretName"),
    "no name of a ConfigMap": ({"configMap": {}}, "MissingRequired", "configMap.name"),
    "a mode in decimal digits": (
        {"configMap": {"name": "c", "defaultMode": 1000}},
        "OutOfRange",
        "configMap.defaultMode",
    ),
    "an absolute file": (
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "/a"}]}},
        "InvalidPath",
        "configMap.items[0].path",
    ),
    "a file with dots first": (
        {"secret": {"secretName": "s", "items": [{"key": "k", "path": "..a"}]}},
        "InvalidPath",
        "secret.items[0].path",
    ),
    "no claim": ({"persistentVolumeClaim": {"claimName": ""}}, "MissingRequired", "persistentVolumeClaim.claimName"),
    "a relative path on a server": ({"nfs": {"server": "s", "path": "a"}}, "InvalidPath", "nfs.path"),
    "a driver that none can be called": ({"csi": {"driver": "a b"}}, "InvalidName", "csi.driver"),
    "an unknown pull policy": (
        {"image": {"reference": "r", "pullPolicy": "Sometimes"}},
        "UnsupportedValue",
        "image.pullPolicy",
    ),
    "a field that volumes do not have": (
        {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}},
        "UnsupportedValue",
        "downwardAPI.items[0].fieldRef.fieldPath",
    ),
    "a resource of no container": (
        {"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
        "MissingRequired",
        "downwardAPI.items[0].resourceFieldRef.containerName",
    ),
    "a file of nothing": ({"downwardAPI": {"items": [{"path": "a"}]}}, "MissingRequired", "downwardAPI.items[0]"),
    "a projection without sources": ({"projected": {}}, "MissingRequired", "projected.sources"),
    "two kinds in one source": (
        projected({"secret": {"name": "s"}, "configMap": {"name": "c"}}),
        "ConflictingFields",
        "projected.sources[0]",
    ),
    "two sources of one file": (
        projected(file_of("secret", "a"), file_of("configMap", "a")),
        "ConflictingFields",
        "projected",
    ),
    "a token for ten seconds": (
        projected({"serviceAccountToken": {"path": "t", "expirationSeconds": 10}}),
        "OutOfRange",
        "projected.sources[0].serviceAccountToken.expirationSeconds",
    ),
    "a claim without a template": ({"ephemeral": {}}, "MissingRequired", "ephemeral.volumeClaimTemplate"),
    "a claim without an amount": (ephemeral(resources=None), "MissingRequired", f"{PATH}.resources"),
    "a claim of nothing": (
        ephemeral(resources={"requests": {"storage": 0}}),
        "OutOfRange",
        f"{PATH}.resources.requests.storage",
    ),
    "a claim without access modes": (ephemeral(accessModes=None), "MissingRequired", f"{PATH}.accessModes"),
    "an abbreviated access mode": (ephemeral(accessModes=["RWX"]), "UnsupportedValue", f"{PATH}.accessModes"),
    "one pod and many": (
        ephemeral(accessModes=["ReadWriteOncePod", "ReadWriteMany"]),
        "ConflictingFields",
        f"{PATH}.accessModes",
    ),
    "an unknown volume mode": (ephemeral(volumeMode="File"), "UnsupportedValue", f"{PATH}.volumeMode"),
    "a claim with a name": (
        {"ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "c"}, "spec": CLAIM}}},
        "NotAllowedHere",
        "ephemeral.volumeClaimTemplate.metadata.name",
    ),
    "a snapshot without its group": (
        ephemeral(dataSource={"kind": "VolumeSnapshot", "name": "s"}),
        "ConflictingFields",
        f"{PATH}.dataSource",
    ),
    "neither names nor ids": ({"fc": {}}, "MissingRequired", "fc.targetWWNs"),
    "a bad initiator": (
        {"iscsi": {"targetPortal": "p", "iqn": "bad", "lun": 0}},
        "InvalidName",
        "iscsi.iqn",
    ),
    "CHAP without a Secret": (
        {"iscsi": {"targetPortal": "p", "iqn": "iqn.2001-04.com.example:a", "lun": 0, "chapAuthSession": True}},
        "MissingRequired",
        "iscsi.secretRef",
    ),
    "an absolute folder of a repository": (
        {"gitRepo": {"repository": "r", "directory": "/a"}},
        "InvalidPath",
        "gitRepo.directory",
    ),
}


@pytest.mark.parametrize(("source", "code", "place"), REFUSED.values(), ids=REFUSED)
def test_it_refuses(source: dict[str, Any], code: str, place: str) -> None:
    assert in_pod(volumes=[{"name": "v", **source}]) == [(code, f"volumes[0].{place}".removesuffix("."))]


ACCEPTED: dict[str, dict[str, Any]] = {
    "nothing, which becomes an emptyDir": {},
    "a source that is null": {"emptyDir": {}, "secret": None},
    "a claim that none can be called, which nobody looks at": {"persistentVolumeClaim": {"claimName": "My_PVC"}},
    "memory": {"emptyDir": {"medium": "Memory"}},
    "huge pages of one size": {"emptyDir": {"medium": "HugePages-2Mi"}},
    "a driver with capitals": {"csi": {"driver": "S3.example.com"}},
    "an image without a reference, which a later patch may add": {"image": {"pullPolicy": "Always"}},
    "a claim": ephemeral(),
    "the labels of the pod": {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    "an empty list of sources": projected(),
    "a bundle, which 1.36 drops": projected({"clusterTrustBundle": {}}),
}


@pytest.mark.parametrize("source", ACCEPTED.values(), ids=ACCEPTED)
def test_it_accepts(source: dict[str, Any]) -> None:
    assert in_pod(volumes=[{"name": "v", **source}]) == []


def test_a_name_is_a_label_that_no_other_volume_has() -> None:
    assert in_pod(volumes=[{"name": "My_Data"}]) == [("InvalidName", "volumes[0].name")]
    assert in_pod(volumes=[{"name": "v"}, {"name": "v"}]) == [("DuplicateItem", "volumes[1].name")]
    assert in_pod(volumes=[{"name": ""}]) == [("MissingRequired", "volumes[0].name")]

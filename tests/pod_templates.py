"""A Job template that the API server takes, bent in one place, and what is found wrong with it."""

from __future__ import annotations

from typing import Any

from trainc.findings import format_path
from trainc.pods import validate_job

Json = dict[str, Any]
VOLUMES: list[Json] = [{"name": "data", "emptyDir": {}}, {"name": "claim", "persistentVolumeClaim": {"claimName": "c"}}]


def template(container: Json | None = None, pod: Json | None = None, job: Json | None = None, **metadata: Any) -> Json:
    """`metadata` is that of the pods."""
    node = {"name": "node", "image": "example.com/train:1", **(container or {})}
    spec = {"restartPolicy": "Never", "containers": [node], "volumes": VOLUMES, **(pod or {})}
    pods = {"metadata": metadata, "spec": spec}
    return {"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": pods, **(job or {})}}


def found(job: Json) -> list[tuple[str, str]]:
    """Code and path of each finding; the path begins in the spec of the Job, or in that of its pods."""
    places = ((f.code, format_path(f.path)) for f in validate_job(job))
    return [(code, path.removeprefix("spec.").removeprefix("template.spec.")) for code, path in places]


def in_container(**fields: Any) -> list[tuple[str, str]]:
    """What is found with these fields of the container; paths begin in it."""
    return [(code, path.removeprefix("containers[0].")) for code, path in found(template(fields))]


def in_pod(**fields: Any) -> list[tuple[str, str]]:
    """What is found with these fields of the pod's spec."""
    return found(template(pod=fields))


def in_job(**fields: Any) -> list[tuple[str, str]]:
    """What is found with these fields of the Job's spec."""
    return found(template(job=fields))

"""Rules for object metadata: those of the API server for every kind, and Trainer's for TrainJob names.

Metadata in templates is only validated when Jobs are created from it, so it is not checked here.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import TEMPLATE_HINT, Finding, Path, write
from trainc.kube.documents import Json
from trainc.kube.names import (
    LABEL_LIMIT,
    is_dns1035_label,
    is_dns1123_label,
    is_label_key,
    is_label_value,
    is_subdomain,
    length,
    suggest_name,
)
from trainc.schema.shapes import quote

_ANNOTATIONS_TOTAL = 256 * 1024

_NAME = ("metadata", "name")
_LOWERCASE = "lowercase letters, digits and '-', starting and ending with a letter or digit"


def trainjob_metadata(trainjob: Json) -> Iterator[Finding]:
    """Check the metadata of a TrainJob, whose name must be an RFC 1035 label because host names contain it.

    The webhook enforces this in 2.0, and CEL in the CRD since 2.1; both reject the same names.
    """
    metadata = trainjob.get("metadata") or {}
    generated = metadata.get("generateName")
    yield from _required_name(
        metadata,
        "replace generateName with name: a job in git needs its final name; --name-hash changes it with every change of the job"
        if generated
        else "add the name of this job under metadata, such as name: llm",
    )
    name = metadata.get("name")
    if name and len(name) > LABEL_LIMIT:
        message = f"the name has {len(name)} characters; at most {LABEL_LIMIT} are allowed"
        yield Finding("InvalidName", "error", message, f"shorten it by {len(name) - LABEL_LIMIT} characters", _NAME)
    if name and not is_dns1035_label(name):
        rule = "lowercase letters, digits and '-', starting with a letter and ending with a letter or digit"
        message = f"{quote(name)} is not a valid TrainJob name"
        yield Finding("InvalidName", "error", message, _name_hint(name, rule, letter_first=True), _NAME)
    yield from _object_meta(metadata)


def object_metadata(document: Json) -> Iterator[Finding]:
    """Check the metadata of a runtime."""
    metadata = document.get("metadata") or {}
    yield from _required_name(metadata, "add a name under metadata, such as name: my-runtime: TrainJobs refer to it")
    yield from _subdomain_name(metadata)
    yield from _object_meta(metadata)


def jobset_metadata(jobset: Json) -> Iterator[Finding]:
    """Check the metadata of a JobSet, where the API server supports `generateName`."""
    metadata = jobset.get("metadata") or {}
    if not metadata.get("generateName"):
        yield from _required_name(metadata, "add metadata.name or metadata.generateName")
    yield from _subdomain_name(metadata)
    yield from _object_meta(metadata)


def _name_hint(name: str, rule: str, *, letter_first: bool = False) -> str:
    """Return a hint with a valid name and the rule; for a template, a hint to render it."""
    from trainc.schema.unknown_fields import is_template

    if is_template(name):
        return TEMPLATE_HINT
    suggestion = suggest_name(name, letter_first=letter_first)
    return write(suggestion, f": {rule}") if suggestion else f"use {rule}"


def _required_name(metadata: Json, hint: str) -> Iterator[Finding]:
    if not metadata.get("name"):
        yield Finding("MissingRequired", "error", "metadata.name is missing", hint, _NAME)


def _subdomain_name(metadata: Json) -> Iterator[Finding]:
    name = metadata.get("name")
    if name and not is_subdomain(name):
        hint = _name_hint(name, f"{_LOWERCASE}; '.' is allowed between them")
        yield Finding("InvalidName", "error", f"{quote(name)} is not a valid name", hint, _NAME)


def _object_meta(metadata: Json) -> Iterator[Finding]:
    namespace = metadata.get("namespace")
    if namespace and not (is_dns1123_label(namespace) and len(namespace) <= LABEL_LIMIT):
        message = f"{quote(namespace)} is not a valid namespace name"
        hint = _name_hint(namespace, f"{_LOWERCASE}, at most {LABEL_LIMIT} of them")
        yield Finding("InvalidName", "error", message, hint, ("metadata", "namespace"))
    for key, value in (metadata.get("labels") or {}).items():
        if not is_label_key(key):
            yield _malformed_key(("metadata", "labels", key))
        if value and not is_label_value(value):
            message = f"{quote(value)} is not a valid label value"
            hint = "use at most 63 letters, digits, '-', '_' and '.', or move longer text to an annotation"
            yield Finding("InvalidLabel", "error", message, hint, ("metadata", "labels", key))
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        if not is_label_key(key.lower()):
            yield _malformed_key(("metadata", "annotations", key))
    size = sum(length(key) + length(value or "") for key, value in annotations.items())
    if size > _ANNOTATIONS_TOTAL:
        message = f"the annotations have {size} bytes in all; at most {_ANNOTATIONS_TOTAL} are allowed"
        yield Finding("TooLong", "error", message, "move data to a ConfigMap", ("metadata", "annotations"))


def _malformed_key(path: Path) -> Finding:
    message = f"{quote(str(path[-1]))} is not a valid key for a label or annotation"
    hint = "use at most 63 letters, digits, '-', '_' and '.', with or without a DNS prefix, as in acme.io/team"
    return Finding("InvalidLabel", "error", message, hint, path)

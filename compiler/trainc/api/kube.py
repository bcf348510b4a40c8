"""Documents of Kubernetes as data: fields, quantities, selectors, devices, and the names of upstream."""

from trainc.kube import names, releases
from trainc.kube.devices import accelerator
from trainc.kube.documents import (
    ITEM_KEYS,
    POD_SPEC,
    Json,
    Manifest,
    format_field,
    identity_of,
    mapping,
    objects,
    read_json,
    stable_path,
    value_at,
    with_value,
)
from trainc.kube.quantity import ZERO, Quantity, canonical, parse_quantity, pod_requests, whole_number
from trainc.kube.selectors import MalformedSelector, matches_selector

__all__ = [
    "ITEM_KEYS",
    "POD_SPEC",
    "ZERO",
    "Json",
    "MalformedSelector",
    "Manifest",
    "Quantity",
    "accelerator",
    "canonical",
    "format_field",
    "identity_of",
    "mapping",
    "matches_selector",
    "names",
    "objects",
    "parse_quantity",
    "pod_requests",
    "read_json",
    "releases",
    "stable_path",
    "value_at",
    "whole_number",
    "with_value",
]

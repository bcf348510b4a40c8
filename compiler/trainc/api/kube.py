"""Documents of Kubernetes as data: fields, quantities, selectors, devices, and the names of upstream."""

from trainc.kube import bounds, devices, documents, names, quantity, releases, selectors
from trainc.kube.documents import POD_SPEC, Json, Manifest, Unchecked, identity_of, mapping, objects, value_at
from trainc.kube.quantity import Quantity, parse_quantity

__all__ = [
    "POD_SPEC",
    "Json",
    "Manifest",
    "Quantity",
    "Unchecked",
    "bounds",
    "devices",
    "documents",
    "identity_of",
    "mapping",
    "names",
    "objects",
    "parse_quantity",
    "quantity",
    "releases",
    "selectors",
    "value_at",
]

"""Documents of Kubernetes as data: fields, quantities, selectors, devices, and the names of upstream."""

from trainc.kube import (
    bounds as bounds,
    devices as devices,
    documents as documents,
    names as names,
    quantity as quantity,
    releases as releases,
    selectors as selectors,
)
from trainc.kube.documents import (
    POD_SPEC as POD_SPEC,
    Json as Json,
    Manifest as Manifest,
    Unchecked as Unchecked,
    identity_of as identity_of,
    mapping as mapping,
    objects as objects,
    value_at as value_at,
)
from trainc.kube.quantity import Quantity as Quantity, parse_quantity as parse_quantity

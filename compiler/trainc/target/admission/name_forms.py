"""The forms that Kubernetes demands of names and label values; lengths are judged apart, by `name_budget`.

Source: kubernetes/apimachinery pkg/util/validation/validation.go. Patterns only: each length has its own message.
"""

from __future__ import annotations

import re

LABEL_LIMIT = 63
SUBDOMAIN_LIMIT = 253

_DNS_1035_LABEL = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_DNS_1123_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_DNS_1123_SUBDOMAIN = re.compile(rf"{_DNS_1123_LABEL.pattern}(?:\.{_DNS_1123_LABEL.pattern})*")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_URL_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")

DNS_1035_FORM = "lower-case letters, digits and '-', with a letter first and no '-' last"
DNS_1123_FORM = "lower-case letters, digits, '-' and '.', with a letter or digit first and last in every part"
LABEL_VALUE_FORM = "letters, digits, '-', '_' and '.', with a letter or digit first and last"


def is_dns1035_label(value: str) -> bool:
    """Whether a Service or a Job could be called `value`, its length aside."""
    return _DNS_1035_LABEL.fullmatch(value) is not None


def is_dns1123_label(value: str) -> bool:
    """Whether a volume could be called `value`, its length aside."""
    return _DNS_1123_LABEL.fullmatch(value) is not None


def is_dns1123_subdomain(value: str) -> bool:
    """Whether most objects (ConfigMap, Secret, PersistentVolumeClaim) could be called `value`, its length aside."""
    return _DNS_1123_SUBDOMAIN.fullmatch(value) is not None


def is_label_value(value: str) -> bool:
    """Whether `value` could be a label's value, its length aside."""
    return _LABEL_VALUE.fullmatch(value) is not None


def is_domain_prefixed_path(value: str) -> bool:
    """Whether `value` reads `domain/path`, as `managedBy` must."""
    domain, _, path = value.partition("/")
    return is_dns1123_subdomain(domain) and length(domain) <= SUBDOMAIN_LIMIT and _URL_PATH.fullmatch(path) is not None


def length(value: str) -> int:
    """The length that Kubernetes' limits count: bytes, not characters."""
    return len(value.encode())

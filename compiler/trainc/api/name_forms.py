"""Syntax of names and label values in Kubernetes; length limits are checked separately, by `name_budget`.

Source: kubernetes/apimachinery pkg/util/validation/validation.go. Syntax and length are separate because they have
separate messages. This module uses sets of characters because compiling regular expressions would take longer than
checking all names of a job.
"""

from __future__ import annotations

LABEL_LIMIT = 63
SUBDOMAIN_LIMIT = 253

_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_LOWER_OR_DIGIT = _LOWER | frozenset("0123456789")
_IN_LABEL = _LOWER_OR_DIGIT | frozenset("-")
_LETTER_OR_DIGIT = _LOWER_OR_DIGIT | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_IN_VALUE = _LETTER_OR_DIGIT | frozenset("-_.")
_IN_URL_PATH = _LETTER_OR_DIGIT | frozenset("/-._~%!$&'()*+,;=:")

DNS_1035_FORM = "lowercase letters, digits and '-', with a letter first and no '-' last"
DNS_1123_FORM = "lowercase letters, digits, '-' and '.', with a letter or digit first and last in every part"
LABEL_VALUE_FORM = "letters, digits, '-', '_' and '.', with a letter or digit first and last"


def is_dns1035_label(value: str) -> bool:
    """Return whether `value` is a valid name of a Service or Job, apart from its length."""
    return is_dns1123_label(value) and value[0] in _LOWER


def is_dns1123_label(value: str) -> bool:
    """Return whether `value` is a valid name of a volume, apart from its length."""
    return _fits(value, _LOWER_OR_DIGIT, _IN_LABEL)


def is_dns1123_subdomain(value: str) -> bool:
    """Return whether `value` is a valid name of most objects (ConfigMap, Secret, ...), apart from its length."""
    return all(map(is_dns1123_label, value.split(".")))


def is_qualified_name(value: str) -> bool:
    """Return whether `value` is a valid label or annotation key without its prefix, apart from its length."""
    return _fits(value, _LETTER_OR_DIGIT, _IN_VALUE)


def is_label_value(value: str) -> bool:
    """Return whether `value` is a valid label value, apart from its length."""
    return not value or is_qualified_name(value)


def is_domain_prefixed_path(value: str) -> bool:
    """Return whether `value` has the form `domain/path`, which `managedBy` requires."""
    domain, _, path = value.partition("/")
    return (
        is_dns1123_subdomain(domain)
        and length(domain) <= SUBDOMAIN_LIMIT
        and path != ""
        and _IN_URL_PATH.issuperset(path)
    )


def _fits(value: str, ends: frozenset[str], inside: frozenset[str]) -> bool:
    return value != "" and value[0] in ends and value[-1] in ends and inside.issuperset(value)


def length(value: str) -> int:
    """Return the length in bytes, which is what Kubernetes limits."""
    return len(value.encode("utf-8", "surrogatepass"))

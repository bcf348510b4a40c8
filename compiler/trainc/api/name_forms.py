"""The forms that Kubernetes demands of names and label values; lengths are judged apart, by `name_budget`.

Source: kubernetes/apimachinery pkg/util/validation/validation.go. Forms only: each length has its own message. Sets
of characters, not regular expressions: those take longer to compile than all names of a job to check.
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
    """Whether a Service or a Job could be called `value`, its length aside."""
    return is_dns1123_label(value) and value[0] in _LOWER


def is_dns1123_label(value: str) -> bool:
    """Whether a volume could be called `value`, its length aside."""
    return _fits(value, _LOWER_OR_DIGIT, _IN_LABEL)


def is_dns1123_subdomain(value: str) -> bool:
    """Whether most objects (ConfigMap, Secret, PersistentVolumeClaim) could be called `value`, its length aside."""
    return all(map(is_dns1123_label, value.split(".")))


def is_qualified_name(value: str) -> bool:
    """Whether the key of a label or annotation could be `value`, its length and its prefix aside."""
    return _fits(value, _LETTER_OR_DIGIT, _IN_VALUE)


def is_label_value(value: str) -> bool:
    """Whether `value` could be a label's value, its length aside."""
    return not value or is_qualified_name(value)


def is_domain_prefixed_path(value: str) -> bool:
    """Whether `value` reads `domain/path`, as `managedBy` must."""
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
    """The length that Kubernetes' limits count: bytes, not characters."""
    return len(value.encode("utf-8", "surrogatepass"))

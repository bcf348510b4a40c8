"""Building blocks of the tables: checks of single values, of the fields of a struct, of metadata and label selectors.

A check is called with a value that is present and its path, and yields problems. It ignores values of the wrong type,
which the schema stage reports. Source of the name forms: kubernetes/apimachinery pkg/util/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from trainc.findings import Finding, Fix, Hint, Path, remove
from trainc.kube.documents import Json, items, mapping, objects
from trainc.kube.names import (
    DNS_1123_FORM,
    LABEL_LIMIT,
    LABEL_VALUE_FORM,
    SUBDOMAIN_LIMIT,
    is_dns1123_label,
    is_label_key,
    is_label_value,
    is_subdomain,
    length,
    suggest_name,
)
from trainc.kube.quantity import canonical
from trainc.kube.selectors import LABEL_OPERATORS, OPERATORS
from trainc.pods import errors
from trainc.startup.typing import Any, TypeAlias

Check: TypeAlias = Callable[[Any, Path], Iterable[Finding]]

LARGEST_INT32 = 2**31 - 1
_DNS_LABEL_FORM = "lowercase letters, digits and '-', at most 63, with a letter or digit first and last"
_KEY_FORM = f"{LABEL_VALUE_FORM}, at most 63 characters, with or without a domain and '/' before"
_KEY_CHARACTERS = frozenset("-._abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_PORT_CHARACTERS = frozenset("-abcdefghijklmnopqrstuvwxyz0123456789")


def one_of(*allowed: str) -> Check:
    """A word from `allowed`, which includes "" if an empty value counts as absent."""

    def check(value: Any, path: Path) -> Iterable[Finding]:
        return () if value in allowed or not isinstance(value, str) else (errors.unsupported(path, value, allowed),)

    return check


def number(smallest: int, largest: int | None = None) -> Check:
    """An integer within bounds (inclusive)."""

    def check(value: Any, path: Path) -> Iterable[Finding]:
        if not isinstance(value, int) or (value >= smallest and (largest is None or value <= largest)):
            return ()
        return (errors.out_of_range(path, value, smallest, largest),)

    return check


def dns_label(value: Any, path: Path) -> Iterable[Finding]:
    """A DNS label, like the names of volumes and containers."""
    if not isinstance(value, str) or (len(value) <= LABEL_LIMIT and is_dns1123_label(value)):
        return ()
    return (errors.malformed(path, value, _DNS_LABEL_FORM, suggest_name(value)),)


def name_form(is_valid: Callable[[str], bool], form: str) -> Check:
    """A name in a certain form, which `form` describes."""

    def check(value: Any, path: Path) -> Iterable[Finding]:
        return () if not isinstance(value, str) or is_valid(value) else (errors.malformed(path, value, form),)

    return check


# The names of most objects, and names with an optional domain prefix.
dns_subdomain = name_form(is_subdomain, f"{DNS_1123_FORM}, at most {SUBDOMAIN_LIMIT} characters")
qualified_name = name_form(is_label_key, _KEY_FORM)


def label_key(value: Any, path: Path) -> Iterable[Finding]:
    """A label key."""
    if not isinstance(value, str) or is_label_key(value):
        return ()
    return (errors.bad_label(path, value, _KEY_FORM, "key"),)


def label_value(value: Any, path: Path) -> Iterable[Finding]:
    """A label value."""
    if not isinstance(value, str) or is_label_value(value):
        return ()
    return (errors.bad_label(path, value, f"{LABEL_VALUE_FORM}, at most {LABEL_LIMIT} characters", "value"),)


def labels(value: Any, path: Path) -> Iterator[Finding]:
    """A map of labels."""
    for key, item in mapping(value).items():
        if not (is_label_key(str(key)) and is_label_value(str(item))):
            yield from label_key(key, (*path, key))
            yield from label_value(item, (*path, key))


def _is_config_map_key(value: str) -> bool:
    return len(value) <= SUBDOMAIN_LIMIT and _KEY_CHARACTERS.issuperset(value) and value != "." and value[:2] != ".."


# A key in a ConfigMap or a Secret. An empty one is in order here, because it is reported as missing.
config_map_key = name_form(_is_config_map_key, "letters, digits, '-', '_' and '.', not '..' first")


def is_variable_name(value: str) -> bool:
    """Return whether `value` is a valid environment variable name by the relaxed rules of Kubernetes 1.34."""
    return value.isascii() and value.isprintable() and "=" not in value


variable_name = name_form(is_variable_name, "printable ASCII characters without '='")


def _is_port_name(value: str) -> bool:
    return (
        0 < len(value) <= 15
        and _PORT_CHARACTERS.issuperset(value)
        and not value.replace("-", "").isdecimal()
        and "--" not in value
        and value[0] != "-"
        and value[-1] != "-"
    )


port_number = number(1, 65535)
port_name = name_form(
    _is_port_name,
    "at most 15 lowercase letters, digits and single '-', with a letter among them, none of the '-' first or last",
)


def port(value: Any, path: Path) -> Iterable[Finding]:
    """A port, by number or by name."""
    return port_name(value, path) if isinstance(value, str) else port_number(value, path)


def relative_path(value: Any, path: Path) -> Iterable[Finding]:
    """A relative path without `..`."""
    if not isinstance(value, str) or (value[:1] != "/" and ".." not in value):
        return ()
    if value[:1] == "/":
        relative = value.lstrip("/") or "data"
        hint = Hint(f"write a path without '/' first: {relative}", Fix("set", relative))
        return (errors.bad_path(path, value, hint),)
    return path_without_dotdot(value, path)


def path_without_dotdot(value: Any, path: Path) -> Iterable[Finding]:
    """A path without `..` components."""
    if not isinstance(value, str) or ".." not in value.split("/"):
        return ()
    return (errors.bad_path(path, value, "write a path without '..'"),)


def relative_file(value: Any, path: Path) -> Iterable[Finding]:
    """The relative path of a file that Kubernetes writes to a volume; names starting with `..` are reserved."""
    if isinstance(value, str) and value.startswith("..") and not value.startswith("../"):
        return (errors.bad_path(path, value, "write a name that does not start with '..'"),)
    return relative_path(value, path)


def address(value: Any, path: Path) -> Iterable[Finding]:
    """An IP address without leading zeros and without IPv4-mapped IPv6, like with StrictIPCIDRValidation."""
    from ipaddress import IPv6Address, ip_address

    if not isinstance(value, str):
        return ()
    try:
        parsed = ip_address(value)
    except ValueError:
        return (errors.bad_address(path, value),)
    strange = isinstance(parsed, IPv6Address) and (parsed.ipv4_mapped is not None or parsed.scope_id is not None)
    return (errors.bad_address(path, value),) if strange else ()


PULL_POLICY = one_of("", "Always", "IfNotPresent", "Never")


def unless_empty(check: Check) -> Check:
    """Skip empty values, which count as absent."""

    def check_set(value: Any, path: Path) -> Iterable[Finding]:
        return check(value, path) if value else ()

    return check_set


def list_of(check: Check) -> Check:
    """A list with each item checked by `check`."""

    def check_items(value: Any, path: Path) -> Iterator[Finding]:
        for i, item in enumerate(items(value)):
            yield from check(item, (*path, i))

    return check_items


def duplicates(holders: Any, field: str, path: Path) -> Iterator[Finding]:
    """Report items with the same value in `field`; empty values are reported as missing elsewhere."""
    seen: set[str] = set()
    for i, holder in enumerate(items(holders)):
        value = mapping(holder).get(field)
        if value and str(value) in seen:
            yield errors.duplicate((*path, i, field), value)
        seen.add(str(value))


def containers_of(spec: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    """Yield the init containers and containers of a pod, with their paths."""
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(objects(spec.get(kind))):
            yield (*path, kind, i), container


def struct(fields: Mapping[str, Check], needs: Sequence[str] = (), also: Check | None = None) -> Check:
    """A mapping: `needs` are the fields that must not be empty, `also` checks several fields together."""

    def check(value: Any, path: Path) -> Iterator[Finding]:
        if not isinstance(value, dict):
            return
        for name in needs:
            if value.get(name) in (None, "", []):
                yield errors.missing((*path, name))
        for name, item in value.items():
            if name in fields and item is not None and (item != "" or name not in needs):
                yield from fields[name](item, (*path, name))
        if also is not None:
            yield from also(value, path)

    return check


def exactly_one(names: Sequence[str], owner: str, hint: str = "keep one of them") -> Check:
    """One of the fields `names`, of a mapping that is called `owner` in messages."""

    def check(value: Any, path: Path) -> Iterator[Finding]:
        present = [name for name in names if value.get(name) not in (None, "")]
        if not present:
            yield errors.missing_choice(path, names, owner)
        elif len(present) > 1:
            yield errors.conflict(path, f"{owner} has both {' and '.join(present)}", hint)

    return check


def requirement(operators: Sequence[str], check_value: Check | None = label_value) -> Check:
    """An item of `matchExpressions`: its operator, the number of values that it takes, its key and the values."""
    check_values = list_of(check_value) if check_value is not None else None

    def check(value: Any, path: Path) -> Iterator[Finding]:
        operator, values = value.get("operator"), items(value.get("values"))
        if isinstance(operator, str) and operator not in operators:
            yield errors.unsupported((*path, "operator"), operator, operators)
        elif isinstance(operator, str):
            yield from _count(operator, len(values), (*path, "values"))
        yield from label_key(value.get("key", ""), (*path, "key"))
        if check_values is not None:
            yield from check_values(values, (*path, "values"))

    return struct({}, also=check)


def _count(operator: str, count: int, path: Path) -> Iterator[Finding]:
    fewest, most = OPERATORS[operator]
    if fewest <= count and (most is None or count <= most):
        return
    if most is None:
        yield errors.bad_selector(path, f"operator {operator} needs values", "list them under values")
    elif most == 0:
        hint = remove("remove values, or use operator In or NotIn")
        yield errors.bad_selector(path, f"operator {operator} cannot have values", hint)
    else:
        hint = 'write one number, in quotes: ["8"]'
        yield errors.bad_selector(path, f"operator {operator} needs exactly one number", hint)


# Source: kubernetes/apimachinery pkg/apis/meta/v1/validation/validation.go, ValidateLabelSelector.
label_selector = struct({"matchLabels": labels, "matchExpressions": list_of(requirement(LABEL_OPERATORS))})

_MOST_ANNOTATION_BYTES = 256 * 1024
_ANNOTATION_KEY_FORM = "letters, digits, '-', '_' and '.', at most 63, with or without a domain and '/' before"


def check_metadata(metadata: Json, path: Path) -> Iterator[Finding]:
    """Check the labels and annotations of any object."""
    yield from labels(metadata.get("labels"), (*path, "labels"))
    annotations = mapping(metadata.get("annotations"))
    for key in annotations:
        if not is_label_key(str(key).lower()):
            message, hint = f"{key!r} is not a valid key for an annotation", f"use {_ANNOTATION_KEY_FORM}"
            yield Finding("InvalidAnnotation", "error", message, hint, (*path, "annotations", key))
    size = sum(length(str(key)) + length(str(value)) for key, value in annotations.items())
    if size > _MOST_ANNOTATION_BYTES:
        yield errors.too_long((*path, "annotations"), size, _MOST_ANNOTATION_BYTES)


# References to fields of a pod and to resources of a container, in variables and volumes.

# From podshelper.ConvertDownwardAPIFieldLabel; `spec.host` is the old name of spec.nodeName.
_RENAMED = {"spec.host": "spec.nodeName"}
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = ("1m", "1")
_BYTE_DIVISORS = (
    "1",
    *(f"1{prefix}{base}" for base in ("", "i") for prefix in "kMGTPE" if prefix + base != "ki"),
    "1Ki",
)


def field_ref(allowed: tuple[str, ...]) -> Check:
    """A reference to a field of the pod: one of `allowed`, or a single label or annotation."""

    def check(value: Any, path: Path) -> Iterable[Finding]:
        field_path = value.get("fieldPath")
        if not isinstance(field_path, str) or not field_path:
            return ()
        source = (*path, "fieldPath")
        name, bracket, key = field_path.partition("['")
        if bracket and field_path.endswith("']"):
            return _check_subscript(source, path, name, key[:-2])
        if _RENAMED.get(field_path, field_path) in allowed:
            return ()
        return (errors.unsupported(source, field_path, allowed),)

    return struct({"apiVersion": one_of("", "v1")}, needs=("fieldPath",), also=check)


def _check_subscript(source: Path, path: Path, name: str, key: str) -> Iterable[Finding]:
    if name not in ("metadata.labels", "metadata.annotations"):
        allowed = ("metadata.labels['KEY']", "metadata.annotations['KEY']")
        return (errors.unsupported(source, f"{name}['{key}']", allowed),)
    if is_label_key(key.lower() if name == "metadata.annotations" else key):
        return ()
    message = f"{key!r} is not a valid key for a label or annotation"
    hint = "write the key exactly as in the pod's metadata"
    return (Finding("InvalidLabel", "error", message, hint, path, source_path=source),)


def resource_ref(value: Any, path: Path) -> Iterator[Finding]:
    """A reference to a resource of a container."""
    name = value.get("resource")
    if not isinstance(name, str) or not name:
        return
    if name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        yield errors.unsupported((*path, "resource"), name, _RESOURCES)
        return
    divisor = _divisor(value.get("divisor"))
    allowed = _CPU_DIVISORS if name.endswith(".cpu") else _BYTE_DIVISORS
    if divisor not in ("0", *allowed):
        yield errors.unsupported((*path, "divisor"), divisor, allowed)


def _divisor(value: Any) -> str:
    try:
        return canonical(str(value)) if value is not None else "0"
    except ValueError:
        return "0"  # Reported by the schema stage.

"""Names: those that Kubernetes and Trainer define, the forms that the API server accepts, and image references."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from trainc.startup.patterns import pattern
from trainc.startup.typing import Any

TRAINER_GROUP = "trainer.kubeflow.org"
TRAINER_API = f"{TRAINER_GROUP}/v1alpha1"
JOBSET_API = "jobset.x-k8s.io/v1alpha2"

RUNTIME_KINDS = ("TrainingRuntime", "ClusterTrainingRuntime")
KINDS = ("TrainJob", *RUNTIME_KINDS)
# Those of a job, in Trainer's API and in older dialects.
JOB_KINDS = ("TrainJob", "TrainingJob")

ANCESTOR_LABEL = f"{TRAINER_GROUP}/trainjob-ancestor-step"
SUPPORT_LABEL = f"{TRAINER_GROUP}/support"

# Ancestor steps: the values of ANCESTOR_LABEL.
TRAINER = "trainer"
DATASET_INITIALIZER = "dataset-initializer"
MODEL_INITIALIZER = "model-initializer"
INITIALIZERS = (DATASET_INITIALIZER, MODEL_INITIALIZER)

# Names of replicated jobs and containers with a special meaning.
NODE = "node"
LAUNCHER = "launcher"
INITIALIZER_VOLUME = "initializer"

TRAINER_PORT = 29500
COMPLETION_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"

CONTROLLER_MANAGED_BY = f"{TRAINER_GROUP}/trainjob-controller"
MULTIKUEUE_MANAGED_BY = "kueue.x-k8s.io/multikueue"
CLAIMS_GATE = "TrainJobDynamicResourceAllocation"
KUEUE_GROUP = "kueue.x-k8s.io"
QUEUE_LABEL = f"{KUEUE_GROUP}/queue-name"
MAX_SECONDS_LABEL = f"{KUEUE_GROUP}/max-exec-time-seconds"


def first_host(job: str, replicated_job: str, subdomain: str) -> str:
    """Return the DNS name, within the namespace, of the first pod of a replicated job: rank 0 listens there."""
    return f"{pod_host(job, replicated_job, 0, 0)}.{subdomain}"


def pod_host(job: str, replicated_job: str, replica: int, index: int) -> str:
    """Return the hostname that JobSet gives to a pod."""
    return f"{job}-{replicated_job}-{replica}-{index}"


def full_name(image: str) -> str:
    """Return the name of an image with its registry, without tag and digest: `python:3` is docker.io/library/python."""
    name = split_image(image)[0]
    first, slash, _ = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def split_image(image: str) -> tuple[str, str, str]:
    """Split an image into (name, tag, digest); the colon before a registry's port does not start a tag."""
    reference, _, digest = image.partition("@")
    name, colon, tag = reference.rpartition(":")
    return (name, tag, digest) if colon and "/" not in tag else (reference, "", digest)


def join_image(name: str, tag: str | None, digest: str | None) -> str:
    """Return the image with a name, tag and digest, of which the last two may be missing."""
    return f"{name}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}"


def is_in_registry(name: str, *registries: str) -> bool:
    """Return whether the full name of an image is in a registry, or in a part of one such as ghcr.io/my-org."""
    return any(name == registry or name.startswith(f"{registry}/") for registry in registries)


def trial_name(sweep: str, index: int) -> str:
    """Return the name of a trial, as the controller of OptimizationJobs gives it (kubeflow/trainer KEP-3562)."""
    return f"{sweep}-trial-{index}"


def is_of_trainjob(jobset: Mapping[str, Any]) -> bool:
    """Return whether a rendered JobSet was made of a TrainJob: Trainer's label marks its steps."""
    jobs = (jobset.get("spec") or {}).get("replicatedJobs") or ()
    labels = ((job.get("template", {}).get("metadata") or {}).get("labels") or {} for job in jobs)
    return any(ANCESTOR_LABEL in job_labels for job_labels in labels)


# Syntax of names, label keys and label values in Kubernetes.
#
# Source: kubernetes/apimachinery pkg/util/validation/validation.go. Functions called `is_dns...` and
# `is_qualified_name` leave the length to the caller, because it has a message of its own. This module uses sets of
# characters because compiling regular expressions would take longer than checking all names of a job.

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


def suggest_name(text: str, *, letter_first: bool = False) -> str:
    """Suggest a valid name similar to the rejected one; empty if none of its characters are usable."""
    characters = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    name = "-".join(part for part in characters.split("-") if part)
    if letter_first and name[:1].isdigit():
        name = f"run-{name}"
    name = name[:LABEL_LIMIT].rstrip("-")
    fits = is_dns1035_label(name) if letter_first else is_dns1123_label(name)
    return name if fits else ""


def is_dns1123_subdomain(value: str) -> bool:
    """Return whether `value` is a valid name of most objects (ConfigMap, Secret, ...), apart from its length."""
    return all(map(is_dns1123_label, value.split(".")))


def is_file_name(value: str) -> bool:
    """Return whether `value` is a valid key of a ConfigMap or a Secret, which becomes the name of a file in pods."""
    return 0 < len(value) <= SUBDOMAIN_LIMIT and _IN_VALUE.issuperset(value) and value != "." and value[:2] != ".."


def is_qualified_name(value: str) -> bool:
    """Return whether `value` is a valid label or annotation key without its prefix, apart from its length."""
    return _fits(value, _LETTER_OR_DIGIT, _IN_VALUE)


def is_subdomain(value: str) -> bool:
    """Return whether `value` is a valid name of most objects, including its length."""
    return len(value) <= SUBDOMAIN_LIMIT and is_dns1123_subdomain(value)


@lru_cache(maxsize=1024)
def is_label_key(value: str) -> bool:
    """Return whether `value` is a valid key of a label, taint or condition, including its prefix and lengths."""
    prefix, slash, name = value.rpartition("/")
    return (not slash or is_subdomain(prefix)) and len(name) <= LABEL_LIMIT and is_qualified_name(name)


def is_label_value(value: str) -> bool:
    """Return whether `value` is a valid label value, including its length."""
    return not value or (len(value) <= LABEL_LIMIT and is_qualified_name(value))


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


# Validation of container image references.
#
# Source: distribution/reference regexp.go and normalize.go. The length of a digest is not checked against its
# algorithm.

_PORT = pattern(r"\d{1,5}")
_HOST = pattern(
    r"(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])(?:\.(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9]))*"
)
_PART = pattern(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_TAG = pattern(r"\w[\w.-]{0,127}", 256)  # re.ASCII
# opencontainers/go-digest: algorithm.go, Validate: other algorithms and lengths are refused where an image is pulled.
_DIGEST = pattern(r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
_DIGITS = 64
_BARE_ID = pattern(r"[0-9a-f]{64}")
_LONGEST = 255
_BETWEEN = str.maketrans("_/-:", "....")


def reference_problem(image: str) -> tuple[str, str] | None:
    """Return (problem, suggested replacement) for an invalid reference, or None if `image` is valid."""
    return None if _is_plain(image) else _problem(image)


def _is_plain(image: str) -> bool:
    """Whether an image is lowercase words with one mark between them and no port, as most are: the others are checked by parts."""
    words, tag = image.translate(_BETWEEN).split("."), image.partition(":")[2]
    text = "".join(words)
    is_word = all(words) and text.isascii() and text.isalnum() and text == text.lower()
    return is_word and len(tag) <= 128 and not (":" in tag or "/" in tag)


def _problem(image: str) -> tuple[str, str] | None:
    if image != image.strip() or any(c.isspace() for c in image):
        return "it contains spaces", "".join(image.split())
    if "://" in image:
        return "it starts with a URL scheme", image.partition("://")[2]
    if "{{" in image or "${" in image or "$(" in image:
        return "it contains a template that was not rendered", ""
    name, at, digest = image.partition("@")
    if at and _DIGEST.fullmatch(digest) is None:
        digits = digest.rpartition(":")[2]
        meant = f"{name}@{meant}" if _DIGEST.fullmatch(meant := f"sha256:{digits}") else ""
        count = f", not {len(digits)}" * (len(digits) != _DIGITS)
        return f"{digest!r} is not a valid digest: sha256: and {_DIGITS} hexadecimal digits{count}", meant
    name, tag = _split_tag(name)
    if tag is not None and _TAG.fullmatch(tag) is None:
        return (f"{tag!r} is not a valid tag", f"{name}:latest") if tag else ("there is no tag after the colon", name)
    return _name_problem(name, image)


def _split_tag(name: str) -> tuple[str, str | None]:
    """Split at the last colon into name and tag; a colon before the last slash belongs to a port."""
    before, colon, tag = name.rpartition(":")
    return (before, tag) if colon and "/" not in tag else (name, None)


def _name_problem(name: str, image: str) -> tuple[str, str] | None:
    domain, path = _split_domain(name)
    if domain is not None:
        host, colon, port = domain.partition(":")
        if domain.lower() != domain and "." not in domain and not colon:
            # The capitals make it look like a registry host, but no such host exists.
            return "repository names must be lowercase", image.replace(name, name.lower())
        if (colon and _PORT.fullmatch(port) is None) or (_HOST.fullmatch(host) is None and not host.startswith("[")):
            return f"{domain!r} is not a valid registry host", ""
    if not path or not all(_PART.fullmatch(part) for part in path.split("/")):
        if path.lower() != path:
            return "repository names must be lowercase", image.replace(path, path.lower())
        return f"{path!r} is not a valid repository name", ""
    if _BARE_ID.fullmatch(name) is not None or len(name) > _LONGEST:
        return "it is the ID of an image, not its name" if len(name) <= _LONGEST else "it is too long", ""
    return None


def _split_domain(name: str) -> tuple[str | None, str]:
    first, slash, path = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost" or first.lower() != first):
        return first, path
    return None, name


def normalized_package(name: str) -> str:
    """Return the name of a package as PyPI compares it (PEP 503)."""
    return _PACKAGE_PUNCTUATION.sub("-", name).lower()


_PACKAGE_PUNCTUATION = pattern(r"[-_.]+")

"""The compile options, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from trainc.kube.kueue import checked_kueue
from trainc.kube.names import (
    DNS_1123_FORM,
    LABEL_LIMIT,
    SUBDOMAIN_LIMIT,
    is_dns1123_label,
    is_dns1123_subdomain,
    length,
)
from trainc.kube.releases import normalize_kubernetes, normalize_release
from trainc.kube.sync_options import normalize_sync_options
from trainc.startup.records import dataclass, field

Semantics: TypeAlias = Literal["gitops", "controller"]
SecretsMode: TypeAlias = Literal["existing", "external-secrets", "sealed", "presync-job"]
Delivery: TypeAlias = Literal["argocd", "flux", "kubectl"]
Gang: TypeAlias = Literal["runtime", "workload"]


def checked_namespace(text: str) -> str:
    """Return `text` if it is a valid namespace name; raise ValueError otherwise."""
    if not is_dns1123_label(text) or length(text) > LABEL_LIMIT:
        form = f"at most {LABEL_LIMIT} lowercase letters, digits and '-', with a letter or digit first and last"
        raise ValueError(f"{text!r} is not a valid namespace name; use {form}")
    return text


def checked_cluster_domain(text: str) -> str:
    """Return `text` if it is a valid cluster domain (the suffix of pod DNS names); raise ValueError otherwise."""
    if not is_dns1123_subdomain(text) or length(text) > SUBDOMAIN_LIMIT:
        form = f"at most {SUBDOMAIN_LIMIT} {DNS_1123_FORM}"
        raise ValueError(f"{text!r} is not a valid cluster domain; use {form}")
    return text


def checked_image(text: str) -> str:
    """Return `text` if it could be an image reference; raise ValueError otherwise."""
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise ValueError(f"{text!r} is not a valid image reference; write one such as example.com/keygen:1")
    return text


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on input, so that malicious files are rejected within bounded time and memory.

    Sizes are in bytes and times in seconds; the other numbers are counts. `allow_outside` permits symlinks, overlays
    and trainc.yaml to refer to files outside their repository.
    """

    file_bytes: int = 200_000_000
    document_bytes: int = 10_000_000
    documents: int = 100_000
    depth: int = 100
    alias_expansions: int = 10_000
    template_steps: int = 100_000
    template_bytes: int = 100_000_000
    template_seconds: int = 5
    overlays: int = 1_000
    allow_outside: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile. Defaults are the same as on the command line.

    `release` is the Trainer minor version to compile for; None means the newest, and reports an info diagnostic.
    `semantics` is "gitops" (what belongs in git) or "controller" (what the controller would create).

    The remaining fields only affect `gitops` output. `secrets` says where SSH key pairs come from, and `keygen_image`
    is the image that generates them with "presync-job". `delivery` is the tool that applies the output, and
    `sync_options` are its options (sync_options.SYNC_OPTIONS). `name_hash` appends a content hash to job names.
    `plugins` enables plugins from other distributions, by entry point name in the group `trainc.plugins`. `gang`
    selects who gang-schedules the pods of a runtime with a podGroupPolicy: "runtime" (the scheduler named in the
    policy) or "workload" (Kubernetes itself). `kubernetes` is the minor version of the target cluster; None means 1.36,
    without checks for fields that other versions lack or deprecate. `kueue` is the version of Kueue in the cluster, with or
    without a patch; None means that it is not known.
    """

    release: str | None = None
    semantics: Semantics = "gitops"
    secrets: SecretsMode = "existing"
    keygen_image: str | None = None
    namespace: str | None = None
    name_hash: bool = False
    delivery: Delivery = "argocd"
    sync_options: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    plugins: tuple[str, ...] = ()
    gang: Gang = "runtime"
    kubernetes: str | None = None
    kueue: str | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.release is not None:
            object.__setattr__(self, "release", normalize_release(self.release))
        if self.kubernetes is not None:
            object.__setattr__(self, "kubernetes", normalize_kubernetes(self.kubernetes))
        if self.kueue is not None:
            object.__setattr__(self, "kueue", checked_kueue(self.kueue))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"unknown {name} {getattr(self, name)!r}; choose {' or '.join(choices)}")
        if self.namespace is not None:
            checked_namespace(self.namespace)
        if self.keygen_image is not None:
            checked_image(self.keygen_image)
        checked_cluster_domain(self.cluster_domain)
        object.__setattr__(self, "plugins", tuple(self.plugins))
        object.__setattr__(self, "sync_options", normalize_sync_options(self.sync_options, self.delivery))


def layered(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `Options` fields from several sources; later layers override earlier ones.

    Sync options are specific to one tool, so a layer that switches `delivery` discards those of earlier layers.
    """
    fields: dict[str, Any] = {}
    for layer in layers:
        tool = layer.get("delivery")
        if tool and tool != fields.get("delivery", "argocd"):
            fields.pop("sync_options", None)
        fields |= layer
    return fields


_CHOICES: dict[str, tuple[Any, ...]] = {
    "semantics": get_args(Semantics),
    "secrets": get_args(SecretsMode),
    "delivery": get_args(Delivery),
    "gang": get_args(Gang),
}

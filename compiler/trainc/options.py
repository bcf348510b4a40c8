"""What a caller may choose, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from trainc.api.name_forms import (
    DNS_1123_FORM,
    LABEL_LIMIT,
    SUBDOMAIN_LIMIT,
    is_dns1123_label,
    is_dns1123_subdomain,
    length,
)
from trainc.api.releases import normalize_kubernetes, normalize_release
from trainc.api.sync_options import normalize_sync_options
from trainc.startup.records import dataclass, field

Semantics: TypeAlias = Literal["gitops", "controller"]
SecretsMode: TypeAlias = Literal["existing", "external-secrets", "sealed", "presync-job"]
Delivery: TypeAlias = Literal["argocd", "flux", "kubectl"]
Gang: TypeAlias = Literal["runtime", "workload"]


def checked_namespace(text: str) -> str:
    """`text`, if a namespace can have that name. ValueError if not."""
    if not is_dns1123_label(text) or length(text) > LABEL_LIMIT:
        form = f"at most {LABEL_LIMIT} lowercase letters, digits and '-', with a letter or digit first and last"
        raise ValueError(f"{text!r} is not a valid namespace name; use {form}")
    return text


def checked_cluster_domain(text: str) -> str:
    """`text`, if pods can have it at the end of their names. ValueError if not."""
    if not is_dns1123_subdomain(text) or length(text) > SUBDOMAIN_LIMIT:
        form = f"at most {SUBDOMAIN_LIMIT} {DNS_1123_FORM}"
        raise ValueError(f"{text!r} is not a valid cluster domain; use {form}")
    return text


def checked_image(text: str) -> str:
    """`text`, if an image can be called so. ValueError if not."""
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise ValueError(f"{text!r} is not a valid image reference; write one such as example.com/keygen:1")
    return text


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on input, so that hostile files are refused in bounded time and memory.

    `allow_outside` is whether links, overlays and trainc.yaml may lead out of the repository that they are in.
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
    """How to compile. Every field has the default of the command line.

    `release` is the Trainer minor whose behaviour is compiled; None means the newest, with an info diagnostic.
    `semantics` is "gitops" (what should be in git) or "controller" (what the controller would create).
    The rest shapes `gitops` output only: `secrets` says where key pairs come from, `keygen_image` is what makes them
    under "presync-job"; `delivery` is the tool that applies the output, `sync_options` what it is told
    (sync_options.SYNC_OPTIONS); `name_hash` appends a content hash to job names. `plugins` names those of other
    distributions that take part, by their entry points of the group `trainc.plugins`. `gang` says who schedules the pods
    of a runtime with a podGroupPolicy together: "runtime", the scheduler that the policy names, or "workload",
    Kubernetes itself. `kubernetes` is the minor of the cluster that the output is for; None means 1.36, without a
    look at fields that other minors lack or have deprecated.
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
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.release is not None:
            object.__setattr__(self, "release", normalize_release(self.release))
        if self.kubernetes is not None:
            object.__setattr__(self, "kubernetes", normalize_kubernetes(self.kubernetes))
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
    """Fields of Options from several places, later ones over earlier ones.

    Sync options are for one tool: a layer that names another tool does away with those of the layers below it.
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

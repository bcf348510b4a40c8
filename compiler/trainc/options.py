"""The compile options, as one frozen value, and the table of how users set each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.kube.kueue_versions import MINORS, normalize_kueue
from trainc.kube.names import (
    CLAIMS_GATE,
    DNS_1123_FORM,
    LABEL_LIMIT,
    SUBDOMAIN_LIMIT,
    is_dns1123_label,
    is_dns1123_subdomain,
    length,
)
from trainc.kube.releases import (
    DEFAULT_KUBERNETES,
    KUBERNETES,
    PREVIEWS,
    RELEASES,
    normalize_kubernetes,
    normalize_release,
)
from trainc.kube.sync_options import normalize_sync_options
from trainc.startup.records import dataclass, field, fields
from trainc.startup.typing import Any, Literal, TypeAlias, get_args

Semantics: TypeAlias = Literal["gitops", "controller"]
SecretsMode: TypeAlias = Literal["existing", "external-secrets", "sealed", "presync-job"]
Delivery: TypeAlias = Literal["argocd", "flux", "kubectl"]
Gang: TypeAlias = Literal["runtime", "workload"]
# Gates whose effect on the objects is known. All are off by default.
FEATURE_GATES = (CLAIMS_GATE,)


def check_namespace(text: str) -> str:
    """Return `text` if it is a valid namespace name; raise ValueError otherwise."""
    if not is_dns1123_label(text) or length(text) > LABEL_LIMIT:
        form = f"at most {LABEL_LIMIT} lowercase letters, digits and '-', with a letter or digit first and last"
        raise ValueError(f"{text!r} is not a valid namespace name; use {form}")
    return text


def check_cluster_domain(text: str) -> str:
    """Return `text` if it is a valid cluster domain (the suffix of pod DNS names); raise ValueError otherwise."""
    if not is_dns1123_subdomain(text) or length(text) > SUBDOMAIN_LIMIT:
        form = f"at most {SUBDOMAIN_LIMIT} {DNS_1123_FORM}"
        raise ValueError(f"{text!r} is not a valid cluster domain; use {form}")
    return text


def check_image(text: str) -> str:
    """Return `text` if it could be an image reference; raise ValueError otherwise."""
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise ValueError(f"{text!r} is not a valid image reference; write one such as example.com/keygen:1")
    return text


_VALUES = 1_200_000


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
    values: int = _VALUES
    template_steps: int = 100_000
    template_bytes: int = 100_000_000
    template_seconds: int = 5
    overlays: int = 1_000
    allow_outside: bool = False

    def values_in(self, text: str) -> int:
        """How many keys and values a document may have: beyond the default, one for 8 characters, since real objects have fewer."""
        return min(self.values, max(_VALUES, len(text) // 8))

    def documents_in(self, text: str | bytes) -> int:
        """How many documents a file may have: beyond 10,000, one for 50 characters, since a name and a kind alone have more."""
        return min(self.documents, max(10_000, len(text) // 50))


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile. Defaults are the same as on the command line.

    `release` is the Trainer minor version to compile for; None means the newest, and reports an info diagnostic.
    `semantics` is "gitops" (what belongs in git) or "controller" (what the controller would create).

    The remaining fields only affect `gitops` output. `secrets` says where SSH key pairs come from, and `keygen_image`
    is the image that generates them with "presync-job". `delivery` is the tool that applies the output, and
    `sync_options` are its options (kube/sync_options.py). `name_hash` appends a content hash to job names.
    `plugins` enables plugins from other distributions, by entry point name in the group `trainc.plugins`. `gang`
    selects who gang-schedules the pods of a runtime with a podGroupPolicy: "runtime" (the scheduler named in the
    policy) or "workload" (Kubernetes itself). `kubernetes` is the minor version of the target cluster; None means 1.36,
    without checks for fields that other versions lack or deprecate. `kueue` is the version of Kueue in the cluster, with or
    without a patch; None means that it is not known. `feature_gates` are the gates of Trainer's controller that are on.
    `software` has globs of images, each with the packages in these images and their versions; it is only for diagnostics.
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
    feature_gates: tuple[str, ...] = ()
    software: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for setting in SETTINGS:
            value = getattr(self, setting.name)
            if value is not None:
                object.__setattr__(self, setting.name, setting.normalize(value))
        if self.sync_options:
            object.__setattr__(self, "sync_options", normalize_sync_options(self.sync_options, self.delivery))

    @property
    def recreates(self) -> bool:
        """Whether the tool deletes and creates an object again that the cluster does not let it change."""
        chosen = {*self.sync_options}
        return {"Force=true", "Replace=true"} <= chosen or "force=enabled" in chosen


def merge_layers(*layers: Mapping[str, Any]) -> dict[str, Any]:
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


SettingSource: TypeAlias = Literal["trainc.yaml", "Overlay", "Argo CD"]


@dataclass(frozen=True, slots=True)
class Setting:
    """How users set one field of `Options`: a flag, a key of trainc.yaml and overlays, and a parameter of Argo CD.

    `about` describes it in the help, in schemas and the reference, and in Argo CD. `choices` are the allowed values;
    with a `check`, which returns the normal form of a value or raises ValueError, other spellings of them are allowed
    too. `not_in` lists the sources where it cannot be set, and `topic` is the page of `trainc help` that explains the
    flag, or empty if the help of each command does. `plural` is a list whose flag is called like that of Kubernetes.
    """

    name: str
    about: str
    topic: Literal["", "input", "delivery"]
    kind: Literal["text", "truth", "list"] = "text"
    choices: tuple[str, ...] = ()
    check: Callable[[str], str] | None = None
    metavar: str | None = None
    not_in: tuple[SettingSource, ...] = ()
    plural: bool = False

    @property
    def default(self) -> Any:
        """The default of the field."""
        return next(option.default for option in fields(Options) if option.name == self.name)

    @property
    def flag(self) -> str:
        """The option of the command line; one that may be repeated is in the singular, unless it is `plural`."""
        return f"--{self.parameter.removesuffix('s') if self.kind == 'list' and not self.plural else self.parameter}"

    @property
    def key(self) -> str:
        """The key in trainc.yaml and overlays: `syncOptions`."""
        first, *words = self.name.split("_")
        return first + "".join(word.capitalize() for word in words)

    @property
    def parameter(self) -> str:
        """The parameter of an Argo CD Application: `sync-options`."""
        return self.name.replace("_", "-")

    def normalize(self, value: Any) -> Any:
        """Return the normal form of a value. Raises ValueError if it is not allowed."""
        if self.kind == "list":
            if self.choices and (unknown := [item for item in value if item not in self.choices]):
                raise ValueError(f"unknown {self.name} {unknown[0]!r}; choose {' or '.join(self.choices)}")
            return tuple(value)
        if self.check is not None:
            return self.check(value)
        if self.choices and value not in self.choices:
            raise ValueError(f"unknown {self.name} {value!r}; choose {' or '.join(self.choices)}")
        return value


def settings_in(source: SettingSource) -> tuple[Setting, ...]:
    """Return the settings that can be set in a source."""
    return tuple(setting for setting in SETTINGS if source not in setting.not_in)


# A compile option is a field of `Options` and a row here. Everything that sets, checks or describes it is made from them.
SETTINGS: tuple[Setting, ...] = (
    Setting(
        "release",
        f"Trainer release: {', '.join(f'{r} (preview)' if r in PREVIEWS else r for r in RELEASES)}",
        "",
        choices=RELEASES,
        check=normalize_release,
        metavar="MINOR",
    ),
    Setting(
        "namespace",
        "namespace for documents that set none",
        "",
        check=check_namespace,
        metavar="NAME",
        not_in=("trainc.yaml", "Overlay"),
    ),
    Setting(
        "semantics",
        "what to compile: gitops (what belongs in git) or controller (exactly what Trainer's controller would create)",
        "input",
        choices=get_args(Semantics),
    ),
    Setting(
        "kubernetes",
        f"Kubernetes minor of the cluster: {', '.join(KUBERNETES)} ({DEFAULT_KUBERNETES} if not set)",
        "input",
        choices=KUBERNETES,
        check=normalize_kubernetes,
        metavar="MINOR",
    ),
    Setting(
        "kueue",
        f"Kueue version of the cluster: {' or '.join(MINORS)}, or one with a patch, such as 0.19.6",
        "input",
        check=normalize_kueue,
        metavar="VERSION",
    ),
    Setting(
        "gang",
        "what schedules the pods of a gang together: runtime (the scheduler in the runtime's podGroupPolicy) or workload "
        "(Kubernetes 1.37 itself)",
        "input",
        choices=get_args(Gang),
    ),
    Setting(
        "feature_gates",
        f"feature gates of Trainer's controller that are on: {', '.join(FEATURE_GATES)} (2.4)",
        "input",
        "list",
        choices=FEATURE_GATES,
        metavar="NAME",
        plural=True,
    ),
    Setting(
        "plugins",
        "plugins from other installed packages, by name",
        "input",
        "list",
        metavar="NAME",
        not_in=("Overlay", "Argo CD"),
    ),
    Setting("delivery", "tool that applies the output", "delivery", choices=get_args(Delivery), not_in=("Argo CD",)),
    Setting(
        "sync_options",
        "sync options of Argo CD or Flux for each job; see `trainc help sync-options`",
        "delivery",
        "list",
        metavar="NAME",
    ),
    Setting(
        "secrets",
        "where the SSH keys that MPI pods mount come from; trainc never writes a key",
        "delivery",
        choices=get_args(SecretsMode),
    ),
    Setting(
        "keygen_image",
        "image of the Job that generates the keys, if secrets is presync-job",
        "delivery",
        check=check_image,
        metavar="IMAGE",
    ),
    Setting("name_hash", "append a content hash to job names, so that a changed job is a new job", "delivery", "truth"),
    Setting(
        "cluster_domain",
        "DNS domain of the cluster",
        "delivery",
        check=check_cluster_domain,
        metavar="DOMAIN",
        not_in=("trainc.yaml", "Overlay"),
    ),
)

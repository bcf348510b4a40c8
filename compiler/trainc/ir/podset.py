"""Pod sets (the pods of one replicated job) and their containers, with the edits that plugins make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api import names
from trainc.api.quantity import ResourceList
from trainc.startup.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Container:
    """A container. `fields` is a core/v1 Container as a plain mapping that must not be modified."""

    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the container."""
        return str(self.fields.get("name", ""))

    @property
    def env(self) -> Sequence[Item]:
        """The environment variables, in order."""
        env: Sequence[Item] = self.fields.get("env", ())
        return env

    @property
    def ports(self) -> Sequence[Item]:
        """The container ports, in order."""
        ports: Sequence[Item] = self.fields.get("ports", ())
        return ports

    @property
    def mounts(self) -> Sequence[Item]:
        """The volume mounts, in order."""
        mounts: Sequence[Item] = self.fields.get("volumeMounts", ())
        return mounts

    @property
    def command(self) -> tuple[str, ...]:
        """The entrypoint, or empty if the image's is used."""
        return tuple(self.fields.get("command", ()))

    @property
    def resources(self) -> Mapping[str, Any]:
        """`limits`, `requests` and `claims`, with canonical quantities."""
        resources: Mapping[str, Any] = self.fields.get("resources", {})
        return resources

    def with_fields(self, **fields: Any) -> Container:
        """Return a copy with `fields` set; None removes a field."""
        merged = {**self.fields, **fields}
        return Container({name: value for name, value in merged.items() if value is not None})

    def with_env(self, variables: Iterable[Item]) -> Container:
        """Return a copy with variables added; existing ones with the same name are replaced in place."""
        env = upsert(self.env, variables, "name")
        return Container({**self.fields, "env": env}) if env else self

    def with_mounts(self, mounts: Iterable[Item]) -> Container:
        """Return a copy with mounts added; existing ones with the same path are replaced in place."""
        return Container({**self.fields, "volumeMounts": upsert(self.mounts, mounts, "mountPath")})

    def with_ports(self, ports: Iterable[Item], same: Same) -> Container:
        """Return a copy with ports added; existing ones that `same` considers equal are replaced in place."""
        result = upsert_where(self.ports, ports, same)
        return Container({**self.fields, "ports": result}) if result else self


Edit = Callable[[Container], Container]


@dataclass(frozen=True, slots=True)
class PodSet:
    """The pods of the replicated job `name`.

    - `count`: pods per replica (parallelism and completions).
    - `ancestor`: the ancestor step in the label of its job template.
    - `role`: "launcher" or "node" in MPI and Flux jobs, otherwise empty.
    - `main`: the container that gets the step's settings.
    - `requests`: the requests of one pod, as the scheduler counts them.
    - `min_count`: pods per replica that a gang waits for, if fewer than `count`.
    - `labels`, `annotations`: what schedulers add to the pods.
    - `pod_fields`: fields that plugins set in the pod spec.
    """

    name: str
    ancestor: str | None
    count: int
    replicas: int
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    volumes: tuple[Item, ...]
    requests: ResourceList
    role: str = ""
    main: str = names.NODE
    min_count: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    pod_fields: Mapping[str, Any] = field(default_factory=dict)

    def container(self, name: str) -> Container | None:
        """Return the container `name`; regular containers take precedence over init containers."""
        return next((c for c in (*self.containers, *self.init_containers) if c.name == name), None)

    def with_count(self, count: int) -> PodSet:
        """Return a copy with `count` pods per replica."""
        return replace(self, count=count)

    def with_container(self, name: str, edit: Edit) -> PodSet:
        """Return a copy with the container `name` edited; regular containers take precedence over init containers."""
        if any(c.name == name for c in self.containers):
            return replace(self, containers=_edited(self.containers, name, edit))
        return replace(self, init_containers=_edited(self.init_containers, name, edit))

    def with_main(self, edit: Edit) -> PodSet:
        """Return a copy with the main container edited; unchanged if there is none."""
        return replace(self, containers=_edited(self.containers, self.main, edit))

    def with_pod_labels(self, labels: Mapping[str, str]) -> PodSet:
        """Return a copy with labels added to its pods."""
        return replace(self, labels={**self.labels, **labels})

    def with_pod_annotations(self, annotations: Mapping[str, str]) -> PodSet:
        """Return a copy with annotations added to its pods."""
        return replace(self, annotations={**self.annotations, **annotations})

    def with_pod_fields(self, **fields: Any) -> PodSet:
        """Return a copy with pod spec fields that override the template's."""
        return replace(self, pod_fields={**self.pod_fields, **fields})

    def with_volumes(self, volumes: Iterable[Mapping[str, Any]]) -> PodSet:
        """Return a copy with volumes added; existing ones with the same name are replaced in place."""
        return replace(self, volumes=tuple(upsert(self.volumes, volumes, "name")))


def _edited(containers: tuple[Container, ...], name: str, edit: Edit) -> tuple[Container, ...]:
    at = next((i for i, c in enumerate(containers) if c.name == name), None)
    return containers if at is None else (*containers[:at], edit(containers[at]), *containers[at + 1 :])


# Lists with item identities: replace items with the same identity in place, append others. Go's counterpart is
# `Upsert*` in kubeflow/trainer pkg/apply/apply.go.


Item: TypeAlias = Mapping[str, Any]
Same: TypeAlias = Callable[[Item, Item], bool]


def upsert(items: Sequence[Item], updates: Iterable[Item], key: str) -> list[Item]:
    """Return `items` with each update replacing the item with the same `key`, or appended."""
    result = list(items)
    index: dict[Any, int] = {}
    for i, item in enumerate(items):
        index.setdefault(item.get(key), i)
    for update in updates:
        identity = update.get(key)
        if identity in index:
            result[index[identity]] = update
        else:
            index[identity] = len(result)
            result.append(update)
    return result


def upsert_where(items: Sequence[Item], updates: Iterable[Item], same: Same) -> list[Item]:
    """Like `upsert`, but items match if `same` returns True."""
    result = list(items)
    for update in updates:
        for i, item in enumerate(result):
            if same(item, update):
                result[i] = update
                break
        else:
            result.append(update)
    return result


def controller_port_match(left: Item, right: Item) -> bool:
    """Whether the controller considers two ports the same: equal number or name; unnamed ports have equal names."""
    return left.get("containerPort") == right.get("containerPort") or left.get("name") == right.get("name")


def port_match(left: Item, right: Item) -> bool:
    """Whether two ports are the same by the API's list keys: number and protocol."""
    return (left.get("containerPort"), left.get("protocol", "TCP")) == (
        right.get("containerPort"),
        right.get("protocol", "TCP"),
    )

"""Pod sets and their containers: the pods of one replicated job, seen as a unit, and the edits that plugins make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from trainc.api import names
from trainc.api.quantity import ResourceList
from trainc.startup.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Container:
    """`fields` is a core/v1 Container as a plain mapping, never changed in place."""

    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The container's name."""
        return str(self.fields.get("name", ""))

    @property
    def env(self) -> Sequence[Item]:
        """Environment variables in order."""
        env: Sequence[Item] = self.fields.get("env", ())
        return env

    @property
    def ports(self) -> Sequence[Item]:
        """Container ports in order."""
        ports: Sequence[Item] = self.fields.get("ports", ())
        return ports

    @property
    def mounts(self) -> Sequence[Item]:
        """Volume mounts in order."""
        mounts: Sequence[Item] = self.fields.get("volumeMounts", ())
        return mounts

    @property
    def command(self) -> tuple[str, ...]:
        """The entrypoint, empty where the image's own is used."""
        return tuple(self.fields.get("command", ()))

    @property
    def resources(self) -> Mapping[str, Any]:
        """`limits`, `requests` and `claims` as written, canonical."""
        resources: Mapping[str, Any] = self.fields.get("resources", {})
        return resources

    def with_fields(self, **fields: Any) -> Container:
        """This container with `fields` set; a value of None removes the field."""
        merged = {**self.fields, **fields}
        return Container({name: value for name, value in merged.items() if value is not None})

    def with_env(self, variables: Iterable[Item]) -> Container:
        """Variables of the same name are replaced in place, new ones are appended."""
        env = upsert(self.env, variables, "name")
        return Container({**self.fields, "env": env}) if env else self

    def with_mounts(self, mounts: Iterable[Item]) -> Container:
        """A mount on the same path is replaced in place, new ones are appended."""
        return Container({**self.fields, "volumeMounts": upsert(self.mounts, mounts, "mountPath")})

    def with_ports(self, ports: Iterable[Item], same: Same) -> Container:
        """A port that `same` takes for another is replaced in place, new ones are appended."""
        result = upsert_where(self.ports, ports, same)
        return Container({**self.fields, "ports": result}) if result else self


Edit = Callable[[Container], Container]


@dataclass(frozen=True, slots=True)
class PodSet:
    """The pods of the replicated job called `name`.

    `count` is the pods of one replica (parallelism and completions); `ancestor` the ancestor step its job template
    is labelled with; `role` is "launcher" or "node" where it has that part in an MPI or Flux job, else empty;
    `main` the container that takes the step's settings; `requests` what one pod asks of the scheduler; `min_count`
    the pods of one replica that a gang waits for where that is fewer than `count`; `labels` and `annotations` what
    schedulers add to its pods; `pod_fields` what plugins set in their specs.
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
        """The container called `name`; regular containers are searched before init containers."""
        return next((c for c in (*self.containers, *self.init_containers) if c.name == name), None)

    def with_count(self, count: int) -> PodSet:
        """The same pods, `count` of them."""
        return replace(self, count=count)

    def with_container(self, name: str, edit: Edit) -> PodSet:
        """With the container called `name` edited; regular containers are searched before init containers."""
        if any(c.name == name for c in self.containers):
            return replace(self, containers=_edited(self.containers, name, edit))
        return replace(self, init_containers=_edited(self.init_containers, name, edit))

    def with_main(self, edit: Edit) -> PodSet:
        """With the main container edited; the same pods where there is none."""
        return replace(self, containers=_edited(self.containers, self.main, edit))

    def with_pod_labels(self, labels: Mapping[str, str]) -> PodSet:
        """With labels added to its pods."""
        return replace(self, labels={**self.labels, **labels})

    def with_pod_annotations(self, annotations: Mapping[str, str]) -> PodSet:
        """With annotations added to its pods."""
        return replace(self, annotations={**self.annotations, **annotations})

    def with_pod_fields(self, **fields: Any) -> PodSet:
        """With fields of its pods' spec set, in place of the template's."""
        return replace(self, pod_fields={**self.pod_fields, **fields})

    def with_volumes(self, volumes: Iterable[Mapping[str, Any]]) -> PodSet:
        """A volume of the same name is replaced in place, new ones are appended."""
        return replace(self, volumes=tuple(upsert(self.volumes, volumes, "name")))


def _edited(containers: tuple[Container, ...], name: str, edit: Edit) -> tuple[Container, ...]:
    at = next((i for i, c in enumerate(containers) if c.name == name), None)
    return containers if at is None else (*containers[:at], edit(containers[at]), *containers[at + 1 :])


# Lists whose items have an identity: replace in place where the identity is met, else append.
#
# Go's counterpart is `Upsert*` in kubeflow/trainer pkg/apply/apply.go.


Item: TypeAlias = Mapping[str, Any]
Same: TypeAlias = Callable[[Item, Item], bool]


def upsert(items: Sequence[Item], updates: Iterable[Item], key: str) -> list[Item]:
    """`items` with each update in the place of the item of equal `key`, or at the end."""
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
    """As `upsert`, for identities that are a relation rather than a key."""
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
    """The controller's notion of one port: equal number or equal name, where two unnamed ports have equal names."""
    return left.get("containerPort") == right.get("containerPort") or left.get("name") == right.get("name")


def port_match(left: Item, right: Item) -> bool:
    """One port as the API's list keys have it: equal number and protocol."""
    return (left.get("containerPort"), left.get("protocol", "TCP")) == (
        right.get("containerPort"),
        right.get("protocol", "TCP"),
    )

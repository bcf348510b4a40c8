"""A pod set: the pods of one replicated job, seen as a unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trainc.api import names
from trainc.api.quantity import ResourceList
from trainc.ir.container import Container
from trainc.ir.keyed import Item, upsert
from trainc.startup.records import dataclass, field, replace

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

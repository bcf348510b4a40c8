"""One container of a pod set: the template's fields, and the few edits that plugins make to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainc.ir.keyed import Item, Same, upsert, upsert_where
from trainc.startup.records import dataclass


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

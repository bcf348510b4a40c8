"""Volumes as local folders: shared ones by claim, others by pod, and ConfigMaps with their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trainc.api.documents import Json
from trainc.plugins.plugin import Plugin

# The machine has folders of its own at these paths, where programs expect them.
_LEFT_ALONE = ("/dev/shm", "/dev", "/proc", "/sys", "/tmp")  # noqa: S108 - mount paths of pods
# Volumes shared by all pods that name them: the kind of volume, and the field with the name.
_SHARED = {"persistentVolumeClaim": "claimName", "secret": "secretName", "hostPath": "path", "nfs": "path"}


class Volumes:
    """The folders and files of a plan, collected as pods are planned."""

    def __init__(
        self, workdir: str, config_maps: Mapping[str, Json], text: Callable[[str], str], plugins: Sequence[Plugin]
    ) -> None:
        """`text` replaces pod host names in a text by local addresses."""
        self.folders: set[str] = set()
        self.files: dict[str, str] = {}
        self._root, self._config_maps, self._text = f"{workdir}/volumes", config_maps, text
        # Host lists are left unchanged: they are for launchers, whose ssh resolves pod names.
        self._host_lists = {file.key for plugin in plugins for file in plugin.files if not file.port}

    def places(self, container: Json, spec: Json, pod: str) -> dict[str, str]:
        """Map the container's mount paths to local paths; record the folder or ConfigMap files that each one needs."""
        volumes = {volume["name"]: volume for volume in spec.get("volumes", ())}
        found: dict[str, str] = {}
        for mount in container.get("volumeMounts", ()):
            if mount["mountPath"].rstrip("/") in _LEFT_ALONE:
                continue
            place = self._place(volumes.get(mount["name"], {"name": mount["name"]}), pod)
            if mount.get("subPath"):
                place = f"{place}/{mount['subPath']}"
            if place not in self.files:
                self.folders.add(place)
            found[mount["mountPath"]] = place
        return found

    def _place(self, volume: Json, pod: str) -> str:
        kind, source = next(((k, v or {}) for k, v in volume.items() if k != "name"), ("", {}))
        if kind == "configMap":
            return self._config_map(source)
        if kind in _SHARED:
            name = str(source.get(_SHARED[kind], volume["name"])).strip("/").replace("/", "_").lstrip(".")
            return f"{self._root}/{name}"
        return f"{self._root}/{pod}/{volume['name']}"

    def _config_map(self, source: Json) -> str:
        place = f"{self._root}/{source.get('name', '')}"
        data: Json = self._config_maps.get(source.get("name", ""), {}).get("data", {})
        items = source.get("items") or [{"key": key, "path": key} for key in data]
        for item in items:
            if item["key"] in data:
                text = str(data[item["key"]])
                self.files[f"{place}/{item['path']}"] = text if item["key"] in self._host_lists else self._text(text)
        return place

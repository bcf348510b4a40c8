"""Local addresses and paths: pods on loopback with distinct ports, image folders below the working directory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from trainc.api.documents import Json
from trainc.plugins.plugin import Plugin

LOOPBACK = "127.0.0.1"
_TOKEN = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand_variables(text: str, values: Mapping[str, str]) -> str:
    """Expand `$(NAME)` in `text` as the kubelet does: `$$` is a literal dollar sign, unknown names are left unchanged.

    Source: kubernetes third_party/forked/golang/expansion/expand.go.
    """
    return _TOKEN.sub(lambda found: "$" if found[1] else values.get(found[2], found[0]), text)


class Hosts:
    """The DNS names of a JobSet's pods, and the ports on which other pods reach them."""

    def __init__(self, jobset: Json, cluster_domain: str = "cluster.local") -> None:
        metadata, spec = jobset["metadata"], jobset["spec"]
        name = metadata["name"]
        self.subdomain = (spec.get("network") or {}).get("subdomain") or name
        steps = "|".join(re.escape(job["name"]) for job in spec.get("replicatedJobs", ()))
        namespace = re.escape(metadata.get("namespace", "")) or "[a-z0-9-]+"
        # The names under the JobSet's headless Service: fully qualified, or shortened as the pod's search domains allow.
        self.pattern = (
            rf"{re.escape(name)}-(?:{steps})-\d+-\d+\.{re.escape(self.subdomain)}"
            rf"(?:\.{namespace}(?:\.svc(?:\.{re.escape(cluster_domain)})?)?)?"
        )
        self._host = re.compile(rf"(?<![\w.-])({self.pattern})\.?(?![\w.-]*\w)(?::(\d+))?")

    def addresses(self, text: str) -> list[tuple[str, str]]:
        """The (host, port) pairs in `text`, in order."""
        return [(_short(host), port) for host, port in self._host.findall(text) if port]

    def is_host(self, text: str) -> bool:
        """Whether `text` is exactly the name of a pod."""
        return self._host.fullmatch(text) is not None

    def localized(self, text: str, ports: Mapping[tuple[str, str], int]) -> str:
        """`text` with every pod replaced by loopback, and every port by its entry in `ports`."""

        def here(found: re.Match[str]) -> str:
            if found[2] is None:
                return LOOPBACK
            return f"{LOOPBACK}:{ports.get((_short(found[1]), found[2]), found[2])}"

        return self._host.sub(here, text)


def rendezvous_ports(hosts: Hosts, containers: Iterable[Json], plugins: Sequence[Plugin]) -> list[tuple[str, str]]:
    """The addresses that need a distinct local port, in order: rendezvous addresses, and ports used by several pods.

    Other ports belong to programs whose address is not passed to any other program, so they stay the same.
    """
    addresses: list[tuple[str, str]] = []
    named: list[tuple[str, str]] = []
    for container in containers:
        env = {v["name"]: str(v.get("value", "")) for v in container.get("env", ())}
        words = (*container.get("command", ()), *container.get("args", ()))
        named += [pair for text in (*env.values(), *words) for pair in hosts.addresses(text)]
        for address in (address for plugin in plugins for address in plugin.addresses):
            host, port = env.get(address.variable, ""), env.get(address.port, "")
            addresses += [(_short(host), port)] if port and hosts.is_host(host) else hosts.addresses(host)
        arguments = tuple(argument for plugin in plugins for argument in plugin.address_arguments)
        addresses += [
            pair for word in words if arguments and word.startswith(arguments) for pair in hosts.addresses(word)
        ]
    served_by: dict[str, set[str]] = {}
    for host, port in named:
        served_by.setdefault(port, set()).add(host)
    return list(dict.fromkeys([*addresses, *(pair for pair in named if len(served_by[pair[1]]) > 1)]))


class Folders:
    """The image folders that have a different path on this machine."""

    def __init__(self, places: Mapping[str, str]) -> None:
        """`places` maps absolute image paths to local paths; the longest match wins."""
        self._places = {path.rstrip("/"): place for path, place in places.items() if path.rstrip("/")}
        paths = "|".join(re.escape(path) for path in sorted(self._places, key=len, reverse=True))
        self._path = re.compile(rf"(?<![\w.~/-])({paths})(?![\w.-])") if paths else None

    def localized(self, text: str) -> str:
        """`text` with each such path, and each path below one, replaced by the local path."""
        return self._path.sub(lambda found: self._places[found[1]], text) if self._path else text


def _short(host: str) -> str:
    """The first label of a host name, which is the same in all its forms."""
    return host.partition(".")[0]

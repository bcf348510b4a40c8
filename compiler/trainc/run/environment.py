"""A container's environment as the kubelet sets it; values known only to a cluster are substituted or reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trainc.api.documents import Json
from trainc.api.quantity import NANOS_PER_UNIT, parse_quantity
from trainc.diagnostics import Finding, Path
from trainc.run.places import LOOPBACK, expand_variables
from trainc.startup.records import dataclass

_INDEX = "batch.kubernetes.io/job-completion-index"
_JOBSET = "jobset.sigs.k8s.io"


@dataclass(frozen=True, slots=True)
class PodFacts:
    """The values that a pod's fields expose: its names, its position in the step, and its template's labels."""

    name: str
    namespace: str
    jobset: str
    step: str
    replicas: int
    replica: int
    index: int
    indexed: bool
    labels: Json
    annotations: Json

    def field(self, path: str) -> str | None:
        """The value of a fieldRef; None if only a cluster knows it."""
        name, bracket, key = path.partition("['")
        if bracket:
            known = {
                _INDEX: str(self.index) if self.indexed else "",
                f"{_JOBSET}/jobset-name": self.jobset,
                f"{_JOBSET}/replicatedjob-name": self.step,
                f"{_JOBSET}/replicatedjob-replicas": str(self.replicas),
                f"{_JOBSET}/job-index": str(self.replica),
                f"{_JOBSET}/restart-attempt": "0",
            }
            written = self.labels if name == "metadata.labels" else self.annotations
            return {**known, **{k: str(v) for k, v in written.items()}}.get(key.removesuffix("']"), "")
        return {
            "metadata.name": self.name,
            "metadata.namespace": self.namespace or "default",
            "spec.nodeName": "localhost",
            "spec.serviceAccountName": "default",
            "status.podIP": LOOPBACK,
            "status.podIPs": LOOPBACK,
            "status.hostIP": LOOPBACK,
            "status.hostIPs": LOOPBACK,
        }.get(path)


def variables(
    container: Json, facts: PodFacts, config_maps: Mapping[str, Json], environ: Mapping[str, str], path: Path
) -> tuple[dict[str, str], list[Finding]]:
    """The container's variables with `$(NAME)` expanded, and a warning for each one without a local value.

    `environ` is the local environment; its variables stand in for Secret values of the same name.
    """
    found: dict[str, str] = {"HOSTNAME": facts.name}
    if facts.indexed:
        found["JOB_COMPLETION_INDEX"] = str(facts.index)
    whole, findings = _whole_sources(container, config_maps, path)
    found |= whole
    for index, variable in enumerate(container.get("env", ())):
        name = variable["name"]
        if "valueFrom" not in variable:
            found[name] = expand_variables(str(variable.get("value", "")), found)
            continue
        value = _from(variable["valueFrom"], container, facts, config_maps)
        if value is None and name in environ:
            value = environ[name]
        if value is not None:
            found[name] = value
        elif not any(source.get("optional") for source in variable["valueFrom"].values()):
            findings.append(_missing_source(_source_label(variable["valueFrom"]), name, (*path, "env", index)))
    return found, findings


def _whole_sources(
    container: Json, config_maps: Mapping[str, Json], path: Path
) -> tuple[dict[str, str], list[Finding]]:
    """The variables from envFrom."""
    found: dict[str, str] = {}
    findings: list[Finding] = []
    for index, source in enumerate(container.get("envFrom", ())):
        place = (*path, "envFrom", index)
        for kind in ("configMapRef", "secretRef"):
            reference = source.get(kind)
            if reference and kind == "configMapRef" and reference["name"] in config_maps:
                prefix = source.get("prefix", "")
                found |= {f"{prefix}{k}": v for k, v in config_maps[reference["name"]].get("data", {}).items()}
            elif reference and not reference.get("optional"):
                findings.append(_missing_source(f"the variables of {kind[:-3]} {reference['name']}", "", place))
    return found, findings


def _from(source: Json, container: Json, facts: PodFacts, config_maps: Mapping[str, Json]) -> str | None:
    if "fieldRef" in source:
        return facts.field(source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        return _amount(source["resourceFieldRef"], container)
    key = source.get("configMapKeyRef")
    value = config_maps.get(key["name"], {}).get("data", {}).get(key["key"]) if key else None
    return None if value is None else str(value)


def _amount(reference: Json, container: Json) -> str | None:
    """A request or limit in units of the divisor, rounded up."""
    kind, _, name = reference["resource"].partition(".")
    written = (container.get("resources", {}).get(kind) or {}).get(name)
    if written is None:
        return None
    divisor = parse_quantity(str(reference.get("divisor") or "1")).nanos or NANOS_PER_UNIT
    return str(-(-parse_quantity(str(written)).nanos // divisor))


def _source_label(source: Json) -> str:
    for kind, reference in source.items():
        if kind in ("secretKeyRef", "configMapKeyRef"):
            return f"key {reference['key']} of {kind[:-6]} {reference['name']}"
        return str(reference.get("fieldPath") or reference.get("resource") or kind)
    return "its value"


def _missing_source(what: str, name: str, path: Path) -> Finding:
    unset = f"{name} is not set" if name else "they are not set"
    hint = (
        f"set it yourself: {name}=... trainc run ..."
        if name
        else "set the variables that the program needs, then start `trainc run`"
    )
    return Finding("ValueNotHere", "warning", f"{what} exists only in the cluster; {unset}", hint, path)


def inherited_variables(environ: Mapping[str, str], ours: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The local variables that a pod inherits, without those in which another launcher describes its own ranks."""
    for name, value in environ.items():
        if name not in ours and not name.startswith(("PET_", "OMPI_", "PMIX_", "SLURM_")):
            yield name, value

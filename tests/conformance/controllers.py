"""What the controllers of each Trainer release made of a TrainJob, and what JobSet's admission did with a JobSet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

from conformance import Case
from trainc import CompileError, Options, admit, compile_trainjob, refusals

# Go writes these where nothing was said, and the recording passed through Go's types.
_PLACEHOLDERS = ("resources", "metadata", "status")
_CREDENTIALS = {"Secret", "SealedSecret", "ExternalSecret", "SSHKey"}
# Diagnostics that a recorded answer asks for, by its key.
_ASKED = {"deprecated": "DeprecatedRuntime", "draWarning": "ClaimsNotCounted"}


def judge_objects(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Compare the objects, Secrets and refusals under `controller` semantics with those of the release's own code."""
    for case in cases:
        yield case["id"], list(_wrong_objects(case))


def _wrong_objects(case: Case) -> Iterator[str]:
    expected, given = case["expect"], [case["trainjob"], case["runtime"]]
    untouched = deepcopy(given)
    gates: dict[str, Any] = {"feature_gates": tuple(case["featureGates"])} if "featureGates" in case else {}
    try:
        options = Options(release=case["release"], semantics="controller", **gates)
        compiled = compile_trainjob(given[0], given[1:], options)
    except (CompileError, TypeError, ValueError) as error:
        yield from _wrong_refusal(error, expected.get("rejected"))
        return
    if given != untouched:
        yield "the inputs were changed"
    if "rejected" in expected:
        yield f"compiled, and the controller refuses {expected['rejected']}"
        return
    if sorted(compiled.secrets) != expected["secrets"]:
        yield f"Secrets {sorted(compiled.secrets)}, recorded {expected['secrets']}"
    codes = {diagnostic.code for diagnostic in compiled.diagnostics}
    for key, code in _ASKED.items():
        if (code in codes) != expected.get(key, False):
            yield f"{code} is {'missing' if expected.get(key) else 'too much'}"
    answer = _comparable(compiled.manifests)
    yield from min((list(different(_comparable(each), answer)) for each in expected["manifests"]), key=len)


def _wrong_refusal(error: Exception, rejected: list[str] | None) -> Iterator[str]:
    if not isinstance(error, CompileError) or rejected is None:
        yield f"refused, and the controller does not: {error}"
        return
    paths = [str(each.path or "") for each in error.diagnostics if each.severity == "error"]
    yield from (
        f"no error at {field}, but at {paths}" for field in rejected if not any(_within(p, field) for p in paths)
    )
    if rejected:
        yield from (f"an error at {p}" for p in paths if not any(_within(p, field) for field in rejected))


def _within(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}["))


def judge_admission(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Compare what `admit` stores or refuses with JobSet's CRD and webhooks."""
    for case in cases:
        try:
            stored = admit(case["input"], Options(release=case["release"])).manifests[0]
        except CompileError as error:
            yield case["id"], [] if "rejected" in case else [f"refused, and JobSet does not: {error}"]
            continue
        if "rejected" in case:
            yield case["id"], [f"admitted, and JobSet says {case['rejected'][0]}"]
        else:
            yield case["id"], list(different(_plain(case["admitted"]), _plain(stored)))


def judge_updates(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Compare which updates of a JobSet are refused."""
    for case in cases:
        refused = bool(refusals(case["old"], case["new"], Options(release=case["release"])))
        yield case["id"], [] if refused == case["refused"] else [f"{case['edit']}: refused is {refused}"]


def _comparable(manifests: list[Case]) -> list[Any]:
    """The objects in one order, without what the recording leaves out."""
    objects = [_plain(manifest) for manifest in manifests]
    for each in objects:
        assert each["kind"] not in _CREDENTIALS, "under `controller`, nothing that holds a credential is emitted"
        if each["kind"] == "ConfigMap" and each["metadata"]["name"].endswith("-flux-entrypoint"):
            each["data"] = dict.fromkeys(each["data"])
    return sorted(objects, key=lambda each: (each["apiVersion"], each["kind"], each["metadata"]["name"]))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        items = {key: _plain(item) for key, item in value.items() if key != "creationTimestamp"}
        empty = {key for key in _PLACEHOLDERS if items.get(key) == {}}
        if "name" in items and items.get("value") == "":
            empty.add("value")
        return {key: item for key, item in items.items() if key not in empty}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def different(recorded: Any, answer: Any, path: str = "") -> Iterator[str]:
    """Yield each place where two documents differ."""
    if isinstance(recorded, dict) and isinstance(answer, dict):
        for key in sorted(recorded.keys() | answer.keys()):
            if key not in answer:
                yield f"{path}.{key} is missing: {json.dumps(recorded[key])[:120]}"
            elif key not in recorded:
                yield f"{path}.{key} is too much: {json.dumps(answer[key])[:120]}"
            else:
                yield from different(recorded[key], answer[key], f"{path}.{key}")
    elif isinstance(recorded, list) and isinstance(answer, list) and len(recorded) == len(answer):
        for index, pair in enumerate(zip(recorded, answer, strict=True)):
            yield from different(*pair, f"{path}[{index}]")
    elif type(recorded) is not type(answer) or recorded != answer:
        yield f"{path} is {json.dumps(answer)[:120]}, recorded {json.dumps(recorded)[:120]}"

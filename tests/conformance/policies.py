"""What an API server answered about objects under ValidatingAdmissionPolicies and Pod Security."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator

from conformance import Case
from conformance.api_server import check

# `check` judges JobSets: what is denied of a Job or Pod is said of the JobSet that it comes of.
_CHILDREN = {"Job", "Pod"}


def judge_policies(cases: Iterable[Case]) -> Iterator[tuple[str, list[str]]]:
    """Compare who is denied and who is warned; cases with the same policies are checked together."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[json.dumps([case["policies"], case["policies"] or case["namespace"]], sort_keys=True)].append(case)
    for group in groups.values():
        findings = _checked(group)
        for case in group:
            yield case["id"], list(_wrong(case, findings))


def _checked(group: list[Case]) -> list[Case]:
    documents = {_identity(document): document for case in group for document in case["input"]}
    namespaces = {json.dumps(case["namespace"]): case["namespace"] for case in group}
    folders = {
        "sources": [each for each in documents.values() if each["kind"] == "TrainJob"],
        "runtimes": [each for each in documents.values() if each["kind"] != "TrainJob"],
        "policies": [*group[0]["policies"], *namespaces.values()],
    }
    return check(folders, {"delivery": "kubectl", "kubernetes": "1.36"})


def _identity(document: Case) -> tuple[str, str, str]:
    return document["kind"], document["metadata"]["namespace"], document["metadata"]["name"]


def _wrong(case: Case, findings: list[Case]) -> Iterator[str]:
    answered, warned = _verdict(case, findings)
    recorded = case["verdict"]
    if recorded == "invalid":
        # Such a policy cannot be in a cluster: to say so, or not to evaluate it, is right.
        right = answered in ("invalid", "not evaluated")
    else:
        right = answered == recorded or ("depends" in case and answered == "not evaluated")
    if not right:
        yield f"{answered}, recorded {recorded}: {case.get('denials')}"
    elif recorded == "allowed" and warned != bool(case["warnings"]):
        yield f"warned is {warned}, recorded {case['warnings']}"


def _verdict(case: Case, findings: list[Case]) -> tuple[str, bool]:
    mine = _names(case)
    # One finding is that of all objects which have it from one cause.
    findings = [{**d, "object": name} for d in findings for name in (d["object"], *d.get("others", ()))]
    if not case["policies"]:
        about = [d for d in findings if _is_pod_security(d) and (not d["object"] or d["object"] in mine)]
        warned = any(d["severity"] == "warning" for d in about)
        if any(d["severity"] == "error" for d in about):
            return "denied", warned
        return "not evaluated" if any(d["code"].endswith("NotEvaluated") for d in about) else "allowed", warned
    warned = any(d["code"] == "PolicyWarned" and d["object"] in mine for d in findings)
    if any(d["code"] == "PolicyDenied" and d["object"] in mine for d in findings):
        return "denied", warned
    if any(d["code"] == "PolicyInvalid" for d in findings):
        return "invalid", warned
    for d in findings:
        of_the_policy = not d["object"] or d["object"].startswith("ValidatingAdmissionPolicy")
        if d["code"] == "PolicyNotEvaluated" and (of_the_policy or d["object"] in mine):
            return "not evaluated", warned
    return "allowed", warned


def _names(case: Case) -> set[str]:
    kind, metadata = case["object"]["kind"], case["object"]["metadata"]
    names = {metadata.get("name"), metadata.get("generateName") if kind in _CHILDREN else None} - {None}
    own = {f"{kind} {metadata.get('namespace')}/{name}" for name in names}
    return own | ({case["of"]} if kind in _CHILDREN else set())


def _is_pod_security(finding: Case) -> bool:
    return "PodSecurity" in finding["code"] + finding["message"] or "pod security" in finding["message"].lower()

"""`make port RELEASE=v2.4.0 CHECKOUT=DIR`: what a release of kubeflow/trainer changes that a compiler has to know.

    python tools/scripts/port.py CHECKOUT RELEASE [--since MINOR|REVISION]

CHECKOUT is a clone of kubeflow/trainer, RELEASE a tag, branch or commit of it. It is compared with the commit that PORT.yaml
pins for the newest minor that was read, or for that of --since. Nothing is fetched, checked out or written. Go is not
parsed: constants, gates and texts are found by their form, and every file of a plugin that changed is named in any case.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import yaml

PORT = Path(__file__).parents[2] / "compiler" / "trainc" / "PORT.yaml"
# What the API server checks of a value, and what it writes if there is none.
CHECKED = ("type", "format", "default", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-preserve-unknown-fields")  # fmt: skip
MODULES = ("sigs.k8s.io/jobset", "k8s.io/api", "sigs.k8s.io/scheduler-plugins", "volcano.sh/apis")
CODE = ("pkg/runtime", "pkg/webhooks", "pkg/apis", "pkg/constants", "pkg/util", "pkg/features", "manifests/base/webhook", "manifests/overlays/runtimes")  # fmt: skip
NO_CODE = re.compile(r"_test\.go$|zz_generated|/testing/|/testdata/|/cert/|/tlsconfig/")
COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)
HASH_COMMENT = re.compile(r"^\s*#[^\n]*", re.MULTILINE)
# Imports, and tags of fields, which the CRDs show.
NO_TEXT = re.compile(r"[\w.-]+\.\w+/[\w./-]+$|json:|encoding/")
TEXT = re.compile(r'"((?:[^"\\\n]|\\.){10,})"|`([^`]{10,})`')
CONSTANT = re.compile(r'^\s*(?:(?:const|var)\s+)?(\w+)(?:\s+[\w.]+)?\s*=\s*("(?:[^"\\]|\\.)*"|-?\d\w*|\w+\s*\+\s*"[^"]*"|sets\.New(?:\[\w+\])?\([^)]*\))', re.MULTILINE)  # fmt: skip
GATE = re.compile(r"^\s*(\w+):\s*\{Default:\s*(\w+),\s*PreRelease:\s*featuregate\.(\w+)", re.MULTILINE)
# An object that is patched or mounted in many places has the same new field in all of them.
MOST_PLACES = 2


class Wrong(Exception):
    """Something about the call is wrong."""


class Checkout:
    """A clone of kubeflow/trainer."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def git(self, *words: str) -> str:
        """What git prints."""
        done = subprocess.run(["git", "-C", self.folder, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Wrong(f"git {words[0]} in {self.folder}: {done.stderr.strip()}")
        return done.stdout

    def commit(self, revision: str) -> str:
        """The full name of a commit."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
        except Wrong:
            raise Wrong(f"{self.folder} is no clone that has {revision}; fetch it there first") from None

    def files(self, commit: str, *folders: str) -> dict[str, str]:
        """The blobs of a commit by path; a folder that the commit lacks has none."""
        listed = self.git("ls-tree", "-r", commit, "--", *folders).splitlines()
        return {path: entry.split()[2] for entry, _, path in (line.partition("\t") for line in listed)}

    def read(self, commit: str, path: str) -> str:
        """A file of a commit; empty if it has none there."""
        try:
            return self.git("show", f"{commit}:{path}")
        except Wrong:
            return ""


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """A line for what came, what went, and what has another value."""
    for key in sorted({*old, *new}):
        if key not in old:
            yield f"+ {key}{_value(new[key])}"
        elif key not in new:
            yield f"- {key}{_value(old[key])}"
        elif old[key] != new[key]:
            yield f"~ {key}: {old[key]} -> {new[key]}"


def _value(value: Any) -> str:
    return "" if value in ("", None) else f": {value}"


def fields(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """The fields of a schema with what is checked of each, and its CEL rules under the path of the field."""
    for rule in schema.get("x-kubernetes-validations", ()):
        yield f"{path} CEL {rule['rule']}", str(rule.get("message", ""))
    for name in schema.get("required", ()):
        yield f"{path}.{name} required".lstrip("."), ""
    facts = [f"{key}={schema[key]}" for key in CHECKED if key in schema]
    if path:
        yield path, ", ".join(facts)
    for name, inner in schema.get("properties", {}).items():
        yield from fields(inner, f"{path}.{name}".lstrip("."))
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(key), Mapping):
            yield from fields(schema[key], path + mark)


def crds(checkout: Checkout, commit: str) -> dict[str, dict[str, str]]:
    """The fields of each kind that the release's CRDs define."""
    found = {}
    for path in checkout.files(commit, "manifests/base/crds"):
        for document in yaml.load_all(checkout.read(commit, path), yaml.CSafeLoader):
            if isinstance(document, Mapping) and document.get("kind") == "CustomResourceDefinition":
                spec = document["spec"]
                for version in spec["versions"]:
                    schema = version["schema"]["openAPIV3Schema"]
                    found[f"{spec['names']['kind']} {version['name']}"] = dict(fields(schema))
    return found


def folded(lines: Iterable[str]) -> Iterator[str]:
    """The lines, those that say the same of fields with one parent and name at many places as one with a count."""
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for line in lines:
        mark, _, rest = line.partition(" ")
        path, space, facts = rest.partition(": ") if ": " in rest else (rest, "", "")
        alike[(mark, *path.replace("[]", "").split(".")[-2:], space, facts)].append(line)
    for same in alike.values():
        yield from same if len(same) <= MOST_PLACES else [f"{same[0]} (and at {len(same) - 1} other places)"]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The scalars of a document by path; items of lists by their name, where they have one."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value:
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{inner.get('name', i) if isinstance(inner, Mapping) else i}]")
    else:
        yield path, str(value)


def runtimes(checkout: Checkout, commit: str) -> dict[str, dict[str, str]]:
    """The shipped runtimes, as paths and values."""
    found = {}
    for path in checkout.files(commit, "manifests/base/runtimes"):
        if path.endswith((".yaml", ".yml")):
            for document in yaml.load_all(checkout.read(commit, path), yaml.CSafeLoader):
                if isinstance(document, Mapping) and str(document.get("kind")).endswith("TrainingRuntime"):
                    found[str(document["metadata"]["name"])] = dict(leaves(document))
    return found


def code(text: str, path: str = ".go") -> str:
    """Go, YAML or shell without comments and blank lines."""
    pattern = COMMENT if path.endswith(".go") else HASH_COMMENT
    return "\n".join(line.rstrip() for line in pattern.sub("", text).splitlines() if line.strip())


def constants(checkout: Checkout, commit: str) -> dict[str, str]:
    """Constants and sets by name; the members of a set with their values, so that reserved names can be read."""
    text = "\n".join(code(checkout.read(commit, path)) for path in checkout.files(commit, "pkg/constants"))
    found = dict(CONSTANT.findall(text))
    for name, value in found.items():
        if value.startswith("sets."):
            members = [word.strip() for word in value.partition("(")[2].rstrip(")").split(",") if word.strip()]
            found[name] = ", ".join(sorted(found.get(member, member).strip('"') for member in members))
    return found


def gates(checkout: Checkout, commit: str) -> dict[str, str]:
    """Feature gates with their default and stage."""
    text = "\n".join(code(checkout.read(commit, path)) for path in checkout.files(commit, "pkg/features"))
    return {name: f"{stage.lower()}, {'on' if default == 'true' else 'off'}" for name, default, stage in GATE.findall(text)}  # fmt: skip


def modules(checkout: Checkout, commit: str) -> dict[str, str]:
    """The versions of the modules whose behaviour is compiled, too."""
    words = [line.split() for line in checkout.read(commit, "go.mod").splitlines()]
    return {line[0]: line[1] for line in words if len(line) > 1 and line[0] in MODULES}


def sources(checkout: Checkout, old: str, new: str) -> Iterator[str]:
    """The files whose code changed, with the counts of lines, and the texts that came or went in each."""
    before, after = checkout.files(old, *CODE), checkout.files(new, *CODE)
    for path in sorted({*before, *after}):
        if before.get(path) == after.get(path) or NO_CODE.search(path):
            continue
        sides = [code(checkout.read(commit, path), path) if path in there else "" for commit, there in ((old, before), (new, after))]  # fmt: skip
        if sides[0] == sides[1]:
            continue
        lines = [side.splitlines() for side in sides]
        counts = [(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in SequenceMatcher(None, lines[0], lines[1], autojunk=False).get_opcodes() if tag != "equal"]  # fmt: skip
        state = " (new)" if path not in before else " (gone)" if path not in after else ""
        yield f"{path}{state}: +{sum(came for _, came in counts)} -{sum(went for went, _ in counts)}"
        texts = [{one or " ".join(other.split()) for one, other in TEXT.findall(side)} for side in sides]
        for mark, some in (("+", texts[1] - texts[0]), ("-", texts[0] - texts[1])):
            yield from (f"    {mark} {text}" for text in sorted(some) if not NO_TEXT.match(text))


def commits(checkout: Checkout, old: str, new: str) -> Iterator[str]:
    """The commits between both that touch what is compiled."""
    yield from checkout.git("log", "--reverse", "--no-merges", "--format=%h %s", f"{old}..{new}", "--", *CODE, "manifests/base/crds", "manifests/base/runtimes").splitlines()  # fmt: skip


def report(checkout: Checkout, old: str, new: str) -> Iterator[tuple[str, list[str]]]:
    """The differences, by heading."""
    yield "Modules", list(changes(modules(checkout, old), modules(checkout, new)))
    before, after = crds(checkout, old), crds(checkout, new)
    for kind in sorted({*before, *after}):
        state = "" if kind in before and kind in after else " (new kind)" if kind in after else " (gone)"
        of_kind = list(folded(changes(before.get(kind, {}), after.get(kind, {})))) if not state else []
        yield (
            f"Schema of {kind}: fields, defaults, bounds and CEL{state}",
            of_kind or ([state.strip()] if state else []),
        )
    yield "Constants and reserved names", list(changes(constants(checkout, old), constants(checkout, new)))
    yield "Feature gates", list(changes(gates(checkout, old), gates(checkout, new)))
    shipped = runtimes(checkout, old), runtimes(checkout, new)
    lines = [f"{'+' if name in shipped[1] else '-'} {name}" for name in sorted({*shipped[0]} ^ {*shipped[1]})]
    lines += [f"{name} {line}" for name in sorted({*shipped[0]} & {*shipped[1]}) for line in changes(shipped[0][name], shipped[1][name])]  # fmt: skip
    yield "Shipped runtimes", lines
    yield "Code, with texts that came and went", list(sources(checkout, old, new))
    yield "Commits", list(commits(checkout, old, new))


def base(columns: Mapping[str, Mapping[str, Any]], since: str | None) -> tuple[str, str]:
    """The name and the revision that a release is compared with."""
    if since is not None and since not in columns:
        return since, since
    read = [minor for minor, column in columns.items() if column["trainerCommit"]]
    minor = since or read[-1]
    if minor not in read:
        raise Wrong(f"no code of {minor} was read: compare with {read[-1]}, or name a revision")
    return minor, str(columns[minor]["trainerCommit"])


def main(words: list[str]) -> int:
    """Print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout")
    parser.add_argument("release")
    parser.add_argument("--since", default=None)
    arguments = parser.parse_args(words)
    checkout, columns = Checkout(arguments.checkout), yaml.safe_load(PORT.read_text(encoding="utf-8"))["releases"]
    try:
        name, revision = base(columns, arguments.since or None)
        old, new = checkout.commit(revision), checkout.commit(arguments.release)
        print(f"kubeflow/trainer {arguments.release} ({new[:12]}) compared with {name} ({old[:12]})")
        for heading, lines in report(checkout, old, new):
            print(f"\n## {heading}\n")
            print("\n".join(lines) if lines else "no difference")
    except Wrong as error:
        print(f"port: {error}", file=sys.stderr)
        return 2
    minor = ".".join(arguments.release.removeprefix("v").split(".")[:2])
    expected = columns.get(minor, {}).get("behaviors", ())
    if expected:
        print(
            f"\n## What the preview of {minor} assumes: confirm or correct each, then take `behaviors` out of PORT.yaml\n"
        )
        print("\n".join(f"{row['certainty']}: {row['what']} ({', '.join(row['in'])})" for row in expected))
    print('\nCONTRIBUTING.md, "Add a release", says where each difference goes.')
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

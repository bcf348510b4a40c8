"""Generate the seed corpus from test cases: `python -m fuzz.seeds FOLDER` writes one folder per target."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

import trainc
from fuzz.targets.pipeline import OPTIONS
from trainc.kube.releases import RELEASES

CASES = Path(__file__).parents[2] / "tests" / "cases"
OVERLAYS = Path(__file__).parents[2] / "overlays"
DOCS = Path(__file__).parents[2] / "docs"
RULES = Path(trainc.__file__).parent / "findings" / "rules"
# What the documents of a seed are, by the first word that occurs in them: an index in ROLES of targets/commands.py.
_ROLES = {
    "kind: Workload": 8, "kind: Event": 8,
    "kind: Sweep": 1, "kind: OptimizationJob": 1, "ClusterQueue": 2, "kind: Node": 2, "AdmissionPolicy": 3,
    "kind: Overlay": 4, "TrainingRuntime\nmetadata": 5, "sources:": 6,
}  # fmt: skip
_TEMPLATES = (
    "{% for r in rates %}\na{{ loop.index }}: {{ r | tojson }}\n{% endfor %}",
    "{% set n = namespace(s='f') %}{% for i in range(9) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s|upper|length }}",
    "{% macro m(x, y=2) %}{{ x ~ y }}{{ caller() }}{% endmacro %}{% call m(n) %}{{ cfg.a.b | join(',') }}{% endcall %}",
    "{{ many | select('divisibleby', 3) | map('string') | sort(reverse=true) | list }}{{ cfg.text.split()[1:3] }}",
    "{% if n in many and n is odd %}{{ dict(cfg, b=n ** 2 // 3) | dictsort | tojson }}{% endif %}{{ cfg.text | indent }}",
)
_SWEEP = """apiVersion: trainc/v1alpha1
kind: Sweep
metadata: {name: s}
base: llm.yaml
parameters: {lr: {min: 1e-5, max: 1e-3, count: 3, scale: log}, batch: [16, 32]}
exclude: [{lr: 1e-3, batch: 16}]
include: [{lr: 1e-2, batch: 64}]
budget: {gpuHours: 512, hoursPerTrial: 4}
"""
_LIVE = Path(__file__).with_name("live.yaml").read_text(encoding="utf-8")
_QUANTITIES = (
    "1\n500m\n16Gi\n1e3\n-1.5k",
    "0.1n\n+5\n1E\n1E3\n8Ei\n.5\n1.\n007",
    "9223372036854775807\n1e30\n12e-2\n3u",
)


def seeds(target: str) -> Iterator[bytes]:
    """The initial inputs of `target`; none for a target of choices."""
    texts = [path.read_bytes() for path in sorted(CASES.rglob("*.yaml"))]
    match target:
        case "reader":
            yield from texts
        case "commands" | "editing":
            yield from (
                bytes((_role_of(text),)) + text.encode()
                for text in [_SWEEP, _LIVE, *_examples(), *map(bytes.decode, texts)]
            )
        case "shell":
            yield from (script.encode() for script in _scripts())
        case "cel":
            yield from ("".join(found).encode() for text in _examples() for found in _EXPRESSION.findall(text))
        case "pipeline" | "rewriting":
            yield from (str(_options_of(text)).encode() + b"\n" + text for text in texts)
        case "quantity":
            yield from (text.encode() for text in _QUANTITIES)
        case "templates":
            yield from (path.read_bytes() for path in sorted(OVERLAYS.rglob("*.j2")))
            yield from (text.encode() for text in _TEMPLATES)
        case _:
            yield bytes(range(64))


_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_EXPRESSION = re.compile(r"expression: (?:'(.+)'|\"(.+)\"|([^'\"\n].*))$", re.MULTILINE)


def _examples() -> list[str]:
    """The YAML in the documentation and on the pages of the rules."""
    pages = [*sorted(DOCS.glob("*.md")), *sorted(RULES.glob("*.md"))]
    return [block for page in pages for block in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def _role_of(text: str) -> int:
    return next((role for word, role in _ROLES.items() if word in text), 0)


def _scripts() -> Iterator[str]:
    """The scripts of jobs in the examples, and their beginnings, which may leave anything open."""
    yield 'if [ -n "$A" ]; then\n  cd /a && torchrun "$(nproc)" x.py || exit 1\nfi'
    yield "for i in 1 2; do { python a.py & } ; done; wait; case $x in a) b;; *) c;; esac"
    yield 'cat <<EOF | bash\n$(echo `x` ${A:-$((1+2))})\nEOF\nf() { exec env A=1 mpirun "$@"; }; f'
    for text in _examples():
        for document in (
            yaml.safe_load_all(text) if ("command:" in text or "args:" in text) and "{%" not in text else ()
        ):
            yield from _words(document)


def _words(value: Any) -> Iterator[str]:
    for key, item in value.items() if isinstance(value, dict) else ():
        if key in ("command", "args") and isinstance(item, list):
            yield from (word for word in item if isinstance(word, str))
        else:
            yield from _words(item)
    for item in value if isinstance(value, list) else ():
        yield from _words(item)


def _options_of(text: bytes) -> int:
    """The index in OPTIONS of the options in the first line of a case."""
    first = text.partition(b"\n")[0].decode()
    release = re.search(r"--release ([0-9.]+)", first)
    semantics = "controller" if "controller" in first else "gitops"
    wanted = [release[1] if release else RELEASES[-1], semantics]
    return [[options.release, options.semantics] for options in OPTIONS].index(wanted)


def write(folder: str, target: str) -> str:
    """Write the seeds of one target and return their folder."""
    corpus = os.path.join(folder, target)
    os.makedirs(corpus, exist_ok=True)
    for number, seed in enumerate(seeds(target)):
        Path(corpus, f"seed-{number:03}").write_bytes(seed)
    return corpus


if __name__ == "__main__":
    for name in sys.argv[2:]:
        print(write(sys.argv[1], name))

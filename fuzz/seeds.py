"""Generate the seed corpus from test cases: `python -m fuzz.seeds FOLDER` writes one folder per target."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from fuzz.targets.pipeline import OPTIONS
from trainc.kube.releases import RELEASES

CASES = Path(__file__).parents[1] / "tests" / "cases"
OVERLAYS = Path(__file__).parents[1] / "overlays"
_TEMPLATES = (
    "{% for r in rates %}\na{{ loop.index }}: {{ r | tojson }}\n{% endfor %}",
    "{% set n = namespace(s='f') %}{% for i in range(9) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s|upper|length }}",
    "{% macro m(x, y=2) %}{{ x ~ y }}{{ caller() }}{% endmacro %}{% call m(n) %}{{ cfg.a.b | join(',') }}{% endcall %}",
    "{{ many | select('divisibleby', 3) | map('string') | sort(reverse=true) | list }}{{ cfg.text.split()[1:3] }}",
    "{% if n in many and n is odd %}{{ dict(cfg, b=n ** 2 // 3) | dictsort | tojson }}{% endif %}{{ cfg.text | indent }}",
)
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
        case "pipeline" | "rewriting":
            yield from (str(_options_of(text)).encode() + b"\n" + text for text in texts)
        case "quantity":
            yield from (text.encode() for text in _QUANTITIES)
        case "templates":
            yield from (path.read_bytes() for path in sorted(OVERLAYS.rglob("*.j2")))
            yield from (text.encode() for text in _TEMPLATES)
        case _:
            yield bytes(range(64))


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

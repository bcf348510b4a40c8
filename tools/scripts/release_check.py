"""`make release-check`: what a tag would do, as far as that needs no account. It publishes nothing and changes no file.

The commit that is checked out is built, not the working tree.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import trainc
from trainc.findings.codes import DOCS_URL

ROOT = Path(__file__).parents[2]
UV = ROOT / ".venv" / "bin" / "uv"
PYTHONS = ("3.11", "3.12", "3.13")


class Failed(Exception):
    """A check that a release must not fail."""


def versions_agree(_: Path) -> str:
    """The version is the same in all files that say it, and CHANGELOG has a section about it."""
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(r"^## (?:Unreleased\n\nVersion )?(\d+\.\d+\.\d+)", changes, re.MULTILINE)
    found = {"CITATION.cff": citation and citation[1], "CHANGELOG.md": section and section[1]}
    wrong = {file: version for file, version in found.items() if version != trainc.__version__}
    if wrong:
        raise Failed(f"compiler/trainc/__init__.py has {trainc.__version__}, but {wrong}")
    return trainc.__version__


def packages_are_reproducible(work: Path) -> str:
    """The wheel and the source distribution are the same bytes, built twice in different folders."""
    digests = []
    for folder in ("first", "in another folder"):
        source = work / folder
        archive = run("git", "archive", "HEAD", cwd=ROOT)
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(source, filter="data")
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(source / "dist"), ".", cwd=source)
        built = sorted((source / "dist").iterdir())
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in built})
    if digests[0] != digests[1]:
        raise Failed(f"the two builds differ: {digests}")
    return ", ".join(f"{name} sha256:{digest[:12]}" for name, digest in digests[0].items())


def wheel_installs_and_compiles(work: Path) -> str:
    """The wheel, with the locked dependencies, compiles examples/demo to the same bytes on each Python that is here."""
    (wheel,) = (work / "first" / "dist").glob("*.whl")
    outputs: dict[str, dict[str, bytes]] = {}
    for version in PYTHONS:
        home = work / version
        try:
            run(str(UV), "venv", "--quiet", "--no-python-downloads", "--python", python_of(version), str(home))
        except Failed:
            continue
        install = [str(UV), "pip", "install", "--quiet", "--python", str(home)]
        run(*install, "--require-hashes", "--requirement", str(ROOT / "tools" / "locks" / "runtime.txt"))
        run(*install, "--no-deps", str(wheel))
        demo = work / f"demo {version}"
        shutil.copytree(ROOT / "examples" / "demo", demo)
        for words in (["version"], ["check"], ["build"], ["build", "--check"]):
            run(str(home / "bin" / "trainc"), *words, cwd=demo)
        outputs[version] = {path.name: path.read_bytes() for path in demo.glob("rendered/*/*.yaml")}
    first = next(iter(outputs.values()), None)
    if not first or any(output != first for output in outputs.values()):
        raise Failed(f"Pythons that compiled: {list(outputs)}; their manifests differ, or there are none")
    missing = [version for version in PYTHONS if version not in outputs]
    more = f"; not here: {', '.join(missing)}" if missing else ""
    return f"{len(first)} manifests, the same on Python {', '.join(outputs)}{more}"


def python_of(version: str) -> str:
    """The Python that pyenv keeps of a version, whose shims uv does not follow; else the version, for uv to find."""
    kept = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob(f"versions/{version}.*/bin/python")
    return str(max(kept, default=version))


def bill_of_materials_is_made(_: Path) -> str:
    """`make sbom` lists what a plain install brings."""
    run("make", "sbom", cwd=ROOT)
    bill = json.loads((ROOT / "dist" / "trainc.cdx.json").read_text(encoding="utf-8"))
    names = sorted(part["name"].lower() for part in bill["components"])
    if "pyyaml" not in names:
        raise Failed(f"the bill has {names}")
    return f"{len(names)} components"


def links_lead_somewhere(_: Path) -> str:
    """Every link and path in README and docs, and every command in them, exists."""
    run(sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/test_docs.py", "-k", "link or path or exists", cwd=ROOT)
    return "links of README and docs"


CHECKS: tuple[Callable[[Path], str], ...] = (
    versions_agree,
    packages_are_reproducible,
    wheel_installs_and_compiles,
    bill_of_materials_is_made,
    links_lead_somewhere,
)


def left_to_people() -> Iterator[str]:
    """What only somebody with a home for the project can do, and how one sees that it is done."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if "Repository" not in project["urls"]:
        yield "pyproject.toml: add Repository, Documentation and Changelog to [project.urls]"
    if not DOCS_URL:
        yield "compiler/trainc/findings/codes.py: set DOCS_URL to where the site is published, or leave it empty"
    if "@trainc-maintainers" in (ROOT / ".github" / "CODEOWNERS").read_text(encoding="utf-8"):
        yield ".github/CODEOWNERS: name people and teams"
    if "last-reviewed" not in (ROOT / ".github" / "security-insights.yml").read_text(encoding="utf-8"):
        yield ".github/security-insights.yml: add the URLs, dates and people without which it is incomplete"
    if "not published yet:" in (ROOT / "docs" / "install.md").read_text(encoding="utf-8"):
        yield "docs/install.md: replace its commands once the package is on the index"
    if "## Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        yield "CHANGELOG.md: rename `Unreleased` to the version, with its date"
    yield ".github/workflows/release.yaml: name this repository as a trusted publisher on the index (its first lines)"


def run(*words: str, cwd: Path | None = None) -> bytes:
    """Return what a program prints, or raise Failed with the end of it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, check=False)
    if done.returncode:
        text = (done.stdout + done.stderr).decode(errors="replace").strip()
        raise Failed(f"{' '.join(words)}: {text[-800:]}")
    return done.stdout


def main() -> int:
    """Run every check, and list what is left."""
    failed = 0
    if run("git", "status", "--porcelain", cwd=ROOT):
        print("note: uncommitted changes are not in what is built")
    with tempfile.TemporaryDirectory() as work:
        for check in CHECKS:
            try:
                print(f"ok      {(check.__doc__ or '').rstrip()}\n        {check(Path(work))}", flush=True)
            except Failed as error:
                failed += 1
                print(f"FAILED  {(check.__doc__ or '').rstrip()}\n        {error}", flush=True)
    print("\nBefore the first release, by people:")
    print("".join(f"- {line}\n" for line in left_to_people()), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Build the playground: a folder with everything its page needs, for any static file server.

    python tools/playground/build.py WHEEL build/playground

`WHEEL` is that of trainc. Other packages are copied from the current Python environment, at the locked versions, and
the browser's Python comes from the npm package pyodide. File names contain a content hash, except for index.html and
the service worker.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from email.parser import HeaderParser
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
PYODIDE = MODULES / "pyodide"
# Environment markers in the browser, such as sys_platform; none of the requirements depends on others.
BROWSER = {"python_version": "3.13", "python_full_version": "3.13.2", "sys_platform": "emscripten", "extra": "graph"}
# Written in Rust, and replaced by python/rpds.py.
REPLACED = {"rpds-py"}
# src/worker.js unpacks files with this suffix.
PACKED = ".bin"
# npm packages that are only needed to build the page, or outside of browsers.
TOOLS = {"esbuild", "@esbuild", "@types", "ws"}
# The packages' own tests, and what is not for a page: templates, and formats that only commands on a disk read.
LEFT_OUT = {"tests", "benchmarks", "test"}
NOT_NEEDED = {"jinja2", "markupsafe", "ruamel-yaml"}
# Of the other features, the page has the codes, the pages of their rules and what their commands take.
FEATURES = {"diff", "fits", "graph", "lsp", "policies", "sweeps", "v1"}
# Modules of the standard library that nothing here imports, a third of it; and of its encodings, those that are needed.
NOT_IMPORTED = """
    _android_support _apple_support _pyio _pyrepl antigravity bdb cProfile cmd code colorsys compileall configparser curses
    dbm doctest ensurepip filecmp fileinput ftplib http idlelib imaplib lib2to3 logging/config logging/handlers mailbox
    modulefinder multiprocessing netrc optparse pdb pickletools plistlib poplib profile pstats pty pyclbr pydoc pydoc_data
    sched secrets shelve smtplib socketserver sqlite3 symtable tabnanny this timeit tkinter trace tracemalloc tty turtle
    turtledemo unittest urllib/robotparser venv wave webbrowser wsgiref xml xmlrpc zipapp zoneinfo
"""
ENCODINGS = re.compile(r"encodings/(__init__|aliases|ascii|charmap|cp437|idna|latin_1|punycode|utf_.*)\.py")
EXAMPLES = {
    "PyTorch, 16 nodes with 8 GPUs": "tests/cases/torch-llm-pretrain.yaml",
    "Two mistakes": "tools/playground/examples/mistakes.yaml",
    "Fine-tuning with torchtune": "tests/cases/torchtune-llama3.2-1b.yaml",
    "DeepSpeed over MPI": "tests/cases/deepspeed-distributed.yaml",
    "JAX": "tests/cases/jax-distributed.yaml",
    "Initializers and a gang": "tests/cases/gang-with-initializers.yaml",
    "Elastic PyTorch": "tests/cases/torch-elastic.yaml",
    "OME TrainingJob": "tests/cases/ome-finetune.yaml",
}


def build(wheel: Path, target: Path) -> None:
    """Write the playground to `target`, replacing it."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        archives = _archives(wheel, work)
        python = {
            "runtime": _placed(PYODIDE / "pyodide.mjs", target, folder=_python_folder()),
            **{part: _placed(path, target).removesuffix(PACKED) for part, path in archives.items()},
            "info": json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))["info"],
        }
        for part in ("pyodide.asm.js", "pyodide.asm.wasm"):
            _placed(PYODIDE / part, target, folder=_python_folder())
        bundled = _bundle(work, target, python, wheel)
    (target / "licenses.txt").write_text("\n\n\n".join(_licenses(wheel)), encoding="utf-8")
    _page(target, bundled)


def _python_folder() -> str:
    """The folder for Pyodide's files. They refer to each other by name, so the folder's name has the version."""
    version: str = json.loads((PYODIDE / "package.json").read_text(encoding="utf-8"))["version"]
    return f"pyodide-{version}"


def _placed(file: Path, target: Path, folder: str = "") -> str:
    """Copy a file to `target` and return its new name, which has a hash unless its folder has the version.

    Large files are compressed, because not every server does so, and renamed, because some servers would unpack them.
    """
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:12]
    name = f"{folder}/{file.name}" if folder else f"{file.stem}-{digest}{file.suffix}"
    if file.suffix in {".wasm", ".zip"}:
        name, content = name + PACKED, gzip.compress(content, 9, mtime=0)
    (target / name).parent.mkdir(exist_ok=True)
    (target / name).write_bytes(content)
    return name


def _archives(wheel: Path, work: Path) -> dict[str, Path]:
    """The standard library, and trainc with its dependencies, as bytecode."""
    parts = {"library": _library(), "packages": {**dict(_packages(wheel)), **dict(_of_wheel(wheel)), **_own()}}
    made = {}
    for part, files in parts.items():
        sources, made[part] = work / f"{part}-sources.zip", work / f"{part}.zip"
        with zipfile.ZipFile(sources, "w") as archive:
            for name, content in sorted(files.items()):
                archive.writestr(zipfile.ZipInfo(name), content)
        subprocess.run(["node", HERE / "precompile.mjs", sources, made[part]], check=True)
    return made


def _library() -> dict[str, bytes]:
    left_out = NOT_IMPORTED.split()
    with zipfile.ZipFile(PYODIDE / "python_stdlib.zip") as archive:
        names = [
            name
            for name in archive.namelist()
            if not {name.split("/")[0].removesuffix(".py"), name.removesuffix(".py")} & {*left_out}
        ]
        kept = [name for name in names if not name.startswith("encodings/") or ENCODINGS.fullmatch(name)]
        return {name: archive.read(name) for name in kept if not name.endswith("/")}


def _own() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (HERE / "python").glob("*.py")}


def _of_wheel(wheel: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            _, _, below = name.removeprefix("trainc/features/").partition("/")
            folder, _, rest = below.partition("/")
            is_needed = not name.startswith("trainc/features/") or not rest or folder in FEATURES
            is_about_codes = rest.startswith("rules/") or rest in ("__init__.py", "codes.txt")
            is_about_words = rest in ("arguments.txt", "arguments.json")
            if ".dist-info/" not in name and (is_needed or is_about_codes or is_about_words):
                yield name, archive.read(name)


def _packages(wheel: Path) -> Iterator[tuple[str, bytes]]:
    """The Python source and data files of each package that trainc requires, without compiled files."""
    for package in _required(wheel):
        for file in package.files or ():
            if file.suffix in {".so", ".pyd", ".pyc", ".pyi"} or LEFT_OUT & set(file.parts) or ".." in file.parts:
                continue
            if not file.parts[0].endswith(".dist-info"):
                yield file.as_posix(), Path(str(file.locate())).read_bytes()


def _required(wheel: Path) -> list[Distribution]:
    """Every direct or indirect requirement of trainc in a browser."""
    found: dict[str, Distribution] = {}
    wanted = _requirements_of(wheel)
    while wanted:
        requirement = Requirement(wanted.pop())
        name = canonicalize_name(requirement.name)
        applies = requirement.marker is None or requirement.marker.evaluate(BROWSER)
        if applies and name not in found and name not in REPLACED | NOT_NEEDED:
            found[name] = distribution(name)
            wanted += found[name].requires or []
    return list(found.values())


def _requirements_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(archive.read(metadata).decode()).get_all("Requires-Dist", [])


def _bundle(work: Path, target: Path, python: Mapping[str, Any], wheel: Path) -> dict[str, str]:
    """Bundle scripts and styles into one file each, with the details of this build; return their names in `target`."""
    from trainc.kube.releases import NEWEST_RELEASE, RELEASES

    known = {
        "RELEASES": list(RELEASES),
        "RELEASE": NEWEST_RELEASE,
        "VERSION": wheel.name.split("-")[1],
        "EXAMPLES": {title: _example(HERE.parents[1] / path) for title, path in EXAMPLES.items()},
        "PYTHON": python,
        "BYTES": sum(path.stat().st_size for path in target.rglob(f"*{PACKED}")),
    }
    lines = (f"export const {name} = {json.dumps(value)};" for name, value in known.items())
    (work / "build.js").write_text("\n".join(lines), encoding="utf-8")
    sources = [HERE / "src" / name for name in ("app.js", "worker.js", "style.css")]
    flags = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=warning", "--legal-comments=none"]
    flags += [f"--alias:build={work / 'build.js'}", f"--outdir={work / 'bundle'}"]
    subprocess.run([MODULES / ".bin" / "esbuild", *sources, *flags], check=True)
    return {source.name: _placed(work / "bundle" / source.name, target) for source in sources}


def _example(path: Path) -> str:
    """A case without its first line, which tells the tests how to compile it."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("# trainc: --"))


def _licenses(wheel: Path) -> Iterator[str]:
    """The name, version and license of everything that the page includes."""
    yield f"trainc\n\n{(HERE.parents[1] / 'LICENSE').read_text(encoding='utf-8')}"
    yield "CPython: Python Software Foundation License, https://docs.python.org/3/license.html"
    for package in sorted(_required(wheel), key=lambda one: one.name):
        texts = [file for file in package.files or () if file.name.upper().startswith(("LICEN", "COPYING"))]
        known = package.metadata.get_all("License-Expression") or package.metadata.get_all("License") or [""]
        yield _license(package.name, package.version, known[0], [Path(str(text.locate())) for text in texts])
    for manifest in sorted(MODULES.glob("**/package.json")):
        stated = json.loads(manifest.read_text(encoding="utf-8"))
        if {"name", "version"} <= set(stated) and not TOOLS & set(manifest.relative_to(MODULES).parts):
            licenses = sorted(manifest.parent.glob("LICENSE*"))
            yield _license(stated["name"], stated["version"], stated.get("license", ""), licenses)


def _license(name: str, version: str, stated: str, texts: list[Path]) -> str:
    return "\n\n".join((f"{name} {version}: {stated}", *(text.read_text(encoding="utf-8") for text in texts)))


def _page(target: Path, bundled: Mapping[str, str]) -> None:
    """Write index.html and the service worker with the names of all other files."""
    page = (HERE / "src" / "index.html").read_text(encoding="utf-8")
    for source, name in bundled.items():
        page = page.replace(f"{{{source}}}", name)
    (target / "index.html").write_text(page, encoding="utf-8")
    shutil.copyfile(HERE / "src" / "icon.svg", target / "icon.svg")
    files = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    digest = hashlib.sha256(b"".join((target / file).read_bytes() for file in files)).hexdigest()[:12]
    worker = (HERE / "src" / "service-worker.js").read_text(encoding="utf-8")
    stated = f"const BUILD = {json.dumps(digest)};\nconst FILES = {json.dumps(['./', *files])};\n"
    (target / "service-worker.js").write_text(stated + worker, encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))

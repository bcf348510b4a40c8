"""Build the website: `python -m website OUTPUT`; `make site` also installs the requirements.

OUTPUT/<version>/ contains the pages of this version, OUTPUT/latest/ a copy for permanent links, and
OUTPUT/versions.json lists all versions present, so that older ones in OUTPUT are kept.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from trainc import __version__
from website.demo import demo_html
from website.links import problems
from website.pages import lay_out

HERE = Path(__file__).parent
PLAYGROUND = HERE.parents[1] / "build" / "playground"
LATEST = "latest"
_REDIRECT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>trainc</title>
<meta http-equiv="refresh" content="0; url=latest/index.html">
<a href="latest/index.html">trainc</a>
</html>
"""


def build(output: Path) -> None:
    """Write the pages of this version below `output`, and add it to the list."""
    folder = output / __version__
    with tempfile.TemporaryDirectory() as source:
        lay_out(HERE.parents[1], Path(source), demo_html(), playground=PLAYGROUND.is_dir())
        for part in ("conf.py", "templates", "static"):
            _copy(HERE / part, Path(source, part))
        _copy(HERE.parent / "playground" / "src" / "icon.svg", Path(source, "static"))
        _sphinx(Path(source), folder)
    if PLAYGROUND.is_dir():
        _copy(PLAYGROUND, folder / "playground")
    shutil.rmtree(output / LATEST, ignore_errors=True)
    shutil.copytree(folder, output / LATEST)
    (output / "index.html").write_text(_REDIRECT, encoding="utf-8")
    (output / ".nojekyll").touch()  # Otherwise, GitHub Pages omits folders that start with _.
    (output / "versions.json").write_text(json.dumps(_versions(output)) + "\n", encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def _sphinx(source: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "TRAINC_SITE_VERSION": __version__}
    words = ["-q", "-j", "auto", "--fail-on-warning", "--keep-going", "-b", "html", "-d", str(source / ".doctrees")]
    subprocess.run([sys.executable, "-m", "sphinx", *words, str(source), str(folder)], env=environment, check=True)  # noqa: S603
    for left in (".buildinfo", "objects.inv"):
        (folder / left).unlink(missing_ok=True)
    shutil.rmtree(folder / "_sources", ignore_errors=True)  # Empty.


def _versions(output: Path) -> list[str]:
    """All versions below `output`, newest first."""
    found = [path.parent.name for path in output.glob("*/genindex.html") if path.parent.name != LATEST]
    return sorted(found, key=_numbers, reverse=True)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def main() -> int:
    """Return 0 if the site was built and has no broken links."""
    output = Path(sys.argv[1])
    try:
        build(output)
    except subprocess.CalledProcessError as error:
        return error.returncode  # Sphinx has already reported the error.
    found = problems(output / __version__)
    print(*found, sep="\n", file=sys.stderr, end="\n" if found else "")
    print(f"{output / LATEST / 'index.html'}: {len(list((output / LATEST).rglob('*.html')))} pages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

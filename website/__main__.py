"""Build the site: `python -m website OUTPUT`; `make site` does, with what it needs installed.

OUTPUT/<version>/ holds the pages of this version, OUTPUT/latest/ the same once more for links that should last, and
OUTPUT/versions.json names all versions that stand there, so that an OUTPUT with older ones keeps them.
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
PLAYGROUND = HERE.parent / "build" / "playground"
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
    """Write the pages of this version below `output`, and name it there."""
    folder = output / __version__
    with tempfile.TemporaryDirectory() as source:
        lay_out(HERE.parent, Path(source), demo_html(), playground=PLAYGROUND.is_dir())
        for part in ("conf.py", "templates", "static"):
            _copy(HERE / part, Path(source, part))
        _sphinx(Path(source), folder)
    if PLAYGROUND.is_dir():
        _copy(PLAYGROUND, folder / "playground")
    shutil.rmtree(output / LATEST, ignore_errors=True)
    shutil.copytree(folder, output / LATEST)
    (output / "index.html").write_text(_REDIRECT, encoding="utf-8")
    (output / ".nojekyll").touch()  # GitHub Pages leaves out folders that begin with _ without it.
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
    """All versions below `output`, the newest first."""
    found = [path.parent.name for path in output.glob("*/genindex.html") if path.parent.name != LATEST]
    return sorted(found, key=_numbers, reverse=True)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def main() -> int:
    """0 if the site was built and every link in it leads somewhere."""
    output = Path(sys.argv[1])
    try:
        build(output)
    except subprocess.CalledProcessError as error:
        return error.returncode  # Sphinx has said what is wrong.
    found = problems(output / __version__)
    print(*found, sep="\n", file=sys.stderr, end="\n" if found else "")
    print(f"{output / LATEST / 'index.html'}: {len(list((output / LATEST).rglob('*.html')))} pages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Take the pictures of docs/pictures, and write into each the words that it shows. `make pictures` runs this.

`tests/test_pictures.py` fails when the product has other words now: `current` is what it says.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import chdir
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
DEMO = ROOT / "examples" / "demo"
DIFFERENCE = ["diff", "--runtime", "torch-h100=examples/mistakes/runtime.yaml", "examples/demo", "--format", "markdown"]
THEMES = ("light", "dark")
_SIZES = {"report": (1200, 760), "playground": (1440, 820), "comment": (1060, 600)}
# The text nodes that can be seen, each with its spaces as one.
_SEEN = """(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), seen = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const range = document.createRange();
    range.selectNode(node);
    const box = range.getBoundingClientRect(), text = node.data.replace(/\\s+/g, " ").replace(/^← /, "").trim();
    if (node.parentElement.closest(".cm-gutters, #place")) continue;
    const isInside = box.width && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    if (text && isInside && node.parentElement.checkVisibility({visibilityProperty: true})) seen.push(text);
  }
  return seen.join("\\n");
})()"""
# How a host of repositories would show a comment, roughly.
_COMMENT = """<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><style>
:root { --edge: light-dark(#d1d9e0, #3d444d); --faint: light-dark(#f6f8fa, #151b23); }
body { background: light-dark(#fff, #0d1117); color: light-dark(#1f2328, #f0f6fc); font: 14px/1.5 sans-serif; margin: 16px; }
article { border: 1px solid var(--edge); border-radius: 6px; } article > div { padding: 4px 16px 12px; }
header { background: var(--faint); border-bottom: 1px solid var(--edge); border-radius: 6px 6px 0 0; padding: 8px 16px; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--edge); padding: 5px 9px; }
code, pre { background: var(--faint); border-radius: 4px; font: 12px monospace; padding: 2px 4px; } pre { padding: 10px; }
blockquote { border-left: 3px solid var(--edge); margin: 0; padding: 0 12px; opacity: .8; } summary { cursor: pointer; }
</style><article><header><b>trainc</b> commented</header><div>%s</div></article>"""


def current(name: str) -> str:
    """All that the product says where a picture of it is taken, with each run of spaces as one."""
    return " ".join("\n".join(_CURRENT[name]()).split())


def _report() -> Iterator[str]:
    yield _words_of(_trainc("report", "-o", "-", folder=DEMO))


def _playground() -> Iterator[str]:
    source = ROOT / "tools" / "playground" / "src"
    yield _words_of((source / "index.html").read_text(encoding="utf-8"))
    yield from (path.read_text(encoding="utf-8") for path in sorted(source.glob("*.js")))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        bridge = runpy.run_path(str(ROOT / "tools" / "playground" / "python" / "bridge.py"))
        text = example()
        for call in ("compiled", "origins"):
            question = {"call": call, "text": text, "release": releases()[0]}
            yield from _strings(json.loads(bridge["answer"](json.dumps(question))))
    yield f"trainc build train.yaml --release {releases()[0]}"
    yield text
    yield " ".join((*releases(), *_builder()["EXAMPLES"]))


def _comment() -> Iterator[str]:
    yield "trainc commented"
    # As Markdown shows it: without what it is marked up with.
    yield re.sub(r"[*`|#>]", " ", _words_of(_trainc(*DIFFERENCE, folder=ROOT))).replace("@ @", "@@")


_CURRENT = {"report": _report, "playground": _playground, "comment": _comment}


def example() -> str:
    """What the playground shows first."""
    path = next(iter(_builder()["EXAMPLES"].values()))
    return str(_builder()["_example"](ROOT / path))


def releases() -> tuple[str, ...]:
    """The releases that the playground offers, the chosen one first."""
    from trainc.kube.releases import NEWEST_RELEASE, RELEASES

    return (NEWEST_RELEASE, *RELEASES)


def comment() -> str:
    """The comment on a pull request as HTML."""
    from markdown_it import MarkdownIt  # type: ignore[import-not-found]  # It is among the tools of the site.

    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(_trainc(*DIFFERENCE, folder=ROOT))
    return _COMMENT % str(body).replace("<details>", "<details open>")


def _builder() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "playground" / "build.py"))


def _trainc(*words: str, folder: Path) -> str:
    environment = {**os.environ, "NO_COLOR": "1"}
    words = (sys.executable, "-m", "trainc", *words)
    return subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _words_of(html: str) -> str:
    parser = _Words()
    parser.feed(re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL))
    return "\n".join(parser.words)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.words.append(data)


def words_in(picture: Path) -> list[str]:
    """The words that a picture shows, as its text chunk has them."""
    data, start = picture.read_bytes(), 8
    while start < len(data):
        (size,) = struct.unpack(">I", data[start : start + 4])
        if data[start + 4 : start + 8] == b"iTXt":
            return zlib.decompress(data[start + 8 : start + 8 + size].partition(_HEAD)[2]).decode().splitlines()
        start += size + 12
    return []


# Of the chunk iTXt: the keyword, that the text is compressed by zlib, and neither language nor translation.
_HEAD = b"Description\0\1\0\0\0"
_END_OF_HEADER = 33


def _with_words(png: bytes, words: str) -> bytes:
    chunk = b"iTXt" + _HEAD + zlib.compress(words.encode(), 9)
    framed = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return png[:_END_OF_HEADER] + framed + png[_END_OF_HEADER:]


def main() -> None:
    """Write every picture."""
    from chromium import Page, served

    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("pictures are taken with Chromium; install it")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work, Page(browser, Path(work) / "profile") as page:
        page.send("Emulation.setScrollbarsHidden", hidden=True)
        (Path(work) / "report.html").write_text(_trainc("report", "-o", "-", folder=DEMO), encoding="utf-8")
        (Path(work) / "comment.html").write_text(comment(), encoding="utf-8")
        with served(ROOT / "build" / "playground") as address:
            for name, size in _SIZES.items():
                for theme in THEMES if name != "report" else THEMES[:1]:
                    page.resize(*size)
                    page.theme(theme)
                    page.open(address if name == "playground" else (Path(work) / f"{name}.html").as_uri())
                    if name == "playground":
                        page.wait_for("document.querySelectorAll('#output .note').length > 5")
                        # A time is of this machine.
                        page.evaluate(
                            "document.querySelectorAll('#took, #about').forEach((one) => { one.style.visibility = 'hidden' })"
                        )
                    file = PICTURES / f"{name}-{theme}.png"
                    page.screenshot(file)
                    file.write_bytes(_with_words(file.read_bytes(), page.evaluate(_SEEN)))
                    print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

"""Chromium without a network, driven over a pipe by its DevTools protocol; and a server of files on loopback."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--disable-dev-shm-usage",
    # A name that a page asks for leads nowhere, and so does each address but loopback.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=127.0.0.1",
)  # fmt: skip
PATIENCE = 60.0


class Page:
    """One page of a browser of its own, whose process is `process`. `requests` are the addresses that it, its workers included, has asked for."""

    def __init__(self, browser: str, profile: Path, width: int = 1440, height: int = 900) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The protocol is spoken on the descriptors 3 and 4.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        command = ["bash", "-c", script, "chromium", browser, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.process = self._process.pid
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._next = 0
        self._answers: dict[int, Any] = {}
        self.requests: list[str] = []
        self.messages: list[str] = []
        self._session = ""
        self._loaded = False
        targets = self.send("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        self.resize(width, height)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._session = ""
        try:
            self.send("Browser.close")
        except (OSError, TimeoutError):
            self._process.kill()
        os.close(self._write)
        self._process.wait(timeout=30)
        os.close(self._read)

    def send(self, method: str, session: str | None = None, **params: Any) -> Any:
        """The result of a method of the protocol."""
        number = self._post(method, session, **params)
        deadline = time.monotonic() + PATIENCE
        while number not in self._answers:
            self._receive(deadline)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _post(self, method: str, session: str | None = None, **params: Any) -> int:
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if session or self._session:
            message["sessionId"] = session or self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._next

    def _receive(self, deadline: float) -> None:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(deadline - time.monotonic(), 0))
            block = os.read(self._read, 1 << 20) if ready else b""
            if not block:
                raise TimeoutError("Chromium does not answer")
            self._buffer += block
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self._hear(message["method"], message["params"])

    def _hear(self, event: str, params: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event == "Target.attachedToTarget":
            for method in ("Network.enable", "Runtime.enable", "Runtime.runIfWaitingForDebugger"):
                self._post(method, params["sessionId"])
        elif event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(params["exceptionDetails"])[:2000])
        elif event == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.messages.append(params["entry"]["text"])

    def open(self, address: str) -> None:
        """Go to an address, and wait until its page has loaded."""
        self._loaded = False
        self.send("Page.navigate", url=address)
        deadline = time.monotonic() + PATIENCE
        while not self._loaded:
            self._receive(deadline)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        found = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:2000])
        return found["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """The value of an expression once it is true, True for an element. TimeoutError if it does not become so."""
        deadline = time.monotonic() + PATIENCE
        found = f"Promise.resolve({script}).then((value) => value instanceof Node || value)"
        while not (value := self.evaluate(found)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{script}\n{self.evaluate('document.body.innerText')[-1000:]}\n{self.messages}")
            time.sleep(0.05)
        return value

    def move_to(self, script: str) -> None:
        """Put the mouse where an expression says that something stands: `{x, y}` or an element's rectangle."""
        place = self.evaluate(
            f"(() => {{ const r = {script}; return {{x: r.x + 4, y: r.y + (r.height ?? 0) / 2}} }})()"
        )
        for shift in (0, 1, 2):
            self.send("Input.dispatchMouseEvent", type="mouseMoved", x=place["x"] + shift, y=place["y"])

    def click(self, selector: str) -> None:
        """Press the mouse on an element."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'nearest'}})")
        script = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        place = self.evaluate(
            f"(() => {{ const r = {script}; return {{x: r.x + r.width / 2, y: r.y + r.height / 2}} }})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def type(self, text: str) -> None:
        """Type where the cursor is."""
        self.send("Input.insertText", text=text)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key by its name, such as `Tab`, or a character."""
        text = {"Enter": "\r", "Tab": ""}.get(key, key if len(key) == 1 else "")
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, " ": 32}.get(key, ord(key[0]))
        event: dict[str, Any] = {"key": key, "code": {" ": "Space", "/": "Slash"}.get(key, key), "modifiers": 8 * shift}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, windowsVirtualKeyCode=code, **event)
        self.send("Input.dispatchKeyEvent", type="keyUp", windowsVirtualKeyCode=code, **event)

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """Give the page another size."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def theme(self, name: str) -> None:
        """`light` or `dark`."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """Save what the page looks like."""
        data = self.send("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))


class _Files(SimpleHTTPRequestHandler):
    """Files, with the policy for workers that docs/playground.md asks for, and nothing on the terminal."""

    def end_headers(self) -> None:
        if "/worker-" in self.path:
            policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"
            self.send_header("Content-Security-Policy", policy)
        super().end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name is the library's
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()

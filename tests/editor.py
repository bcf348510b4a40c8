"""An editor for tests: a language server as a process, the protocol's messages as they are, and a repository to edit."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]
SECONDS = 120
INITIALIZE: Json = {"processId": None, "rootUri": None, "capabilities": {}}


class Editor:
    """One session: requests are answered in turn, and what is published is kept by file."""

    def __init__(self, process: subprocess.Popen[bytes], root: Path) -> None:
        self.process = process
        self.root = root
        self.published: dict[str, Json] = {}
        self.messages: list[Json] = []
        # Defects in what answers no request.
        self.complaints: list[str] = []
        self._number = 0
        self._versions: dict[str, int] = {}

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def send(self, message: Json) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"method": method, "params": params})

    def receive(self) -> Json:
        stdout, length = self.process.stdout, 0
        assert stdout is not None
        while (line := stdout.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert length, "the server is gone"
        message: Json = json.loads(stdout.read(length))
        self.messages.append(message)
        if message.get("method") == "window/showMessage":
            self.complaints.append(message["params"]["message"])
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published[message["params"]["uri"]] = message["params"]
        if "method" in message and "id" in message:
            self.send({"id": message["id"], "result": None})
        return message

    def request(self, method: str, params: Any = None) -> Any:
        message = self.answer(self.ask(method, params))
        assert "error" not in message, message
        return message["result"]

    def ask(self, method: str, params: Any = None) -> int:
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def answer(self, number: int) -> Json:
        while True:
            message = self.receive()
            if message.get("id") == number and "method" not in message:
                return message

    def open(self, name: str, text: str | None = None) -> list[Json]:
        """Open a file, with another text than it has on the disk if one is given; its first diagnostics."""
        text = (self.root / name).read_text(encoding="utf-8") if text is None else text
        self._versions[name] = self._versions.get(name, 0) + 1
        item = {"uri": self.uri(name), "languageId": "yaml", "version": self._versions[name], "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return self.diagnostics(name)

    def change(self, name: str, text: str) -> list[Json]:
        """Type; the diagnostics of that version."""
        self._versions[name] += 1
        identified = {"uri": self.uri(name), "version": self._versions[name]}
        changes = [{"text": text}]
        self.notify("textDocument/didChange", {"textDocument": identified, "contentChanges": changes})
        return self.diagnostics(name)

    def diagnostics(self, name: str) -> list[Json]:
        while self.published.get(self.uri(name), {}).get("version") != self._versions[name]:
            self.receive()
        found: list[Json] = self.published[self.uri(name)]["diagnostics"]
        return found

    def at(self, name: str, line: int, character: int, **more: Any) -> Json:
        """The parameters of a request about a place."""
        place = {"line": line, "character": character}
        return {"textDocument": {"uri": self.uri(name)}, "position": place, **more}


@contextlib.contextmanager
def editing(root: Path, words: Sequence[str] = (), capabilities: Json | None = None) -> Iterator[Editor]:
    """A session in a folder, initialized; the server has to end when it is told to."""
    command = [sys.executable, "-m", "trainc", "lsp", *words]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)
        # An answer that does not come is a failure, and no wait for ever.
        ends = threading.Timer(SECONDS, process.kill)
        ends.start()
        try:
            yield from _session(Editor(process, root), capabilities)
        finally:
            ends.cancel()
            process.kill()
            process.communicate()
            said.seek(0)
            complaint = said.read().decode()
        assert "Traceback" not in complaint, complaint


def _session(editor: Editor, capabilities: Json | None) -> Iterator[Editor]:
    folders = [{"uri": editor.root.as_uri(), "name": editor.root.name}]
    given = {"rootUri": editor.root.as_uri(), "workspaceFolders": folders, "capabilities": capabilities or {}}
    editor.request("initialize", {**INITIALIZE, **given})
    editor.notify("initialized", {})
    yield editor
    assert editor.complaints == [], editor.complaints
    editor.request("shutdown")
    editor.notify("exit")
    assert editor.process.wait(60) == 0


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: pretrain
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: registry.example.com/pretrain:1
                  volumeMounts:
                  - {name: data, mountPath: /data}
                volumes:
                - name: data
                  emptyDir: {}
            backoffLimit: 0
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llm
  namespace: team-a
  labels: {kueue.x-k8s.io/queue-name: research}
spec:
  runtimeRef:
    name: pretrain
  trainer:
    numNodes: 4
    command: [torchrun, train.py]
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
"""
PATCHED = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: patched, namespace: team-a}
spec:
  runtimeRef: {name: pretrain}
  trainer:
    command: [torchrun, train.py]
  runtimePatches:
  - manager: example.com/team
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    volumes:
                    - {name: scratch, emptyDir: {}}
                    containers:
                    - name: node
                      volumeMounts:
                      - {name: scratch, mountPath: /scratch}
                      - {name: data, mountPath: /more}
"""
OVERLAY = """\
apiVersion: trainc/v1alpha1
kind: Overlay
resources: [../../jobs]
runtimes: [../../runtimes]
patches:
- path: size.yaml
  target: {kind: TrainJob, name: llm}
"""
SIZE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm}
spec: {trainer: {numNodes: 16}}
"""


def written(root: Path) -> Path:
    """A repository with a runtime, two jobs and an overlay that nothing refers to."""
    files = {
        "trainc.yaml": 'release: "2.3"\nsources: [jobs]\nruntimes: [runtimes]\n',
        "runtimes/pretrain.yaml": RUNTIME,
        "jobs/llm.yaml": JOB,
        "jobs/patched.yaml": PATCHED,
        "overlays/large/overlay.yaml": OVERLAY,
        "overlays/large/size.yaml": SIZE,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    return root

"""Months of a monorepo of kept jobs: random pull requests, made as the docs say, and judged from outside by laws.

Nothing here looks inside: a law is about the bytes of files, exit codes, and the codes that are printed. What a changed job
answers for is known from a twin in which everything is compiled and that job is alone.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from commands import Result, run
from repositories import git, write

RACK, HOST = "cloud/rack", "kubernetes.io/hostname"
QUEUE = "kueue.x-k8s.io/queue-name"
TEAMS = ("ads", "nlp")
GOOD, EVIL = "registry.example.com", "evil.example.com"
# The hash in a name.
_HASH = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{6}\b")
# What only `build --check` says, about files.
_ABOUT_FILES = {"KeptNotProven", "ForeignFile", "OutputStale", "KeepOrRebuild"}


@dataclass
class Job:
    team: str
    name: str
    runtime: str
    seed: int = 0
    nodes: int = 1
    image: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    suspend: bool = False
    comment: int = 0
    folder: str = ""

    @property
    def file(self) -> str:
        return f"jobs/{self.team}/{self.folder}{self.name}.yaml"

    @property
    def rendered(self) -> str:
        return f"rendered/{self.team}/{self.name}.yaml"

    @property
    def text(self) -> str:
        metadata = {"name": self.name, "namespace": self.team, "labels": {QUEUE: "h100", **self.labels}}
        metadata |= {"annotations": self.annotations} if self.annotations else {}
        trainer = {"numNodes": self.nodes, "command": ["torchrun", "train.py", f"--seed={self.seed}"]}
        trainer |= {"image": self.image} if self.image else {}
        spec = {"runtimeRef": {"name": self.runtime}, "trainer": trainer} | ({"suspend": True} if self.suspend else {})
        head = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
        return f"# {self.comment}\n{yaml.safe_dump({**head, 'metadata': metadata, 'spec': spec}, sort_keys=False)}"


@dataclass
class Runtime:
    name: str
    image: str = f"{GOOD}/train:1"
    debug: str = "WARN"
    level: str = RACK
    pool: str = "gpu"
    gpus: int = 8

    @property
    def text(self) -> str:
        container = {
            "name": "node",
            "image": self.image,
            "env": [{"name": "NCCL_DEBUG", "value": self.debug}],
            "resources": {"limits": {"nvidia.com/gpu": self.gpus}, "requests": {"cpu": "48", "memory": "8Gi"}},
        }
        pod = {
            "metadata": {"annotations": {"kueue.x-k8s.io/podset-preferred-topology": self.level}},
            "spec": {"nodeSelector": {"pool": self.pool}, "containers": [container]},
        }
        step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
        job = {"name": "node", "template": {"metadata": step, "spec": {"template": pod}}}
        document = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "ClusterTrainingRuntime",
            "metadata": {"name": self.name},
            "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [job]}}},
        }
        return yaml.safe_dump(document, sort_keys=False)


@dataclass
class World:
    """All sources and rules; `files` are their texts."""

    jobs: dict[str, Job]
    runtimes: dict[str, Runtime]
    release: str = "2.3"
    mirror: str = ""
    label: str = ""
    annotation: str = ""
    # The job's environment that an overlay's patch sets, by job.
    patches: dict[str, str] = field(default_factory=dict)
    quota: int = 64
    most_nodes: int = 100
    action: str = "Deny"
    image_end: str = ""
    registries: tuple[str, ...] = ()
    strict: bool = False
    teams: tuple[str, ...] = TEAMS
    frozen: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, str]:
        files = {job.file: job.text for job in self.jobs.values()}
        files |= {f"runtimes/{runtime.name}.yaml": runtime.text for runtime in self.runtimes.values()}
        files["trainc.yaml"] = self.settings("rendered", "changed-jobs")
        files["overlay/overlay.yaml"] = self.overlay(self.jobs)
        files["policies/rules.yaml"] = self.policies
        files["cluster/all.yaml"] = self.cluster
        return files

    def settings(
        self, output: str, rebuild: str, sources: str = "jobs", overlay: str = "overlay", job: Job | None = None
    ) -> str:
        settings: dict[str, Any] = {
            "release": self.release,
            "sources": [sources],
            "runtimes": [f"runtimes/{job.runtime}.yaml" if job else "runtimes"],
            "overlay": overlay,
            "policies": ["policies"],
            "cluster": "cluster",
            "nameHash": True,
            "output": output,
            "rebuild": rebuild,
            "namespaces": {f"jobs/{team}/**": [team] for team in self.teams},
        }
        if self.registries:
            settings["images"] = {"registries": [*self.registries]}
        if self.frozen:
            settings["frozen"] = [{"jobs": [*self.frozen], "reason": "not again"}]
        if self.strict:
            settings["rules"] = {"MovingImageTag": "error"}
        return yaml.safe_dump(settings, sort_keys=False)

    def overlay(self, jobs: Collection[str]) -> str:
        overlay: dict[str, Any] = {"apiVersion": "trainc/v1alpha1", "kind": "Overlay"}
        if self.mirror:
            overlay["mirrors"] = {GOOD: self.mirror}
        if self.label:
            overlay["labels"] = [{"pairs": {"cost": self.label}}]
        if self.annotation:
            overlay["commonAnnotations"] = {"example.com/wave": self.annotation}
        overlay["patches"] = [
            {
                "target": {"kind": "TrainJob", "name": name},
                "patch": {"spec": {"trainer": {"env": [{"name": "A", "value": value}]}}},
            }
            for name, value in self.patches.items()
            if name in jobs
        ]
        return yaml.safe_dump(overlay, sort_keys=False)

    def with_rules_of(self, other: World) -> World:
        """The sources of this one under the rules of another."""
        names = ("quota", "most_nodes", "action", "image_end", "registries", "strict", "teams")
        return replace(deepcopy(self), **{name: getattr(other, name) for name in names})

    @property
    def policies(self) -> str:
        images = f"c.image.endsWith('{self.image_end}')"
        jobs = "object.spec.replicatedJobs.all(j, "
        matches = {
            "resourceRules": [
                {
                    "apiGroups": ["jobset.x-k8s.io"],
                    "apiVersions": ["v1alpha2"],
                    "operations": ["CREATE"],
                    "resources": ["jobsets"],
                }
            ]
        }
        validations = [
            {
                "expression": f"{jobs}j.template.spec.template.spec.containers.all(c, {images}))",
                "message": "wrong image",
            },
            {"expression": f"{jobs}j.template.spec.parallelism <= {self.most_nodes})", "message": "too many nodes"},
        ]
        head = {"apiVersion": "admissionregistration.k8s.io/v1"}
        policy = {"matchConstraints": matches, "validations": validations}
        binding = {"policyName": "rules", "validationActions": [self.action]}
        return yaml.safe_dump_all(
            [
                {**head, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "rules"}, "spec": policy},
                {**head, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "rules"}, "spec": binding},
            ],
            sort_keys=False,
        )

    @property
    def cluster(self) -> str:
        kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
        flavor = {
            "name": "h100",
            "resources": [
                {"name": "nvidia.com/gpu", "nominalQuota": self.quota},
                {"name": "cpu", "nominalQuota": 900},
                {"name": "memory", "nominalQuota": "900Gi"},
            ],
        }
        group = {"coveredResources": ["nvidia.com/gpu", "cpu", "memory"], "flavors": [flavor]}
        levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}
        objects: list[Any] = [
            {
                **kueue,
                "kind": "ClusterQueue",
                "metadata": {"name": "h100"},
                "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
            },
            {
                **kueue,
                "kind": "ResourceFlavor",
                "metadata": {"name": "h100"},
                "spec": {"topologyName": "racks", "nodeLabels": {"gpu": "h100"}},
            },
            {**kueue, "kind": "Topology", "metadata": {"name": "racks"}, "spec": levels},
            *(
                {
                    **kueue,
                    "kind": "LocalQueue",
                    "metadata": {"name": "h100", "namespace": team},
                    "spec": {"clusterQueue": "h100"},
                }
                for team in TEAMS
            ),
            *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}} for team in TEAMS),
        ]
        for number in range(16):
            labels = {"gpu": "h100", "pool": "gpu", RACK: f"r{number // 4}", HOST: f"n{number}"}
            allocatable = {"nvidia.com/gpu": 8, "cpu": 64, "memory": "512Gi", "pods": 110}
            status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}
            objects.append(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": f"n{number}", "labels": labels},
                    "status": status,
                }
            )
        return yaml.safe_dump_all(objects, sort_keys=False)


@dataclass
class Request:
    """A pull request: what it is called, the flags of its build, and what is expected of it."""

    kind: str
    words: tuple[str, ...] = ()
    # Jobs whose own TrainJob it changes.
    changed: frozenset[str] = frozenset()
    expects: str = "as the twin says"
    # The commit whose state a later change returns to.
    changed_in: str = ""


# Changes the world, and says what it did.
Make: TypeAlias = "Callable[[Months], Request]"


class Months:
    """A repository over months. `broken` has the laws that did not hold, with what happened; `judged` counts all."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed, self.number = seed, 0
        self.judged: Counter[str] = Counter()
        self.broken: list[str] = []
        self.merged = 0
        self.log: list[str] = []
        runtimes = {name: Runtime(name) for name in ("torch-a", "torch-b", "spare")}
        jobs = [Job(self.random.choice(TEAMS), f"j{n}", self.random.choice(("torch-a", "torch-b"))) for n in range(6)]
        self.world = World({job.name: job for job in jobs}, runtimes)
        git("init", "-q", "-b", "main")
        git("config", "user.name", "a")
        git("config", "user.email", "a@example.com")
        write(".gitignore", "twin*\n/all/\n")
        self.put(self.world)
        assert run("build").status == 0, run("build").stderr
        self.commit("first")
        git("checkout", "-q", "--detach")
        self.past = deepcopy(self.world)
        # What was merged: the kind, the world before, and the jobs that it changed, the latest last.
        self.merges: list[tuple[str, World, frozenset[str]]] = []

    def law(self, name: str, holds: bool, about: object = "") -> None:
        """Judge a law."""
        self.judged[name] += 1
        if not holds:
            self.broken.append(f"{name}: seed {self.seed}, pull request {self.number}: {self.log[-1]} {about}")

    def put(self, world: World) -> None:
        """Write what differs, and remove what is gone."""
        files = world.files
        for folder in ("jobs", "runtimes"):
            for path in Path(folder).rglob("*.yaml"):
                if path.as_posix() not in files:
                    path.unlink()
        for file, text in files.items():
            if not Path(file).exists() or Path(file).read_text(encoding="utf-8") != text:
                write(file, text)

    def commit(self, message: str) -> None:
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", message)

    def bodies(self) -> dict[str, str]:
        """The rendered files from their second line on."""
        files = sorted(Path("rendered").rglob("*.yaml"))
        return {path.as_posix(): path.read_text(encoding="utf-8").partition("\n")[2] for path in files}

    def twin(self, job: Job | None = None) -> Result:
        """What `check` says if everything is compiled, of all jobs or of one alone."""
        write("twin/overlay.yaml", self.world.overlay([job.name] if job else self.world.jobs))
        write("twin.yaml", self.world.settings("all", "all", job.file if job else "jobs", "twin", job))
        return run("check", "--config", "twin.yaml", "-q")

    def is_refused(self, body: str) -> bool:
        """Whether the objects of a rendered file break today's rules, if they are a source of their own."""
        path = Path("jobs", _jobset(body)["metadata"]["namespace"], "twin.yaml")
        write("twin/overlay.yaml", self.world.overlay([]))
        write("twin.yaml", self.world.settings("all", "all", path.as_posix(), "twin"))
        write(path.as_posix(), body.partition("\n")[2])
        refused = run("check", "--config", "twin.yaml", "-q").status == 1
        path.unlink()
        return refused

    def _body_of_before(self, name: str) -> str:
        """The latest body that main had of the same job before it was another, if there is one."""
        own = self._own(self.world, name)
        for number, (_, world, _) in reversed([*enumerate(self.merges)]):
            if own and self._own(world, name) == own:
                bodies = self._bodies_at(f"main~{len(self.merges) - number}")
                return bodies.get(self.world.jobs[name].rendered, "")
        return ""

    @staticmethod
    def _own(world: World, name: str) -> object:
        job = world.jobs.get(name)
        return job and (replace(job, comment=0, folder="").text, world.patches.get(name))

    def errors_of(self, world: World) -> set[tuple[str, str, str]]:
        """The errors of all jobs if they are compiled: code, object and message, without the hash in names."""
        shutil.rmtree("twin", ignore_errors=True)
        for path, text in world.files.items():
            write(f"twin/{path}", text)
        write("twin/trainc.yaml", world.settings("all", "all"))
        found = json.loads(run("check", "--config", "twin/trainc.yaml", "--format", "json", "-q").stdout)["diagnostics"]
        errors = [(d["code"], d["object"], d["message"]) for d in found if d["severity"] == "error"]
        return {(code, _HASH.sub("", about), _HASH.sub("", message)) for code, about, message in errors}

    # One pull request.

    def step(self, make: Make | None = None) -> None:
        """Make a pull request, any if none is given, judge it, and merge it if it is green."""
        self.number += 1
        before, files = deepcopy(self.world), self.bodies()
        request = (make or self.random.choices([make for make, _ in MAKERS], [weight for _, weight in MAKERS])[0])(self)
        self.log.append(f"{request.kind} {' '.join(request.words)} {sorted(request.changed)}")
        if request.kind != "revert":
            self.put(self.world)
        built = run("build", *request.words)
        if request.expects == "not written":
            self.law(
                "L4k --keep of a changed job writes nothing", built.status == 1 and self.bodies() == files, built.stderr
            )
            return self._undo(before)
        after = self.bodies()
        self._judge_bodies(request, before, files, after)
        if built.status == 0 and not request.words:
            run("build")
            self.law("L4 build twice is build once", self.bodies() == after)
        self.commit(request.kind)
        self._judge_pending(request, files, after)
        checks = [run("check", "--base", "main"), run("build", "--check", "--base", "main")]
        green = built.status == 0 and all(result.status == 0 for result in checks)
        self._judge_colour(request, before, built, checks, green=green)
        if green:
            self._judge_restarts(files, after)
        is_forced = request.kind == "break" and self.random.random() < 0.3
        if not green and request.expects != "green" and not is_forced:
            return self._undo(before)
        git("branch", "-f", "main")
        self.past = before
        self.merges.append((request.kind, before, request.changed))
        self.merged += 1
        main = [run("check"), run("build", "--check")]
        name = "L11 main is green after a rule" if request.kind.startswith("rule") else "L0 main is green"
        name = "L3n nobody pays for what was merged broken" if is_forced else name
        self.law(
            name, all(result.status == 0 for result in main), "".join(result.stdout + result.stderr for result in main)
        )
        chance = self.random.random()
        if chance < 0.05:
            self._judge_rebuild_all()
        elif chance < 0.15:
            self._judge_order()
        return None

    def _undo(self, before: World) -> None:
        git("reset", "-q", "--hard", "main")
        git("clean", "-qfd", "jobs", "runtimes", "rendered")
        self.world = before

    def _judge_bodies(self, request: Request, before: World, files: dict[str, str], after: dict[str, str]) -> None:
        rebuilds = request.words[1:2]
        for name, job in before.jobs.items():
            now = self.world.jobs.get(name)
            if now is None or request.kind == "revert" or "all" in rebuilds or f"{job.team}/{name}" in rebuilds:
                continue
            if name not in request.changed and request.kind != "hand":
                self.law("L1 an unchanged job keeps its bytes", after.get(now.rendered) == files[job.rendered], name)
            elif request.kind == "in place":
                names = [_jobset(text)["metadata"]["name"] for text in (files[job.rendered], after[now.rendered])]
                same = _immutable(files[job.rendered]) == _immutable(after[now.rendered])
                self.law("L1i a change in place restarts nothing", names[0] == names[1] and same, names)
                # `suspend` is the queue's to set: it is not in the output.
                metadata = _jobset(after[now.rendered])["metadata"]
                annotations = metadata.get("annotations", {})
                arrived = (
                    metadata["labels"].items() >= now.labels.items() and annotations.items() >= now.annotations.items()
                )
                self.law("L1r a changed job is rebuilt", arrived, metadata)
            elif request.kind == "edit":
                same = f"--seed={now.seed}" in after[now.rendered]
                self.law("L1r a changed job is rebuilt", same or after == files, name)
        if request.kind in ("revert", "undone by hand"):
            expected = self._bodies_at("main~1")
            self.law(
                "L6 a revert gives back what was", after == expected, [k for k in after if after[k] != expected.get(k)]
            )
        if request.kind == "undone later":
            back, (name,) = request.changed_in, request.changed
            path = self.world.jobs[name].rendered
            body = self._bodies_at(back)[path]
            # A rule of today may refuse what was; then nothing is written.
            is_refused = after == files and (self.twin(self.world.jobs[name]).status or self.is_refused(body))
            self.law("L6 a revert gives back what was", bool(is_refused) or after[path] == body, name)
        if request.kind == "keep of a file without its line":
            self.law("L4k --keep keeps the file", after == files)

    def _bodies_at(self, revision: str) -> dict[str, str]:
        listed = git("ls-tree", "-r", "--name-only", revision, "rendered").splitlines()
        return {path: f"{git('show', f'{revision}:{path}')}\n".partition("\n")[2] for path in listed}

    def _judge_pending(self, request: Request, files: dict[str, str], after: dict[str, str]) -> None:
        """The name of a JobSet changes if, and only if, what a cluster cannot change in place does."""
        for path in files.keys() & after.keys():
            sides = files[path], after[path]
            names = [_jobset(side)["metadata"]["name"] for side in sides]
            if request.kind != "hand":
                same = _immutable(sides[0]) == _immutable(sides[1])
                self.law("L9n a name is new if and only if the job restarts", (names[0] == names[1]) is same, names)

    def _new_errors(self, before: World, changed: Collection[str]) -> tuple[bool, bool]:
        """Whether the sources of a change break a kept job or a runtime: surely, and perhaps."""
        names = {f"{before.jobs[name].team}/{name}" for name in changed if name in before.jobs}
        now, was = (self.errors_of(one) for one in (self.world, before.with_rules_of(self.world)))
        new = {(code, about, text) for code, about, text in now - was if about.rpartition(" ")[2] not in names}
        known = {(code, about) for code, about, _ in was}
        return any((code, about) not in known for code, about, _ in new), bool(new)

    def _judge_order(self) -> None:
        """L8: pull requests of two teams that change different jobs, merged in either order and built again."""
        state, makers = self.random.getstate(), (edit, in_place, comment, move, add, remove)
        files, start = self.world.files, deepcopy(self.world)
        texts = []
        for team in TEAMS:
            self.world = deepcopy(start)
            self.world.jobs = {name: job for name, job in self.world.jobs.items() if job.team == team}
            if len(self.world.jobs) < 2 or set(self.world.jobs) & set(self.world.frozen):
                break
            self.number += 1
            self.random.choice(makers)(self)
            self.world.jobs |= {name: job for name, job in start.jobs.items() if job.team != team}
            texts.append(self.world.files)
        ends, refused = [], False
        for order in (texts, texts[::-1]) if len(texts) == len(TEAMS) else ():
            merged = dict(files)
            for text in order:
                changed = {path for path in {*files, *text} if files.get(path) != text.get(path)}
                merged = {path: one for path, one in merged.items() if path not in changed}
                merged |= {path: text[path] for path in changed & text.keys()}
                for path in [one.as_posix() for one in Path("jobs").rglob("*.yaml")]:
                    if path not in merged:
                        Path(path).unlink()
                for path, one in merged.items():
                    write(path, one)
                refused |= run("build").status != 0
                self.commit("merge")
            ends.append(self.bodies())
            git("reset", "-q", "--hard", "main")
            git("clean", "-qfd", "jobs", "rendered")
        if ends:
            self.law("L8 two teams' merges end the same in either order", refused or ends[0] == ends[1])
        self.world = start
        self.random.setstate(state)

    def _judge_colour(
        self, request: Request, before: World, built: Result, checks: list[Result], *, green: bool
    ) -> None:
        text = built.stderr + "".join(result.stderr for result in checks)
        agreed = [{(where, code) for where, code in _errors(result) if code not in _ABOUT_FILES} for result in checks]
        if request.kind != "hand":
            self.law("L12 check and build --check agree", agreed[0] == agreed[1], agreed)
        if request.expects == "green":
            name = (
                "L10 a rule's pull request is green"
                if request.kind.startswith("rule")
                else "L2 green for what it does not change"
            )
            self.law(name, green, text)
        elif request.expects == "red":
            self.law(f"L7 red: {request.kind}", all(result.status == 1 for result in checks[-1:]) and not green, text)
        elif request.expects == "red with a count":
            counted = all("could not be built again" in result.stderr for result in checks)
            self.law("L3 a source that breaks jobs is red with a count", not green and counted, text)
        elif request.expects == "as its new errors say":
            surely, perhaps = self._new_errors(before, request.changed)
            if surely or not perhaps:
                name = "L3 a source that breaks jobs is red" if surely else "L2 green for what it does not change"
                self.law(name, green is not surely, text)
        elif request.expects == "as the twin says" and request.changed & {*before.frozen}:
            self.law("L7f a frozen job is not changed", not green and "Frozen" in text, text)
        elif request.expects == "as the twin says":
            twins = [self.twin(self.world.jobs[name]) for name in request.changed if name in self.world.jobs]
            wrong = "".join(twin.stderr for twin in twins if twin.status)
            # A job that is what it was before has the body of then, which is judged as it stands.
            wrong += "".join(
                body for body in map(self._body_of_before, request.changed) if body and self.is_refused(body)
            )
            name = "L7 a bad changed job is red" if wrong else "L2 green for what it does not change"
            self.law(name, green is not bool(wrong), wrong or text)

    def _judge_restarts(self, files: dict[str, str], after: dict[str, str]) -> None:
        diff = run("diff", "git:main", "--format", "json")
        count = (
            re.match(r"(\d+) of \d+ jobs? restart", json.loads(diff.stdout)["headline"]) if diff.status == 0 else None
        )
        names = [
            [_jobset(side[path])["metadata"]["name"] for side in (files, after)] for path in files.keys() & after.keys()
        ]
        renamed = sum(old != new for old, new in names)
        self.law(
            "L9 diff counts the restarts",
            diff.status == 0 and int(count[1] if count else 0) == renamed,
            (renamed, diff),
        )

    def _judge_rebuild_all(self) -> None:
        if self.twin().status or self.world.frozen:
            return
        run("build", "--rebuild", "all")
        rebuilt = {path: text.partition("\n")[2] for path, text in self.bodies().items()}
        write("twin.yaml", self.world.settings("all", "all"))
        run("build", "--config", "twin.yaml", "-q")
        fresh = {
            f"rendered/{path.relative_to('all').as_posix()}": path.read_text(encoding="utf-8").partition("\n")[2]
            for path in Path("all").rglob("*.yaml")
        }
        shutil.rmtree("all")
        self.law("L5 --rebuild all is a build into an empty folder", rebuilt == fresh)
        git("reset", "-q", "--hard", "main")

    # What people do.

    def a_job(self) -> Job:
        return self.world.jobs[self.random.choice(sorted(self.world.jobs))]


def _errors(result: Result) -> set[tuple[str, str]]:
    return set(re.findall(r"^(.*?): error\[(\w+)\]", result.stderr, re.MULTILINE))


def _jobset(text: str) -> dict[str, Any]:
    return next(one for one in yaml.safe_load_all(text) if one["kind"] == "JobSet")


def _immutable(text: str) -> list[Any]:
    """What a cluster cannot change in place, and neither the hash nor the labels that go with it."""
    documents = list(yaml.safe_load_all(text))
    for one in documents:
        queue = one["metadata"].pop("labels", {}).get(QUEUE)
        one["metadata"] = {"namespace": one["metadata"].get("namespace"), "queue": queue}
        one.get("spec", {}).pop("suspend", None)
    return [json.loads(_HASH.sub("", json.dumps(one))) for one in documents]


def edit(months: Months) -> Request:
    job = months.a_job()
    job.seed = 1000 + months.number
    return Request("edit", changed=frozenset([job.name]))


def resize(months: Months) -> Request:
    job = months.a_job()
    job.nodes = months.random.choice([n for n in (1, 2, 9, 17) if n != job.nodes])
    return Request("resize", changed=frozenset([job.name]))


def in_place(months: Months) -> Request:
    job = months.a_job()
    # What of a change arrives, compiling the job says, and without its runtime it is not compiled.
    if job.name in months.world.frozen or job.runtime not in months.world.runtimes:
        return comment(months)
    match months.random.randrange(5):
        case 0:
            job.suspend = not job.suspend
        case 1 | 2:
            job.labels["example.com/note"] = f"n{months.number}"
        case _:
            job.annotations["example.com/note"] = f"n{months.number}"
    return Request("in place", changed=frozenset([job.name]), expects="green")


def comment(months: Months) -> Request:
    months.a_job().comment += 1
    return Request("comment", expects="green")


def move(months: Months) -> Request:
    job = months.a_job()
    job.folder = f"d{months.number}/"
    return Request("move", expects="green")


def add(months: Months) -> Request:
    name = f"n{months.number}"
    months.world.jobs[name] = Job(months.random.choice(TEAMS), name, months.random.choice(("torch-a", "torch-b")))
    return Request("add", changed=frozenset([name]))


def remove(months: Months) -> Request:
    if len(months.world.jobs) > 4:
        del months.world.jobs[months.a_job().name]
    return Request("remove", expects="green")


def patch(months: Months) -> Request:
    job = months.a_job()
    months.world.patches[job.name] = str(months.number)
    return Request("patch", changed=frozenset([job.name]))


def change_runtime(months: Months) -> Request:
    name = months.random.choice(("torch-a", "torch-b"))
    runtime = months.world.runtimes.setdefault(name, Runtime(name))  # It may have been merged removed.
    if months.random.random() < 0.5:
        runtime.debug = months.random.choice(("INFO", "TRACE", "ABORT", "WARN"))
    else:
        runtime.image = f"{GOOD}/train:{months.number}.1"
    return Request("runtime", expects="as its new errors say")


def mend(months: Months) -> Request:
    """Give the runtimes back what makes jobs run, after one was merged broken."""
    for name in ("torch-a", "torch-b", "spare"):
        runtime = months.world.runtimes.setdefault(name, Runtime(name))
        runtime.level, runtime.pool, runtime.gpus = RACK, "gpu", 8
        runtime.image = runtime.image.replace(EVIL, GOOD)
    return Request("mended", expects="as its new errors say")


def break_spare(months: Months) -> Request:
    """A runtime that no job uses answers for what it wrote itself."""
    runtime = months.world.runtimes["spare"]
    if months.world.registries and EVIL not in runtime.image:
        runtime.image = f"{EVIL}/train:1"
    else:
        runtime.level = "cloud/rac" if runtime.level == RACK else RACK
    return Request("spare", expects="as its new errors say")


def freeze(months: Months) -> Request:
    months.world.frozen = (*months.world.frozen, months.a_job().name)[-2:]
    return Request("rule: frozen", expects="green")


def roll_out(months: Months) -> Request:
    job = months.a_job()
    rebuilds = months.random.choice(("all", f"{job.team}/{job.name}"))
    return Request("roll-out", ("--rebuild", rebuilds), expects="any")


def change_overlay(months: Months) -> Request:
    field_name = months.random.choice(("mirror", "label", "annotation"))
    value = (
        f"mirror{months.number}.example.com"
        if field_name == "mirror" and not months.world.registries
        else f"v{months.number}"
    )
    setattr(months.world, field_name if months.world.registries == () or field_name != "mirror" else "label", value)
    return Request("overlay", expects="as its new errors say")


def change_release(months: Months) -> Request:
    months.world.release = "2.2" if months.world.release == "2.3" else "2.3"
    return Request("release", expects="as its new errors say")


def break_runtime(months: Months) -> Request:
    used = sorted({job.runtime for job in months.world.jobs.values()})
    if months.twin().status:  # Something is refused already.
        return mend(months)
    used = [name for name in used if name in months.world.runtimes]
    runtime = months.world.runtimes[months.random.choice(used)]
    match months.random.randrange(5):
        case 0:
            runtime.level = "cloud/rac"
        case 1:
            runtime.pool = "nowhere"
        case 2 if months.world.registries:
            runtime.image = f"{EVIL}/train:1"
        case 3:
            del months.world.runtimes[runtime.name]
        case _:
            runtime.gpus = 16
    return Request("break", expects="red with a count")


def tighten(months: Months) -> Request:
    world = months.world
    match months.random.randrange(5):
        case 0:
            world.quota = months.random.choice((8, 16, 64))
        case 1:
            world.most_nodes = months.random.choice((1, 3, 100))
        case 2:
            world.image_end = months.random.choice((":1", ".1", ""))
        case 3:
            world.registries = () if world.registries else (GOOD,) if not world.mirror else (world.mirror,)
        case _:
            world.strict = not world.strict
    return Request("rule", expects="green")


def loosen_and_use(months: Months) -> Request:
    world, job = months.world, months.a_job()
    if job.name in world.frozen:
        return comment(months)
    match months.random.randrange(6):
        case 5 if world.registries:
            world.registries, job.image = (*world.registries, EVIL), f"{EVIL}/train:1"
        case 0:
            world.most_nodes, job.nodes = 1000, world.most_nodes + 1
            world.quota = 10000
        case 1:
            world.action, job.nodes, world.quota = "Audit", world.most_nodes + 1, 10000
        case 2:
            name = f"x{months.number}"
            world.jobs[name] = Job("vision", name, "torch-a")
            world.teams = (*world.teams, "vision")
        case _:
            job.nodes, world.quota = world.quota // 8 + 1, world.quota + 80
    return Request("loosened and used", changed=frozenset([job.name]), expects="red")


def by_hand(months: Months) -> Request:
    job = months.a_job()
    path = Path(job.rendered)
    text = path.read_text(encoding="utf-8")
    match months.random.randrange(4):
        case 0:  # With the digest of the TrainJob as it is now, so that a build believes it.
            job.seed = 3000 + months.number
            months.put(months.world)
            run("build")
            head, line, _ = path.read_text(encoding="utf-8").split("\n", 2)
            text = "\n".join((head, line, text.split("\n", 2)[2]))
        case 1:
            path = path.with_name("foreign.yaml")
            text = text.partition("\n")[2].partition("\n")[2]
        case _:
            text = text.replace("train.py", "miner.py")
    path.write_text(text, encoding="utf-8")
    return Request("hand", changed=frozenset([job.name]), expects="red")


def lose_line(months: Months) -> Request:
    """The second line is lost, as in a conflict, and the file is kept by name."""
    job = months.a_job()
    if months.world.frozen:
        return comment(months)
    path = Path(job.rendered)
    first, _, body = path.read_text(encoding="utf-8").split("\n", 2)
    path.write_text(f"{first}\n{body}", encoding="utf-8")
    return Request("keep of a file without its line", ("--keep", f"{job.team}/{job.name}"), expects="green")


def revert(months: Months) -> Request:
    if months.merged < 2 or not _is_of_jobs(months):
        return comment(months)
    git("revert", "--no-edit", "main")
    months.world = deepcopy(months.past)
    return Request("revert", changed=frozenset(months.world.jobs), expects="any")


def undo_by_hand(months: Months) -> Request:
    if months.merged < 2 or not _is_of_jobs(months):
        return comment(months)
    months.world = deepcopy(months.past)
    return Request("undone by hand", changed=frozenset(months.world.jobs), expects="any")


def undo_later(months: Months) -> Request:
    """Return one job by hand to what it was before an earlier change, whatever else was merged since."""
    world = months.world
    for number, (kind, before, changed) in reversed([*enumerate(months.merges)][-8:]):
        (name, *others) = changed or ("",)
        is_latest = not any(name in later[2] for later in months.merges[number + 1 :])
        if (
            kind not in ("edit", "resize")
            or others
            or not is_latest
            or name not in world.jobs.keys() & before.jobs.keys()
        ):
            continue
        old, now = before.jobs[name], world.jobs[name]
        now.seed, now.nodes = old.seed, old.nodes
        if before.patches.get(name) == world.patches.get(name) and old.text.replace(
            f"# {old.comment}", ""
        ) == now.text.replace(f"# {now.comment}", ""):
            commit = f"main~{len(months.merges) - number}"
            return Request("undone later", changed=frozenset([name]), expects="any", changed_in=commit)
        break
    return comment(months)


def _is_of_jobs(months: Months) -> bool:
    """Whether the last pull request changed jobs and nothing else."""
    return git("log", "-1", "--format=%s", "main") in {"edit", "resize", "in place", "patch", "remove", "comment"}


def keep_changed(months: Months) -> Request:
    job = months.a_job()
    job.seed = 2000 + months.number
    return Request("keep", ("--keep", f"{job.team}/{job.name}"), frozenset([job.name]), "not written")


def keep_all(months: Months) -> Request:
    months.world.runtimes.setdefault("torch-a", Runtime("torch-a")).debug = "VERSION"
    return Request("keep all", ("--keep", "all"), expects="green")


MAKERS: tuple[tuple[Make, int], ...] = (
    (edit, 20), (resize, 8), (in_place, 10), (comment, 3), (move, 3), (add, 8), (remove, 4), (patch, 4),
    (change_runtime, 12), (roll_out, 6), (change_overlay, 6), (change_release, 2), (break_runtime, 8), (tighten, 8),
    (loosen_and_use, 5), (by_hand, 4), (revert, 5), (undo_by_hand, 3), (undo_later, 4), (keep_changed, 3), (keep_all, 2),
    (lose_line, 2), (mend, 3), (break_spare, 2), (freeze, 2),
)  # fmt: skip

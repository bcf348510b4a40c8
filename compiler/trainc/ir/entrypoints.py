"""The containers of a job as they will run: image, command and args with the TrainJob's own in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from trainc.api import names
from trainc.diagnostics import Path
from trainc.ir.info import Info
from trainc.ir.podset import Container, PodSet
from trainc.ir.trainjob import Trainer, TrainJob
from trainc.startup.records import dataclass

About = Literal["trainjob", "runtime"]
JOBS: Path = ("spec", "template", "spec", "replicatedJobs")
_TRAINER: Path = ("spec", "trainer")
_SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh"))
_LONG_FLAGS_WITH_VALUE = frozenset(("--rcfile", "--init-file"))


@dataclass(frozen=True, slots=True)
class Entrypoint:
    """One container: `path` is its place in the runtime, `trains` whether the TrainJob's trainer configures it.

    `trainer` is that trainer, if it does and the TrainJob has one.
    """

    pod_set: PodSet
    container: Container
    path: Path
    trains: bool
    trainer: Trainer | None

    @property
    def image(self) -> str:
        """The image's name, empty where none is given."""
        return (self.trainer.image if self.trainer else None) or str(self.container.fields.get("image", ""))

    @property
    def command(self) -> Sequence[str]:
        """The command, empty where the image's own is used."""
        requested = self.trainer.command if self.trainer else None
        return self.container.command if requested is None else requested

    @property
    def args(self) -> Sequence[str]:
        """The args, empty where there are none."""
        requested = self.trainer.args if self.trainer else None
        return self.container.fields.get("args", ()) if requested is None else requested

    @property
    def words(self) -> tuple[str, ...]:
        """The whole command line as far as the documents give it; without a command, the image's own runs."""
        return (*self.command, *self.args)

    def place(self, index: int) -> tuple[Path, About]:
        """Where `words[index]` is written, and in whose document."""
        field, before = ("command", 0) if index < len(self.command) else ("args", len(self.command))
        if self.trainer is not None and getattr(self.trainer, field) is not None:
            return (*_TRAINER, field, index - before), "trainjob"
        return (*self.path, field, index - before), "runtime"

    @property
    def shell(self) -> bool:
        """Whether a shell reads the command line: `bash -c`, also behind env, timeout or tini."""
        return shell_script(self.words) is not None


def shell_script(words: Sequence[str]) -> str | None:
    """The text that a command line gives a shell to run; None where it starts no shell, or gives it a file."""
    for i, word in enumerate(words):
        if word.rpartition("/")[2] in _SHELLS:
            return _script(words[i + 1 :])
    return None


def _script(words: Sequence[str]) -> str | None:
    """What `-c` of a shell is given: the first word that is no flag of the shell's own, nor a flag's value."""
    given = False
    flags = iter(words)
    for flag in flags:
        if not flag.startswith(("-", "+")):
            return flag if given else None
        letters = "" if flag.startswith("--") else flag[1:]
        given = given or "c" in letters
        if flag in _LONG_FLAGS_WITH_VALUE or "o" in letters.lower():
            next(flags, None)
    return None


def entrypoints(job: TrainJob, info: Info) -> Iterator[Entrypoint]:
    """Every container of every job, init containers first."""
    for index, pod_set in enumerate(info.pod_sets):
        pod = (*JOBS, index, "template", "spec", "template", "spec")
        for i, container in enumerate(pod_set.init_containers):
            yield Entrypoint(pod_set, container, (*pod, "initContainers", i), trains=False, trainer=None)
        for i, container in enumerate(pod_set.containers):
            trains = pod_set.ancestor == names.TRAINER and container.name == pod_set.main
            trainer = job.trainer if trains else None
            yield Entrypoint(pod_set, container, (*pod, "containers", i), trains, trainer)

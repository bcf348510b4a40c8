"""The containers of a job as they will run: image, command and args, including the TrainJob's overrides."""

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
    """A container of a job.

    `path` is its path in the runtime. `trains` means that the TrainJob's `spec.trainer` configures it, and `trainer` is
    that configuration, if any.
    """

    pod_set: PodSet
    container: Container
    path: Path
    trains: bool
    trainer: Trainer | None

    @property
    def image(self) -> str:
        """The image, or empty if there is none."""
        return (self.trainer.image if self.trainer else None) or str(self.container.fields.get("image", ""))

    @property
    def command(self) -> Sequence[str]:
        """The command, or empty if the image's entrypoint is used."""
        requested = self.trainer.command if self.trainer else None
        return self.container.command if requested is None else requested

    @property
    def args(self) -> Sequence[str]:
        """The args, or empty if there are none."""
        requested = self.trainer.args if self.trainer else None
        return self.container.fields.get("args", ()) if requested is None else requested

    @property
    def words(self) -> tuple[str, ...]:
        """The command line without the image's entrypoint, which runs if there is no command."""
        return (*self.command, *self.args)

    def place(self, index: int) -> tuple[Path, About]:
        """Return the path of `words[index]`, and which object it is in."""
        field, before = ("command", 0) if index < len(self.command) else ("args", len(self.command))
        if self.trainer is not None and getattr(self.trainer, field) is not None:
            return (*_TRAINER, field, index - before), "trainjob"
        return (*self.path, field, index - before), "runtime"

    @property
    def shell(self) -> bool:
        """Whether the container runs a shell script: `bash -c`, also behind env, timeout or tini."""
        return shell_script(self.words) is not None


def shell_script(words: Sequence[str]) -> str | None:
    """Return the script in a command line like `bash -c SCRIPT`; None if there is no shell, or it runs a file."""
    for i, word in enumerate(words):
        if word.rpartition("/")[2] in _SHELLS:
            return _script(words[i + 1 :])
    return None


def _script(words: Sequence[str]) -> str | None:
    """Return the argument of `-c`: the first word that is neither a flag of the shell nor the value of one."""
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
    """Yield every container of every job; init containers come first within a job."""
    for index, pod_set in enumerate(info.pod_sets):
        pod = (*JOBS, index, "template", "spec", "template", "spec")
        for i, container in enumerate(pod_set.init_containers):
            yield Entrypoint(pod_set, container, (*pod, "initContainers", i), trains=False, trainer=None)
        for i, container in enumerate(pod_set.containers):
            trains = pod_set.ancestor == names.TRAINER and container.name == pod_set.main
            trainer = job.trainer if trains else None
            yield Entrypoint(pod_set, container, (*pod, "containers", i), trains, trainer)

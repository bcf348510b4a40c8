"""Determines what a command runs, looking through wrappers: a launcher, Python, a shell, a tool, or something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from trainc.ir.commands.launcher import Launcher
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace

Kind: TypeAlias = Literal["launcher", "python", "code", "shell", "sleep", "tool", "unknown"]

SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh"))
# Shell builtins, which only work in a shell.
BUILTINS = frozenset(
    (
        *("cd", "export", "source", ".", "set", "unset", "ulimit", "exec", "eval", "alias", "trap", "wait", "shopt"),
        *("declare", "local", "readonly", "read", "return", "exit", "umask", "pushd", "popd", "if", "for", "while"),
    )
)
# Programs that run another program, given after their own options.
_WRAPPERS = frozenset(
    (
        *("env", "exec", "nohup", "time", "timeout", "nice", "ionice", "stdbuf", "numactl", "taskset", "tini", "sudo"),
        *("dumb-init", "catatonit", "gosu", "su-exec", "runuser", "setpriv", "chroot", "command", "builtin", "setsid"),
        *("conda", "mamba", "micromamba", "uv", "uvx", "poetry", "pipenv", "pixi", "hatch", "pdm", "rye", "nsys"),
        "ncu",
        *("perf", "strace", "ltrace", "gdb", "xvfb-run", "opentelemetry-instrument", "ddtrace-run", "py-spy"),
        "scalene",
        *("coverage", "viztracer", "memray", "dlprof", "rocprof", "rocprofv3", "eatmydata", "unbuffer", "script"),
        *("chrt", "prlimit", "systemd-inhibit", "aws-vault", "doppler", "infisical", "direnv", "with-contenv", "eval"),
    )
)
# Programs that wrap another one only with this subcommand: `conda install torchrun` runs nothing.
_WRAPS_WITH = {
    **dict.fromkeys(("conda", "mamba", "micromamba", "uv", "poetry", "pipenv", "pixi", "hatch", "pdm", "rye"), "run"),
    "nsys": "profile",
    "coverage": "run",
    "memray": "run",
}
_TOOLS = BUILTINS | frozenset(
    (
        *("echo", "printf", "which", "type", "man", "pip", "pip3", "apt", "apt-get", "apk", "yum", "dnf", "cat", "ls"),
        *("cp", "mv", "rm", "mkdir", "rmdir", "chmod", "chown", "ln", "touch", "tee", "grep", "egrep", "sed", "awk"),
        *("cut", "tr", "sort", "uniq", "head", "wc", "find", "tar", "unzip", "gzip", "gunzip", "git", "wget", "curl"),
        *("aws", "gsutil", "gcloud", "az", "rclone", "rsync", "scp", "ssh-keygen", "huggingface-cli", "hf", "kubectl"),
        *("nvidia-smi", "rocm-smi", "hl-smi", "ibstat", "ibv_devinfo", "ip", "ifconfig", "hostname", "date", "df"),
        *("du", "free", "nproc", "lscpu", "uname", "whoami", "id", "pwd", "true", "false", ":", "test", "[", "[["),
        *("((", "let", "kill", "pkill", "killall", "pgrep", "ps", "env", "printenv", "sleep", "tail", "wandb"),
        "ldconfig",
        *("ldd", "mount", "umount", "sysctl", "sync", "dirname", "basename", "realpath", "readlink", "jq", "yq"),
        "md5sum",
        *("sha256sum", "seq", "xargs", "getent", "nslookup", "dig", "ping", "nc", "update-ca-certificates", "dpkg"),
    )
)
_PYTHON = pattern(r"python(\d(\.\d+)*)?|pypy3?|ipython3?")
_PYTHON_WITH_VALUE = frozenset(("-W", "-X", "--check-hash-based-pycs"))
_TOOL_MODULES = frozenset(
    ("pip", "venv", "virtualenv", "ensurepip", "site", "json.tool", "compileall", "py_compile", "zipfile", "tarfile")
)
_LOOKED_UP = pattern(r"\$\((?:which|command -v)\s+(\S+)\)|`which\s+(\S+)`")
_FOREVER = frozenset(("infinity", "inf", "1d", "7d", "24h"))
_LONG_SLEEP = 86_400


class Programs:
    """The known launchers, by program and Python module.

    `rest` returns the launchers of other frameworks; it is only called if a command does not start with a known
    program.
    """

    def __init__(self, launchers: Iterable[Launcher], rest: Callable[[], Iterable[Launcher]] | None = None) -> None:
        self.by_program: dict[str, Launcher] = {}
        self.by_module: dict[str, Launcher] = {}
        for launcher in launchers:
            self.by_program.update(dict.fromkeys(launcher.programs, launcher))
            self.by_module.update(dict.fromkeys(launcher.modules, launcher))
        self._rest = rest
        self._all: Programs | None = None

    @property
    def launchers(self) -> Iterable[Launcher]:
        """The known launchers, each once."""
        return {id(launcher): launcher for launcher in self.by_program.values()}.values()

    @property
    def all(self) -> Programs:
        """The known launchers together with those of all other frameworks."""
        if self._rest is None:
            return self
        if self._all is None:
            self._all = Programs([*self._rest(), *self.by_program.values()])
        return self._all


@dataclass(frozen=True, slots=True)
class Program:
    """What a command runs: its kind, the index of the word that determined it, and the index of its first argument.

    "python" is a script or module, "code" is `python -c`, and "sleep" a program that waits for at least a day. A launcher
    is `guessed` if a program that is not known comes before it, which may run it or not.
    """

    kind: Kind
    index: int
    start: int
    launcher: Launcher | None = None
    guessed: bool = False


def base(word: str) -> str:
    """Return the name of a program without its path; for `$(which NAME)`, this is NAME."""
    match = _LOOKED_UP.fullmatch(word) if "$(" in word or "`" in word else None
    name = (match[1] or match[2]) if match else word
    return name.rpartition("/")[2]


def program_of(words: Sequence[str], programs: Programs) -> Program:
    """Return the program that a simple command runs."""
    program = _scanned(words, programs)
    certain = program.index == 0 and program.kind != "unknown" and "-m" not in words
    return (
        program if certain or program.kind == "launcher" or programs.all is programs else _scanned(words, programs.all)
    )


def _scanned(words: Sequence[str], programs: Programs) -> Program:
    wrapped = unknown = False
    for index, word in enumerate(words):
        name = base(word)
        program = _known(words, index, name, programs)
        if program is not None and not (unknown and program.kind != "launcher"):
            return replace(program, guessed=True) if unknown else program
        if wrapped and name.endswith(".py") and " " not in word:
            return Program("python", index, index + 1)
        if index == 0 or (wrapped and not unknown and not word.startswith("-")):
            if name == "command" and words[index + 1 : index + 2] in (["-v"], ["-V"], ("-v",), ("-V",)):
                return Program("tool", index, index + 1)
            if name in _WRAPPERS and (name not in _WRAPS_WITH or _WRAPS_WITH[name] in words[index + 1 : index + 6]):
                wrapped = True
            elif index == 0:
                if name in _WAITING and _waits(name, words[1:]):
                    return Program("sleep", 0, 1)
                if name in _TOOLS:
                    return Program("tool", 0, 1)
                unknown = True
    return Program("unknown", 0, 1)


def _known(words: Sequence[str], index: int, name: str, programs: Programs) -> Program | None:
    launcher = programs.by_program.get(name)
    if launcher is not None:
        return _started(launcher, words, index)
    if _PYTHON.fullmatch(name):
        return _python(words, index, programs)
    if name in SHELLS:
        return Program("shell", index, index + 1)
    return None


def _started(launcher: Launcher, words: Sequence[str], index: int) -> Program | None:
    """Return a launcher if its subcommand follows; with another subcommand it is a tool."""
    if not launcher.subcommands or launcher.programs.index(base(words[index])) > 0:
        return Program("launcher", index, index + 1, launcher)
    if index + 1 < len(words) and words[index + 1] in launcher.subcommands:
        return Program("launcher", index, index + 2, launcher)
    return Program("tool", index, index + 1) if index == 0 else None


def _python(words: Sequence[str], index: int, programs: Programs) -> Program:
    at = index + 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        if word.startswith("-m") or (word.startswith("-") and not word.startswith("--") and word.endswith("m")):
            module = (
                word[2:] if word.startswith("-m") and len(word) > 2 else (words[at + 1] if at + 1 < len(words) else "")
            )
            after = at + 1 + (module != word[2:])
            for name, start in ((module, after), (" ".join((module, *words[after : after + 1])), after + 1)):
                if (launcher := programs.by_module.get(name)) is not None:
                    return Program("launcher", at, start, launcher)
            return Program("tool" if module.partition(".")[0] in _TOOL_MODULES else "python", index, after)
        if word == "-c" or (not word.startswith("--") and word.endswith("c")):
            return Program("code", index, at + 1)
        at += 2 if word in _PYTHON_WITH_VALUE else 1
    if at >= len(words):
        return Program("tool", index, at)
    launcher = programs.by_program.get(base(words[at]))
    if launcher is not None and not launcher.subcommands:
        return Program("launcher", at, at + 1, launcher)
    return Program("python", index, at)


_WAITING = ("sleep", "tail")


def _waits(name: str, arguments: Sequence[str]) -> bool:
    if name == "sleep":
        return any(
            a in _FOREVER or (a.rstrip("s").isdecimal() and int(a.rstrip("s")) >= _LONG_SLEEP) for a in arguments
        )
    return "/dev/null" in arguments and any(a.startswith("-") and "f" in a.lower() for a in arguments)

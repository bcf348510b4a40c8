"""Lints for shell scripts: failures that are lost, pods that keep running, and here-documents that the shell changes."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.commands.programs import program_name, program_of
from trainc.ir.commands.shell import Command, Compound, Item, Stage, commands
from trainc.ir.commands.shell_words import Heredoc
from trainc.ir.commands.started import Start, read_command
from trainc.ir.entrypoints import Entrypoint
from trainc.lints.training import Training
from trainc.plugins.registry import programs
from trainc.startup.patterns import pattern
from trainc.startup.records import dataclass, replace

_PASSING = frozenset(("true", ":", "echo", "printf", "sleep", "date", "exit 0", "wait"))
# The delimiter of the scripts in which the Kubeflow SDK sends a function (kubeflow/sdk trainer/backends/kubernetes).
_OF_SDK = "EOM"
_CODE = pattern(r"\.(py|ipynb|pyx|cu|cpp|c|rs|jl|r|pl)$", 2)  # re.IGNORECASE
_PYTHON = pattern(r"^\s*(?:import \w|from \w[\w.]* import |def \w+\(|class \w+|print\(|if __name__)", 8)  # re.MULTILINE
_REWRITTEN = pattern(
    r"(?<!\\)(?:\\\\)*(\$(?:[A-Za-z_]\w*|\{[^}\n]{0,200}\}|\([^)\n]{0,200}\)|[({0-9$@*#?!-])|`[^`\n]{0,200}`|`)|(\\\\)"
)


def shell_endings(training: Training) -> Iterator[Finding]:
    """Yield warnings if a failure of the training does not fail the pod, or if the pod outlives the training.

    The registry calls it for scripts, and for commands that contain a sleep.
    """
    line = training.line
    if not training.entry.trains:
        return
    if line.script is not None and (starts := line.starts_of("launcher") or line.starts_of("python")):
        yield from _script(training, starts[-1])
        return
    waits = line.starts_of("sleep")
    # Users open a shell in a Flux instance and submit jobs from there.
    if waits and training.policy != "flux" and not line.starts_of("launcher", "python", "unknown", "code"):
        message = f"{' '.join(waits[-1].argv)!r} never exits and trains nothing: the pods hold their resources until they are deleted"
        hint = "start the training; to debug, use `kubectl debug` or set a deadline"
        yield training.finding("HeldAfterEnd", "warning", message, hint, waits[-1].program.index)


@dataclass(frozen=True, slots=True)
class _Options:
    """The options that `set` and the shell's own flags have enabled."""

    errexit: bool = False
    pipefail: bool = False


def _script(training: Training, trains: Start) -> Iterator[Finding]:
    line = training.line
    assert line.script is not None
    flags = line.argv[: line.script]  # Those of the shell, as in `bash -eo pipefail -c`.
    letters = "".join(flag[1:] for flag in flags if flag.startswith("-") and not flag.startswith("--"))
    options = _Options("e" in letters or "errexit" in flags, "pipefail" in flags)
    # Not inside a condition, a loop or a function.
    indexes = [i for i, item in enumerate(line.items) if any(_holds(stage, trains) for stage in item.stages)]
    if not indexes:
        behind = [item for item in line.items[-1:] if not _is_left(item, trains) and _runs(item)]
        waits = any(command.words[:1] == ("wait",) for command, _ in commands(line.items))
        if not (waits or behind) and any(_is_left(item, trains) for item in line.items):
            message = "all of these run in the background, and the pod ends without waiting for them"
            yield training.finding("FailureIgnored", "warning", message, "write wait at the end", trains.program.index)
        return
    for item in line.items[: indexes[-1]]:
        options = _after(item, options)
    item, following = line.items[indexes[-1]], line.items[indexes[-1] + 1 :]
    lost = _lost_in_pipe(item, trains, options) or _lost_behind(item, following, options)
    uses_status = any(_reads_status(stage) for later in following for stage in later.stages)
    if lost and not uses_status and not item.negated:
        yield training.finding("FailureIgnored", "warning", *lost, trains.program.index)
    waiting = _waits_behind(item, following)
    if waiting is not None:
        message = f"{' '.join(waiting.words)!r} after the training keeps the pods and all their resources"
        hint = "remove it: the logs of a finished pod are kept"
        yield training.finding("HeldAfterEnd", "warning", message, hint, trains.program.index)


def _after(item: Item, options: _Options) -> _Options:
    for stage in item.stages:
        if isinstance(stage, Command) and stage.words[:1] == ("set",):
            for sign, on in (("-", True), ("+", False)):
                flags = [w for w in stage.words[1:] if w.startswith(sign)]
                letters = "".join(flags)
                if "e" in letters.removeprefix("--") or (flags and "errexit" in stage.words):
                    options = replace(options, errexit=on)
                if flags and "pipefail" in stage.words:
                    options = replace(options, pipefail=on)
    return options


def _holds(stage: Stage, trains: Start) -> bool:
    if isinstance(stage, Command):
        return stage.line == trains.line and stage.words == trains.raw_words
    return stage.kind in "{(" and any(_holds(inner, trains) for item in stage.body for inner in item.stages)


def _is_left(item: Item, trains: Start) -> bool:
    """Return whether a loop starts the training in the background."""
    bodies = [stage.body for stage in item.stages if isinstance(stage, Compound) and stage.kind != "function"]
    inner = [part for body in bodies for part in body]
    here = any(part.then == "&" and any(_holds(stage, trains) for stage in part.stages) for part in inner)
    return here or any(_is_left(part, trains) for part in inner)


def _lost_in_pipe(item: Item, trains: Start, options: _Options) -> tuple[str, str] | None:
    if len(item.stages) < 2 or options.pipefail or _holds(item.stages[-1], trains):
        return None
    last = item.stages[-1]
    name = program_name(last.words[0]) if isinstance(last, Command) and last.words else "the last command"
    message = f"the exit status of the pipe is that of {name}, so a failed training counts as done"
    return message, "start the script with `set -o pipefail`, and run it with bash"


def _lost_behind(item: Item, following: tuple[Item, ...], options: _Options) -> tuple[str, str] | None:
    if item.then == "&":
        return _lost_in_background(following)
    position = 0
    then = item.then
    while then == "&&" and position < len(following):
        then = following[position].then
        position += 1
    if then == "||" and position < len(following):
        return _lost_in_or(following[position])
    behind = [other for other in following[position:] if _runs(other)]
    # `set -e` applies only to the last command of an && list: a failure of the others ends the list, not the script.
    stops = options.errexit and position == 0
    if then == ";" and behind and not stops:
        last = _item_text(behind[-1])
        if last.startswith("-"):
            return None  # No program has such a name, so the shell ends with 127.
        message = f"the exit status of the script is that of {last!r}, so a failed training counts as done"
        return message, "start the script with `set -e`, or join the commands with &&"
    return None


def _lost_in_background(following: tuple[Item, ...]) -> tuple[str, str] | None:
    waits = [s for item in following for s in item.stages if isinstance(s, Command) and s.words[:1] == ("wait",)]
    if any(len(wait.words) > 1 for wait in waits):
        return None
    if waits:
        return (
            "`wait` without a process ID always succeeds, so a failed training counts as done",
            "write `wait $!`, or remove the & and the wait",
        )
    if any(_runs(item) and _item_text(item).startswith(("sleep", "tail")) for item in following):
        return "the training runs in the background, and its exit status is ignored", "remove the &"
    return "the training runs in the background, and the pod exits without waiting for it", "remove the &"


def _lost_in_or(alternative: Item) -> tuple[str, str] | None:
    stage = alternative.stages[-1]
    if isinstance(stage, Compound):
        words = [s.words for item in stage.body for s in item.stages if isinstance(s, Command)]
        if any(w[:1] in (("exit",), ("return",), ("false",), ("kill",)) for w in words) or stage.kind not in "{(":
            return None
    elif not stage.words or stage.words[0] in ("exit", "return", "false", "kill"):
        if stage.words[:2] != ("exit", "0"):
            return None
    elif program_name(stage.words[0]) not in _PASSING:
        return None
    message = f"`|| {_item_text(alternative)}` makes a failed training count as done"
    return message, "remove it: restarts and alerts depend on failed pods"


def _runs(item: Item) -> bool:
    return any(not isinstance(stage, Command) or bool(stage.words) for stage in item.stages)


def _item_text(item: Item) -> str:
    stage = item.stages[-1]
    return " ".join(stage.words[:3]) if isinstance(stage, Command) else stage.kind


def _reads_status(stage: Stage) -> bool:
    """Return whether a stage uses the training's exit status: `exit $status`, `[ $? -eq 0 ]`, PIPESTATUS."""
    if isinstance(stage, Compound):
        return any(_reads_status(inner) for item in stage.body for inner in item.stages)
    words = (*stage.words, *(assignment.value for assignment in stage.assignments))
    if stage.words[:1] == ("exit",):
        return len(stage.words) < 2 or "$" in stage.words[1] or stage.words[1] != "0"
    return any("PIPESTATUS" in word for word in words) or (
        bool(stage.words) and stage.words[0] in ("[", "[[", "test", "((") and any("$?" in word for word in words)
    )


def _waits_behind(item: Item, following: tuple[Item, ...]) -> Command | None:
    if item.then == "||":
        return None
    for other in following:
        for stage in other.stages:
            if isinstance(stage, Command) and stage.words:
                if stage.words[0] in ("exit", "exec"):
                    return None
                if program_of(stage.words, programs("")).kind == "sleep":
                    return stage
            elif isinstance(stage, Compound) and stage.kind in ("while", "until"):
                inside = (inner for item in stage.body for inner in item.stages if isinstance(inner, Command))
                if waits := [command for command in inside if command.words[:1] == ("sleep",)]:
                    return waits[0]
    return None


def heredocs(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for each program in an unquoted here-document that the shell changes."""
    line = read_command(entry.argv, programs(""))
    variables = {str(variable["name"]) for variable in entry.container.env}
    variables |= {set_here.name for command, _ in commands(line.items) for set_here in command.assignments}
    for command, _ in commands(line.items):
        for heredoc in command.heredocs:
            changed = _changed(command, heredoc, variables) if heredoc.rewritten else ""
            if changed and line.script is not None:
                message = f"the shell expands this heredoc before the program sees it, and changes {changed!r}"
                hint = f"quote the delimiter: << '{heredoc.delimiter}'"
                if heredoc.delimiter == _OF_SDK:
                    hint = f"the Kubeflow SDK writes this script from your function: write {changed!r} in it in another way"
                yield entry.finding("HeredocRewritten", "warning", message, hint, line.script)


def _changed(command: Command, heredoc: Heredoc, variables: set[str]) -> str:
    """Return the first text that the shell replaces unintentionally, or an empty string."""
    targets = [target for _, target in command.redirects] + list(command.words)
    reads_python = any(word.rpartition("/")[2].startswith("python") for word in command.words)
    is_code = reads_python or any(map(_CODE.search, targets)) or _PYTHON.search(heredoc.body) is not None
    for match in _REWRITTEN.finditer(heredoc.body):
        text = match[1] or match[2]
        name = text.strip("${}").partition(":")[0]
        if name in variables:
            continue
        # In a configuration file, an uppercase variable is meant to be expanded.
        if is_code or (text.startswith("$") and name.isidentifier() and name.islower()):
            return text
    return ""

"""Lints for slips in command lines: words in the wrong place, quotes and braces, and options twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise

from trainc.findings import Finding, suggest
from trainc.ir.commands.started import Start
from trainc.knowledge.tables import read
from trainc.lints.training import Training
from trainc.startup.patterns import pattern
from trainc.startup.typing import Any

_QUOTED = pattern(r"(--?[\w-]+=|[\w.+]+=|)(['\"])(.+)\2", 16)
_BRACES = pattern(r"[\w.+/-]+=\S*\{(?:\d+\.\.\d+|[\w-]+(?:,[\w-]+)+)\}\S*")
_ESCAPED_END = pattern(r"\\[ \t]+\n")
_COMMENT_AMID = pattern(r"\\\n[ \t]*#")
# Options that scripts have as well, whatever starts them.
_OF_SCRIPTS = frozenset(("num-nodes", "np", "n", "include", "exclude", "hosts"))
_SETTING = pattern(r"[+~]{0,2}[A-Za-z_][\w.@/]*\.[\w.@/]*=|--[A-Za-z][\w.-]*=|[+~]{1,2}[A-Za-z_]\w*=|[a-z]\w*=")
# Programs that take variables which may be empty, and targets.
_BUILDING = frozenset(("make", "cmake", "bazel", "dd"))
_VALUE = pattern(r"[^-=+~][^=]*")
# Options that add up, or are read as a list, in launchers.
_REPEATED = frozenset(("x", "mca", "genv", "env", "gmca", "H", "host", "hostfile", "launcher-args"))
# Two words without a space between them, a launcher behind its script, and what only a shell reads.
_PROGRAMS = ("python", "python3", "torchrun", "accelerate", "deepspeed")
_TOGETHER = pattern(rf"--?[\w-]+=\S*[\w\"'](--[a-z][\w-]*)=\S+|\S+\.(?:ya?ml|json|py|txt)({'|'.join(_PROGRAMS)})")
_STARTERS = frozenset(("python", "accelerate", "deepspeed", "torchrun", "mpirun", "bash", "sh", "uv"))
_MAPPING = pattern(r"(?:--[\w-]+=)?\{[A-Za-z_]\w*:[^}]*")
_QUOTED_DOLLAR = "\ue024"  # What a shell that quotes it leaves of it (ir/commands).
_LITERAL = pattern(r"\ue024\{?([A-Za-z_]\w*)")
_OF_SHELL = pattern(r"[^$`]+\.(?:sh|bash)|(?:/usr)?(?:/bin/)?(?:ba|da|z)?sh")
_SHELL, _OF_FILE = pattern(r"[^$`]+\.(?:sh|bash)"), pattern(r"[^$]*(?:\.py|/[^$]*)")
_MODULE = pattern(r"(?!.*\.(?:py|pyc|pyz|so|bin|exe|run|out|ya?ml|json|toml)$)[a-z_]\w*(?:\.[a-z_]\w*)+", 2)
_PLAIN_NAME = pattern(r"[a-z][a-z0-9_]*")
_MODULES = frozenset(("torch.distributed.launch", "torch.distributed.run", "accelerate.commands.launch"))
_DECLARING, _TESTING = ("export", "declare", "typeset", "readonly", "local"), ("test", "expr", "let", "echo")
_SET = pattern(r"[A-Za-z_]\w*=")
# Variables that programs read from their environment, and scripts hardly ever for themselves.
_READ_BY_PROGRAMS = pattern(read("readings")["read_by_programs"])
_QUOTES = "\"'“”‘’"  # noqa: RUF001
_WRAPPED = pattern(r"\"[^\"]*\"|'[^']*'|[“”‘’].*[“”‘’]", 16)  # noqa: RUF001
# Paths whose readers replace ~: huggingface_hub/constants.py, torch/hub.py, and TensorBoard's in transformers/integrations.
_EXPANDED = pattern(r"(?:HF|HUGGINGFACE)_\w+|TORCH_HOME|XDG_CACHE_HOME|TENSORBOARD_LOGGING_DIR")
# A longer one is no slip of somebody who types, and takes long to match.
_LONGEST_WORD = 1_000
_NUMBER = pattern(r"-?\d[\d.e-]*")


def slips(training: Training) -> Iterator[Finding]:
    """Yield findings about the words of a command."""
    line = training.line
    for start in line.starts:
        yield from _launched(training, start)
        yield from _twice(training, start)
        yield from _words(training, start)
        yield from _behind(training, start)
        yield from _undashed(training, start)
        yield from _apart(training, start)
    yield from _values(training)
    if line.script is None:
        yield from _quotes(training)
    else:
        yield from _of_script(training, line.argv[line.script])


def _launched(training: Training, start: Start) -> Iterator[Finding]:
    """Yield a finding for `torchrun python train.py`, and for `torchrun -m train.py`."""
    launch = start.launch
    if launch is None or launch.launcher.reaches != "node" or not launch.program:
        return
    name, program = launch.launcher.name, launch.program[0]
    index = len(start.argv) - len(launch.program)
    if training.line.script is None and " -" in program and program.split(" ")[0].endswith(".py"):
        message = f"no shell splits {program!r} at its spaces, so {name} looks for a script of this name"
        hint = f"write [{', '.join(program.split())}]"
        yield training.finding("CommandCannotStart", "warning", message, hint, index)
    given = {option.name for option in launch.options}
    if "no-python" in given or (given & {"m", "module"} and not program.endswith(".py")):
        return
    if given & {"m", "module"}:
        module = program.removeprefix("./").removesuffix(".py").replace("/", ".")
        message = f"-m takes the name of a module, and {program!r} is one of a file, so {name} finds no module"
        hint = suggest(program, [module], f"write -m {module}, or remove -m")
    elif launch.launcher.options.get("no-python") == "" and program.endswith("sh") and _OF_SHELL.fullmatch(program):
        message = f"{name} starts {program!r} with Python, which cannot read a program of the shell, and exits"
        hint = f"write --no-python in front of {program}"
    elif program.rpartition("/")[2].rstrip("0123456789.") in _STARTERS and len(launch.program) > 1:
        message = f"{name} runs Python itself, and takes {program!r} for the name of the script, which is not there"
        words = [program, *(word for word in launch.program[1:2] if word in ("launch", "run"))]
        script = next((word for word in launch.program[len(words) :] if not word.startswith("-")), "train.py")
        hint = f"remove {' '.join(words)}: {name} {script}"
    elif (
        "." in program.removesuffix(".py")
        and _MODULE.fullmatch(program)
        and launch.launcher.options.keys() & {"m", "module"}
    ):
        message = f"{name} takes {program!r} for the name of a file, which is not there: modules come behind an option"
        hint = f"write {'-m' if 'm' in launch.launcher.options else '--module'} in front of {program}"
    else:
        return
    yield training.finding("InvalidLauncherArguments", "warning", message, hint, index)


def _values(training: Training) -> Iterator[Finding]:
    """Yield findings about quotes and tildes in the values of variables, which no shell reads."""
    for name, value in training.variables.items():
        at_home = (value or "").startswith("~/") and not _EXPANDED.fullmatch(name)
        if not value or not (at_home or (value[0] in _QUOTES and _WRAPPED.fullmatch(value))):
            continue
        message, hint = f"the quotes of {name} are part of its value: {value}", f'write "{value.strip(_QUOTES)}"'
        if at_home:
            message = f"no shell reads {name}, so {value} is in a folder called ~, and not in the home folder"
            hint = "write the whole path"
        yield Finding("InvalidVariableValue", "warning", message, hint, *training.entry.variable_path(name))


def _words(training: Training, start: Start) -> Iterator[Finding]:
    """Yield findings about words that run together, stand behind what should read them, or are no names of what they should."""
    words = training.line.argv if training.line.script is None else start.argv
    split = training.line.script is not None and words and words[0].startswith("--")
    if split and _ESCAPED_END.search(training.text) is None:  # The space behind it is what is wrong then.
        message = f"the line that begins with {words[0]} is a command of its own: the line before it has no backslash at its end"
        hint = "end the line before it with a backslash"
        if _COMMENT_AMID.search(training.text) is not None:
            message = f"{words[0]} begins a command of its own: a comment before it ends the command"
            hint = "take the comment out of the command: no backslash goes on behind #"
        yield training.finding("ArgumentNotSplit", "warning", message, hint, 0)
    if words and words[0].endswith(".py") and "/" not in words[0] and start.launch is None:
        message = f"{words[0]} is looked for in PATH, as a program, and no image has it there"
        yield training.finding("CommandCannotStart", "warning", message, f"write python {words[0]}", 0)
    script = next((index for index, word in enumerate(words) if word.endswith(".py")), len(words))
    module = words.index("-m") + 1 if "-m" in words else 0  # A script may have an -m of its own.
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        together = "--" in word[2:] or ("." in word and word.endswith(_PROGRAMS))
        if together and len(word) <= _LONGEST_WORD and (match := _TOGETHER.fullmatch(word)) is not None:
            second = match[1] or match[2]
            message = f"{second} is part of the word before it, {word!r}: a space is missing"
            place = match.start(1) if match[1] else match.start(2)
            hint = f"write {word[:place]} {word[place:]}" if match[1] else f"end the command in front of {second}"
        elif index > script and word in _MODULES and before == "-m":
            message = f"{words[script]} gets -m {word} as its own arguments, and Python starts one process"
            hint = f"write python -m {word} in front of {words[script]}"
        elif 0 < index == module <= script and start.launch is None and _OF_FILE.fullmatch(word):
            message = f"-m takes the name of a module, and {word!r} is one of a file"
            hint = f"write -m {word.removesuffix('.py').replace('/', '.')}"
        elif (
            start.kind == "python" and start.launch is None and index == start.program.start and _SHELL.fullmatch(word)
        ):
            message = f"Python cannot read {word}, a program of the shell"
            hint = f"write bash {word}"
        elif training.line.script is None and word.endswith(";") and _SETTING.match(word) and ";" not in word[:-1]:
            message = f"no shell runs this command, so the semicolon is a part of {word}"
            hint = f"write {word[:-1]}"
        else:
            continue
        yield training.finding("ArgumentNotSplit", "warning", message, hint, index)


def _undashed(training: Training, start: Start) -> Iterator[Finding]:
    """Yield a finding for names of options without dashes, each with a value behind it."""
    words = training.arguments(start)
    bare, first = words[1::2], len(start.argv) - len(words) if training.line.script is not None else 0
    named = sum("_" in word for word in bare) > 1 and all(_PLAIN_NAME.fullmatch(word) for word in bare)
    if named and not any(_PLAIN_NAME.fullmatch(word) and "_" in word for word in words[2::2]):
        message = f"{bare[0]} and the other names have no dashes, so {words[0]} takes none of them for an option"
        yield training.finding("ArgumentNotSplit", "warning", message, f"write --{bare[0]}", first)


def _behind(training: Training, start: Start) -> Iterator[Finding]:
    """Yield a finding for an option of the launcher that stands behind the script, which gets it instead."""
    launch = start.launch
    if launch is None or not launch.launcher.options:
        return
    roles = launch.launcher
    names = (
        roles.nodes | roles.per_node | roles.total | roles.rank | roles.address | roles.port | roles.hosts
    ) - _OF_SCRIPTS
    names |= {name for name in roles.options if name.startswith(("rdzv-", "main-process-"))}
    words = training.arguments(start)
    if words[:1] and words[0].startswith("-"):  # No script, but what another program hands to the launcher.
        return
    for index, word in enumerate(words):
        spelling = word.partition("=")[0]
        name = spelling.removeprefix("--").replace("_", "-")
        of_launcher = name in names or (name == "config-file" and "accelerate" in " ".join(words[index : index + 2]))
        if index and spelling.startswith("--") and of_launcher and launch.find_option(frozenset((name,))) is None:
            message = f"{spelling} is an option of {roles.name}, and behind {words[0]} it is one of the script"
            place = len(start.argv) - len(launch.program) + index
            yield training.finding("InvalidLauncherArguments", "warning", message, f"put it before {words[0]}", place)


def _apart(training: Training, start: Start) -> Iterator[Finding]:
    """Yield a finding for spaces around the equals sign of a setting, or in its brackets, which make several words of it."""
    if start.kind not in ("launcher", "python", "unknown") or start.argv[0] in _BUILDING:
        return
    words = training.arguments(start)
    first = len(start.argv) - len(start.launch.program) if start.launch is not None else start.program.start
    # Few words have any of these.
    for index, word in enumerate(words if any(mark in " ".join(words) for mark in (" = ", "{")) else ()):
        stray = word == "=" or word.startswith("= ") or (word.startswith("--") and word.endswith(" ="))
        if stray or _MAPPING.fullmatch(word):
            message = f"{word!r} is a word of its own, which the program does not know"
            hint = "write OPTION=VALUE in one word" if stray else "put quotes around the JSON"
            yield training.finding("ArgumentNotSplit", "warning", message, hint, first + index)
            return
    for index, word in enumerate(start.argv if _QUOTED_DOLLAR in "".join(start.argv) else ()):
        known = (name for name in _LITERAL.findall(word) if name in {**training.variables, **start.variables})
        if (quoted := next(known, None)) is not None and " " not in word:
            message = f"single quotes keep ${quoted} as it is, and the program gets it as text"
            yield training.finding("UnexpandedShellVariable", "warning", message, "write double quotes", index)
    pairs = [
        (index, word, after)
        for index, (word, after) in enumerate(pairwise(words))
        if word.endswith("=") or after.startswith("=") or "[" in word
    ]
    several = bool(pairs) and sum(_SETTING.match(word) is not None for word in words) > 1
    for index, word, after in pairs:
        match = _SETTING.match(word) if several or _NUMBER.fullmatch(after) else None
        if match is not None and match.end() == len(word) and _VALUE.fullmatch(after):
            message = f"a space follows {word}, so {after!r} is a word of its own, which the program does not know"
        elif several and after.startswith("=") and len(after) > 1 and "=" not in word:
            message = f"a space is before {after}, so it is a word of its own, which the program does not know"
        elif match is not None and word.count("[") > word.count("]") and not word.startswith("-") and "]" in after:
            message = f"a space is in the brackets of {word}, so {after!r} is a word of its own"
        else:
            continue
        hint = f"write {word}{after}"
        yield training.finding("ArgumentNotSplit", "warning", message, hint, first + index + 1)
        return


def _twice(training: Training, start: Start) -> Iterator[Finding]:
    launch = start.launch
    seen: dict[str, str] = {}
    for option in launch.options if launch is not None and launch.launcher.options else ():
        before = seen.get(option.name)
        if before is not None and option.value is not None and before != option.value and option.name not in _REPEATED:
            message = f"{option.spelling} is given twice, and only the last one counts: {before} is lost"
            hint = "keep one of them"
            if "=" in before and "=" in option.value:
                hint = f"write both in one: {option.spelling}={before},{option.value}"
            yield training.finding("SettingRefused", "warning", message, hint, option.index)
        if option.value is not None:
            seen[option.name] = option.value


def _quotes(training: Training) -> Iterator[Finding]:
    for index, word in enumerate(training.line.argv):
        match = _QUOTED.fullmatch(word) if "'" in word or '"' in word else None
        if match is None or match[2] in match[3]:
            continue
        alone = not match[1] and index and training.line.argv[index - 1].startswith("--") and match[3][0] in "{["
        if not match[1].startswith("--") and not alone:
            continue
        message = f"no shell runs this command, so the program gets the quotes of {word} as part of the value"
        plain = f"{match[1]}{match[3]}"
        hint = suggest(word, [plain], f"write {plain}")
        yield training.finding("UnexpandedShellVariable", "warning", message, hint, index)


def _of_script(training: Training, script: str) -> Iterator[Finding]:
    if "\r\n" in script:
        message = "the lines end as on Windows, and bash takes the carriage return for a part of the last word of each"
        yield training.finding("ArgumentNotSplit", "warning", message, "save the file with the line ends of Unix", 0)
    if script.rstrip().endswith(("&&", "|")):
        message = "the script ends where another command has to follow, and bash runs none of it"
        yield training.finding("CommandCannotStart", "warning", message, "remove what joins the commands", 0)
    shell = training.line.argv[0].rpartition("/")[2]
    unquoted = "".join(part for i, part in enumerate(script.replace('"', "'").split("'")) if i % 2 == 0)
    words = unquoted.split() if shell == "bash" and "{" in unquoted else ()
    for match in chain.from_iterable(_BRACES.finditer(word) for word in words if len(word) <= _LONGEST_WORD):
        if match[0].startswith(("-", "for ")):
            continue
        message = f"bash makes several words of {match[0]}, one for each value, and the last of them counts"
        key = match[0].partition("=")[0]
        hint = f"quote it: '{match[0]}'; NeMo reads _OP_ and _CL_ for the braces of {key}"
        yield training.finding("ArgumentNotSplit", "warning", message, hint, 0)
    yield from _assignments(training, script)
    yield from _tasks(training, script)


def _assignments(training: Training, script: str) -> Iterator[Finding]:
    """Yield findings about variables that a script does not set as it is meant, or sets for itself alone."""
    from trainc.ir.commands.shell import commands

    own: dict[str, None] = {}
    exported = "set -a" in script or "allexport" in script or "declare -x" in script
    for command, _ in commands(training.line.items):
        if not command.words:
            own |= dict.fromkeys(one.name for one in command.assignments if _READ_BY_PROGRAMS.match(one.name))
        elif (wrong := _setting(command)) is not None:
            yield training.finding("ArgumentNotSplit", "warning", *wrong, 0)
    for name in own if not exported else ():
        used = (f"${name}", f"${{{name}", f"export {name}")
        if name not in training.variables and not any(text in script for text in used):
            message = f"{name} is a variable of the script alone, so no program that it starts sees it"
            yield training.finding("UnsetVariable", "warning", message, f"write export {name}=...", 0)


def _setting(command: Any) -> tuple[str, str] | None:
    """Return what is wrong with a command that is meant to set a variable, or a folder, and a hint."""
    first, second, third = (*command.words[:3], "", "")[:3]
    declares = first in _DECLARING
    if declares and second.startswith("$") and "=" in second:
        return f"{second} has the value of the variable for its name", f"write {second.lstrip('$')}"
    if first == "set" and _SET.match(second):
        return f"set makes {second} an argument of the script, and no variable", f"write export {second}"
    if (third if declares else second)[:1] == "=" and (declares or _SET.match(f"{first}=")) and first not in _TESTING:
        name = second if declares else first
        return f"spaces are around the equals sign of {name}, so the shell sets nothing", f"write {name}=..."
    if first == "export" and any(word in _STARTERS for word in command.words[1:]):
        return (
            f"export takes {second} for another variable, and runs nothing",
            f"remove export, or end the line before {second}",
        )
    if first.isdecimal() and any(one.value.endswith(",") for one in command.assignments):
        return f"a space is in front of {first}, which the shell takes for a program", "write the list without spaces"
    if first == "export" and second and any(one.value == "" for one in command.assignments):
        return f"a space is in front of {second}, so the variable is empty", f"write NAME={second}"
    if first == "cd" and third and second[:1] != "-":
        return "cd takes one folder, and fails with more words", f"write && before {third}"
    return None


def _tasks(training: Training, script: str) -> Iterator[Finding]:
    """Yield a finding for a TF_CONFIG with other tasks than the job has pods."""
    from trainc.knowledge.hosts import tasks

    listed = tasks(script) if training.nodes > 1 and "TF_CONFIG" in script else None
    if listed is not None and sum(listed.values()) != training.nodes:
        kinds = " and ".join(f"{count} as {kind}" for kind, count in listed.items())
        message = f"TF_CONFIG lists {sum(listed.values())} tasks, {kinds}, and the job has {training.nodes} pods: they wait for the others forever"
        yield training.finding("RanksDoNotMeet", "warning", message, "list the hosts of the pods, one each", 0)

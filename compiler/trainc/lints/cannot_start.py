"""Lints for pods that cannot start: commands that no container can run, and invalid image references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from trainc.findings import Finding, Severity, suggest, write
from trainc.ir.commands.programs import BUILTINS, SHELLS, program_name, program_of
from trainc.ir.commands.started import read_command
from trainc.ir.entrypoints import Entrypoint, shell_script
from trainc.kube.names import reference_problem
from trainc.plugins.registry import programs
from trainc.startup.patterns import pattern

_PLAIN = str.maketrans(
    "\u2018\u2019\u201a\u2032\u201c\u201d\u201e\u2033\u00ab\u00bb\u00a0\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    '\'\'\'\'"""""" -------',
    "\u200b",
)
_LONGEST_SHOWN = 80
_TYPOGRAPHIC = pattern("[\u2018\u2019\u201a\u201c\u201d\u201e\u2032\u2033\u00ab\u00bb\u00a0\u200b\u2010-\u2015\u2212]")
_IN_OPTION = pattern(r"(?<!\S)--?[A-Za-z][\w-]*[\u2010-\u2015\u2212]\w")
_LONG_OPTION = pattern(r"(?<!\S)[\u2012-\u2015](?=[A-Za-z]{2})")
_ASSIGNMENT = pattern(r"[A-Za-z_]\w*=.*", 16)
_OPTION_AND_VALUE = pattern(r"--[A-Za-z][A-Za-z0-9_.-]*(?:=[^\s\"'-]\S*\s+--[A-Za-z]|\s+\S)")
_PARAMETER = pattern(r"\$\{?[0-9@*]")
_HOME = pattern(r"(?:--[\w.-]+=)?~/.*")
# The Trainer of Hugging Face looks for the home folder itself (huggingface/transformers training_args.py, __post_init__).
_EXPANDING = pattern(r"(?:^| )--(?:output|logging)[_-]dir[ =]~")
_OPERATORS = frozenset(("&&", "||", "|", ">", ">>", "2>&1", "&>", "&"))
# Images of the catalog that start no program by default: their entrypoint is a shell, or runs its arguments.
_BARE_IMAGES = ("pytorch/pytorch", "nvcr.io/nvidia/jax", "ubuntu")


def cannot_start(entry: Entrypoint) -> Iterator[Finding]:
    """Yield an error if no container can run the command line, and a finding for typographic characters in it."""
    if not entry.trains and "securityContext" in entry.container.fields:
        from trainc.lints.storage import security_of

        if security_of(entry, "runAsUser") == 0 and security_of(entry, "runAsNonRoot") is True:
            message = "runAsNonRoot refuses user 0, so the container is never created"
            hint = "write runAsNonRoot: false for it, or the number of another user"
            yield Finding("CommandCannotStart", "warning", message, hint, *entry.at("securityContext", "runAsUser"))
    if entry.argv and not _starts(entry.argv, bool(entry.command)):
        first = _program if entry.command else _arguments_alone
        findings = (list(check(entry)) for check in (first, _check_shell, _unsplit, _letters))
        yield from next(filter(None, findings), ())


@lru_cache(maxsize=1024)
def _starts(command: tuple[str, ...], is_command: bool) -> bool:
    """Return whether a command line clearly starts: a plain program with plain arguments."""
    plain = is_command and command[0][:1] not in ("", "-") and command[0] not in BUILTINS and "=" not in command[0]
    return plain and all(map(_is_plain, command)) and not any(program_name(word) in SHELLS for word in command)


def _is_plain(word: str) -> bool:
    return word.isascii() and "~/" not in word and word not in _OPERATORS and (not word or word.split() == [word])


def _program(entry: Entrypoint) -> Iterator[Finding]:
    words, first = entry.argv, entry.argv[0]
    if not first.strip():
        yield _finding(entry, 0, "the command is empty", "put the program first, as in [torchrun, train.py]")
    elif any(c.isspace() for c in first):
        program = first if len(first) < 60 else first[:57] + "..."
        message = f"{program!r} is run as one program name, spaces included, and no image has such a file"
        yield _finding(entry, 0, message, _as_list(first))
    elif first.startswith("-"):
        message = f"the command begins with the option {first}, and a command replaces the program of the image"
        hint = "put the program first, or write `args`; a JSON patch adds to a list at its /-"
        yield _finding(entry, 0, message, hint)
    elif _TYPOGRAPHIC.search(first):
        message = f"the program's name {first!r} contains typographic quotes, spaces or dashes"
        yield _finding(entry, 0, message, write(_TYPOGRAPHIC.sub("", first)))
    elif first in BUILTINS or _ASSIGNMENT.fullmatch(first):
        description = "a shell keyword or builtin" if first in BUILTINS else "a variable, which only a shell expands"
        message = f"{first!r} is {description}, but no shell runs this command"
        yield _finding(entry, 0, message, f"write {_in_shell(words)}")
    elif findings := list(_at_home(entry)):
        yield from findings
    elif shell_script(words) is None and (index := next((i for i, w in enumerate(words) if i and w in _OPERATORS), 0)):
        message = f"no shell runs this command, so {words[index]!r} is passed to {program_name(first)} as an argument"
        # After an option, it may be the option's value.
        severity: Severity = "warning" if words[index - 1].startswith("-") else "error"
        yield _finding(entry, index, message, f"write {_in_shell(words)}", severity)


def _at_home(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for each path below `~`, which only a shell replaces: an error for a program or its script."""
    line = read_command(entry.argv, programs(""))
    if line.script is not None:
        return
    start = line.starts[0]
    first = len(start.argv) - len(start.launch.program) if start.launch is not None else start.program.start
    for index, (before, word) in enumerate(zip(("", *entry.argv), entry.argv, strict=False)):
        if _HOME.fullmatch(word) and not _EXPANDING.search(f"{before} {word}"):
            message = f"no shell runs this command, so {word!r} is below a folder called ~, and not in the home folder"
            if index == 0 or (index == first and start.kind != "unknown"):
                yield _finding(entry, index, message, "write the whole path")
            else:
                yield entry.finding("UnexpandedShellVariable", "warning", message, "write the whole path", index)


def _arguments_alone(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a finding for args without a command, if the image's entrypoint runs its first argument."""
    image = entry.image.partition("@")[0].rpartition(":")[0] or entry.image
    if image not in _BARE_IMAGES:
        return
    first = entry.argv[0]
    is_script = program_name(first).endswith((".py", ".sh")) and "/" not in first
    if first.startswith("-") or is_script or any(map(str.isspace, first)):
        message = f"image {image} has no entrypoint of its own, so {first!r} is run as the program"
        yield _finding(entry, 0, message, "set the program as the command, as in command: [torchrun, train.py]")


def _check_shell(entry: Entrypoint) -> Iterator[Finding]:
    words = entry.argv
    shell_index = next((i for i, word in enumerate(words) if program_name(word) in SHELLS), None)
    if shell_index is None:
        return
    script, shell = shell_script(words), program_name(words[shell_index])
    if script is None:
        yield from _script_file(entry, shell_index)
        return
    index = words.index(script)
    parameters = words[index + 1 :]
    if not script.strip():
        yield _finding(entry, index, f"the script after {shell} -c is empty", "write the command after -c")
    elif (
        parameters
        and not any(c.isspace() or c in "$@;&|" for c in script)
        and program_name(parameters[0]) not in (*SHELLS, "--", "_", "-")
    ):
        joined = " ".join((script, *parameters))
        message = f"{shell} -c takes one argument: {parameters[0]!r} is not passed to {script}"
        yield _finding(entry, index, message, f'write [{words[shell_index]}, -c, "{joined}"]')
    elif parameters and parameters[0].strip("-") and parameters[0].startswith("-") and "$@" in script:
        message = f'{shell} -c takes {parameters[0]} for its own name, $0, so that "$@" begins behind it'
        yield _finding(entry, index + 1, message, f"write {shell} in front of it", "warning")
    elif parameters and (lost := _lost(script, parameters)):
        message = f"{shell} -c runs its first argument only: {lost!r} is another one, which never runs"
        yield _finding(entry, index + 1, message, "write all commands in one text, and && between them")
    else:
        line = read_command(entry.argv, programs(""))
        if line.unclosed:
            message = f"a {line.unclosed} in this script is never closed, so {shell} fails with a syntax error"
            yield _finding(entry, index, message, "close it, or escape it with a backslash")


def _lost(script: str, parameters: Sequence[str]) -> str:
    """Return the command behind a script that is only its `$0`, or an empty string."""
    first = parameters[0].split() or [""]
    kind = program_of(first, programs("")).kind
    is_command = kind in ("launcher", "python") or (len(first) > 1 and kind != "unknown") or parameters[0] in _OPERATORS
    return parameters[0] if is_command and not _PARAMETER.search(script) else ""


def _script_file(entry: Entrypoint, shell_index: int) -> Iterator[Finding]:
    """Yield a finding if the file that a shell is to run has a whole command line as its name."""
    words, shell = entry.argv, program_name(entry.argv[shell_index])
    following = [i for i in range(shell_index + 1, len(words)) if not words[i].startswith(("-", "+"))]
    flags = "".join(word for word in words[shell_index + 1 :] if word.startswith("-") and not word.startswith("--"))
    if not following:
        if "c" in flags and shell_index + 1 < len(words):
            yield _finding(entry, shell_index, f"{shell} -c has no script", f'write [{shell}, -c, "torchrun train.py"]')
        return
    name = words[following[0]]
    if any(c.isspace() for c in name.strip()) or "\n" in name:
        message = f"{shell} looks for a script file called {name.splitlines()[0]!r}"
        yield _finding(entry, following[0], message, f"put -c before it: [{shell}, -c, {_quoted(name)}]")


def _unsplit(entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for each option that has its value in the same word, unless it is itself the value of an option.

    A script of the shell may split its arguments again.
    """
    words = entry.argv
    if not entry.command or any(program_name(word) in SHELLS or word.endswith(".sh") for word in words):
        return
    line = read_command(words, programs(""))
    if not line.launches and line.starts[0].program.kind != "python":
        return
    first = line.starts[0].program
    script = words[first.start] if first.kind == "python" and first.start < len(words) else ""
    if ".py -" in script:
        message = f"no shell splits this at its spaces: python looks for a file called {script[:_LONGEST_SHOWN]!r}"
        yield _finding(entry, first.start, message, f"write {', '.join(map(_quoted, _split(script)))}")
        return
    launched = {launch.program[0] for launch in line.launches if launch.program}  # The launcher has its own rules.
    for index, word in enumerate(words):
        if (
            word not in launched
            and _OPTION_AND_VALUE.match(word)
            and not (words[index - 1].startswith("-") and "=" not in words[index - 1])
        ):
            option, hint = word, "write the option and its value as two items"
            if len(word) > _LONGEST_SHOWN:
                option = f"{word[:_LONGEST_SHOWN]}..."
            else:
                hint = f"write {', '.join(map(_quoted, _split(word)))}"
            message = f"no shell splits this at its spaces: {program_name(words[0])} gets {option!r} as one argument"
            yield entry.finding("ArgumentNotSplit", "warning", message, hint, index)


def _letters(entry: Entrypoint) -> Iterator[Finding]:
    for index, word in enumerate(entry.argv):
        if word.isascii():
            continue
        match = _TYPOGRAPHIC.search("\n".join(line for line in word.splitlines() if not line.lstrip().startswith("#")))
        letter = match.group() if match is not None else ""
        before, _, after = word.partition(letter or "\0")
        # In the place of a quote, an option's dash or a space, and not in prose.
        if letter and (letter in "\u00a0\u200b" or before[-1:] in " =\t\n" or not after or _IN_OPTION.search(word)):
            reader, severity = _reader(entry, letter)
            message = f"{letter!r} (U+{ord(letter):04X}) is a typographic character, which {reader}"
            yield entry.finding("TypographicCharacter", severity, message, _in_ascii(word, letter), index)


def _reader(entry: Entrypoint, letter: str) -> tuple[str, Severity]:
    """Return who reads a character as what, and how bad that is. A launcher runs the first word that is not an option."""
    line = read_command(entry.argv, programs(""))
    launch = next((start for start in line.launches if start.program[:1] and start.program[0].startswith(letter)), None)
    if launch is not None and not letter.isspace():
        return f"{launch.launcher.name} takes for the beginning of its script's name", "error"
    return f"{'the shell' if entry.shell else 'the program'} treats as a letter", "warning"


def _in_ascii(word: str, character: str) -> str:
    """Return the hint for a word with a typographic character: the whole word in ASCII, if it is short."""
    if " " not in word:
        word = word.strip("\u201c\u201d\u2018\u2019")  # A word of a list needs no quotes.
    # Word processors make a dash of the two that begin an option.
    plain = _LONG_OPTION.sub("--", word).translate(_PLAIN)
    if plain.isascii() and plain.isprintable() and len(plain) <= _LONGEST_SHOWN:
        return suggest(word, [plain], f"write {plain}")
    return f"replace it with {character.translate(_PLAIN)!r}" if character.translate(_PLAIN) else "remove it"


def _finding(entry: Entrypoint, index: int, message: str, hint: str, severity: Severity = "error") -> Finding:
    return entry.finding("CommandCannotStart", severity, message, hint, index)


def _as_list(text: str) -> str:
    if "\n" in text.strip():
        return 'write [bash, -c, "..."] with this text as its last item'
    words = _split(text)
    if words[0] in BUILTINS or _ASSIGNMENT.fullmatch(words[0]) or any(character in text for character in ";&|<>$`"):
        return write(f"[bash, -c, {_quoted(text)}]")
    return write(f"[{', '.join(map(_quoted, words))}]")


def _split(text: str) -> list[str]:
    import shlex

    try:
        return shlex.split(text)
    except ValueError:  # A quote is not closed.
        return text.split()


def _quoted(word: str) -> str:
    plain = word.replace("-", "").replace("_", "").replace(".", "").replace("/", "")
    return (
        word if plain.isalnum() and not plain[0].isdigit() and word[0] != "-" else '"' + word.replace('"', '\\"') + '"'
    )


def _in_shell(command: tuple[str, ...]) -> str:
    return f'[bash, -c, "{" ".join(command)}"]'


def invalid_image(entry: Entrypoint) -> Iterator[Finding]:
    """Yield an error if a container's image is not a valid reference."""
    problem = reference_problem(entry.image) if entry.image else None
    if problem is not None:
        why, instead = problem
        message = f"{entry.image!r} is not a valid image reference: {why}"
        whole = "copy the whole digest again: `crane digest IMAGE:TAG` prints it"
        plain = whole if "@" in entry.image else "write it like registry.example.com/team/train:1.0"
        hint = write(instead) if instead else plain
        yield Finding("InvalidImage", "error", message, hint, *entry.image_path())

"""A lint for unquoted here-documents, in which the shell expands a program's `$`, backquotes and `\\\\`."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.findings import Finding
from trainc.ir.commands.shell import Command, commands
from trainc.ir.commands.shell_words import Heredoc
from trainc.ir.commands.started import read_command
from trainc.ir.entrypoints import Entrypoint
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.plugins.registry import programs
from trainc.startup.patterns import pattern

# The delimiter of the scripts in which the Kubeflow SDK sends a function (kubeflow/sdk trainer/backends/kubernetes).
_OF_SDK = "EOM"
_CODE = pattern(r"\.(py|ipynb|pyx|cu|cpp|c|rs|jl|r|pl)$", 2)  # re.IGNORECASE
_PYTHON = pattern(r"^\s*(?:import \w|from \w[\w.]* import |def \w+\(|class \w+|print\(|if __name__)", 8)  # re.MULTILINE
_REWRITTEN = pattern(
    r"(?<!\\)(?:\\\\)*(\$(?:[A-Za-z_]\w*|\{[^}\n]{0,200}\}|\([^)\n]{0,200}\)|[({0-9$@*#?!-])|`[^`\n]{0,200}`|`)|(\\\\)"
)


def heredocs(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for each program in an unquoted here-document that the shell changes."""
    line = read_command(tuple(map(str, entry.words)), programs(""))
    known = {str(variable["name"]) for variable in entry.container.env}
    known |= {set_here.name for command, _ in commands(line.items) for set_here in command.assignments}
    for command, _ in commands(line.items):
        for heredoc in command.heredocs:
            changed = _changed(command, heredoc, known) if heredoc.rewritten else ""
            if changed and line.script is not None:
                path, about = entry.place(line.script)
                yield Finding("HeredocRewritten", "warning", *_words(changed, heredoc), path, about=about)


def _changed(command: Command, heredoc: Heredoc, known: set[str]) -> str:
    """Return the first text that the shell replaces unintentionally, or an empty string."""
    is_code = _holds_code(command, heredoc)
    for found in _REWRITTEN.finditer(heredoc.body):
        text = found[1] or found[2]
        name = text.strip("${}").partition(":")[0]
        if name in known:
            continue
        # In a configuration file, an uppercase variable is meant to be expanded.
        if is_code or (text.startswith("$") and name.isidentifier() and name.islower()):
            return text
    return ""


def _holds_code(command: Command, heredoc: Heredoc) -> bool:
    targets = [target for _, target in command.redirects] + list(command.words)
    reads_python = any(word.rpartition("/")[2].startswith("python") for word in command.words)
    return reads_python or any(_CODE.search(target) for target in targets) or bool(_PYTHON.search(heredoc.body))


def _words(changed: str, heredoc: Heredoc) -> tuple[str, str]:
    message = f"the shell expands this heredoc before the program sees it, and changes {changed!r}"
    if heredoc.delimiter == _OF_SDK:
        return (
            message,
            f"the Kubeflow SDK writes this script from your function: write {changed!r} in it in another way",
        )
    return message, f"quote the delimiter: << '{heredoc.delimiter}'"

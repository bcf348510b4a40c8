"""What `trainc help` does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from trainc.cli.command import (
    GROUPS,
    Arguments,
    Status,
    Streams,
    UsageError,
    commands,
)

# The topics of `trainc help`: what concerns several commands, and options that are rarely given.

# The commands of the first screen, as one meets them.
_USUAL = ("new", "check", "build", "diff", "explain", "graph", "fits", "report", "rule", "init")
# The topics in their order. Each but the first is a file in topics/, with its line among the commands first.
TOPICS = "commands input output delivery sync-options sweeps dump limits diagnostics exit-codes".split()
_OPTIONS = {"input": "input", "delivery": "shaping", "limits": "limits"}
_INDENTED = 72


def summary_of(topic: str) -> str:
    """The line of a topic among the commands."""
    return _read(topic)[0] if topic != "commands" else "all commands and topics, in a line each"


def _read(topic: str) -> tuple[str, str]:
    from trainc.startup.shipped import read_text

    summary, _, text = read_text(__file__, f"topics/{topic}.txt").partition("\n\n")
    return summary, text


def topic_text(topic: str) -> str:
    """The page of a topic."""
    from trainc.cli.parser import topic_options

    options = topic_options(topic, _OPTIONS[topic]) if topic in _OPTIONS else ""
    listed = "".join(f"{line}\n" for line in _sync_options()) if topic == "sync-options" else ""
    return "\n".join(part for part in (_read(topic)[1], options, listed) if part)


def _sync_options() -> Iterator[str]:
    from trainc.kube.sync_options import sync_options_of

    for tool, title in (("argocd", "Argo CD"), ("flux", "Flux")):
        yield f"{title}:"
        for option in sync_options_of(tool):
            yield f"  {option.name}"
            yield from (f"      {line}" for line in _fill(option.effect, _INDENTED))


def _fill(text: str, width: int) -> Iterator[str]:
    """Wrap `text` to lines of at most `width` characters. Importing textwrap takes longer than compiling a job."""
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


_FILES = (".yaml", ".yml", ".json")


def _other_words(section: str) -> dict[str, str]:
    """What names from other tools are here, and what other programs do, and how."""
    from trainc.startup.shipped import read_sections

    rows = read_sections(__file__, "other_words.txt")[section]
    return {word: meaning for words, meaning in rows for word in words.split()}


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print the requested page."""
    if arguments.man:
        from trainc.cli.man import manual

        streams.write(manual())
    else:
        streams.write(_page(arguments.topic))
    return Status.DONE


def _page(topic: str | None) -> str:
    if topic is None:
        return overview()
    for command in commands():
        if command.name == topic:
            from trainc.cli.parser import build_parser

            return build_parser(command).format_help()
    if topic not in TOPICS:
        from trainc.findings.text import did_you_mean

        topics = [*(command.name for command in commands()), *TOPICS]
        meant = _other_words("meant").get(topic.lower())
        hint = f"did you mean `trainc help {meant}`?" if meant in topics else did_you_mean(topic, topics)
        raise UsageError(f"no help for {topic!r}; {hint or '`trainc help` lists the topics'}")
    return _all_commands() if topic == "commands" else topic_text(topic)


def overview() -> str:
    """The commands that most people need, the topics by name, and how to get started."""
    from trainc.startup.shipped import read_text

    usual = [(command.name, command.summary) for name in _USUAL for command in commands() if command.name == name]
    more = f"{len(commands()) - len(usual)} more: trainc help commands"
    topics = f"Topics: {', '.join(name for name in TOPICS if name != 'commands')}\n"
    shown = f"{_listed('Commands', usual)}  {more}\n\n{topics}"
    return read_text(__file__, "overview.txt").replace("{commands}", shown)


def _all_commands() -> str:
    groups = ((title, [(c.name, c.summary) for c in commands() if c.group == group]) for group, title in GROUPS.items())
    listed = (*groups, ("Topics", [(topic, summary_of(topic)) for topic in TOPICS]))
    return "\n".join(_listed(title, rows) for title, rows in listed)


def _listed(title: str, rows: Iterable[tuple[str, str]]) -> str:
    return "".join((f"{title}:\n", *(f"  {name:<12}  {summary}\n" for name, summary in rows)))


def unknown_command(command_line: Sequence[str]) -> str:
    """The message for an unknown command, with a suggestion if there is an obvious one."""
    from trainc.findings.text import did_you_mean

    first, names = command_line[0], [command.name for command in commands()]
    elsewhere = _other_words("elsewhere")
    if first.startswith("-"):
        option = first.partition("=")[0]
        hint = elsewhere["man"] if option == "--man" else did_you_mean(option, ("--help", "--version"))
        return f"unknown option {option!r}; {hint or f'it is for a command, as in `trainc build {option}`'}"
    if os.sep in first or first.endswith(_FILES):
        return f"unknown command {first!r}; to compile that path: trainc build {first}"
    if first.lower() in elsewhere:
        return f"unknown command {first!r}; {elsewhere[first.lower()]}"
    meant = _other_words("meant").get(first.lower())
    hint = f"did you mean {meant}?" if meant in names else did_you_mean(first, names)
    if meant in TOPICS:
        hint = f"read about it: trainc help {meant}"
    return f"unknown command {first!r}; {hint or '`trainc help` lists the commands'}"

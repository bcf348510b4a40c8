"""What a command takes: its arguments, and the words for them; this imports nothing that compiles."""

from trainc.cli.command import (
    Arguments,
    Status,
    Streams,
    UsageError,
    add_color,
    add_input,
    add_job,
    add_limits,
    add_release,
    add_reporting,
    add_shaping,
    arguments_of,
    set_completion,
)

__all__ = [
    "Arguments",
    "Status",
    "Streams",
    "UsageError",
    "add_color",
    "add_input",
    "add_job",
    "add_limits",
    "add_release",
    "add_reporting",
    "add_shaping",
    "arguments_of",
    "set_completion",
]

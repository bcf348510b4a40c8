"""What a command takes: its arguments, and the words for them; this imports nothing that compiles."""

from trainc.cli import command
from trainc.cli.command import Arguments, Status, Streams, UsageError

__all__ = ["Arguments", "Status", "Streams", "UsageError", "command"]

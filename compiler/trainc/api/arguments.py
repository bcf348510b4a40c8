"""What a command takes: its arguments, and the words for them; this imports nothing that compiles."""

from trainc.cli import command as command
from trainc.cli.command import Arguments as Arguments, Status as Status, Streams as Streams, UsageError as UsageError

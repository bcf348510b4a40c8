"""What a plugin consists of, and what it is given: the same for trainc's own and for those of others."""

from trainc.ir.info import Info
from trainc.plugins.plugin import Lint, Passes, Plugin, always
from trainc.plugins.registry import enabled

__all__ = ["Info", "Lint", "Passes", "Plugin", "always", "enabled"]

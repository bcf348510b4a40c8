"""What a plugin consists of, and what it is given: the same for trainc's own and for those of others."""

from trainc.ir.info import Info as Info
from trainc.plugins.plugin import Lint as Lint, Passes as Passes, Plugin as Plugin, always as always
from trainc.plugins.registry import enabled as enabled

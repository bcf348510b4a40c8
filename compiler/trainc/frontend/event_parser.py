"""The parser of YAML events: libyaml's where PyYAML was built with it, PyYAML's own elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaml._yaml import CParser as EventParser
else:
    try:
        from yaml._yaml import CParser as EventParser
    except ImportError:
        from yaml.parser import Parser
        from yaml.reader import Reader
        from yaml.scanner import Scanner

        class EventParser(Reader, Scanner, Parser):
            """PyYAML's own parser: the same events, many times slower."""

            def __init__(self, text: str) -> None:
                Reader.__init__(self, text)
                Scanner.__init__(self)
                Parser.__init__(self)


__all__ = ["EventParser"]

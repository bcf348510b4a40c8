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
        from yaml.scanner import Scanner, ScannerError

        class EventParser(Reader, Scanner, Parser):
            """PyYAML's own parser: the same events, many times slower. It refuses more tabs than libyaml does."""

            def __init__(self, text: str) -> None:
                Reader.__init__(self, text)
                Scanner.__init__(self)
                Parser.__init__(self)

            def get_event(self) -> object:
                """The next event, None after the last. Refuses half a surrogate pair, as libyaml does."""
                event = super().get_event()
                try:
                    getattr(event, "value", "").encode()
                except UnicodeEncodeError:
                    mark = event.start_mark
                    raise ScannerError(None, None, "found invalid Unicode character escape code", mark) from None
                return event


__all__ = ["EventParser"]

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
            """PyYAML's own parser: the same events, many times slower. What only one of the two reads, this one refuses."""

            def __init__(self, text: str) -> None:
                Reader.__init__(self, text)
                Scanner.__init__(self)
                Parser.__init__(self)

            def scan_to_next_token(self) -> None:
                """Pass over a tab where libyaml does: anywhere but where it would indent (yaml/libyaml, scanner.c)."""
                super().scan_to_next_token()
                while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
                    self.forward()
                    super().scan_to_next_token()

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

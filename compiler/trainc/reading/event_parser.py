"""The YAML event parser: libyaml's if PyYAML was built with it, otherwise the one in pure Python."""

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
            """PyYAML's own parser, many times slower. Rejects anything that only one of the parsers accepts."""

            def __init__(self, text: str) -> None:
                Reader.__init__(self, text)
                Scanner.__init__(self)
                Parser.__init__(self)

            def scan_to_next_token(self) -> None:
                """Skip tabs where libyaml does: anywhere except in indentation (yaml/libyaml, scanner.c)."""
                super().scan_to_next_token()
                while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
                    self.forward()
                    super().scan_to_next_token()

            def get_event(self) -> object:
                """Return the next event, or None at the end. Rejects unpaired surrogates, like libyaml."""
                event = super().get_event()
                try:
                    getattr(event, "value", "").encode()
                except UnicodeEncodeError:
                    mark = event.start_mark
                    raise ScannerError(None, None, "found invalid Unicode character escape code", mark) from None
                return event


__all__ = ["EventParser"]

"""Decodes files like kubectl, and finds characters that YAML does not allow."""

from __future__ import annotations

import codecs

from trainc.diagnostics import Diagnostic
from trainc.reading.chunk import Chunk
from trainc.startup.patterns import pattern

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LOST = "\ud800"  # Marks the position of a decoding error.
_FORBIDDEN = pattern("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def decode(data: bytes) -> str:
    """Decode a file and normalize line endings to `\\n`. Each undecodable byte becomes a lone surrogate."""
    if data.startswith(_UTF16):
        text = _decode_utf16(data)
    else:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def encode(text: str) -> bytes:
    """Encode text so that `decode` returns the same text, or text that is rejected at the same position."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def damage(chunk: Chunk) -> Diagnostic | None:
    """Return an error for the first character that could not be decoded or that YAML does not allow."""
    # Almost all text is ASCII, and this check is faster than compiling the pattern.
    if chunk.text.isascii() and chunk.text.replace("\n", "").replace("\t", "").isprintable():
        return None
    if (found := _FORBIDDEN.search(chunk.text)) is None:
        return None
    character = ord(found[0])
    message = f"the control character U+{character:04X} is not allowed"
    hint = f'remove it, or write it as an escape inside double quotes: "\\u{character:04X}"'
    if found[0] == _LOST:
        message, hint = "the bytes from here on are not valid UTF-16", "save the file as UTF-8"
    elif 0xD800 <= character <= 0xDFFF:
        message, hint = f"the byte 0x{character - 0xDC00:02X} is not valid UTF-8", "save the file as UTF-8"
    elif character == 0:
        hint = "save the file as UTF-8; it looks like UTF-16 or UTF-32, or is not a text file"
    return chunk.error("InvalidEncoding", found.start(), message, hint)


def _decode_utf16(data: bytes) -> str:
    try:
        return data.decode("utf-16")
    except UnicodeDecodeError as error:
        return data[: error.start].decode("utf-16") + _LOST

"""Digests: what the cache calls things by."""

from __future__ import annotations

from hashlib import blake2b

SIZE = 32


def digest(data: bytes) -> bytes:
    """The digest of what has one part."""
    return blake2b(data, digest_size=SIZE).digest()


def digest_of(*parts: str | bytes) -> bytes:
    """One digest for a sequence of parts; no two sequences have the same."""
    data = [part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = ",".join(str(len(part)) for part in data)
    return blake2b(b"".join((lengths.encode(), b":", *data)), digest_size=SIZE).digest()

"""Digests, which are the keys of the cache."""

from __future__ import annotations

from hashlib import blake2b

SIZE = 32


def digest(data: bytes) -> bytes:
    """Return the digest of a single value."""
    return blake2b(data, digest_size=SIZE).digest()


def digest_of(*parts: str | bytes) -> bytes:
    """Return the digest of a sequence of parts. Different sequences have different digests."""
    data = [part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = ",".join(str(len(part)) for part in data)
    return blake2b(b"".join((lengths.encode(), b":", *data)), digest_size=SIZE).digest()

"""Validation of container image references.

Source: distribution/reference regexp.go and normalize.go. The length of a digest is not checked against its algorithm.
"""

from __future__ import annotations

from trainc.startup.patterns import pattern

_PORT = pattern(r"\d{1,5}")
_HOST = pattern(
    r"(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])(?:\.(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9]))*"
)
_PART = pattern(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_TAG = pattern(r"\w[\w.-]{0,127}", 256)  # re.ASCII
_DIGEST = pattern(r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}")
_BARE_ID = pattern(r"[0-9a-f]{64}")
_LONGEST = 255
# Matches nearly all real images; anything else is checked part by part.
_USUAL = pattern(
    r"(?:[a-z0-9]+(?:[.-][a-z0-9]+)*(?::\d{1,5})?/)?[a-z0-9]+(?:[._/-][a-z0-9]+)*(?::\w[\w.-]{0,127})?", 256
)


def reference_problem(image: str) -> tuple[str, str] | None:
    """Return (problem, suggested replacement) for an invalid reference, or None if `image` is valid."""
    return None if _USUAL.fullmatch(image) is not None else _problem(image)


def _problem(image: str) -> tuple[str, str] | None:
    if image != image.strip() or any(c.isspace() for c in image):
        return "it contains spaces", "".join(image.split())
    if "://" in image:
        return "it starts with a URL scheme", image.partition("://")[2]
    if "{{" in image or "${" in image or "$(" in image:
        return "it contains a template that was not rendered", ""
    name, at, digest = image.partition("@")
    if at and _DIGEST.fullmatch(digest) is None:
        return f"{digest!r} is not a valid digest: sha256: and 64 hexadecimal digits", name
    name, tag = _split_tag(name)
    if tag is not None and _TAG.fullmatch(tag) is None:
        return (f"{tag!r} is not a valid tag", f"{name}:latest") if tag else ("there is no tag after the colon", name)
    return _name_problem(name, image)


def _split_tag(name: str) -> tuple[str, str | None]:
    """Split at the last colon into name and tag; a colon before the last slash belongs to a port."""
    before, colon, tag = name.rpartition(":")
    return (before, tag) if colon and "/" not in tag else (name, None)


def _name_problem(name: str, image: str) -> tuple[str, str] | None:
    domain, path = _split_domain(name)
    if domain is not None:
        host, colon, port = domain.partition(":")
        if domain.lower() != domain and "." not in domain and not colon:
            # The capitals make it look like a registry host, but no such host exists.
            return "repository names must be lowercase", image.replace(name, name.lower())
        if (colon and _PORT.fullmatch(port) is None) or (_HOST.fullmatch(host) is None and not host.startswith("[")):
            return f"{domain!r} is not a valid registry host", ""
    if not path or not all(_PART.fullmatch(part) for part in path.split("/")):
        if path.lower() != path:
            return "repository names must be lowercase", image.replace(path, path.lower())
        return f"{path!r} is not a valid repository name", ""
    if _BARE_ID.fullmatch(name) is not None or len(name) > _LONGEST:
        return "it is the ID of an image, not its name" if len(name) <= _LONGEST else "it is too long", ""
    return None


def _split_domain(name: str) -> tuple[str | None, str]:
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost" or first.lower() != first):
        return first, rest
    return None, name

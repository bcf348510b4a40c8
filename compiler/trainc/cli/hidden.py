"""Secrets in plain text are found, and never printed: what shows values shows stars instead."""

from __future__ import annotations

from trainc.findings import Path
from trainc.kube.documents import Item
from trainc.lints.variables import PASSWORD_IN_URL, TOKEN, holds_token, is_secret
from trainc.startup.typing import Any


def hidden_in(text: str) -> str:
    """Return a text of the same length without the tokens and passwords in it."""
    if not holds_token(text):
        return text
    for pattern in (TOKEN, PASSWORD_IN_URL):
        text = pattern.sub(lambda match: "*" * len(match[0]), text)
    return text


def hidden(value: Any, path: Path = ()) -> Any:
    """Return a value of a manifest, at a path that names the items of lists, without what is secret in it."""
    name = path[-2] if len(path) > 1 and path[-1] == "value" else ""
    if isinstance(value, str):
        is_named = isinstance(name, Item) and is_secret({"name": str(name), "value": value})
        return "*" * len(value) if is_named else hidden_in(value)
    if isinstance(value, dict):
        is_variable = isinstance(value.get("name"), str) and is_secret(value)
        return {key: "***" if is_variable and key == "value" else hidden(one) for key, one in value.items()}
    return [*map(hidden, value)] if isinstance(value, list) else value

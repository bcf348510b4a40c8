"""Where this trainc came from, as a line of a requirements file: so that CI installs the same one.

Source: PEP 610 (direct_url.json), PEP 508 (direct references).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from trainc.reading.git_tree import published_commit
from trainc.startup.records import dataclass

_NAME = "trainc"
VENDORED = "vendor"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A line for pip. `wheel` is a file of this machine to be put into the repository's folder `vendor` first.

    `problem` says why other machines cannot install it; empty where they can.
    """

    line: str
    wheel: str = ""
    problem: str = ""


def requirement_of(direct_url: Mapping[str, Any] | None, version: str) -> Requirement:
    """The requirement that installs trainc from where `direct_url` says that it came from; None is a package index."""
    if direct_url is None:
        return Requirement(f"{_NAME}=={version}")
    url = _without_password(str(direct_url.get("url", "")))
    if "vcs_info" in direct_url:
        info = direct_url["vcs_info"]
        return Requirement(f"{_NAME} @ {info['vcs']}+{url}@{info['commit_id']}{_subdirectory(direct_url)}")
    if "archive_info" in direct_url and not url.startswith("file:"):
        digest = (direct_url["archive_info"].get("hashes") or {}).get("sha256")
        return Requirement(f"{_NAME} @ {url}" + (f"#sha256={digest}" if digest else ""))
    path = unquote(urlsplit(url).path)
    if path.endswith(".whl") and os.path.isfile(path):
        return Requirement(f"./{VENDORED}/{os.path.basename(path)}", wheel=path)
    return _of_folder(path, version)


def _of_folder(path: str, version: str) -> Requirement:
    """A clone of a repository that others reach is that repository at its commit."""
    published = published_commit(path) if os.path.isdir(path) else None
    if published is None:
        problem = f"this trainc was installed from {path}, which does not exist on other machines"
        return Requirement(f"{_NAME}=={version}", problem=problem)
    url, commit = published
    if "://" not in url:  # git@host:path, the short form of ssh.
        url = "ssh://" + url.replace(":", "/", 1)
    return Requirement(f"{_NAME} @ git+{_without_password(url)}@{commit}")


def _subdirectory(direct_url: Mapping[str, Any]) -> str:
    folder = direct_url.get("subdirectory")
    return f"#subdirectory={folder}" if folder else ""


def _without_password(url: str) -> str:
    """`url` without what stands for a person: a file in git is no place for a token. `git@` of ssh names nobody."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"git@{host}" if parts.scheme == "ssh" else host))

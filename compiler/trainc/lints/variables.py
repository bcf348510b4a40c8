"""Lints for variables of containers: tokens in plain text, misspelled names, and values that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from trainc.findings import Finding, Path, suggest
from trainc.ir.entrypoints import About, Entrypoint, variable_path
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.startup.patterns import pattern

# Tokens of well-known services; the first group of each is enough to recognize one.
_TOKEN = pattern(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|sk-(?:ant-|proj-)?[\w-]{20,}|AIza[\w-]{30,}|nvapi-[\w-]{20,}|dckr_pat_[\w-]{16,}"
    r"|ya29\.[\w-]{20,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+)|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
# Every such token contains one of these; the pattern is compiled only for text that does.
_TOKEN_MARKS = (
    *("hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "sk-", "AIza"),
    *("nvapi-", "dckr_pat_", "ya29.", "eyJ", "-----BEGIN "),
)
_PASSWORD_IN_URL = pattern(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]*:(?!\$)[^/\s:@$]{3,}@")
# Names of variables whose value is always a secret, whatever it looks like.
_SECRET_NAME = pattern(
    r"(?:^|.*_)(?:TOKEN|API_?KEY|SECRET|SECRET_?(?:ACCESS_)?KEY|ACCESS_KEY|PASSWORD|PASSWD|PRIVATE_KEY|CLIENT_SECRET"
    r"|CREDENTIALS?|PAT|AUTH_?TOKEN)",
    2,  # re.IGNORECASE
)
_SECRET_WORDS = ("TOKEN", "KEY", "SECRET", "PASSW", "CREDENTIAL", "PAT")
# Names that are about a vocabulary's tokens, or that refer to the place of a secret.
_NO_SECRET = pattern(
    r"(?:.*_)?(?:PAD|EOS|BOS|UNK|SEP|CLS|MASK|STOP|SPECIAL|NUM|MAX|MIN|IMAGE|START|END)_TOKEN|.*(?:_ID|_PATH|_FILE|_NAME)",
    2,
)
_PLACEHOLDER = pattern(
    r"<.*>|\$.*|x+|\*+|(?:change|replace)[-_ ]?me.*|your[-_ ].*|dummy|none|null|todo|true|false|\d{1,6}|.{0,5}|/.*|.*\s.*",
    2,
)

_SHORTEST_TOKEN = 14
# Shorter values are placeholders, or protect nothing.
_SHORTEST_SECRET = 6
_LONG_NAME = 10
# The first two letters of the variables that are checked.
_BEGINNINGS = frozenset(("NC", "TO", "PY", "CU", "GL", "UC", "FI", "OM", "HF"))
_INTEGER = pattern(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|\d+)\s*")
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def plain_tokens(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for each token in plain text in a container's variables or command."""
    env = entry.container.env
    if _secret_names(_names(env)) or _holds_token("\n".join([str(variable.get("value")) for variable in env])):
        for variable in env:
            if _is_secret(variable):
                yield _token(str(variable["name"]), *_place(job, info, entry, str(variable["name"])))
    for i, word in enumerate(map(str, entry.words) if _holds_token(entry.text) else ()):
        if _holds_token(word):
            yield _token("", *entry.place(i))


def tokens_of_initializers(job: TrainJob, info: Info) -> Iterator[Finding]:
    """Yield the same warning for the URIs of the TrainJob's initializers."""
    for step, field in ((job.dataset, "dataset"), (job.model, "model")):
        path: Path = ("spec", "initializer", field)
        if step and step.storage_uri and _PASSWORD_IN_URL.search(step.storage_uri):
            yield _token("", (*path, "storageUri"), "trainjob")


def _is_secret(variable: Mapping[str, Any]) -> bool:
    value = variable.get("value")
    if not isinstance(value, str) or len(value) < _SHORTEST_SECRET:
        return False
    if _holds_token(value):
        return True
    return bool(_secret_names((str(variable["name"]),))) and not _PLACEHOLDER.fullmatch(value)


def _names(env: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of variables. A job has mostly those of the job before, so what they need is decided once."""
    return tuple([str(variable["name"]) for variable in env])


@lru_cache(maxsize=1024)
def _secret_names(names: tuple[str, ...]) -> list[str]:
    """Return the names of variables whose value is always a secret."""
    candidates = [name for name in names if any(word in name.upper() for word in _SECRET_WORDS)]
    return [name for name in candidates if _SECRET_NAME.fullmatch(name) and not _NO_SECRET.fullmatch(name)]


def _holds_token(text: str) -> bool:
    if len(text) < _SHORTEST_TOKEN:
        return False
    for mark in _TOKEN_MARKS:
        if mark in text and _TOKEN.search(text):
            return True
    return "://" in text and "@" in text and bool(_PASSWORD_IN_URL.search(text))


def _token(name: str, path: Path, about: About) -> Finding:
    what = f"{name} is a secret" if name else "this contains a secret"
    key = name.lower().replace("_", "-") or "token"
    return Finding(
        "PlainToken",
        "warning",
        f"{what} in plain text, and the compiled manifests go to git",
        hint=f"take it from a Secret: valueFrom: {{secretKeyRef: {{name: my-tokens, key: {key}}}}}; revoke it if it is in git",
        path=path,
        about=about,
    )


def misspelt_variables(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield a warning for each variable whose name is a misspelling of one that NCCL or PyTorch reads."""
    for name, meant in _misspelt(_names(entry.container.env)):
        place, about = _place(job, info, entry, name)
        message = f"nothing reads {name}"
        yield Finding("MisspeltVariable", "warning", message, hint=suggest(name, [meant]), path=place, about=about)


@lru_cache(maxsize=1024)
def _misspelt(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the names that are misspelled, each with the one that is meant."""
    found = ((name, _meant(name)) for name in names if name[:2].upper() in _BEGINNINGS)
    return [(name, meant) for name, meant in found if meant]


def _meant(name: str) -> str:
    """Return the variable of which a name is a misspelling; empty if it is known itself, or similar to none."""
    from trainc.kube.tuning_variables import PREFIXES, known_variables

    if not name.upper().startswith(PREFIXES) or name in known_variables():
        return ""
    from trainc.findings.text import misspelt

    return misspelt(name, known_variables(), 2 if len(name) >= _LONG_NAME else 1)


def unread_values(job: TrainJob, info: Info, entry: Entrypoint) -> Iterator[Finding]:
    """Yield findings for values that NCCL, PyTorch or OpenMP does not read, and for more threads than CPUs."""
    env = entry.container.env
    for index in _restricted(_names(env)):
        name, value = str(env[index]["name"]), env[index].get("value")
        if not isinstance(value, str) or not value or "$" in value:
            continue
        problem = _unread(name, value)
        if problem:
            path, about = _place(job, info, entry, name)
            message = f"{name} is {value!r}, {problem[0]}"
            yield Finding("InvalidVariableValue", "warning", message, hint=problem[1], path=path, about=about)
        elif name in _THREADS and value.isdecimal():
            yield from _threads(job, info, entry, name, int(value))


@lru_cache(maxsize=1024)
def _restricted(names: tuple[str, ...]) -> list[int]:
    """Return the indexes of the variables whose values are checked."""
    return [index for index, name in enumerate(names) if name[:2] in _BEGINNINGS or name in _THREADS]


def _unread(name: str, value: str) -> tuple[str, str] | None:
    """Return (what is wrong, hint) for a value that the program which reads the variable does not accept."""
    from trainc.kube.tuning_variables import ALLOCATORS, INTEGERS, WORDS

    if name in INTEGERS and not _INTEGER.fullmatch(value):
        on = value.lower() in ("true", "yes", "on", "enable", "enabled")
        return "which is not read: it must be a number", f'write "{1 if on else 0}"'
    if name in WORDS and value.strip().upper() not in WORDS[name]:
        from trainc.findings.text import misspelt

        near = misspelt(value, WORDS[name])
        shown = ", ".join(WORDS[name])
        return f"which is not one of {shown}", suggest(value, [near]) if near else "write one of them"
    if name == "OMP_NUM_THREADS" and not all(part.strip().isdecimal() for part in value.split(",")):
        return "which is not a number of threads", 'write a number, such as "8"'
    if name in ALLOCATORS:
        return _allocator(value)
    return None


def _allocator(value: str) -> tuple[str, str] | None:
    """Return what PyTorch refuses of its allocator's settings: `NAME:VALUE`, and True or False as Python writes them."""
    for setting in value.split(","):
        name, colon, given = setting.partition(":")
        if "=" in setting and not colon:
            return "which PyTorch refuses: settings are written NAME:VALUE", f'write "{value.replace("=", ":")}"'
        if name.strip() == "expandable_segments" and given.strip() not in ("True", "False"):
            return "which PyTorch refuses: expandable_segments is True or False", 'write "expandable_segments:True"'
    return None


def _threads(job: TrainJob, info: Info, entry: Entrypoint, name: str, threads: int) -> Iterator[Finding]:
    from trainc.kube.devices import whole_units

    resources = entry.container.resources
    cpus = whole_units((resources.get("limits") or {}).get("cpu") or (resources.get("requests") or {}).get("cpu") or 0)
    if 0 < cpus < threads:
        path, about = _place(job, info, entry, name)
        message = f"{name} is {threads}, but the container has {cpus} CPUs: its threads wait for each other"
        hint = f'write at most "{cpus}", divided by the number of processes in the pod'
        yield Finding("MoreThreadsThanCPUs", "info", message, hint=hint, path=path, about=about)


def _place(job: TrainJob, info: Info, entry: Entrypoint, name: str) -> tuple[Path, About]:
    return variable_path(job, info, entry.pod_set, entry.container.name, name)

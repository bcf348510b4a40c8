"""Variables of containers: tokens that would go to git in plain text, and names that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainc.api.tuning_variables import PREFIXES, known_variables
from trainc.diagnostics import Finding, Path
from trainc.diagnostics.near_names import misspelt
from trainc.ir.entrypoints import About, entrypoints
from trainc.ir.info import Info
from trainc.ir.trainjob import TrainJob
from trainc.ir.written import in_container
from trainc.startup.patterns import pattern

# What tokens of well-known services look like; the first group of each is enough to know one.
_TOKEN = pattern(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|sk-(?:ant-|proj-)?[\w-]{20,}|AIza[\w-]{30,}|nvapi-[\w-]{20,}|dckr_pat_[\w-]{16,}"
    r"|ya29\.[\w-]{20,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+)|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_PASSWORD_IN_URL = pattern(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]*:(?!\$)[^/\s:@$]{3,}@")
# Names that hold nothing but a secret, whatever it looks like.
_SECRET_NAME = pattern(
    r"(?:^|.*_)(?:TOKEN|API_?KEY|SECRET|SECRET_?(?:ACCESS_)?KEY|ACCESS_KEY|PASSWORD|PASSWD|PRIVATE_KEY|CLIENT_SECRET"
    r"|CREDENTIALS?|PAT|AUTH_?TOKEN)", 2  # re.IGNORECASE
)
# Tokens of a text's vocabulary, and names of things that hold a secret.
_NO_SECRET = pattern(r"(?:.*_)?(?:PAD|EOS|BOS|UNK|SEP|CLS|MASK|STOP|SPECIAL|NUM|MAX|MIN|IMAGE|START|END)_TOKEN|.*(?:_ID|_PATH|_FILE|_NAME)", 2)
_PLACEHOLDER = pattern(r"<.*>|\$.*|x+|\*+|(?:change|replace)[-_ ]?me.*|your[-_ ].*|dummy|none|null|todo|true|false|\d{1,6}|.{0,5}|/.*|.*\s.*", 2)


def plain_tokens(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A warning for each token that a variable, a command or a URI holds in plain text."""
    for entry in entrypoints(job, info):
        for i, variable in enumerate(entry.container.env):
            if _is_secret(variable):
                path, about = _place(job, info, entry.pod_set.name, entry.container.name, str(variable["name"]), entry.trains)
                yield _token(f"{variable['name']} is a secret in plain text", str(variable["name"]), path, about)
        for i, word in enumerate(map(str, entry.words)):
            if _TOKEN.search(word) or _PASSWORD_IN_URL.search(word):
                path, about = entry.place(i)
                yield _token("the command holds a secret in plain text", "TOKEN", path, about)
    for step, field in ((job.dataset, "dataset"), (job.model, "model")):
        for i, variable in enumerate(step.env if step else ()):
            if _is_secret(variable):
                path = ("spec", "initializer", field, "env", i)
                yield _token(f"{variable['name']} is a secret in plain text", str(variable["name"]), path, "trainjob")
        if step and step.storage_uri and _PASSWORD_IN_URL.search(step.storage_uri):
            path = ("spec", "initializer", field, "storageUri")
            yield _token("the address holds a password in plain text", "TOKEN", path, "trainjob")


def _is_secret(variable: Mapping[str, Any]) -> bool:
    name, value = str(variable["name"]), variable.get("value")
    if not isinstance(value, str) or not value:
        return False
    if _TOKEN.search(value) or _PASSWORD_IN_URL.search(value):
        return True
    return bool(_SECRET_NAME.fullmatch(name)) and not _NO_SECRET.fullmatch(name) and not _PLACEHOLDER.fullmatch(value)


def _token(message: str, name: str, path: Path, about: About) -> Finding:
    hint = f"take it from a Secret: valueFrom: {{secretKeyRef: {{name: my-tokens, key: {name.lower().replace('_', '-')}}}}}; and revoke this one, which git remembers"
    return Finding("PlainToken", "warning", f"{message}; what is compiled goes to git", hint, path, about=about)


def misspelt_variables(job: TrainJob, info: Info) -> Iterator[Finding]:
    """A warning for each variable that is nearly one that NCCL or PyTorch reads."""
    for entry in entrypoints(job, info):
        for variable in entry.container.env:
            name = str(variable["name"])
            if not name.upper().startswith(PREFIXES) or name in known_variables():
                continue
            meant = misspelt(name, known_variables(), 2 if len(name) > 9 else 1)
            if meant:
                path, about = _place(job, info, entry.pod_set.name, entry.container.name, name, entry.trains)
                message = f"nothing reads {name}"
                yield Finding("MisspeltVariable", "warning", message, f"did you mean {meant}?", path, about=about)


def _place(job: TrainJob, info: Info, pod_set: str, container: str, name: str, trains: bool) -> tuple[Path, About]:
    if job.trainer is not None and trains:
        for i, variable in enumerate(job.trainer.env):
            if variable["name"] == name:
                return ("spec", "trainer", "env", i), "trainjob"
    return in_container(job, info, pod_set, container, "env", ("name", name))

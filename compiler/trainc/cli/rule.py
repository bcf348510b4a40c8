"""What `trainc rule` does."""

from __future__ import annotations

from trainc.cli.command import Arguments, Status, Streams, UsageError
from trainc.findings.codes import codes, codes_of_plugins, current_code, page, summary_of
from trainc.findings.text import did_you_mean


def run(arguments: Arguments, streams: Streams) -> Status:
    """Print a page, or the list of pages."""
    if arguments.all == bool(arguments.code):
        raise UsageError("pass either a CODE or --all")
    if arguments.all:
        known_codes = sorted([*codes(), *codes_of_plugins()])
        width = max(map(len, known_codes))
        streams.write("".join(f"{code:<{width}}  {summary_of(code)}\n" for code in known_codes))
        return Status.DONE
    code = current_code(arguments.code)
    spelled = _to_code(arguments.code)
    for read in (codes, codes_of_plugins):  # Those of plugins are looked up only if it is none of ours.
        code = next((known for known in read() if known.lower() == spelled.lower()), code)
        if code in read():
            break
    text = page(code)
    if text is None:
        near = did_you_mean(spelled, [*codes(), *codes_of_plugins()])
        streams.err.write(f"trainc rule: unknown code {arguments.code!r}; {near or '`trainc rule --all` lists them'}\n")
        return Status.DIAGNOSED
    if code.lower() != spelled.lower():
        streams.err.write(f"note: {arguments.code} is now {code}\n")
    streams.write(text)
    return Status.DONE


def _to_code(code: str) -> str:
    """Convert `unknown-field` to UnknownField, so that suggestions work for any spelling."""
    words = code.replace("_", "-").split("-")
    return "".join(word[:1].upper() + word[1:] for word in words)

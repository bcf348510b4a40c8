"""trainc with little memory and little time, both held to by the kernel: commands on stdin, outcomes on stdout, as JSON.

Run as a program. Each line of stdin is `{"folder": ..., "words": [...], "stdin": path or null}`; each line of stdout is
`{"status": ..., "codes": [...], "traceback": ..., "said": ...}`. A process that takes more than it may have is killed.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import sys
from pathlib import Path

MEMORY = 1_500_000_000
SECONDS = 120


def main() -> None:
    """Limit, then run one command after the other."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    from trainc.cli.command import Streams
    from trainc.cli.main import main as trainc

    for line in sys.stdin:
        request = json.loads(line)
        os.chdir(request["folder"])
        given = Path(request["stdin"]).read_bytes() if request["stdin"] else b""
        said = io.StringIO()
        try:
            status = trainc(request["words"], Streams(io.BytesIO(given), io.BytesIO(), said))
        except SystemExit as ended:
            status = int(str(ended.code))
        text = said.getvalue()
        codes = sorted(set(re.findall(r"(?:error|warning|info)\[(\w+)\]", text)))
        outcome = {"status": status, "codes": codes, "traceback": "Traceback" in text, "said": text[:1000]}
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

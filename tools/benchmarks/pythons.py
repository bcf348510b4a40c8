"""Which Python a program runs under, and whether that is optimized, which decides about a fifth of all times."""

from __future__ import annotations

import json
import subprocess

_ASK = """
import json, platform, sys, sysconfig
try:
    system = platform.freedesktop_os_release().get("NAME", "")
except OSError:
    system = ""
flags = [str(sysconfig.get_config_var(name)) for name in ("CONFIG_ARGS", "CFLAGS_NODIST", "PY_CORE_CFLAGS")]
print(json.dumps([platform.python_version(), sys.base_prefix, system, " ".join(flags)]))
"""
_OPTIMIZED = ("--enable-optimizations", "-fprofile-use", "-fprofile-instr-use")


def described(python: str) -> str:
    """Its version, and who built it, or else whether its build was optimized with a profile.

    Distributions optimize theirs, and leave that out of the flags that sysconfig knows (Debian's changelog: 934771).
    """
    done = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=True)
    version, prefix, system, flags = json.loads(done.stdout)
    if any(flag in flags for flag in _OPTIMIZED):
        return f"Python {version}, optimized"
    return f"Python {version} of {system}" if prefix == "/usr" and system else f"Python {version}, not optimized"

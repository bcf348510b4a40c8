"""The diagnostic codes of this feature; rules/ has the page of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.api.findings import Severity, Stage

CODES: Mapping[Stage, Mapping[Severity, str]] = {"settings": {"error": "InvalidParameter KeepsNothing"}}

"""Whether Kueue will ever admit a job: its answer, computed offline from the JobSets and a snapshot of the cluster."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.fits.answer import Fits


class _Callable(ModuleType):
    """`trainc.fits` is the public function and this folder: Python binds the name to whichever comes last."""

    def __call__(self, jobsets: Sequence[Mapping[str, Any]], cluster: Sequence[Mapping[str, Any]]) -> Fits:
        """As `trainc.fits.answer.fits`."""
        from trainc.fits.answer import fits

        return fits(jobsets, cluster)


sys.modules[__name__].__class__ = _Callable

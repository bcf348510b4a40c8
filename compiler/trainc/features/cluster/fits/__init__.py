"""Predict offline whether Kueue can ever admit a job, from the JobSets and a snapshot of the cluster."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainc.features.cluster.fits.answer import Fits


class _Callable(ModuleType):
    """Makes the package callable: `trainc.fits` is both the public function and this package."""

    def __call__(
        self, jobsets: Sequence[Mapping[str, Any]], cluster: Sequence[Mapping[str, Any]], **options: Any
    ) -> Fits:
        """Call `trainc.features.cluster.fits.answer.fits`."""
        from trainc.features.cluster.fits.answer import fits

        return fits(jobsets, cluster, **options)


sys.modules[__name__].__class__ = _Callable

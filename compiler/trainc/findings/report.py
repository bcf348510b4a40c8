"""The report of one job: what all stages of its compilation have found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trainc.findings import Finding, has_errors
from trainc.startup.records import dataclass, field, replace

# Without these a job cannot be built. The errors of all other stages can be lowered or ignored by the user's rules.
_BLOCKING = frozenset({"reference", "lowering", "validation"})
_DOCUMENTS = frozenset({"trainjob", "runtime"})


@dataclass(slots=True)
class Report:
    """The findings about one job, in the order in which its stages added them.

    Each finding knows its stage, and what it is about: the TrainJob, its runtime, or an object that was built from them.
    """

    findings: list[Finding] = field(default_factory=list)

    def add(self, stage: str, findings: Iterable[Finding]) -> None:
        """Add the findings of a stage."""
        for finding in findings:
            self.findings.append(replace(finding, stage=stage))

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error, before the user's rules are applied."""
        return has_errors(self.findings)

    def keep_errors(self) -> None:
        """Drop all findings but errors."""
        self.findings = [finding for finding in self.findings if finding.severity == "error"]

    def about_documents(self) -> Iterator[tuple[list[Finding], bool]]:
        """Yield (findings, whether they block compilation): those about the TrainJob and its runtime, in two parts."""
        found = [finding for finding in self.findings if finding.about in _DOCUMENTS]
        for blocking in (True, False):
            yield [finding for finding in found if (finding.stage in _BLOCKING) is blocking], blocking

    def about_objects(self) -> Sequence[Finding]:
        """Return the findings about objects."""
        return [finding for finding in self.findings if finding.about not in _DOCUMENTS]

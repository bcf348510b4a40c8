"""The diagnostic codes of this feature; rules/ has the page of each."""

CODES = {
    "sweep": {
        "error": "OverBudget TooManyTrials UnknownParameter",
        "warning": "ExcludesNothing UnusedParameter",
        "info": "SweepSize",
    },
}

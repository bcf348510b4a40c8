"""The diagnostic codes of this feature; rules/ has the page of each."""

CODES = {
    "policy": {
        "error": "PolicyDenied PolicyInvalid PolicyNeedsExtra",
        "warning": "PolicyNotEvaluated PolicyWarned",
        "info": "PolicyAudited",
    },
}

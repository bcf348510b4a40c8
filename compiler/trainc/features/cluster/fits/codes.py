"""The diagnostic codes of this feature; rules/ has the page of each."""

CODES = {
    "fits": {
        "error": "NeverFits NoNodeFits QueueInactive RefusedByKueue SnapshotTwice UnschedulableAfterAdmission",
        "warning": "NotInCluster OldKueueAPI PodsMayBeEvicted",
        "info": "AdmissionCheckUnknown OtherKueueVersion",
    },
}

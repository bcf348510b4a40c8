"""The diagnostic codes of this feature; rules/ has the page of each."""

CODES = {
    "settings": {"error": "ImageNotReplaced NameHashTooEarly ReferenceNotFollowed UsedAsValidator"},
    "read": {"error": "InvalidResourceList"},
}

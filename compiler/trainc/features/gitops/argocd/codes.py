"""The diagnostic codes of this feature; rules/ has the page of each."""

CODES = {"settings": {"error": "InvalidParameter KeepsNothing"}}

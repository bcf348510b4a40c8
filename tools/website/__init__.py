"""The website: docs/ and the rule pages as HTML with search, one folder per release. `make site` builds it."""

"""The plugins, one folder per framework, with its passes, validation and builders. `registry.py` has their order."""

"""The plugins: one file each, its passes, validation and objects included. Order is data, in registry.py."""

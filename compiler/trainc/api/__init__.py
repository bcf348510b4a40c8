"""The door of the compiler: all that features import of it, by what it is about."""

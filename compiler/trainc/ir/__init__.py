"""The typed intermediate representation that plugins see, regardless of the dialect and release of the input."""

"""The API types of each Trainer release, one generated module each."""

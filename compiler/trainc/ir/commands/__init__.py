"""Analysis of container command lines: parses shell scripts, and recognizes launchers and their options."""

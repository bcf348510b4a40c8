"""What keeps a command quick to start: records and lazy patterns. Both can go once Python 3.15's lazy imports are the floor."""

"""Job files apart: each compiled by itself beside what all share, in other processes or not at all if a cache knows it."""

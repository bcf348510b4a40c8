"""Mutation testing of the code that predicts cluster behavior; `make mutants` runs it."""

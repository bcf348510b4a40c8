"""Reads files into values, exactly as kubectl does, with source positions on demand."""

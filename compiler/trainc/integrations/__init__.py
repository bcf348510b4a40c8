"""Interfaces for other programs to run trainc and read its output."""

"""Readers and writers, named after who writes the file."""

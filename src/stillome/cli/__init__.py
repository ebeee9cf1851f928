"""The command line: thin over the library; it reads, calls and writes. One file per verb."""

from stillome.cli.app import main

__all__ = ["main"]

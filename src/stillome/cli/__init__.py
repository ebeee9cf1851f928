"""The command line: thin over the library; it reads, calls and writes."""

"""One file for each writer of connectomes."""

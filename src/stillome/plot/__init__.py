"""Figures: each function takes arrays and results, fits nothing, and returns a figure."""

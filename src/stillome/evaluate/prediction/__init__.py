"""Trait prediction without leaks: folds, residuals, and tests between methods."""

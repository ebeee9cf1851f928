"""Subjects and their data: cohorts, edges, confounds, references, and all validation of input."""

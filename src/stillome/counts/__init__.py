"""Negative binomial counts: distribution, quantiles, and the randomised map between two laws."""

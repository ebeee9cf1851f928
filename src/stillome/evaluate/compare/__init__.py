"""Several methods on the same folds, traits and probes."""

"""One estimator per file, one contract for all of them."""

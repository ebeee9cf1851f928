"""Ranges outside which numbers are cut off, so that nothing overflows.

Data stay inside them; only extreme values and extrapolation far beyond the training subjects
reach them. They are no tuning constants: no result on data depends on them.
"""

LOG_RATE_RANGE = (-14.0, 24.0)  # from one fibre in a million scans to 26 billion fibres
DISPERSION_RANGE = (1e-3, 50.0)  # from nearly Poisson to nearly always empty
PROBABILITY_RANGE = (1e-4, 1 - 1e-4)  # of a quantile that is drawn for a weight
ZERO_SHARE_RANGE = (1e-3, 1 - 1e-3)  # probability that a weight is 0
LARGEST_SLOPE = 5.0  # of a log rate on a function of motion of unit variance
LARGEST_STEP = 1.0  # of one Newton step in a log rate, slope, loading or log dispersion
LARGEST_EXPLAINED = 0.95  # share of an edge's variance; noise-free edges would get all the weight
LARGEST_LOG_SCALE = 3.0  # change of a standard deviation with motion, as a logarithm

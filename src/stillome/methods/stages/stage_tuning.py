"""The tuning constants of the stages that estimate and replay the effect of motion."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StageTuning:
    """Tuning constants of the shared stages; not parameters of any method.

    Attributes
    ----------
    tolerance : float
        An iteration stops when its step is below this, in standard errors.
    max_iter : int
        Iterations of one stage before it warns.
    largest_step : float
        Largest change of a log rate, slope, loading or log dispersion in one Newton step.
    n_knots : int
        Knots of the natural cubic spline of every continuous confound.
    trimmed : float
        Share of subjects outside the outermost knot on either side.
    few_levels : int
        A confound with fewer distinct values gets a line that bends at each of them, no spline.
    level_subjects : int
        Subjects that a level must have for the line to bend there.
    prior_precision : float
        Of a normal prior around 0 on the slopes of one edge before edges are pooled.
    reference_share : float
        Share of the edges, those with most information, whose dispersions say what is typical.
    least_spread : float
        Smallest variance of log dispersions between edges.
    dispersion_margin : float
        The change of the dispersion with motion is shrunk by this many times its sampling
        variance.
    max_factors : int
        Largest number of factors of individual differences that pooling looks for.
    least_own : float
        Smallest share of a slope's sampling variance that is noise of the edge alone.
    pattern_margin : float
        Eigenvalues of a pattern over pairs of regions must exceed the noise edge by this factor.
    trusted_quantile : float
        Edges above this quantile of precision enter the pattern at full weight.
    zero_level : float
        Level of the F test that decides whether the share of empty edges depends on motion.
    group_size : int
        Counts per group of similar rates in which quantiles are calibrated.
    max_groups : int
        Largest number of such groups.
    max_counts : int
        Counts that the calibration uses.
    tail_counts : int
        Quantiles with fewer counts beyond them are extrapolated.
    """

    tolerance: float = 0.1
    max_iter: int = 100
    largest_step: float = 1.0
    n_knots: int = 4
    trimmed: float = 0.02
    few_levels: int = 10
    level_subjects: int = 10
    prior_precision: float = 4.0
    reference_share: float = 0.4
    least_spread: float = 0.02
    dispersion_margin: float = 2.0
    max_factors: int = 100
    least_own: float = 0.2
    pattern_margin: float = 1.1
    trusted_quantile: float = 0.9
    zero_level: float = 1e-4
    group_size: int = 3000
    max_groups: int = 16
    max_counts: int = 200_000
    tail_counts: int = 30


STAGE_TUNING = StageTuning()

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
    n_knots : int
        Knots of the natural cubic spline of every continuous confound.
    trimmed : float
        Share of subjects outside the outermost knot on either side.
    few_levels : int
        A confound with fewer distinct values gets a line that bends at each of them, no spline.
    least_own : float
        Smallest share of a slope's sampling variance that is noise of the edge alone.
    pattern_margin : float
        Eigenvalues of a pattern over pairs of regions must exceed the noise edge by this factor.
    zero_level : float
        Level of the F test that decides whether the share of empty edges depends on motion.
    group_size : int
        Counts per group of similar rates in which quantiles are calibrated.
    max_counts : int
        Counts that the calibration uses.
    """

    tolerance: float = 0.1
    max_iter: int = 100
    n_knots: int = 4
    trimmed: float = 0.02
    few_levels: int = 10
    least_own: float = 0.2
    pattern_margin: float = 1.1
    zero_level: float = 1e-4
    group_size: int = 6000
    max_counts: int = 200_000


STAGE_TUNING = StageTuning()

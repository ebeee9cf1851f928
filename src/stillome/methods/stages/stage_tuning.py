"""The tuning constants of the stages that estimate and replay the effect of motion.

"No effect" means: halved or doubled, no figure of `benchmarks/sensitivity.py` changes by more than
it does when four of 210 training subjects are left out (benchmarks/README.md has the table).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class StageTuning:
    """Tuning constants of the shared stages; not parameters of any method.

    Attributes
    ----------
    tolerance : float, in standard errors
        An iteration stops when its step is below this. At 0.1 the mean squared error is 1 % above
        that of the optimum. No effect, so the iterations have converged.
    max_iter : int
        Iterations of one stage before it warns. No effect: the slowest stage of 41 cohorts of all
        kinds took 39.
    n_knots : int
        Knots of the natural cubic spline of every continuous confound. 2, a straight line, gains
        0.005 to 0.01 of fidelity where the effect is nearly log-linear, but loses 0.02 where it
        saturates and 0.08 where it has a threshold. 8 loses 0.02 to 0.05 everywhere. 4 is the
        usual number (Harrell 2001).
    trimmed : float, share of subjects
        Outside the outermost knot on either side, where the spline is a straight line. 0.01 adds
        one weak unit of z in one cohort; 0.05 cost up to 0.009 of fidelity where two confounds are
        correlated.
    few_levels : int
        A confound with fewer distinct values (levels, sites) gets a line that bends at each level
        with at least as many subjects, instead of a spline. No effect on continuous confounds;
        four knots need clearly more than four values.
    least_own : float, share of a variance
        Smallest share of a slope's sampling variance that is noise of the edge alone. It keeps
        this variance positive. No effect.
    pattern_margin : float, factor
        Eigenvalues of a pattern over pairs of regions must exceed the noise edge by this. Theory
        says 1 for normal noise; estimates of weak edges have heavier tails, and at 1.1 fewer than
        one in ten tables of heavy-tailed noise show a pattern. 0.55, below the edge, changes A* by
        0.04 in either direction: it fits noise.
    zero_level : float, probability
        Level of the F test that decides whether the share of empty edges depends on motion. Small,
        since filling zeros that have nothing to do with motion costs more than missing a weak
        dependence. No effect: real dependences are far beyond it.
    group_size : int
        Counts per group of similar rates in which quantiles are calibrated; 37 of them lie beyond
        the last quantile that is estimated. No effect.
    max_counts : int
        Counts that the calibration uses; it bounds the time. No effect.
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

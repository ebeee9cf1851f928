"""The dispersion φ of negative binomial counts: variance = rate + φ · rate².

Three estimators: by moments, which is fast and serves inside iterations; by likelihood, for the
final value of every edge; and of a common change with motion. All shrink what one edge says
towards what is typical, since an edge with few fibres hardly shows its dispersion.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import AnyFloats, Floats
from stillome.cohort.groups import Levels
from stillome.counts.column_sums import column_sums
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.methods.stages.convergence import Iterations, in_standard_errors
from stillome.methods.stages.motion_effect.basis import n_independent
from stillome.methods.stages.motion_effect.shrinkage import beyond_chance
from stillome.methods.stages.numeric_limits import DISPERSION_RANGE, LARGEST_STEP

_ADDED_BELOW = 64  # counts whose digamma function is a sum; most are smaller
_LEAST_INFORMATION = 1e-3
_LEAST_RATIO = 0.05  # of observed to expected dispersion of one subject, before the logarithm


def fit_dispersion(counts: AnyTable, rates: AnyTable) -> Floats:
    """Estimate the dispersion of every edge by moments, shape (E,).

    Parameters
    ----------
    counts, rates : arrays or tables of shape (n, E)
    """
    sums = EdgeTable.of(counts).sums(Moments.of, EdgeTable.of(rates))
    return Moments(*sums).dispersion(len(counts))


class Moments(NamedTuple):
    """Sums over subjects that show the dispersion of every edge, each of shape (E,).

    Attributes
    ----------
    squares : array
        Of squared residuals.
    rates, squared_rates : arrays
    """

    squares: AnyFloats
    rates: AnyFloats
    squared_rates: AnyFloats

    @classmethod
    def of(cls, counts: AnyFloats, rates: AnyFloats) -> Self:
        """Add up a band (n, e) of counts and their rates."""
        return cls.around(counts - rates, rates)

    @classmethod
    def around(cls, residual: AnyFloats, rates: AnyFloats) -> Self:
        """Add up the same from counts less their rates."""
        sums = (column_sums(part) for part in (residual * residual, rates, rates * rates))
        return cls(*sums)

    def dispersion(self, n: int) -> Floats:
        """Return the dispersion of every edge (E,), shrunk towards what is typical."""
        own, mean = (self.squares - self.rates) / self.squared_rates, self.rates / n
        strong = mean >= np.median(mean)
        typical = max(float(np.median(own[strong])), DISPERSION_RANGE[0])
        variance = 2 * (1 / mean + typical) ** 2 / n
        between = _between(own[strong], variance[strong])
        weight = between / (between + variance)
        return np.clip(weight * own + (1 - weight) * typical, *DISPERSION_RANGE)


def likely_dispersion(
    counts: AnyTable,
    rates: AnyTable,
    start: Floats,
    iterations: Iterations | None = None,
) -> Floats:
    """Estimate the dispersion of every edge by penalised likelihood, shape (E,).

    Moments depend on the few largest counts; the likelihood does not. Log dispersions are normal
    around a typical value, both estimated from the edges with most information (empirical Bayes,
    as in Robinson and Smyth 2007). Newton steps use the outer product of the scores (Berndt, Hall,
    Hall and Hausman 1974).

    Parameters
    ----------
    counts, rates : arrays or tables of shape (n, E)
    start : array of shape (E,)
        By moments.
    iterations : Iterations, optional
    """
    iterations = iterations or Iterations()
    table, means = EdgeTable.of(counts), EdgeTable.of(rates)
    limits = np.log(DISPERSION_RANGE)
    value = np.log(np.clip(start, *DISPERSION_RANGE))
    middle, precision = float(np.median(value)), 1.0
    last_step, last_gradient = np.zeros_like(value), np.zeros_like(value)
    for _ in iterations.of("dispersion"):
        gradient, information = table.sums(_derivatives, means, np.exp(-value))
        information = np.maximum(information, _LEAST_INFORMATION)
        # The outer product can be far too small; the change since the last step shows where.
        moved = np.abs(last_step) > 1e-9
        secant = np.where(moved, (last_gradient - gradient) / np.where(moved, last_step, 1), 0)
        curvature = np.maximum(information, secant) + precision
        step = (gradient - precision * (value - middle)) / curvature
        step = np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        # At the end of its range a dispersion has no step to take.
        last_step, last_gradient = np.clip(value + step, *limits) - value, gradient
        value = value + last_step
        if iterations.converged(in_standard_errors(last_step, curvature)):
            break
        variance = 1 / information
        sure = variance <= np.median(variance)
        middle = float(np.median(value[sure]))
        precision = 1 / _between(value[sure], variance[sure])
    return np.asarray(np.exp(value))


def _between(estimates: Floats, variances: Floats) -> float:
    """Return the variance of the true values, at least the standard error of this estimate."""
    total = float(np.var(estimates))
    return max(total - float(np.median(variances)), total * np.sqrt(2 / len(estimates)), 1e-6)


def _derivatives(counts: AnyFloats, rates: AnyFloats, sizes: Floats) -> tuple[AnyFloats, AnyFloats]:
    """Return gradient and information (e,) of the likelihood in the log dispersion."""
    single = sizes.astype(np.float32)
    means = np.maximum(rates, 1e-8, dtype=np.float32)
    scores = _digamma_beyond(counts, sizes)
    scores -= np.log1p(means / single)
    residual = means - counts
    residual /= means + single
    scores += residual
    scores *= -single
    # The outer product of the scores: half the time of second derivatives.
    return column_sums(scores), column_sums(scores * scores)


def _digamma_beyond(counts: AnyFloats, sizes: Floats) -> NDArray[np.float32]:
    """Return ψ(count + size) − ψ(size) of counts (n, e), in single precision.

    For whole numbers that is a sum of reciprocals, 1/size + 1/(size + 1) + …, which are added up
    once for all subjects.
    """
    n_edges = len(sizes)
    if not np.array_equal(counts, np.floor(counts)):
        return np.asarray(special.psi(counts + sizes) - special.psi(sizes), np.float32)
    sums = np.zeros((_ADDED_BELOW, n_edges))
    np.cumsum(1 / (sizes + np.arange(_ADDED_BELOW - 1)[:, None]), axis=0, out=sums[1:])
    place = np.minimum(counts, _ADDED_BELOW - 1).astype(np.int32)
    place *= n_edges
    place += np.arange(n_edges, dtype=np.int32)
    found = np.take(sums.ravel().astype(np.float32), place.astype(np.intp))
    far = np.flatnonzero(counts >= _ADDED_BELOW)
    edge = far % n_edges
    beyond = counts.ravel()[far] + sizes[edge]
    # Of so large numbers the first terms of Stirling's series are exact to 9 digits.
    far_sums = np.log(beyond) - 1 / (2 * beyond) - 1 / (12 * beyond**2)
    found.ravel()[far] = far_sums - special.psi(sizes)[edge]
    return found


def fit_dispersion_slopes(
    counts: AnyTable,
    rates: AnyTable,
    dispersion: Floats,
    functions: AnyFloats,
    groups: Levels | None = None,
) -> Floats:
    """Estimate how the log dispersion of all edges changes with motion, shape (P,).

    A moment estimate of each subject's dispersion relative to the expected one, regressed on the
    functions of motion; shrunk to 0 where chance explains it. Scans of a group count as fewer.
    """
    table, means = EdgeTable.of(counts), EdgeTable.of(rates)
    excess, expected = table.total_by_subject(_excess, means, dispersion)
    log_ratio = np.log(np.maximum(excess / expected, _LEAST_RATIO))
    log_ratio -= log_ratio.mean()
    slopes = functions.T.astype(np.float64) @ log_ratio / len(counts)
    n_alone = n_independent(log_ratio[:, None], functions, groups)
    return beyond_chance(slopes, log_ratio.var() / n_alone)


def _excess(counts: AnyFloats, rates: AnyFloats, dispersion: Floats) -> tuple[Floats, Floats]:
    """Return weighted sums (n,) over edges of squares beyond the rate, found and expected."""
    phi = dispersion.astype(rates.dtype)
    expected = phi * rates
    weights = expected + 1
    np.square(weights, out=weights)
    excess = counts - rates
    np.square(excess, out=excess)
    excess -= rates
    excess /= weights
    expected *= rates
    expected /= weights
    return excess.sum(axis=1, dtype=np.float64), expected.sum(axis=1, dtype=np.float64)


def scaled_dispersion(dispersion: Floats, slopes: Floats, functions: AnyFloats) -> AnyFloats:
    """Return dispersion · exp(functions · slopes), shape (n, E)."""
    factor = np.exp(functions @ slopes.astype(functions.dtype))[:, None]
    scaled = dispersion.astype(functions.dtype) * factor
    return np.asarray(np.clip(scaled, *DISPERSION_RANGE))

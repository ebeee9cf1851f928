"""The counterfactual: a subject's residuals, replayed at the reference motion.

A count has some quantile u in the distribution of this subject at the motion of the scan. The
adjusted count is the same quantile of the distribution of this subject at the reference:
A* = F⁻¹(u | z, c₀) with u drawn uniformly between F(A − 1 | z, c) and F(A | z, c). Counts are
discrete, so the quantile is drawn within the step of the count; a zero can become a positive
count. This is quantile mapping with randomised quantile residuals (Dunn and Smyth 1996). The
distributions are those of `CountLaw`; for draws, quantiles are coupled as `coupling` says.
"""

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import AnyFloats, Floats
from stillome.methods.stages.numeric_limits import PROBABILITY_RANGE
from stillome.methods.stages.replay.count_law import CountLaw
from stillome.methods.weight_units import without_unit

_COMBINATIONS, _LATTICE = 55, 34  # Fibonacci numbers: the best lattice in two dimensions
_POSITIONS = 11  # within a step


class WeightLaw(NamedTuple):
    """Distribution of a subject's weights at one motion: rates and dispersions, each (n, E)."""

    log_rates: AnyFloats
    dispersions: AnyFloats

    @property
    def double(self) -> tuple[Floats, Floats]:
        """Both in double precision."""
        log_rates, dispersions = (part.astype(np.float64, copy=False) for part in self)
        return log_rates, dispersions


# Of a table: by a block of edges, and then by consecutive subjects.
Laws: TypeAlias = Callable[[slice], Callable[[slice], WeightLaw]]


class ZeroShares(NamedTuple):
    """Probability that an edge is empty, at the motion of the scan and at the reference, (n, E)."""

    here: Floats
    there: Floats


def positions_in_step(
    edges: NDArray[Any],
    seed: list[int],
    ranks: NDArray[np.intp] | None = None,
    n_numbers: int | None = None,
) -> Floats:
    """Draw where each count sits within its step, between 0 and 1, shape (n, E).

    The draws of a subject depend on the seed and on the set of its own values. They do not depend
    on other subjects, nor on the order of subjects. With `ranks` they do not depend on the order
    of edges either: the k-th number goes to the edge of rank k.

    Parameters
    ----------
    edges : array of shape (n, E)
    seed : list of int
    ranks : array of shape (E,), optional
        A permutation that follows the edges when they are permuted, such as `edge_ranks` gives.
    n_numbers : int, optional
        How many to draw for every subject; one for every edge without.
    """
    draws = np.empty((len(edges), edges.shape[1] if n_numbers is None else n_numbers))
    for row, values in zip(draws, edges, strict=True):
        own = zlib.crc32(np.sort(without_unit(values).astype("<f8")).tobytes())
        numbers = np.random.default_rng([*seed, own]).random(len(row))
        row[:] = numbers if ranks is None else numbers[ranks]
    return draws


def replay_counts(
    counts: NDArray[Any],
    here: CountLaw,
    there: CountLaw,
    positions: Floats,
    correlation: Floats | None = None,
    noise: Floats | None = None,
) -> Floats:
    """Map counts (n, E) from one distribution to the other, by quantile.

    Parameters
    ----------
    counts : array of shape (n, E)
    here, there : CountLaw
    positions : array of shape (n, E)
        Where each count sits within its step.
    correlation, noise : arrays of shape (n, E), optional
        Of the normal scores in the two distributions (`quantile_correlation`), and standard
        normal numbers. Without, scores are the same.
    """
    scores = here.scores(counts, positions)
    if correlation is not None and noise is not None:
        scores = correlation * scores + np.sqrt(1 - correlation**2) * noise
    return there.counts_at(scores)


def replay_weights(
    weights: Floats,
    here: WeightLaw,
    there: WeightLaw,
    zeros: ZeroShares,
    log_ratio_sd: Floats,
    positions: Floats,
) -> Floats:
    """Map weights (SIFT2, densities) from one distribution to the other.

    Positive weights are log-normal around the subject's rate. Where motion changes how often an
    edge is empty, empty edges are filled, or the smallest weights set to 0, by the same quantile
    rule. The effect of motion is drawn from its posterior. Its mean alone would change all weights
    of a subject by one exact function of motion, and in data without noise motion could be read
    from that.
    """
    here_sd, there_sd = np.sqrt(np.log1p(here.dispersions)), np.sqrt(np.log1p(there.dispersions))
    # The logarithm of a log-normal variable has a mean half its variance below the log mean.
    here_mean, there_mean = here.log_rates - here_sd**2 / 2, there.log_rates - there_sd**2 / 2
    positive = weights > 0
    with np.errstate(divide="ignore"):
        score = np.where(positive, (np.log(weights) - here_mean) / here_sd, 0.0)
    shift = log_ratio_sd * special.ndtri(np.clip(positions, *PROBABILITY_RANGE))
    moved = np.exp(there_mean + there_sd * score + shift)
    same = zeros.here == zeros.there
    if same.all():
        return np.where(positive, moved, 0.0)
    draw = positions * zeros.here
    level = np.where(positive, zeros.here + (1 - zeros.here) * special.ndtr(score), draw)
    among_positive = np.clip((level - zeros.there) / (1 - zeros.there), *PROBABILITY_RANGE)
    refilled = np.exp(there_mean + there_sd * special.ndtri(among_positive))
    changed = np.where(level <= zeros.there, 0.0, refilled)
    return np.where(same, np.where(positive, moved, 0.0), changed)


def count_interval(
    counts: NDArray[Any],
    here: CountLaw,
    there: CountLaw,
    log_ratio_sd: Floats,
    correlation: Floats,
    level: float,
) -> tuple[Floats, Floats]:
    """Return bounds (n, E) that contain the count at the reference with this probability.

    Three things are unknown: the position of the count within its step, the noise between the two
    scans (`correlation` of their scores), and the effect of motion (`log_ratio_sd`, the posterior
    standard deviation of the log ratio of the two rates). All three move the normal score of a
    count, by amounts that are taken from a fixed set of equally likely combinations.
    """
    rates = np.exp(there.log_rates)
    # A log rate that is off by one standard deviation of the log count moves a score by 1.
    per_log_rate = 1 / np.sqrt(1 / rates + there.dispersions)
    width = np.sqrt(1 - correlation**2 + (log_ratio_sd * per_log_rate) ** 2)
    moved = np.empty((_COMBINATIONS, *counts.shape))
    for number, normals in enumerate(_normals()):
        position = (number + 0.5) / _POSITIONS
        own = correlation * here.scores(counts, np.full(counts.shape, position))
        for place, normal in enumerate(normals, start=number * len(normals)):
            moved[place] = own + width * normal
    tail = (1 - level) / 2
    lower, upper = np.quantile(moved, [tail, 1 - tail], axis=0)
    return there.counts_at(lower), there.counts_at(upper)


def _normals() -> Floats:
    """Return normal numbers (11, 5) for every position, evenly spread (a rank-1 lattice)."""
    steps = np.arange(_COMBINATIONS) * _LATTICE % _COMBINATIONS
    return np.asarray(special.ndtri((steps + 0.5) / _COMBINATIONS)).reshape(_POSITIONS, -1)

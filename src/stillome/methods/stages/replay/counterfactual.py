"""The same scan at another motion: the person's own residual, replayed.

A fibre count sits at some quantile of what this person at this motion would show; it becomes the
same quantile of what this person would show at the reference. Counts are whole numbers, so the
quantile is drawn inside the count's own step: zeros become draws instead of a code for motion.
"""

import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.counts.negative_binomial import map_counts, nb_cdf, nb_pmf, nb_quantile
from stillome.methods.stages.replay.calibration import Calibration

_PROBABILITY_RANGE = (1e-4, 1 - 1e-4)


class Law(NamedTuple):
    """What a person would show at one motion: NB rates and dispersions, each (n, E)."""

    log_rates: Floats
    dispersions: Floats


class ZeroShares(NamedTuple):
    """Probability that an edge is empty, at the motion that was and at the reference, (n, E)."""

    here: Floats
    there: Floats


def positions_in_step(edges: NDArray[Any], seed: list[int]) -> Floats:
    """Draw where each count sits inside its step, between 0 and 1, shape (n, E).

    The draws of a subject depend on the seed and on that subject's own connectome only, so that
    nobody's result changes with who else is adjusted, or in which order.
    """
    draws = np.empty(edges.shape)
    for row, values in zip(draws, edges, strict=True):
        own = zlib.crc32(np.ascontiguousarray(values, dtype="<f8").tobytes())
        np.random.default_rng([*seed, own]).random(out=row)
    return draws


def replay_counts(
    counts: NDArray[Any],
    here: Law,
    there: Law,
    positions: Floats,
    calibration: Calibration | None = None,
) -> NDArray[Any]:
    """Carry whole-number counts (n, E) from one law to the other, by quantile."""
    return map_counts(
        counts,
        np.exp(here.log_rates),
        1 / here.dispersions,
        np.exp(there.log_rates),
        1 / there.dispersions,
        positions=positions,
        carry=None if calibration is None else calibration.carry,
    )


def replay_weights(
    weights: Floats,
    here: Law,
    there: Law,
    zeros: ZeroShares,
    log_ratio_sd: Floats,
    positions: Floats,
) -> Floats:
    """Carry weights (SIFT2, densities) from one law to the other.

    Positive weights are log-normal around the person's rate; where motion changes how often an
    edge is empty, empty edges are filled, or the weakest emptied, by the same quantile rule. The
    effect of motion is drawn from its posterior: its mean alone would move all weights of a
    subject by one exact function of motion, which in data without noise is a code for motion.
    """
    here_sd, there_sd = np.sqrt(np.log1p(here.dispersions)), np.sqrt(np.log1p(there.dispersions))
    # A log-normal value of this mean has a logarithm half its variance lower.
    here_mean, there_mean = here.log_rates - here_sd**2 / 2, there.log_rates - there_sd**2 / 2
    positive = weights > 0
    with np.errstate(divide="ignore"):
        score = np.where(positive, (np.log(weights) - here_mean) / here_sd, 0.0)
    unsure = log_ratio_sd * special.ndtri(np.clip(positions, *_PROBABILITY_RANGE))
    moved = np.exp(there_mean + there_sd * score + unsure)
    same = zeros.here == zeros.there
    if same.all():
        return np.where(positive, moved, 0.0)
    draw = positions * zeros.here
    level = np.where(positive, zeros.here + (1 - zeros.here) * special.ndtr(score), draw)
    among_positive = np.clip((level - zeros.there) / (1 - zeros.there), *_PROBABILITY_RANGE)
    refilled = np.exp(there_mean + there_sd * special.ndtri(among_positive))
    changed = np.where(level <= zeros.there, 0.0, refilled)
    return np.where(same, np.where(positive, moved, 0.0), changed)


def count_interval(
    counts: NDArray[Any], here: Law, there: Law, log_rate_sd: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return bounds between which the count at the reference lies with this probability.

    Two things are not known: where in its step the count sits, and the effect of motion itself
    (`log_rate_sd`, the posterior standard deviation of the log ratio of the two rates).
    """
    tail = (1 - level) / 2
    rates, sizes = np.exp(here.log_rates), 1 / here.dispersions
    top = nb_cdf(counts, rates, sizes)
    step = nb_pmf(counts, rates, sizes)
    reach = special.ndtri(1 - tail) * log_rate_sd
    bounds = []
    for share, shift in ((tail, -reach), (1 - tail, reach)):
        quantile = np.clip(top - step + share * step, 1e-12, 1 - 1e-12)
        target = np.exp(there.log_rates + shift)
        bounds.append(nb_quantile(quantile, target, 1 / there.dispersions).astype(np.float64))
    return bounds[0], bounds[1]

"""The population behind simulated scans: parameters matched to aggregates of real fibre counts.

The reference aggregates (1,065 adults, 68 regions, a published pipeline) are: the distribution of
mean counts over edges, the dispersion and the share of zeros by mean count, the spectrum of the
standardised log counts, and the spread of density over subjects. `benchmarks/real_likeness.py`
prints simulated and real values side by side.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices
from stillome.simulate.desikan_killiany import fiber_lengths, homotopic

N_FACTORS = 120
N_PRESENCE_FACTORS = 6

# Quantiles of the mean count over edges, natural logarithm; ends are extrapolated.
_MEAN_LEVELS = (0.0, 0.068, 0.104, 0.156, 0.211, 0.292, 0.396, 0.523, 0.634, 0.768, 0.875, 0.967, 1)
_MEAN_COUNTS = (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 4000)
# Standard deviation of the log expected count over subjects, by log mean count.
_SPREAD_AT = (-6.0, 0.0, 2.0, 3.5, 5.0, 7.0, 8.3)
_SPREADS = (1.5, 1.5, 1.3, 1.0, 0.76, 0.52, 0.41)
_TOTAL = 0.6  # mean loading of the first factor, relative to its spread over edges
_SHARED = 0.55  # share of that variance which factors explain
# Probit of the extra probability of an empty edge, by log mean count.
_EMPTY_AT = (-6.0, 0.0, 2.5, 4.0, 6.0)
_EMPTY_PROBITS = (-0.9, -0.9, -1.3, -2.5, -4.5)


@dataclass(frozen=True, eq=False)
class ScanPopulation:
    """Parameters that all subjects share; E edges, K factors, H presence factors, T traits.

    Attributes
    ----------
    lengths : array of shape (E,)
        Mean fibre length in mm.
    log_means : array of shape (E,)
        Log expected count at factors 0.
    loadings : array of shape (K, E)
        From factors to log expected counts.
    shapes : array of shape (E,)
        Shape of the gamma factor of each subject and edge; below 1 for weak edges.
    empty : array of shape (E,)
        Probit of the probability that an edge is not tracked at all.
    empty_loadings : array of shape (H, E)
        From presence factors to that probit; the first factor is density.
    losses : array of shape (E,)
        Fall of the log survival of streamlines per unit of dose.
    empty_slopes : array of shape (E,)
        Rise of the probit of emptiness per unit of dose, unrelated to `losses`.
    spurious : array of shape (E,)
        Expected false streamlines per unit of dose: short, weak edges.
    trait_weights : array of shape (T, K)
        From factors to traits, each of unit length.
    """

    lengths: Floats
    log_means: Floats
    loadings: Floats
    shapes: Floats
    empty: Floats
    empty_loadings: Floats
    losses: Floats
    empty_slopes: Floats
    spurious: Floats
    trait_weights: Floats


def draw_scan_population(
    regions: pd.DataFrame, n_traits: int, rng: np.random.Generator
) -> ScanPopulation:
    """Draw the parameters of a population of scans."""
    rows, columns = edge_indices(len(regions))
    n_edges = len(rows)
    lengths = fiber_lengths(regions, rng)
    log_means = _log_means(regions, lengths, rng)
    spread = np.interp(log_means, _SPREAD_AT, _SPREADS)
    strengths = np.sqrt(_factor_variances())
    loadings = _loadings(len(regions), strengths, rng) * np.sqrt(_SHARED) * spread
    far = _standardised(lengths)
    front = _standardised(
        regions["y"].to_numpy(float)[rows] + regions["y"].to_numpy(float)[columns]
    )
    empty = np.interp(log_means, _EMPTY_AT, _EMPTY_PROBITS) + rng.normal(0.0, 0.3, n_edges)
    empty_loadings = rng.normal(0.0, 0.35, (N_PRESENCE_FACTORS, n_edges))
    empty_loadings[0] = rng.normal(0.45, 0.1, n_edges)
    weights = rng.standard_normal((n_traits, N_FACTORS)) * strengths
    return ScanPopulation(
        lengths=lengths,
        # The mean of a log-normal variable is above exp of the mean of its logarithm.
        log_means=log_means - _SHARED * spread**2 / 2,
        loadings=loadings,
        shapes=_gamma_shapes((1 - _SHARED) * spread**2),
        empty=empty,
        empty_loadings=empty_loadings,
        losses=np.exp(-0.7 + 0.35 * far + 0.25 * front + _by_region(len(regions), 0.3, 0.25, rng)),
        empty_slopes=0.25 + 0.25 * front + _by_region(len(regions), 0.15, 0.15, rng),
        spurious=np.where(log_means < 2.5, 0.65 * np.exp(-far), 0.0),
        trait_weights=weights / np.linalg.norm(weights, axis=1, keepdims=True),
    )


def _log_means(regions: pd.DataFrame, lengths: Floats, rng: np.random.Generator) -> Floats:
    """Give the edges real mean counts: the strongest to short, homotopic and hub connections."""
    rows, columns = edge_indices(len(regions))
    hub = rng.normal(0.0, 0.5, len(regions))
    score = -lengths / 39 + 2.0 * homotopic(regions) + hub[rows] + hub[columns]
    score += rng.normal(0.0, 0.9, len(rows))
    level = (np.argsort(np.argsort(score)) + 0.5) / len(score)
    return np.asarray(np.interp(level, _MEAN_LEVELS, np.log(_MEAN_COUNTS)))


def _factor_variances() -> Floats:
    """Return the variances of the factors: a few large ones and a long tail, as in real counts."""
    return np.r_[5.2, 6.6, 3.2, 2.4, 1.9, 1.6, np.geomspace(1.1, 0.1, N_FACTORS - 6)]


def _loadings(n_regions: int, strengths: Floats, rng: np.random.Generator) -> Floats:
    """Return loadings (K, E) of unit length over factors, half by region, half by edge."""
    rows, columns = edge_indices(n_regions)
    places = rng.standard_normal((len(strengths), n_regions))
    own = rng.standard_normal((len(strengths), len(rows)))
    loadings = strengths[:, None] * (0.53 * (places[:, rows] + places[:, columns]) + 0.66 * own)
    loadings[0] += _TOTAL * strengths[0]  # one factor moves all edges: the total
    return np.asarray(loadings / np.linalg.norm(loadings, axis=0))


def _by_region(n_regions: int, region_sd: float, own_sd: float, rng: np.random.Generator) -> Floats:
    rows, columns = edge_indices(n_regions)
    region = rng.normal(0.0, region_sd, n_regions)
    return np.asarray(region[rows] + region[columns] + rng.normal(0.0, own_sd, len(rows)))


def _gamma_shapes(log_variances: Floats) -> Floats:
    """Solve trigamma(shape) = variance of the logarithm of a gamma variable, by Newton steps."""
    shapes = 1 / log_variances + 0.3
    for _ in range(50):
        step = (special.polygamma(1, shapes) - log_variances) / special.polygamma(2, shapes)
        shapes = np.maximum(shapes - step, shapes / 2)
    return np.asarray(shapes)


def _standardised(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())

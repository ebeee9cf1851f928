"""The population of a realistic cohort: mean connectome, individual differences, motion effects."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices
from stillome.simulate.desikan_killiany import fiber_lengths, homotopic, same_value
from stillome.simulate.regimes import Rates, Regime

N_LATENTS = 20
_BASELINE_MEAN, _BASELINE_SD = 1.4, 2.3  # of log expected counts over edges
_GLOBAL_SD = 0.15
N_COORDINATES = 3  # of the curved surface
_N_WAVES = 200
_TANH_PRODUCT_SD = 0.5267  # of tanh(ab) for independent standard normal a, b


@dataclass(frozen=True)
class MotionLaw:
    """Log-normal motion: the median in mm and the standard deviation of its logarithm."""

    median_mm: float
    log_sd: float

    def quantile(self, level: Floats) -> Floats:
        """Return quantiles of motion in mm."""
        return np.asarray(self.median_mm * np.exp(self.log_sd * norm.ppf(level)))


MOTION_LAWS = {"hcp": MotionLaw(0.3, 0.45), "abcd": MotionLaw(0.4, 0.65)}


@dataclass(frozen=True, eq=False)
class Surface:
    """A curved surface of three dimensions: the coordinates of a person through many waves.

    Every edge is a sum of waves over the surface, that is, a draw from a Gaussian process whose
    length scale is one standard deviation of the coordinates (random Fourier features; Rahimi and
    Recht 2007). Its variance spreads over many directions, each weaker than the one before.

    Attributes
    ----------
    frequencies : array of shape (3, F)
    phases : array of shape (F,)
    """

    frequencies: Floats
    phases: Floats

    @classmethod
    def draw(cls, rng: np.random.Generator) -> "Surface":
        """Draw the waves."""
        frequencies = rng.standard_normal((N_COORDINATES, _N_WAVES))
        return cls(frequencies, rng.uniform(0, 2 * np.pi, _N_WAVES))

    def __call__(self, latents: Floats) -> Floats:
        """Return the waves (n, F) at the first three latents; variance about 1."""
        angles = latents[:, :N_COORDINATES] @ self.frequencies + self.phases
        return np.asarray(np.sqrt(2) * np.cos(angles))


@dataclass(frozen=True, eq=False)
class Population:
    """Parameters that all subjects share; E edges, F features of the latents.

    Attributes
    ----------
    lengths : array of shape (E,)
        Mean fibre length in mm.
    baseline : array of shape (E,)
        Log expected count of the average subject without motion.
    sizes : array of shape (E,)
        Negative binomial size, the inverse of the dispersion.
    loadings : array of shape (F, E)
        From features of the latents to the log expected count.
    strengths : array of shape (E,)
        Decrease of the log expected count per unit of the dose of motion.
    surface : Surface or None
        The features of the latents where people lie on a curved surface.
    """

    lengths: Floats
    baseline: Floats
    sizes: Floats
    loadings: Floats
    strengths: Floats
    surface: Surface | None = None

    def rates(self, regime: Regime, latents: Floats, motion: Floats) -> Rates:
        """Return expected counts and dispersions of some subjects.

        Parameters
        ----------
        regime : Regime
        latents : array of shape (n, K)
        motion : array of shape (n,)
            In mm.
        """
        dose = regime.dose(motion)
        if regime.susceptible:
            dose = dose * susceptibility(latents)
        return Rates(
            free=np.exp(self.baseline + (self.surface or features)(latents) @ self.loadings),
            survival=np.exp(-dose[:, None] * self.strengths),
            free_size=self.sizes,
            size=self.sizes / (1 + regime.noise_growth * motion[:, None]),
        )


def draw_population(
    regions: pd.DataFrame,
    regime: Regime,
    law: MotionLaw,
    motion_cost: float,
    rng: np.random.Generator,
) -> Population:
    """Draw the parameters; `motion_cost` is the share of fibres lost between extreme deciles."""
    lengths = fiber_lengths(regions, rng)
    baseline = _baseline(regions, lengths, rng)
    relative = _relative_strengths(len(regions), lengths, rng)
    scale = _strength_scale(relative, np.exp(baseline), regime, law, motion_cost)
    return Population(
        lengths=lengths,
        baseline=baseline,
        sizes=np.clip(np.exp(rng.normal(np.log(10.0), 0.55, len(lengths))), 3.0, 30.0),
        loadings=_loadings(len(regions), regime, rng),
        strengths=scale * relative,
        surface=Surface.draw(rng) if regime.curved else None,
    )


def features(latents: Floats) -> Floats:
    """Return the latents, bounded products and squares of them: (n, F), mean 0, variance 1."""
    product = np.tanh(latents * np.roll(latents, 1, axis=1))[:, ::2] / _TANH_PRODUCT_SD
    square = (latents[:, 1::2] ** 2 - 1) / np.sqrt(2)
    return np.hstack([latents, product, square])


def susceptibility(latents: Floats) -> Floats:
    """Return each subject's factor of the motion effect, (n,): positive, mean 1, sd about 0.3."""
    return np.asarray(1 + 0.5 * np.tanh(latents[:, 1] + 0.5 * latents[:, 2] * latents[:, 3]))


def _standardised(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())


def _baseline(regions: pd.DataFrame, lengths: Floats, rng: np.random.Generator) -> Floats:
    """Log-normal; strong for short, intrahemispheric and homotopic connections."""
    rows, columns = edge_indices(len(regions))
    hub = rng.normal(0.0, 0.5, len(regions))
    logs = (
        -lengths / 35.0
        + 0.9 * same_value(regions, "hemisphere")
        + 0.3 * same_value(regions, "lobe")
        + 2.0 * homotopic(regions)
        + hub[rows]
        + hub[columns]
        + rng.normal(0.0, 0.9, len(rows))
    )
    return _BASELINE_MEAN + _BASELINE_SD * _standardised(logs)


def _loadings(n_regions: int, regime: Regime, rng: np.random.Generator) -> Floats:
    """Products of region positions (a latent-space model) plus a term of each edge's own."""
    rows, columns = edge_indices(n_regions)
    scales = np.concatenate(
        [
            0.9 ** np.arange(N_LATENTS),
            np.repeat(0.35, N_LATENTS // 2),
            np.repeat(0.3, N_LATENTS // 2),
        ]
    )
    if regime.curved:
        scales = np.ones(_N_WAVES)
    places = rng.normal(0.0, 1.0, (len(scales), n_regions)) + 0.3
    shared = places[:, rows] * places[:, columns]
    own = rng.normal(0.0, 0.7, shared.shape)
    loadings = scales[:, None] * (shared + own)
    spread = rng.uniform(0.3, 0.5, len(rows))
    loadings *= np.sqrt(spread**2 - _GLOBAL_SD**2) / np.sqrt((loadings**2).sum(axis=0))
    loadings[0] += _GLOBAL_SD
    return loadings


def _relative_strengths(n_regions: int, lengths: Floats, rng: np.random.Generator) -> Floats:
    """Motion effect by length, region and pairs of regions, with a deviation of each edge's own."""
    rows, columns = edge_indices(n_regions)
    node = rng.normal(0.0, 0.12, n_regions)
    places = rng.normal(0.0, 0.3, (2, n_regions))
    strengths = (
        1
        + 0.25 * _standardised(lengths)
        + node[rows]
        + node[columns]
        + (places[:, rows] * places[:, columns]).sum(axis=0)
        + rng.normal(0.0, 0.12, len(rows))
    )
    return np.maximum(strengths, 0.1)


def _strength_scale(
    relative: Floats, weights: Floats, regime: Regime, law: MotionLaw, motion_cost: float
) -> float:
    """Find the strength at which the top decile of motion has lost `motion_cost` of the fibres."""
    levels = (np.arange(20) + 0.5) / 200
    low, high = regime.dose(law.quantile(levels)), regime.dose(law.quantile(1 - levels))

    def excess(scale: float) -> float:
        kept = [
            float((weights @ np.exp(-scale * np.outer(relative, dose))).mean())
            for dose in (low, high)
        ]
        return kept[1] / kept[0] - (1 - motion_cost)

    return float(brentq(excess, 0.0, 50.0))

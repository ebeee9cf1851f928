"""How motion changes a scan: seven regimes of dose, interaction, dispersion and mechanism."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.counts.negative_binomial import map_counts

# Motion (mm) at which the saturating dose has reached 63 % of its ceiling.
_SATURATION_MM = 0.6


@dataclass(frozen=True, eq=False)
class Rates:
    """Parameters of a block of subjects; each broadcasts to (n, E)."""

    free: Floats  # expected count without motion
    survival: Floats  # factor by which motion changes it
    free_size: Floats  # negative binomial size without motion
    size: Floats  # and with it


Mechanism = Callable[[NDArray[Any], Rates, np.random.Generator], NDArray[Any]]


@dataclass(frozen=True)
class Regime:
    """One way in which motion changes counts.

    Attributes
    ----------
    meaning : str
        One line for tables and help texts.
    dose : callable
        From motion in mm to the dose that multiplies the strength of every edge.
    susceptible : bool
        Whether the size of the motion effect depends on the latents.
    noise_growth : float
        The negative binomial size is divided by 1 + noise_growth · motion (1/mm).
    confounded : bool
        Whether motion and traits are associated with the latents.
    curved : bool
        Whether people lie on a curved surface; see `Surface`.
    expose, restore : callable
        From motion-free to observed counts, and a draw of the former given the latter.
    """

    meaning: str
    expose: Mechanism
    restore: Mechanism
    dose: Callable[[Floats], Floats]
    susceptible: bool = False
    noise_growth: float = 0.0
    confounded: bool = False
    curved: bool = False


def _same_quantile(counts: NDArray[Any], rates: Rates, rng: np.random.Generator) -> NDArray[Any]:
    return map_counts(
        counts,
        rates.free,
        rates.free_size,
        rates.free * rates.survival,
        rates.size,
        random_state=rng,
    )


def _quantile_back(counts: NDArray[Any], rates: Rates, rng: np.random.Generator) -> NDArray[Any]:
    return map_counts(
        counts,
        rates.free * rates.survival,
        rates.size,
        rates.free,
        rates.free_size,
        random_state=rng,
    )


def _thin(counts: NDArray[Any], rates: Rates, rng: np.random.Generator) -> NDArray[Any]:
    return rng.binomial(counts, rates.survival)


def _regrow(counts: NDArray[Any], rates: Rates, rng: np.random.Generator) -> NDArray[Any]:
    """Add the lost streamlines: given the survivors they are negative binomial too.

    Given `counts` survivors, the gamma factor of the scan has shape size + counts and rate
    size + free · survival; the number of lost streamlines is Poisson given that factor.
    """
    shape = rates.free_size + counts
    scale = rates.free * (1 - rates.survival) / (rates.free_size + rates.free * rates.survival)
    return counts + rng.poisson(rng.standard_gamma(shape) * scale)


def _linear(motion: Floats) -> Floats:
    return motion


def _saturating(motion: Floats) -> Floats:
    return np.asarray(-np.expm1(-motion / _SATURATION_MM))


def _quantile_regime(meaning: str, dose: Callable[[Floats], Floats], **traits: Any) -> Regime:
    return Regime(meaning, _same_quantile, _quantile_back, dose, **traits)


REGIMES: dict[str, Regime] = {
    "loglinear": _quantile_regime("log counts fall in proportion to motion", _linear),
    "saturating": _quantile_regime("the effect of motion levels off", _saturating),
    "interaction": _quantile_regime(
        "the motion effect differs between subjects", _linear, susceptible=True
    ),
    "heteroscedastic": _quantile_regime(
        "motion also increases dispersion", _linear, noise_growth=2.0
    ),
    "confounded": _quantile_regime("traits and motion are correlated", _linear, confounded=True),
    "curved": _quantile_regime(
        "log-linear in motion; people lie on a curved surface", _linear, curved=True
    ),
    "thinning": Regime("every streamline survives or is lost", _thin, _regrow, _linear),
}

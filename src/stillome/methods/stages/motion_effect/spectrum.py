"""Which factors of a table are signal: those above the noise edge of its spectrum.

The eigenvalues of pure noise follow the distribution of Marchenko and Pastur (1967). Factors above
its upper edge are taken for signal, with the bias corrections of the spiked covariance model
(Baik and Silverstein 2006; Paul 2007).
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.integrate import cumulative_trapezoid

from stillome.arrays import AnyFloats, Floats


class Spectrum(NamedTuple):
    """Leading factors of a table (n, E).

    Attributes
    ----------
    variances : array of shape (K,)
        Eigenvalues of the (n × n or E × E) covariance, largest first, scaled so that pure noise
        of unit variance averages 1.
    scores : array of shape (n, K)
        Orthonormal columns.
    noise : float
        Variance of the noise.
    n_subjects : int
    n_columns : int
    """

    variances: Floats
    scores: Floats
    noise: float
    n_subjects: int
    n_columns: int

    @property
    def n_signal(self) -> int:
        """Number of factors above the largest variance that noise alone has."""
        sides = self.n_subjects / self.n_columns
        edge = _noise_edge(min(sides, 1 / sides))
        return int((self.variances > self.noise * edge).sum())

    def reliability(self) -> Floats:
        """Return how well each factor generalises to new subjects (spiked covariance model).

        Squared cosine between the estimated and the true direction over columns; 0 for factors
        that noise explains.
        """
        aspect = self.n_columns / self.n_subjects
        # On the scale of the column covariance with unit noise.
        scale = max(self.n_subjects, self.n_columns) / self.n_subjects
        values = self.variances / self.noise * scale
        gap = values - 1 - aspect
        root = np.sqrt(np.maximum(gap**2 - 4 * aspect, 0))
        spikes = np.maximum((gap + root) / 2, np.sqrt(aspect))
        cosine = (1 - aspect / spikes**2) / (1 + aspect / spikes)
        return np.asarray(np.where(values > (1 + np.sqrt(aspect)) ** 2, cosine, 0.0))

    def signal_variances(self) -> Floats:
        """Return the variance of each true factor, in units of the noise."""
        aspect = self.n_columns / self.n_subjects
        scale = max(self.n_subjects, self.n_columns) / self.n_subjects
        gap = self.variances / self.noise * scale - 1 - aspect
        return np.asarray((gap + np.sqrt(np.maximum(gap**2 - 4 * aspect, 0))) / 2)


def leading_factors(table: AnyFloats, n_factors: int | None, n_lost: int = 1) -> Spectrum:
    """Decompose a centred table, on its smaller side.

    Parameters
    ----------
    table : array of shape (n, E)
    n_factors : int or None
        At most this many are returned; None for all above the noise edge.
    n_lost : int
        Degrees of freedom that the table no longer has: one by centring, and one for every
        function of motion that was regressed out of all columns.
    """
    varies = np.asarray(table.any(axis=0))
    # An edge that is constant adds neither signal nor noise, only width.
    table = table[:, varies] if 1 < varies.sum() < len(varies) else table
    n, width = table.shape
    wide = n <= width
    gram = (table @ table.T if wide else table.T @ table).astype(np.float64) / max(n, width)
    values, vectors = np.linalg.eigh(gram)
    # With as many functions of motion as subjects nothing is left to estimate the noise from.
    lost = min(n_lost, n - 1) if wide else 0
    positive = np.maximum(values[lost:], 0)
    ratio = min(n, width) / max(n, width)
    # In a table of constants nothing varies; the noise is kept above 0.
    noise = max(float(np.median(positive)) / noise_median(round(ratio, 3)), 1e-12)
    if n_factors is None:
        n_factors = int((values > noise * _noise_edge(ratio)).sum())
    kept = slice(None, -n_factors - 1, -1)
    values, vectors = values[kept], vectors[:, kept]
    if not wide:
        scores = (table @ vectors.astype(table.dtype)).astype(np.float64)
        vectors = scores / np.maximum(np.linalg.norm(scores, axis=0), 1e-12)
    # The sign of an eigenvector is arbitrary: let the longer tail be the positive one.
    vectors = vectors * np.where((vectors**3).sum(axis=0) < 0, -1.0, 1.0)
    return Spectrum(values, vectors, noise, n, width)


def _noise_edge(ratio: float) -> float:
    """Return the largest eigenvalue of unit-variance noise, 0 < ratio ≤ 1."""
    return float((1 + np.sqrt(ratio)) ** 2)


@lru_cache(maxsize=64)
def noise_median(ratio: float) -> float:
    """Return the median eigenvalue of unit-variance noise (Marchenko–Pastur), 0 < ratio ≤ 1.

    Examples
    --------
    >>> round(noise_median(0.001), 2)
    1.0
    """
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    # Quadratic spacing: the density has square-root ends, and a pole at 0 when ratio is 1.
    grid = low + (high - low) * np.linspace(0, 1, 4001)[1:] ** 2
    density = np.sqrt(np.maximum((high - grid) * (grid - low), 0)) / grid
    mass = cumulative_trapezoid(density, grid, initial=0)
    return float(np.interp(mass[-1] / 2, mass, grid))

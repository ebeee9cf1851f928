"""Which factors of a table are signal: those above the noise edge of its spectrum.

The eigenvalues of pure noise follow the distribution of Marchenko and Pastur (1967). Factors above
its upper edge are taken for signal, with the bias corrections of the spiked covariance model
(Baik and Silverstein 2006; Paul 2007).
"""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid

from stillome.arrays import AnyFloats, Floats
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.methods.stages.motion_effect.gram_matrices import (
    gram_of_edges,
    gram_of_subjects,
    leading_eigenvectors,
    leading_eigenvectors_of,
)
from stillome.methods.stages.motion_effect.symmetric_spectrum import SymmetricSpectrum

# Subjects or edges, the fewer of both, up to which the decomposition is exact. At 2,000 it would
# take longer than anything else that several workers cannot share.
_EXACT = 1200
_PRODUCT = (
    2500  # up to which products of all subjects, or all edges, are made; 68 regions have 2,278
)
_SUBJECTS = 1024  # from whom the noise of a larger table is estimated
_ROUNDING = 1e-6  # of the largest eigenvalue: error of the others in single precision
_FIRST = 128  # factors that are looked for in a larger table; more where all of them are signal


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


def leading_factors(values: AnyTable, n_factors: int | None, n_lost: int = 1) -> Spectrum:
    """Decompose a centred table, on its smaller side.

    Where both sides are longer than 1,200, factors come from a randomised range finder, and the
    noise from the first 1,024 subjects.

    Parameters
    ----------
    values : array or table of shape (n, E)
    n_factors : int or None
        At most this many are returned; None for all above the noise edge.
    n_lost : int
        Degrees of freedom that the table no longer has: one by centring, and one for every
        function of motion that was regressed out of all columns.
    """
    table = EdgeTable.of(values)
    found = _exact if min(table.shape) <= _EXACT else _approximate
    spectrum = found(table, n_factors, n_lost)
    # The sign of an eigenvector is arbitrary: let the longer tail be the positive one.
    signs = np.where(np.einsum("nk,nk,nk->k", *[spectrum.scores] * 3) < 0, -1.0, 1.0)
    return spectrum._replace(scores=spectrum.scores * signs)


def _exact(table: EdgeTable, n_factors: int | None, n_lost: int) -> Spectrum:
    n, n_edges = table.shape
    wide = n <= n_edges
    gram, varies = gram_of_subjects(table) if wide else gram_of_edges(table)[:2]
    if wide and 1 < varies.sum() < n:
        wide, (gram, varies) = False, gram_of_edges(table)[:2]
    # An edge that is constant adds neither signal nor noise, only width.
    width = int(varies.sum()) if varies.sum() > 1 else n_edges
    if not wide and width < n_edges:
        gram = gram[np.ix_(varies, varies)]
    scale = max(n, width)
    decomposed = SymmetricSpectrum.of(gram)
    # With as many functions of motion as subjects nothing is left to estimate the noise from.
    n_none = min(n_lost, n - 1) if wide else 0
    noise, edge = _noise(decomposed, n_none, n, width)
    if n_factors is None:
        values, vectors = decomposed.above(noise * edge * scale)
    else:
        values, vectors = decomposed.leading(n_factors)
    values = values / scale
    if not wide:
        turns = np.zeros((n_edges, vectors.shape[1]))
        turns[varies if width < n_edges else slice(None)] = vectors
        vectors = _scores(table, turns)
    return Spectrum(values, vectors, noise, n, width)


def _approximate(table: EdgeTable, n_factors: int | None, n_lost: int) -> Spectrum:
    n, n_edges = table.shape
    wide = n <= min(n_edges, _PRODUCT)
    gram: AnyFloats | None = None
    if wide:
        some = gram_of_subjects(table)
        gram = some[0]
    elif n_edges <= _PRODUCT:
        gram, _, some = gram_of_edges(table, _SUBJECTS)
    else:
        some = gram_of_subjects(table.rows(slice(_SUBJECTS)))
    width = int(some[1].sum())
    find = partial(leading_eigenvectors, table)
    if gram is not None:
        find = partial(leading_eigenvectors_of, gram)
    asked = _FIRST if n_factors is None else n_factors
    noise = _noise_of_some(some[0][:_SUBJECTS, :_SUBJECTS], width)
    found = find(asked)
    edge = _noise_edge(min(n, width) / max(n, width))
    while n_factors is None and found[0][-1] / max(n, width) > noise * edge:
        if asked >= min(n, width):
            break
        asked *= 2
        found = find(asked)
    values, vectors = found[0] / max(n, width), found[1]
    n_kept = len(values) if n_factors is not None else int((values > noise * edge).sum())
    kept = vectors[:, :n_kept]
    scores = kept if wide or gram is None else _scores(table, kept)
    return Spectrum(values[:n_kept], scores, noise, n, width)


def _noise_of_some(gram: Floats, width: int) -> float:
    """Return the variance of the noise from products of 1,024 subjects in this many edges."""
    # Where fewer edges vary than there are subjects, the other eigenvalues are 0.
    n_none = max(_SUBJECTS - width, 1)
    return _noise(SymmetricSpectrum.of(gram), n_none, _SUBJECTS, max(width, 1))[0]


def _scores(table: EdgeTable, turns: Floats) -> Floats:
    """Return a table times directions (E, k), orthonormal."""
    scores = table.total(_projected, turns.T)
    return np.asarray(scores / np.maximum(np.linalg.norm(scores, axis=0), 1e-12))


def _noise(products: SymmetricSpectrum, n_none: int, n: int, width: int) -> tuple[float, float]:
    """Return the variance of the noise, and its largest eigenvalue in units of it.

    It is estimated from the eigenvalues of products without the smallest `n_none`.
    """
    ratio, scale = min(n, width) / max(n, width), max(n, width)
    middle = max(products.median(n_none), 0) / scale
    # In a table of constants nothing varies, and copies of a few subjects vary in a few directions
    # only; the noise is then that of rounding errors.
    least = max(_ROUNDING * products.largest / scale, 1e-12)
    return max(middle / noise_median(round(ratio, 3)), least), _noise_edge(ratio)


def _projected(block: NDArray[Any], turns: Floats) -> AnyFloats:
    return np.asarray(block @ turns.T.astype(block.dtype))


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

"""A few eigenvalues of a symmetric matrix, and their eigenvectors.

The matrix is made tridiagonal once. Of that, single eigenvalues are found by bisection, and
eigenvectors are needed for the leading ones only, which takes less time than a full decomposition.
It is made tridiagonal in single precision, in which the products of subjects were
taken: the errors are about 1e-7 of the largest eigenvalue.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import eigh_tridiagonal, lapack

from stillome.arrays import AnyFloats, Floats

_SMALL = 32  # rows up to which a full decomposition is as fast
_PANEL = 32  # columns that LAPACK treats at a time


class SymmetricSpectrum(NamedTuple):
    """A symmetric matrix A = Q T Qᵀ (n, n), T tridiagonal.

    Attributes
    ----------
    diagonal, beside : arrays of shape (n,) and (n - 1,)
        Of T.
    reflectors, factors : arrays of shape (n - 1, n - 1) and (n - 1,)
        Q, as LAPACK has it; for a small matrix its eigenvectors (n, n), and nothing.
    """

    diagonal: Floats
    beside: Floats
    reflectors: AnyFloats
    factors: AnyFloats

    @classmethod
    def of(cls, matrix: AnyFloats) -> Self:
        """Make a matrix (n, n) tridiagonal.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> table = rng.standard_normal((60, 90))
        >>> values, vectors = SymmetricSpectrum.of(table @ table.T).leading(2)
        >>> bool(np.allclose(table @ table.T @ vectors, vectors * values, atol=1e-3))
        True
        """
        n = len(matrix)
        if n <= _SMALL:
            values, vectors = np.linalg.eigh(np.asarray(matrix, np.float64))
            return cls(values, np.zeros(max(n - 1, 0)), vectors, np.empty(0))
        # A symmetric matrix is its own transpose, which LAPACK reads without a copy.
        packed, diagonal, beside, factors, _ = lapack.ssytrd(
            np.array(matrix, np.float32).T, lower=1, lwork=_PANEL * n, overwrite_a=1
        )
        tridiagonal = diagonal.astype(np.float64), beside.astype(np.float64)
        return cls(*tridiagonal, packed[1:, :-1], factors)

    def value(self, rank: int) -> float:
        """Return one eigenvalue; 0 is the rank of the smallest."""
        found = eigh_tridiagonal(
            self.diagonal,
            self.beside,
            eigvals_only=True,
            select="i",
            select_range=(rank, rank),
            lapack_driver="stebz",
        )
        return float(found[0])

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return self.value(len(self.diagonal) - 1)

    def median(self, first: int = 0) -> float:
        """Return the median of the eigenvalues from this rank on."""
        ends = first + len(self.diagonal) - 1
        return (self.value(ends // 2) + self.value(-(-ends // 2))) / 2

    def leading(self, number: int) -> tuple[Floats, Floats]:
        """Return the largest eigenvalues (k,) and eigenvectors (n, k), the largest first."""
        n = len(self.diagonal)
        number = min(number, n)
        if not number:
            return np.empty(0), np.empty((n, 0))
        return self._decomposed("i", (n - number, n - 1))

    def above(self, least: float) -> tuple[Floats, Floats]:
        """Return the same of all eigenvalues above this one, which is not negative."""
        largest = self.largest
        if largest <= least:
            return self.leading(0)
        return self._decomposed("v", (least, 2 * largest))

    def _decomposed(self, select: str, limits: tuple[float, float]) -> tuple[Floats, Floats]:
        values, vectors = eigh_tridiagonal(
            self.diagonal, self.beside, select=select, select_range=limits, lapack_driver="stemr"
        )
        values, vectors = values[::-1], vectors[:, ::-1]
        if not len(values):  # at the limit, up to rounding errors
            return self.leading(0)
        if not len(self.factors):
            return values, self.reflectors @ vectors
        turned = np.asfortranarray(vectors, np.float32)
        # The first row of Q is that of the identity.
        turned[1:], _, _ = lapack.sormqr(
            "L", "N", self.reflectors, self.factors, turned[1:], lwork=64 * len(values)
        )
        # Orthonormal in double precision, too, by one step of Newton and Schulz.
        vectors = turned.astype(np.float64)
        return values, 1.5 * vectors - 0.5 * vectors @ (vectors.T @ vectors)

"""All eigenvalues of a symmetric matrix, but only the leading eigenvectors.

The matrix is made tridiagonal once. Eigenvalues of that are cheap, and eigenvectors are needed for
a few of them only: a fourth of the time of a full decomposition of 1,000 subjects.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import eigh_tridiagonal, lapack

from stillome.arrays import Floats

_SMALL = 32  # rows up to which a full decomposition is as fast


class SymmetricSpectrum(NamedTuple):
    """A symmetric matrix A = Q T Qᵀ (n, n), T tridiagonal.

    Attributes
    ----------
    values : array of shape (n,)
        Eigenvalues, smallest first.
    diagonal, beside : arrays of shape (n,) and (n - 1,)
        Of T.
    reflectors, factors : arrays of shape (n - 1, n - 1) and (n - 1,)
        Q, as LAPACK has it; for a small matrix its eigenvectors (n, n), and nothing.
    """

    values: Floats
    diagonal: Floats
    beside: Floats
    reflectors: Floats
    factors: Floats

    @classmethod
    def of(cls, matrix: Floats) -> Self:
        """Find the eigenvalues of a matrix (n, n), whose place is used and then holds others.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> table = rng.standard_normal((60, 90))
        >>> spectrum = SymmetricSpectrum.of(table @ table.T)
        >>> vectors = spectrum.leading(2)
        >>> bool(np.allclose(table @ table.T @ vectors, vectors * spectrum.values[:-3:-1]))
        True
        """
        n = len(matrix)
        if n <= _SMALL:
            values, vectors = np.linalg.eigh(matrix)
            return cls(values, np.empty(0), np.empty(0), vectors, np.empty(0))
        room, _ = lapack.dsytrd_lwork(n, lower=1)
        # A symmetric matrix is its own transpose, which LAPACK reads without a copy.
        packed, diagonal, beside, factors, _ = lapack.dsytrd(
            matrix.T, lower=1, lwork=int(room), overwrite_a=1
        )
        values = eigh_tridiagonal(diagonal, beside, eigvals_only=True, lapack_driver="sterf")
        return cls(values, diagonal, beside, packed[1:, :-1], factors)

    def leading(self, number: int) -> Floats:
        """Return the eigenvectors (n, number) of the largest eigenvalues, largest first."""
        n = len(self.values)
        number = min(number, n)
        if not len(self.factors):
            return self.reflectors[:, ::-1][:, :number]
        if not number:
            return np.empty((n, 0))
        _, vectors = eigh_tridiagonal(
            self.diagonal,
            self.beside,
            select="i",
            select_range=(n - number, n - 1),
            lapack_driver="stemr",
        )
        vectors = np.asfortranarray(vectors[:, ::-1])
        # The first row of Q is that of the identity.
        turned, _, _ = lapack.dormqr(
            "L", "N", self.reflectors, self.factors, vectors[1:], lwork=64 * number
        )
        vectors[1:] = turned
        return vectors

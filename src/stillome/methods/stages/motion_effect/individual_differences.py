"""Factors of individual differences: what edges have in common apart from motion."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.methods.stages.motion_effect.spectrum import leading_factors
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_TINY = 1e-9
_EDGES = 4096  # that are looked at together
# An edge without fibres has the same residual in all subjects, up to rounding errors. Divided by
# their spread, these would be as large as real differences.
_ROUNDING = 1e-5  # of the mean


class IndividualDifferences(NamedTuple):
    """Factors of individual differences, apart from motion.

    Attributes
    ----------
    loadings : array of shape (E, K)
        Per factor of unit variance. In the precision of the residuals: with many factors, arrays
        of this size are a good part of what a fit keeps.
    reliability : array of shape (E, K) or (1, K)
        Share of each loading's variance that is no sampling noise, between 0 and 1.
    scores : array of shape (n, K)
        Of the subjects that the factors were found in, orthonormal columns; of nobody where
        loadings are known from elsewhere.
    least_own : float
        See `StageTuning`.
    """

    loadings: AnyFloats
    reliability: AnyFloats
    scores: Floats = np.empty((0, 0))
    least_own: float = STAGE_TUNING.least_own

    @classmethod
    def find(
        cls,
        residual: AnyTable,
        n_lost: int = 1,
        tuning: StageTuning = STAGE_TUNING,
    ) -> Self:
        """Find the factors of residuals (n, E) above the noise edge (see `leading_factors`).

        They are looked at several times: a table that is slow to compute should be `stored`.
        """
        table = EdgeTable.of(residual)
        spectrum = leading_factors(table.then(_standardised), None, n_lost)
        factors = spectrum.scores[:, : spectrum.n_signal]
        per_unit = factors.T / np.sqrt(len(table))

        def along(block: NDArray[Any]) -> NDArray[Any]:
            centred, spread = _centred(block)
            return np.asarray(per_unit.astype(block.dtype) @ centred) * np.isfinite(spread)

        loadings = np.ascontiguousarray(table.each(along).T)
        reliability = spectrum.reliability()[None, : spectrum.n_signal]
        return cls(loadings, reliability, factors, tuning.least_own)

    def apart_from(self, functions: AnyFloats, along: Floats) -> Self:
        """Return these factors without what goes with functions of motion.

        For factors well above the noise, they are those of the residuals without it, to first
        order in the correlations of factors and functions. No other decomposition is needed.

        Parameters
        ----------
        functions : array of shape (n, P)
        along : array of shape (P, E)
            Their products with the residuals.
        """
        directions, triangle = np.linalg.qr(functions.astype(np.float64))
        cosines = directions.T @ self.scores
        removed = np.linalg.pinv(triangle).T @ along / np.sqrt(len(functions))
        # An edge without loadings has the same residual in everybody, up to rounding errors.
        removed = np.where(self.loadings.any(axis=1), removed, 0)
        left, turns = np.linalg.eigh(np.eye(cosines.shape[1]) - cosines.T @ cosines)
        root = (turns / np.sqrt(np.maximum(left, _TINY))) @ turns.T
        dtype = self.loadings.dtype
        loadings = self.loadings - removed.T.astype(dtype) @ cosines.astype(dtype)
        return self._replace(
            loadings=loadings @ root.astype(dtype),
            scores=(self.scores - directions @ cosines) @ root,
        )

    def per_log_rate(self, information: Floats, variances: Floats, n_subjects: float) -> Self:
        """Bring factors of score residuals to the log scale, where all edges vary alike.

        On that scale, loadings of an edge with few fibres are mostly noise; their reliability is
        low.

        Parameters
        ----------
        information : array of shape (E,)
            Per subject.
        variances : array of shape (E,)
            Of a slope on a function of unit variance, which a loading is.
        n_subjects : float
            As how many independent ones they count.
        """
        dtype, own = self.loadings.dtype, np.empty(len(self.loadings))
        scaled, squares = np.empty_like(self.loadings), np.zeros(self.loadings.shape[1])
        for edges in _pieces(len(own)):
            some = self._replace(loadings=self.loadings[edges] / information[edges, None])
            scaled[edges] = some.loadings
            own[edges] = some.own_variances(variances[edges], n_subjects)
            squares += (1 / own[edges]) @ some.loadings**2
        # The mean of squares less own variances, weighted by 1 / own.
        excess = (squares - len(own)) / (1 / own).sum()
        typical = np.maximum(excess, _TINY).astype(dtype)
        reliability = typical + own[:, None].astype(dtype)
        np.divide(typical, reliability, out=reliability)
        return self._replace(loadings=scaled, reliability=reliability)

    def own_variances(self, variances: Floats, n_subjects: float) -> Floats:
        """Return sampling variances of slopes (E,) without what individual differences explain."""
        explained = np.einsum("ek,ek->e", self.loadings, self.loadings) / n_subjects
        return np.maximum(variances - explained, self.least_own * variances)

    def along(self, coefficients: Floats) -> Floats:
        """Return the reliable part of the loadings times coefficients (K,), shape (E,)."""
        found = np.zeros(len(self.loadings))
        if coefficients.any():
            weights = coefficients.astype(self.loadings.dtype)
            for edges in _pieces(len(found)):
                some = slice(None) if len(self.reliability) == 1 else edges
                found[edges] = (self.loadings[edges] * self.reliability[some]) @ weights
        return found


def _pieces(n_edges: int) -> list[slice]:
    """Return consecutive edges, few enough for a cache."""
    return [slice(start, start + _EDGES) for start in range(0, n_edges, _EDGES)]


def _centred(block: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a block (n, e) less its means, and its spread (e,), infinite for constants."""
    # Added up in single precision, means of constants would be off by more than `_ROUNDING`.
    means = block.mean(axis=0, dtype=np.float64).astype(block.dtype)
    centred = block - means
    spread = np.sqrt(np.einsum("ne,ne->e", centred, centred) / len(block))
    return centred, np.where(spread > _ROUNDING * np.abs(means), spread + 1e-12, np.inf)


def _standardised(block: NDArray[Any]) -> NDArray[Any]:
    centred, spread = _centred(block)
    centred /= spread
    return centred

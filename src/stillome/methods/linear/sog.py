"""Orthogonal to group: a factorisation with scores that are uncorrelated with the confounds."""

import warnings
from typing import ClassVar

import numpy as np

from stillome.arrays import Floats
from stillome.cohort.residuals import LeastSquares, least_squares
from stillome.cohort.validation import check_count
from stillome.exceptions import InputError, StillomeWarning
from stillome.methods.linear.component_arrays import Arrays, prefixed, under
from stillome.methods.linear.linear_method import ComponentMethod, principal_components


class SOG(ComponentMethod):
    """Sparse Orthogonal to Group, and its dense closed form OG, on log1p edges.

    With X the centred log edges and P the projection on the confounds, OG finds
    min ‖X − S Uᵀ‖² subject to S ⟂ confounds: U is the leading right singular vectors of (I−P)X
    and S = (I−P)XU. The sparse version bounds the L1 norm of each unit-norm column of U and keeps
    the columns of S orthogonal to one another. New subjects are projected with the loadings, and
    their motion removed with the regression, of the training subjects; nothing is refitted.
    `adjust` answers with what the components hold of a person, so that it changes a subject who is
    at the reference, too.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.
    sparsity : float in [0, 1), default=0.5
        0 is OG. Otherwise the L1 norm of each column of loadings is at most
        (1 − sparsity)·√E, E the number of edges; a dense column has about 0.8·√E.
    tol : float, default=1e-5
        The sparse version stops when the explained variation changes by less than this share.
    max_iter : int, default=500
        Most sweeps of the sparse version.

    Attributes
    ----------
    motion_effect_ : LeastSquares
        Every log1p edge regressed on the confounds.
    loadings_ : array of shape (E, K)
        U, columns of unit norm.
    rotation_ : array of shape (K, K)
        Makes the columns of S orthogonal; the identity for OG.
    n_iter_ : int
        Sweeps that were needed; 0 for OG.

    References
    ----------
    Aliverti, Lum, Johndrow & Dunson (2021), Removing the influence of group variables in
    high-dimensional predictive modelling, JRSS A 184(3).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=50)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(50, 15))
    >>> scores = SOG(n_components=4).fit_transform(X, confounds=motion)
    >>> bool(np.abs(scores.T @ (motion - motion.mean())).max() < 1e-10)
    True
    """

    # The constraint S ⟂ confounds removes all that is correlated with them, biology included.
    keeps_covariates: ClassVar[bool] = False

    def __init__(
        self,
        n_components: int = 68,
        *,
        sparsity: float = 0.5,
        tol: float = 1e-5,
        max_iter: int = 500,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.tol = tol
        self.max_iter = max_iter

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        super().check_parameters()
        if not isinstance(self.sparsity, int | float | np.floating) or not 0 <= self.sparsity < 1:
            raise InputError(f"sparsity={self.sparsity!r}; expected at least 0 and below 1.")
        if not isinstance(self.tol, int | float | np.floating) or not self.tol >= 0:
            raise InputError(f"tol={self.tol!r}; expected a number of at least 0.")
        check_count(self.max_iter, "max_iter", minimum=1)

    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        self.check_parameters()
        n_components = self._n_components_for(*log_edges.shape, n_removed=confounds.shape[1])
        self.motion_effect_ = least_squares(log_edges, confounds)
        residuals = self.motion_effect_.residuals(log_edges, confounds)
        components = principal_components(residuals, n_components).components_
        self.loadings_ = np.ascontiguousarray(components.T)
        self.rotation_ = np.eye(n_components)
        self.n_iter_ = 0
        if self.sparsity > 0:
            self._make_sparse(residuals)
        return self._scores(log_edges, confounds)

    def _make_sparse(self, residuals: Floats) -> None:
        """Alternate between scores and loadings, all components at once.

        The k-th column of a QR decomposition is what deflation by the first k−1 scores leaves, so
        the fixed points are those of finding one component after the other, at the speed of
        matrix products.
        """
        bound = max(1.0, (1 - self.sparsity) * np.sqrt(residuals.shape[1]))
        loadings, explained = self.loadings_, 0.0
        for sweep in range(1, self.max_iter + 1):
            self.n_iter_ = sweep
            scores, triangle = np.linalg.qr(residuals @ loadings)
            scores = scores * np.sign(np.diag(triangle))
            loadings = bounded_loadings(residuals.T @ scores, bound)
            before, explained = explained, float(np.sum((residuals @ loadings) * scores))
            if abs(explained - before) <= self.tol * explained:
                break
        else:
            warnings.warn(
                f"SOG: loadings still changed after {self.max_iter} sweeps; raise max_iter.",
                StillomeWarning,
                stacklevel=4,
            )
        self.loadings_, triangle = loadings, np.linalg.qr(residuals @ loadings).R
        self.rotation_ = np.linalg.pinv(triangle) * np.diag(triangle)

    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        residuals = self.motion_effect_.residuals(log_edges, confounds)
        return np.asarray(residuals @ self.loadings_ @ self.rotation_)

    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        return self.motion_effect_.predict(confounds) + scores @ self.loadings_.T

    def _adjusted_log(
        self,
        log_edges: Floats,
        confounds: Floats,
        reference: Floats,
    ) -> Floats:
        level = self.motion_effect_.predict(reference[None])
        return level + self._scores(log_edges, confounds) @ self.loadings_.T

    def _map_arrays(self) -> Arrays:
        learned = {"loadings": self.loadings_, "rotation": self.rotation_}
        effect = prefixed("motion_effect.", vars(self.motion_effect_))
        return effect | learned | {"n_iter": np.array(self.n_iter_)}

    def _set_map(self, arrays: Arrays) -> None:
        self.motion_effect_ = LeastSquares(**under("motion_effect.", arrays))
        self.loadings_, self.rotation_ = arrays["loadings"], arrays["rotation"]
        self.n_iter_ = int(arrays["n_iter"].item())


def bounded_loadings(gradients: Floats, bound: float) -> Floats:
    """Maximise uᵀg for each column g subject to ‖u‖₂ = 1 and ‖u‖₁ ≤ `bound`.

    The answer is g, soft-thresholded and scaled; the threshold solves a quadratic equation once
    the number of survivors is known.

    Parameters
    ----------
    gradients : array of shape (E, K)
    bound : float
        At least 1.

    Examples
    --------
    >>> bounded_loadings(np.array([[3.0], [-2.0], [0.5]]), bound=1.2).round(3)
    array([[ 0.974],
           [-0.226],
           [ 0.   ]])
    """
    sizes = -np.sort(-np.abs(gradients), axis=0)
    counts = np.arange(1, len(sizes) + 1)[:, None]
    sums, squares = np.cumsum(sizes, axis=0), np.cumsum(sizes**2, axis=0)
    # ‖·‖₁/‖·‖₂ with the threshold at the next smaller entry; it grows with the number of survivors.
    steps = np.vstack([sizes[1:], np.zeros_like(sizes[:1])])
    lengths = np.sqrt(np.maximum(squares - 2 * steps * sums + counts * steps**2, 0.0))
    one_norms = sums - counts * steps
    fits = one_norms <= bound * lengths + 1e-12 * sums
    survivors = np.minimum(fits.sum(axis=0), len(sizes) - 1)
    pick = (survivors, np.arange(sizes.shape[1]))
    m, a, q = counts[survivors, 0], sums[pick], squares[pick]
    # (a − mθ)² = bound²·(q − 2aθ + mθ²), the root below the mean of the survivors.
    spread = np.sqrt(np.maximum(m * q - a**2, 0.0) / np.maximum(m - bound**2, 1e-300))
    threshold = np.where(fits.all(axis=0), 0.0, (a - bound * spread) / m)
    shrunk = np.sign(gradients) * np.maximum(np.abs(gradients) - threshold, 0.0)
    norms = np.linalg.norm(shrunk, axis=0)
    # At the tightest bound only the largest entry survives, and the threshold takes that too.
    empty = np.flatnonzero(norms == 0)
    largest = np.abs(gradients[:, empty]).argmax(axis=0)
    shrunk[largest, empty] = np.where(gradients[largest, empty] < 0, -1.0, 1.0)
    norms[empty] = 1.0
    return np.asarray(shrunk / norms)

"""LEACE: the least change of components after which no linear probe finds the confounds."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from stillome.arrays import Floats
from stillome.cohort.residuals import LeastSquares, least_squares
from stillome.methods.linear.component_arrays import (
    Arrays,
    pca_from_arrays,
    pca_to_arrays,
    prefixed,
    under,
)
from stillome.methods.linear.linear_method import ComponentMethod, principal_components

_SUBJECTS_PER_COMPONENT = 5  # with fewer, whitening magnifies noise: totals are 3 times off
_NEGLIGIBLE = 1e-10  # of the largest eigenvalue or singular value


@dataclass(frozen=True)
class LeastSquaresEraser:
    """The affine map r(x) of least mean squared change for which Cov(r(x), c) = 0.

    r(x) = x − W⁺ P W (x − μ), with W the inverse root of the covariance of x and P the orthogonal
    projection on the columns of W Cov(x, c) (Theorem 4.3 of the reference of `LEACE`).

    Attributes
    ----------
    center : array of shape (K,)
        μ.
    removed : array of shape (K, K)
        W⁺ P W.
    """

    center: Floats
    removed: Floats

    @classmethod
    def fit(cls, values: Floats, confounds: Floats) -> Self:
        """Learn from values (n, K) and confounds (n, C).

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> motion = rng.standard_normal((50, 1))
        >>> values = rng.standard_normal((50, 3)) + motion
        >>> erased = LeastSquaresEraser.fit(values, motion).erased(values)
        >>> bool(abs(erased.T @ (motion - motion.mean())).max() < 1e-12)
        True
        """
        center, spread = values.mean(axis=0), confounds.std(axis=0)
        away = values - center
        moved = (confounds - confounds.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        variances, axes = np.linalg.eigh(away.T @ away / len(away))
        real = variances > _NEGLIGIBLE * max(variances.max(), 1e-300)
        roots = np.sqrt(np.where(real, variances, 1.0))
        whiten = (axes * np.where(real, 1 / roots, 0.0)) @ axes.T
        unwhiten = (axes * np.where(real, roots, 0.0)) @ axes.T
        left, sizes, _ = np.linalg.svd(whiten @ (away.T @ moved / len(away)), full_matrices=False)
        basis = left[:, sizes > _NEGLIGIBLE * max(sizes.max(initial=0), 1e-300)]
        return cls(center, unwhiten @ basis @ basis.T @ whiten)

    def erased(self, values: Floats) -> Floats:
        """Return r(x) of values (n, K)."""
        return np.asarray(values - (values - self.center) @ self.removed.T)


class LEACE(ComponentMethod):
    """Least-squares concept erasure of the confounds from principal components of log1p edges.

    The components are changed as little as possible, in mean squares over the training subjects,
    such that their covariance with every confound is zero: no linear regression finds motion in
    them. The map is the same for everybody. It does not use a subject's own motion, so that
    biology associated with motion is removed with it. `adjust` changes a connectome within the
    space of the components only, and adds what the regression of the components on the confounds
    expects at the reference.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than one for every five training subjects.

    Attributes
    ----------
    pca_ : sklearn.decomposition.PCA
    eraser_ : LeastSquaresEraser
    motion_effect_ : LeastSquares
        The component scores regressed on the confounds, for the level at the reference.
    n_components_ : int

    References
    ----------
    Belrose et al. (2023), LEACE: Perfect linear concept erasure in closed form, NeurIPS 36.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=50)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(50, 15))
    >>> scores = LEACE(n_components=4).fit_transform(X, confounds=motion)
    >>> bool(np.abs(scores.T @ (motion - motion.mean())).max() < 1e-10)
    True
    """

    # The erasure removes all that is correlated with the confounds, biology included.
    keeps_covariates: ClassVar[bool] = False

    def __init__(self, n_components: int = 68) -> None:
        self.n_components = n_components

    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        most = max(1, len(log_edges) // _SUBJECTS_PER_COMPONENT)
        n_components = min(most, self._n_components_for(*log_edges.shape))
        self.pca_ = principal_components(log_edges, n_components)
        scores = np.asarray(self.pca_.transform(log_edges))
        self.eraser_ = LeastSquaresEraser.fit(scores, confounds)
        self.motion_effect_ = least_squares(scores, confounds)
        return self.eraser_.erased(scores)

    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        return self.eraser_.erased(np.asarray(self.pca_.transform(log_edges)))

    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        moved = self.motion_effect_.predict(confounds) - self.motion_effect_.intercepts
        return np.asarray(self.pca_.inverse_transform(scores + moved))

    def _adjusted_log(self, log_edges: Floats, confounds: Floats, reference: Floats) -> Floats:
        before = np.asarray(self.pca_.transform(log_edges))
        level = self.motion_effect_.predict(reference[None]) - self.motion_effect_.intercepts
        change = self.eraser_.erased(before) + level - before
        return np.asarray(log_edges + change @ self.pca_.components_)

    def _map_arrays(self) -> Arrays:
        arrays = prefixed("motion_effect.", vars(self.motion_effect_))
        arrays |= prefixed("eraser.", vars(self.eraser_))
        return arrays | prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.motion_effect_ = LeastSquares(**under("motion_effect.", arrays))
        self.eraser_ = LeastSquaresEraser(**under("eraser.", arrays))
        self.pca_ = pca_from_arrays(under("pca.", arrays))

"""Edge-wise regression of the confounds, the usual practice in the field."""

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


class EdgewiseRegression(ComponentMethod):
    """Each log1p edge regressed on the confounds; the residual is kept.

    The representation is the first principal components of the residuals. After adjustment, a
    count of zero is an exact function of motion, from which a non-linear probe can predict motion
    (see `leakage_certificate`).

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.

    Attributes
    ----------
    motion_effect_ : LeastSquares
        Every log1p edge regressed on the confounds.
    pca_ : sklearn.decomposition.PCA
    n_components_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=200)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(200, 15))
    >>> model = EdgewiseRegression(n_components=4).fit(X, confounds=motion)
    >>> totals = [Y.sum(axis=1) for Y in (X, model.adjust(X, confounds=motion))]
    >>> [abs(np.corrcoef(motion, total)[0, 1]) > 0.5 for total in totals]
    [np.True_, np.False_]
    """

    def __init__(self, n_components: int = 68) -> None:
        self.n_components = n_components

    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        n_components = self._n_components_for(*log_edges.shape, n_removed=confounds.shape[1])
        self.motion_effect_ = least_squares(log_edges, confounds, covariates)
        residuals = self.motion_effect_.residuals(log_edges, confounds)
        self.pca_ = principal_components(residuals, n_components)
        return np.asarray(self.pca_.transform(residuals))

    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        residuals = self.motion_effect_.residuals(log_edges, confounds)
        return np.asarray(self.pca_.transform(residuals))

    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        return self.motion_effect_.predict(confounds) + self.pca_.inverse_transform(scores)

    def _adjusted_log(
        self,
        log_edges: Floats,
        confounds: Floats,
        reference: Floats,
    ) -> Floats:
        residuals = self.motion_effect_.residuals(log_edges, confounds)
        return residuals + self.motion_effect_.predict(reference[None])

    def _map_arrays(self) -> Arrays:
        effect = prefixed("motion_effect.", vars(self.motion_effect_))
        return effect | prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.motion_effect_ = LeastSquares(**under("motion_effect.", arrays))
        self.pca_ = pca_from_arrays(under("pca.", arrays))

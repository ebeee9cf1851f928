"""LR-PCA: principal components of the connectome, motion as covariates of the regression."""

import numpy as np
from numpy.typing import NDArray

from stillome.methods.linear.component_arrays import (
    Arrays,
    pca_from_arrays,
    pca_to_arrays,
    prefixed,
    under,
)
from stillome.methods.linear.confound_regression import ConfoundRegression
from stillome.methods.linear.linear_method import ComponentMethod, principal_components
from stillome.methods.trait_regression import TraitRegression


class PCARegression(ComponentMethod):
    """Principal components of log1p edges; traits regressed on them with motion as covariates.

    The connectome itself is not cleaned: `transform` gives the components as they are, motion
    included, and only the regression of a trait accounts for motion (its coefficients are not
    penalised, those of the components are). `adjust` takes from each connectome the motion effect
    that lies in the space of the components.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.

    Attributes
    ----------
    pca_ : sklearn.decomposition.PCA
    motion_effect_ : ConfoundRegression
        The component scores regressed on the confounds.
    n_components_ : int

    References
    ----------
    The competitor "LR-PCA (motion-adjusted)" of Section 5.2 of the inv-VAE paper.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=50)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(50, 15))
    >>> model = PCARegression(n_components=4).fit(X, y=motion, confounds=motion)
    >>> model.transform(X, confounds=motion).shape
    (50, 4)
    """

    def __init__(self, n_components: int = 68) -> None:
        self.n_components = n_components

    def _fit_components(
        self, log_edges: NDArray[np.float64], confounds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        self.pca_ = principal_components(log_edges, self._n_components_for(*log_edges.shape))
        scores = self._scores(log_edges, confounds)
        self.motion_effect_ = ConfoundRegression.fit(confounds, scores)
        return scores

    def _scores(
        self, log_edges: NDArray[np.float64], confounds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return np.asarray(self.pca_.transform(log_edges))

    def _adjusted_log(
        self,
        log_edges: NDArray[np.float64],
        confounds: NDArray[np.float64],
        reference: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        effect = (confounds - reference) @ self.motion_effect_.coefficients
        return log_edges - effect @ self.pca_.components_

    def _map_arrays(self) -> Arrays:
        effect = prefixed("motion_effect.", vars(self.motion_effect_))
        return effect | prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.motion_effect_ = ConfoundRegression(**under("motion_effect.", arrays))
        self.pca_ = pca_from_arrays(under("pca.", arrays))

    def _fit_traits(
        self,
        scores: NDArray[np.float64],
        confounds: NDArray[np.float64],
        traits: NDArray[np.float64] | None,
    ) -> None:
        self.trait_regression_ = None
        if traits is None:
            return
        coefficients, intercepts, slopes = [], [], []
        for values in traits.T:
            known = ~np.isnan(values)
            both = np.column_stack([scores[known], values[known]])
            # Frisch–Waugh: regressing what is left of both sides after the covariates gives the
            # coefficients of a joint regression in which the covariates are not penalised.
            covariates = ConfoundRegression.fit(confounds[known], both)
            left = covariates.residuals(both, confounds[known])
            head = TraitRegression.fit(left[:, :-1], left[:, -1:])
            slope = covariates.coefficients @ np.append(-head.coefficients[0], 1.0)
            level = covariates.intercepts @ np.append(-head.coefficients[0], 1.0)
            coefficients.append(head.coefficients[0])
            intercepts.append(head.intercepts[0] + level - covariates.center @ slope)
            slopes.append(slope)
        self.trait_regression_ = TraitRegression(
            np.column_stack([np.array(coefficients), np.array(slopes)]), np.array(intercepts)
        )

    def _predict_traits(
        self, scores: NDArray[np.float64], confounds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return super()._predict_traits(np.column_stack([scores, confounds]), confounds)

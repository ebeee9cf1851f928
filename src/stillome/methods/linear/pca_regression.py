"""LR-PCA: principal components of the connectome; confounds enter the trait regression."""

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
from stillome.methods.training_data import TrainingData
from stillome.methods.trait_regression import TraitRegression


class PCARegression(ComponentMethod):
    """Principal components of log1p edges; traits are regressed on them and on the confounds.

    The representation is not adjusted: `transform` returns the components with their motion
    effect, and only the regression of a trait accounts for motion (its coefficients are not
    penalised, those of the components are). `predict` gives the trait at average motion, as it
    does in all methods. `adjust` removes from each connectome the motion effect within the space
    of the components.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.

    Attributes
    ----------
    pca_ : sklearn.decomposition.PCA
    motion_effect_ : LeastSquares
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
    >>> model = PCARegression(n_components=4).fit(X, confounds=motion)
    >>> model.transform(X, confounds=motion).shape
    (50, 4)
    """

    def __init__(self, n_components: int = 68) -> None:
        self.n_components = n_components

    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        self.pca_ = principal_components(log_edges, self._n_components_for(*log_edges.shape))
        scores = self._scores(log_edges, confounds)
        self.motion_effect_ = least_squares(scores, confounds, covariates)
        return scores

    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        return np.asarray(self.pca_.transform(log_edges))

    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        return np.asarray(self.pca_.inverse_transform(scores))

    def _adjusted_log(
        self,
        log_edges: Floats,
        confounds: Floats,
        reference: Floats,
    ) -> Floats:
        effect = (confounds - reference) @ self.motion_effect_.coefficients
        return log_edges - effect @ self.pca_.components_

    def _map_arrays(self) -> Arrays:
        effect = prefixed("motion_effect.", vars(self.motion_effect_))
        return effect | prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.motion_effect_ = LeastSquares(**under("motion_effect.", arrays))
        self.pca_ = pca_from_arrays(under("pca.", arrays))

    def _fit_traits(self, scores: Floats, data: TrainingData, traits: Floats) -> TraitRegression:
        confounds, covariates = data.confounds, data.covariates
        assert confounds is not None
        coefficients, intercepts = [], []
        for values in traits.T:
            known = ~np.isnan(values)
            both = np.column_stack([scores[known], values[known]])
            # Frisch–Waugh: regressing the residuals of both sides gives the coefficients of a
            # joint regression in which the confounds are not penalised.
            kept = None if covariates is None else covariates[known]
            nuisance = least_squares(both, confounds[known], kept)
            left = nuisance.residuals(both, confounds[known])
            groups = None if data.groups is None else data.groups[known]
            head = TraitRegression.fit(left[:, :-1], left[:, -1:], groups)
            # What motion adds to the scores is taken out of them. What it adds to the trait is no
            # part of what a connectome tells about it, and is that of average motion.
            contrast = np.append(-head.coefficients[0], 1.0)
            slope = nuisance.coefficients[:, :-1] @ contrast[:-1]
            level = nuisance.intercepts @ contrast - nuisance.center @ slope
            coefficients.append(np.append(head.coefficients[0], slope))
            intercepts.append(head.intercepts[0] + level)
        return TraitRegression.with_noise_of(
            self._trait_features(scores, confounds),
            traits,
            np.array(coefficients),
            np.array(intercepts),
        )

    def _trait_features(self, scores: Floats, confounds: Floats) -> Floats:
        return np.column_stack([scores, confounds])

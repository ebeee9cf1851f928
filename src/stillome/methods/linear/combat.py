"""ComBat with sites, or quantiles of motion, as batches."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.validation import check_count
from stillome.exceptions import FitError, require_extra
from stillome.methods.linear.batches import ConfoundBatches
from stillome.methods.linear.component_arrays import (
    Arrays,
    pca_from_arrays,
    pca_to_arrays,
    prefixed,
    under,
)
from stillome.methods.linear.linear_method import ComponentMethod, principal_components

# What a fitted `combatlearn` model with continuous covariates only is made of.
_COMBAT_ARRAYS = (
    "batch_levels",
    "grand_mean",
    "pooled_var",
    "gamma_star",
    "delta_star",
    "beta_hat_nonbatch",
)


class ComBat(ComponentMethod):
    """Empirical-Bayes harmonisation of log1p edges across batches, by `combatlearn`.

    A confound with few values (site, scanner) defines batches; motion is cut at its quantiles
    (see `ConfoundBatches`). Mean and variance of every edge are brought to the same values in
    every batch; the representation is the first principal components of the harmonised edges.
    `adjust` brings each subject to the batch of the reference. Motion within a batch stays.

    Covariates to keep are regressors of the model beside the batches. Those of new subjects are
    not needed: their effect stays in the data, rescaled with the variance of the batch.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.
    n_batches : int, default=10
        Largest number of motion quantiles, within each site if there are sites; fewer where a
        batch would have under 10 subjects. `batches_` has those that were used.

    Attributes
    ----------
    batches_ : ConfoundBatches
    varies_ : array of shape (E,), bool
        Edges that differ between training subjects; the others pass unchanged.
    covariate_means_ : array of shape (Q,)
        Means of the covariates to keep; empty without.
    model_ : combatlearn.core.ComBatModel
    pca_ : sklearn.decomposition.PCA

    References
    ----------
    Johnson, Li & Rabinovic (2007), Biostatistics 8(1); Fortin et al. (2018), NeuroImage 167.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=60)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(60, 15))
    >>> model = ComBat(n_components=4, n_batches=3).fit(X, confounds=motion)
    >>> model.adjust(X, confounds=motion).shape, model.batches_.cutoffs.shape
    ((60, 15), (1, 2))
    """

    def __init__(self, n_components: int = 68, *, n_batches: int = 10) -> None:
        self.n_components = n_components
        self.n_batches = n_batches

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        super().check_parameters()
        check_count(self.n_batches, "n_batches", minimum=2)
        _combat_model()

    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        model_type = _combat_model()
        n_batches = check_count(self.n_batches, "n_batches", minimum=2)
        self.batches_ = ConfoundBatches.fit(confounds, n_batches)
        self.varies_ = np.ptp(log_edges, axis=0) > 0
        if not self.varies_.any():
            raise FitError("ComBat: every edge is the same in all subjects; nothing to harmonise.")
        self.model_ = model_type(method="fortin").fit(
            log_edges[:, self.varies_],
            batch=self.batches_.of(confounds),
            continuous_covariates=covariates,
        )
        none = np.zeros(0)
        self.covariate_means_ = none if covariates is None else covariates.mean(axis=0)
        harmonised = self._harmonised(log_edges, self.batches_.of(confounds))
        n_components = self._n_components_for(*log_edges.shape)
        self.pca_ = principal_components(harmonised, n_components)
        return np.asarray(self.pca_.transform(harmonised))

    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        harmonised = self._harmonised(log_edges, self.batches_.of(confounds))
        return np.asarray(self.pca_.transform(harmonised))

    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        harmonised = np.asarray(self.pca_.inverse_transform(scores))
        return self._in_batches(harmonised, self.batches_.of(confounds))

    def _adjusted_log(self, log_edges: Floats, confounds: Floats, reference: Floats) -> Floats:
        harmonised = self._harmonised(log_edges, self.batches_.of(confounds))
        there = np.repeat(self.batches_.of(reference[None]), len(log_edges))
        return self._in_batches(harmonised, there)

    def _harmonised(self, log_edges: Floats, batches: NDArray[np.intp]) -> Floats:
        """Map log edges (n, E) of these batches (n,) to the scale that all batches share."""
        kept = None
        if len(self.covariate_means_):
            kept = np.tile(self.covariate_means_, (len(log_edges), 1))
        harmonised = log_edges.copy()
        harmonised[:, self.varies_] = self.model_.transform(
            log_edges[:, self.varies_], batch=batches, continuous_covariates=kept
        ).to_numpy()
        return harmonised

    def _in_batches(self, harmonised: Floats, batches: NDArray[np.intp]) -> Floats:
        """Map from the common scale to the scales of these batches (n,): invert `_harmonised`."""
        # ComBat maps each edge of a batch linearly to the common scale; two points give the line.
        own, found = np.unique(batches, return_inverse=True)
        shape = (len(own), harmonised.shape[1])
        offset = self._harmonised(np.zeros(shape), own)
        slope = self._harmonised(np.ones(shape), own) - offset
        return (harmonised - offset[found]) / slope[found]

    def _map_arrays(self) -> Arrays:
        arrays = prefixed("batches.", vars(self.batches_))
        arrays |= {"varies": self.varies_, "covariate_means": self.covariate_means_}
        arrays |= {name: np.asarray(getattr(self.model_, f"_{name}")) for name in _COMBAT_ARRAYS}
        return arrays | prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.batches_ = ConfoundBatches(**under("batches.", arrays))
        self.varies_, self.covariate_means_ = arrays["varies"], arrays["covariate_means"]
        self.pca_ = pca_from_arrays(under("pca.", arrays))
        self.model_ = _combat_model()(method="fortin")
        for name in _COMBAT_ARRAYS:
            setattr(self.model_, f"_{name}", arrays[name])
        for name in ("grand_mean", "pooled_var"):
            setattr(self.model_, f"_{name}", pd.Series(arrays[name]))
        self.model_._n_batch = len(arrays["batch_levels"])
        self.model_._batch_levels = pd.Index(arrays["batch_levels"])
        self.model_._nonbatch_columns = list(range(len(arrays["beta_hat_nonbatch"])))


def _combat_model() -> Any:
    require_extra("combatlearn", "combat", "combat")
    from combatlearn.core import ComBatModel

    return ComBatModel

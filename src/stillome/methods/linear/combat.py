"""ComBat with sites, or quantiles of motion, as batches."""

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.validation import check_count
from stillome.methods.linear.batch_maps import (
    BatchMaps,
    FittedComBat,
    combat_model,
    covariate_effects,
)
from stillome.methods.linear.batches import ConfoundBatches
from stillome.methods.linear.component_arrays import (
    Arrays,
    pca_from_arrays,
    pca_to_arrays,
    prefixed,
    under,
)
from stillome.methods.linear.linear_method import ComponentMethod, principal_components


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
    maps_ : BatchMaps
        From the scale of each batch to the common one.
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
        combat_model()

    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        self.check_parameters()
        self.batches_ = ConfoundBatches.fit(confounds, self.n_batches)
        self._fit_maps(log_edges, confounds, covariates)
        harmonised = self._harmonised(log_edges, confounds)
        n_components = self._n_components_for(*log_edges.shape)
        self.pca_ = principal_components(harmonised, n_components)
        return np.asarray(self.pca_.transform(harmonised))

    def _fit_maps(self, log_edges: Floats, confounds: Floats, covariates: Floats | None) -> None:
        """Learn what is done to each batch."""
        batches = self.batches_.of(confounds)
        left = without_kept(log_edges, batches, covariates)
        self.maps_ = FittedComBat(left, batches, method="fortin").lines()

    def _harmonised(self, log_edges: Floats, confounds: Floats) -> Floats:
        """Map log edges (n, E) of subjects with these confounds to the scale that all share."""
        return self.maps_.to_common(log_edges, self.batches_.of(confounds))

    def _with_effect_of(self, harmonised: Floats, confounds: Floats) -> Floats:
        """Map from the common scale to that of these confounds (n, C): invert `_harmonised`."""
        return self.maps_.from_common(harmonised, self.batches_.of(confounds))

    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        return np.asarray(self.pca_.transform(self._harmonised(log_edges, confounds)))

    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        harmonised = np.asarray(self.pca_.inverse_transform(scores))
        return self._with_effect_of(harmonised, confounds)

    def _adjusted_log(self, log_edges: Floats, confounds: Floats, reference: Floats) -> Floats:
        harmonised = self._harmonised(log_edges, confounds)
        return self._with_effect_of(harmonised, np.tile(reference, (len(log_edges), 1)))

    def _map_arrays(self) -> Arrays:
        arrays = prefixed("batches.", vars(self.batches_)) | prefixed("maps.", vars(self.maps_))
        return arrays | prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.batches_ = ConfoundBatches(**under("batches.", arrays))
        self.maps_ = BatchMaps(**under("maps.", arrays))
        self.pca_ = pca_from_arrays(under("pca.", arrays))


def without_kept(log_edges: Floats, batches: NDArray[np.intp], covariates: Floats | None) -> Floats:
    """Return log edges (n, E) as if everybody had the mean of the covariates to keep (n, Q)."""
    if covariates is None:
        return log_edges
    effects = covariate_effects(log_edges, covariates, batches)
    return np.asarray(log_edges - (covariates - covariates.mean(axis=0)) @ effects)

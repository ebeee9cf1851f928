"""CovBat: ComBat, and then the same for the principal components of what it leaves."""

import numpy as np
from sklearn.decomposition import PCA

from stillome.arrays import Floats
from stillome.exceptions import InputError
from stillome.methods.linear.batch_maps import BatchMaps, FittedComBat
from stillome.methods.linear.combat import ComBat, without_kept
from stillome.methods.linear.component_arrays import Arrays, prefixed, under


class CovBat(ComBat):
    """ComBat that also brings the covariance of edges to the same values in every batch.

    After ComBat, mean and variance of the scores on the first principal components of the
    harmonised edges are aligned over batches, by `combatlearn`. Batches are those of `ComBat`.
    What lies outside the components of the training subjects passes as ComBat left it.

    Parameters
    ----------
    n_components : int, default=68
        Of the representation; at most, and never more than the training subjects allow.
    n_batches : int, default=10
        As in `ComBat`.
    variance_share : float in (0, 1), default=0.9
        Share of the variance that the aligned components have together.

    Attributes
    ----------
    batches_ : ConfoundBatches
    maps_ : BatchMaps
        Of the edges.
    aligned_mean_ : array of shape (E,)
    aligned_components_ : array of shape (P, E)
        The principal components whose scores are aligned.
    score_maps_ : BatchMaps
        Of their scores.
    score_sd_ : array of shape (P,)
        Standard deviation of each aligned component within batches.
    pca_ : sklearn.decomposition.PCA

    References
    ----------
    Chen et al. (2022), Mitigating site effects in covariance for machine learning in neuroimaging
    data, Human Brain Mapping 43(4).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=60)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(60, 15))
    >>> model = CovBat(n_components=4, n_batches=3).fit(X, confounds=motion)
    >>> model.score_maps_.slopes.shape == (3, len(model.aligned_components_))
    True
    """

    def __init__(
        self, n_components: int = 68, *, n_batches: int = 10, variance_share: float = 0.9
    ) -> None:
        super().__init__(n_components, n_batches=n_batches)
        self.variance_share = variance_share

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        super().check_parameters()
        share = self.variance_share
        if not isinstance(share, int | float | np.floating) or not 0 < share < 1:
            raise InputError(f"variance_share={share!r}; expected a number between 0 and 1.")

    def _fit_maps(self, log_edges: Floats, confounds: Floats, covariates: Floats | None) -> None:
        batches = self.batches_.of(confounds)
        # The components must not contain what is kept: batches that differ in it would lose it.
        left = without_kept(log_edges, batches, covariates)
        combat = FittedComBat(left, batches, method="fortin")
        self.maps_ = combat.lines()
        pca = PCA(svd_solver="full").fit(combat.transform(left, batches))
        explained = np.cumsum(pca.explained_variance_ratio_)
        n_aligned = min(int(np.searchsorted(explained, self.variance_share)) + 1, len(explained))
        self.aligned_mean_ = pca.mean_
        self.aligned_components_ = np.ascontiguousarray(pca.components_[:n_aligned])
        covbat = FittedComBat(left, batches, method="chen", covbat_cov_thresh=n_aligned)
        probed = self._probed(covbat)
        # combatlearn gives every aligned component a variance of 1, which makes all directions
        # equally important; here each keeps the variance that it has within batches.
        shares = np.unique(batches, return_counts=True)[1] / len(batches)
        self.score_sd_ = np.sqrt(shares @ probed.slopes**-2.0)
        self.score_maps_ = BatchMaps(
            probed.levels, probed.offsets * self.score_sd_, probed.slopes * self.score_sd_
        )

    def _probed(self, covbat: FittedComBat) -> BatchMaps:
        """Read off what CovBat does to the scores of each batch, with scores of 0 and of 1."""
        answers = []
        for score in (0.0, 1.0):
            asked = self.aligned_mean_ + score * self.aligned_components_.sum(axis=0)
            same_for_all = np.tile(asked, (len(covbat.levels), 1))
            found = covbat.transform(
                self.maps_.from_common(same_for_all, covbat.levels), covbat.levels
            )
            answers.append(self._aligned_scores(found))
        return BatchMaps(covbat.levels, answers[0], answers[1] - answers[0])

    def _aligned_scores(self, harmonised: Floats) -> Floats:
        return np.asarray((harmonised - self.aligned_mean_) @ self.aligned_components_.T)

    def _harmonised(self, log_edges: Floats, confounds: Floats) -> Floats:
        harmonised = super()._harmonised(log_edges, confounds)
        scores = self._aligned_scores(harmonised)
        moved = self.score_maps_.to_common(scores, self.batches_.of(confounds)) - scores
        return harmonised + moved @ self.aligned_components_

    def _with_effect_of(self, harmonised: Floats, confounds: Floats) -> Floats:
        scores = self._aligned_scores(harmonised)
        moved = self.score_maps_.from_common(scores, self.batches_.of(confounds)) - scores
        return super()._with_effect_of(harmonised + moved @ self.aligned_components_, confounds)

    def _map_arrays(self) -> Arrays:
        aligned = {"mean": self.aligned_mean_, "components": self.aligned_components_}
        aligned["sd"] = self.score_sd_
        arrays = super()._map_arrays() | prefixed("aligned.", aligned)
        return arrays | prefixed("score_maps.", vars(self.score_maps_))

    def _set_map(self, arrays: Arrays) -> None:
        super()._set_map(arrays)
        aligned = under("aligned.", arrays)
        self.aligned_mean_, self.aligned_components_ = aligned["mean"], aligned["components"]
        self.score_sd_ = aligned["sd"]
        self.score_maps_ = BatchMaps(**under("score_maps.", arrays))

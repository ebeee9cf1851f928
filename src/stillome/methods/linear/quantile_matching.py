"""Distribution matching: every edge gets the distribution it has in those who hardly moved."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.validation import check_count
from stillome.methods.linear.batches import ConfoundBatches
from stillome.methods.linear.component_arrays import (
    Arrays,
    pca_from_arrays,
    pca_to_arrays,
    prefixed,
    under,
)
from stillome.methods.linear.linear_method import ComponentMethod, principal_components

_MOST_QUANTILES = 50


@dataclass(frozen=True)
class EdgeQuantiles:
    """Quantiles of every edge in every batch, and the map from one batch to another.

    Attributes
    ----------
    levels : array of shape (B,)
        The batches, in growing order.
    tables : array of shape (B, Q, E)
        Quantiles at (k + ½) / Q, k = 0 … Q − 1.
    """

    levels: NDArray[np.intp]
    tables: Floats

    @classmethod
    def fit(cls, edges: Floats, batches: NDArray[np.intp]) -> Self:
        """Learn from edges (n, E) of these batches (n,)."""
        levels, sizes = np.unique(batches, return_counts=True)
        n_quantiles = min(_MOST_QUANTILES, int(sizes.min()))
        shares = (np.arange(n_quantiles) + 0.5) / n_quantiles
        tables = [
            np.quantile(edges[batches == level], shares, axis=0, method="hazen") for level in levels
        ]
        return cls(levels, np.array(tables))

    def matched(self, edges: Floats, here: NDArray[np.intp], there: NDArray[np.intp]) -> Floats:
        """Map edges (n, E) of batches `here` (n,) to the same quantiles of batches `there`.

        Equal values share the middle of their quantiles. Between quantiles the map is linear;
        beyond the outermost, the difference of the outermost is added. Nothing gets negative.

        Examples
        --------
        >>> edges = np.array([[1.0], [2.0], [3.0], [10.0], [20.0], [30.0]])
        >>> batches = np.repeat([0, 1], 3)
        >>> quantiles = EdgeQuantiles.fit(edges, batches)
        >>> quantiles.matched(np.array([[10.0], [25.0], [31.0]]), np.ones(3), np.zeros(3)).T
        array([[1. , 2.5, 4. ]])
        """
        own = self.tables[np.searchsorted(self.levels, here)]
        wanted = self.tables[np.searchsorted(self.levels, there)]
        last = own.shape[1] - 1
        below = (own < edges[:, None]).sum(axis=1)
        upto = (own <= edges[:, None]).sum(axis=1)
        lower, upper = np.clip(below - 1, 0, last), np.clip(below, 0, last)
        low, high = _at(own, lower), _at(own, upper)
        gap = np.where(high > low, high - low, 1.0)
        between = lower + np.where(high > low, (edges - low) / gap, 0.0)
        place = np.clip(np.where(upto > below, (below + upto - 1) / 2, between), 0, last)
        first = np.minimum(place.astype(np.intp), max(last - 1, 0))
        share = place - first
        found = (1 - share) * _at(wanted, first) + share * _at(wanted, np.minimum(first + 1, last))
        beyond = np.where(below > last, edges - own[:, -1], 0.0)
        beyond += np.where(upto == 0, edges - own[:, 0], 0.0)
        return np.asarray(np.maximum(found + beyond, 0.0))


def _at(tables: Floats, places: NDArray[np.intp]) -> Floats:
    """Return the quantile number `places` (n, E) of tables (n, Q, E)."""
    return np.asarray(np.take_along_axis(tables, places[:, None], axis=1)[:, 0])


class QuantileMatching(ComponentMethod):
    """Every edge mapped from its quantiles in the subject's batch to those at the reference.

    Batches are those of `ComBat`: sites as they are, motion by its quantiles. `adjust` gives a
    value the same quantile of the batch of the reference; without one, of those who moved least.
    Nothing gets negative, and whole numbers stay whole. Equal values cannot be told apart: where
    those who moved have more zeros, all of their zeros become the same number. The representation
    is the first principal components of the log1p edges matched to the batch of no motion.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.
    n_batches : int, default=10
        Largest number of motion quantiles, within each site if there are sites; fewer where a
        batch would have under 10 subjects.

    Attributes
    ----------
    batches_ : ConfoundBatches
    quantiles_ : EdgeQuantiles
    pca_ : sklearn.decomposition.PCA
    n_components_ : int

    References
    ----------
    Zhou, Fischl & Aganj (2025), Harmonization of structural brain connectivity through
    distribution matching, Human Brain Mapping 46(9). They match sites, not motion.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.exponential(size=60)
    >>> X = rng.poisson(20 * np.exp(-0.3 * motion)[:, None], size=(60, 15))
    >>> model = QuantileMatching(n_components=4, n_batches=3).fit(X, confounds=motion)
    >>> model.adjust(X, confounds=motion).dtype
    dtype('int64')
    """

    # Distributions are matched whole, with what covariates contribute to them.
    keeps_covariates: ClassVar[bool] = False

    def __init__(self, n_components: int = 68, *, n_batches: int = 10) -> None:
        self.n_components = n_components
        self.n_batches = n_batches

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        super().check_parameters()
        check_count(self.n_batches, "n_batches", minimum=2)

    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        self.check_parameters()
        self.batches_ = ConfoundBatches.fit(confounds, self.n_batches)
        self.quantiles_ = EdgeQuantiles.fit(np.expm1(log_edges), self.batches_.of(confounds))
        at_rest = self._matched_log(log_edges, confounds, np.zeros(confounds.shape[1]))
        self.pca_ = principal_components(at_rest, self._n_components_for(*log_edges.shape))
        return np.asarray(self.pca_.transform(at_rest))

    def _matched_log(self, log_edges: Floats, here: Floats, there: Floats) -> Floats:
        """Match log1p edges (n, E) at confounds `here` to `there`, each (n, C) or (C,)."""
        shape = (len(log_edges), len(self.batches_.discrete))
        own, wanted = (self.batches_.of(np.broadcast_to(c, shape)) for c in (here, there))
        matched = [
            self.quantiles_.matched(np.expm1(log_edges[[row]]), own[[row]], wanted[[row]])
            for row in range(len(log_edges))
        ]
        return np.log1p(np.concatenate(matched))

    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        at_rest = self._matched_log(log_edges, confounds, np.zeros(confounds.shape[1]))
        return np.asarray(self.pca_.transform(at_rest))

    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        at_rest = np.maximum(self.pca_.inverse_transform(scores), 0.0)
        return self._matched_log(at_rest, np.zeros(confounds.shape[1]), confounds)

    def _adjusted_log(self, log_edges: Floats, confounds: Floats, reference: Floats) -> Floats:
        return self._matched_log(log_edges, confounds, reference)

    def _adjusted_edges(self, adjusted_log: Floats) -> NDArray[Any]:
        edges = super()._adjusted_edges(adjusted_log)
        return np.rint(edges).astype(np.int64) if self._whole else edges

    def _map_arrays(self) -> Arrays:
        arrays = prefixed("batches.", vars(self.batches_))
        arrays |= prefixed("quantiles.", vars(self.quantiles_))
        return arrays | prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.batches_ = ConfoundBatches(**under("batches.", arrays))
        self.quantiles_ = EdgeQuantiles(**under("quantiles.", arrays))
        self.pca_ = pca_from_arrays(under("pca.", arrays))

"""The connectomes as scanned, under the contract of all methods: the baseline that does nothing."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.methods.linear.component_arrays import (
    Arrays,
    pca_from_arrays,
    pca_to_arrays,
    prefixed,
    under,
)
from stillome.methods.linear.linear_method import ComponentMethod, principal_components
from stillome.methods.reference_level import reference_level


class RawConnectomes(ComponentMethod):
    """Nothing is removed: `adjust` returns the connectomes as they are.

    The representation is the first principal components of the log1p edges, with their motion
    effect. Every other method is compared with this one.

    Parameters
    ----------
    n_components : int, default=68
        At most; never more than the training subjects allow.

    Attributes
    ----------
    pca_ : sklearn.decomposition.PCA
    n_components_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, motion = rng.poisson(9, size=(30, 15)), rng.random(30)
    >>> model = RawConnectomes(n_components=4).fit(X, confounds=motion)
    >>> bool((model.adjust(X, confounds=motion) == X).all())
    True
    """

    def __init__(self, n_components: int = 68) -> None:
        self.n_components = n_components

    def adjust(
        self,
        X: ArrayLike,
        *,
        confounds: ArrayLike | None = None,
        reference: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return the connectomes themselves, as float, whatever the confounds are.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
        confounds : array-like of shape (n,) or (n, C)
            Checked as by every method, and not used.
        reference : float or array-like of shape (C,), default=0
            Checked and not used.
        """
        connectomes = self._new_connectomes(X)
        self._new_confounds(confounds, len(connectomes))
        reference_level(reference, self.n_confounds_)
        return connectomes.astype(np.float64)

    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        self.pca_ = principal_components(log_edges, self._n_components_for(*log_edges.shape))
        return self._scores(log_edges, confounds)

    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        return np.asarray(self.pca_.transform(log_edges))

    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        return np.asarray(self.pca_.inverse_transform(scores))

    def _adjusted_log(self, log_edges: Floats, confounds: Floats, reference: Floats) -> Floats:
        return log_edges

    def _map_arrays(self) -> Arrays:
        return prefixed("pca.", pca_to_arrays(self.pca_))

    def _set_map(self, arrays: Arrays) -> None:
        self.pca_ = pca_from_arrays(under("pca.", arrays))

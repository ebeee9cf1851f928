"""What the linear competitors share: log edges in, a few components and a ridge regression out."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA

from stillome.cohort.edges import matrices_to_edges, shaped_like
from stillome.cohort.validation import check_count
from stillome.exceptions import InputError, NotFittedError
from stillome.methods.linear.component_arrays import Arrays, prefixed, under
from stillome.methods.storage import ModelState, Storable, training_hash
from stillome.methods.trait_regression import TraitRegression

_KEPT = (
    "n_regions_",
    "n_features_in_",
    "n_confounds_",
    "n_components_",
    "_one_trait",
    "training_hash_",
)


def principal_components(values: NDArray[np.float64], n_components: int) -> PCA:
    """Fit exact principal components, whichever way is shorter for the shape of `values`.

    Examples
    --------
    >>> principal_components(np.eye(4), 2).components_.shape
    (2, 4)
    """
    # Neither solver draws random numbers, so the order of the subjects does not matter.
    solver = "full" if len(values) <= values.shape[1] else "covariance_eigh"
    fitted = PCA(n_components, svd_solver=solver).fit(values)
    # Products of the same numbers in another layout differ in the last bit, and a model that was
    # saved comes back in this one.
    fitted.components_ = np.ascontiguousarray(fitted.components_)
    return fitted


class ComponentMethod(Storable):
    """A method on log1p edges whose representation is a linear map of them.

    Subclasses say how the map is learned (`_fit_components`), applied (`_scores`), undone at
    another motion (`_adjusted_log`) and kept (`_map_arrays`, `_set_map`); the shape of the input,
    counts against logs, and the traits are looked after here.
    """

    n_components: int

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, confounds: ArrayLike | None = None
    ) -> Self:
        """Learn components, and the traits' regression on them, from training subjects.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
            Fibre counts.
        y : array-like of shape (n,) or (n, T), optional
            Traits; NaN is missing.
        confounds : array-like of shape (n,) or (n, C)
            Motion, in the user's units.
        """
        data = self._training_data(X, y, confounds)
        assert data.confounds is not None  # `_training_data` insists on them
        check_count(self.n_components, "n_components", minimum=1)
        scores = self._fit_components(np.log1p(data.edges), data.confounds)
        self.n_components_ = scores.shape[1]
        self._fit_traits(scores, data.confounds, data.traits)
        self.training_hash_ = training_hash(data.edges)
        return self

    def transform(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the component scores, shape (n, n_components_), with nothing refitted."""
        edges = self._new_edges(X)
        return self._scores(np.log1p(edges), self._new_confounds(confounds, len(edges)))

    def adjust(
        self,
        X: ArrayLike,
        *,
        confounds: ArrayLike | None = None,
        reference: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return fibre counts (float, ≥ 0) at the reference motion, in the shape of `X`.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
        confounds : array-like of shape (n,) or (n, C)
        reference : float or array-like of shape (C,), default=0
            The motion to adjust to, in the units of `confounds`.
        """
        connectomes = self._new_connectomes(X)
        known = self._new_confounds(confounds, len(connectomes))
        log_edges = np.log1p(matrices_to_edges(connectomes, check=False))
        adjusted = self._adjusted_log(log_edges, known, self._reference(reference))
        return shaped_like(np.expm1(np.maximum(adjusted, 0.0)), connectomes)

    def predict(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return trait predictions, shape (n,) for one trait, else (n, T)."""
        edges = self._new_edges(X)
        known = self._new_confounds(confounds, len(edges))
        self._check_has_traits()
        predicted = self._predict_traits(self._scores(np.log1p(edges), known), known)
        return predicted[:, 0] if self._one_trait else predicted

    @abstractmethod
    def _fit_components(
        self, log_edges: NDArray[np.float64], confounds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Learn the map and return the training subjects' scores."""

    @abstractmethod
    def _scores(
        self, log_edges: NDArray[np.float64], confounds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Apply the map, shape (n, n_components_)."""

    @abstractmethod
    def _adjusted_log(
        self,
        log_edges: NDArray[np.float64],
        confounds: NDArray[np.float64],
        reference: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return log1p edges (n, E) at the reference; negative ones become zero counts."""

    @abstractmethod
    def _map_arrays(self) -> Arrays:
        """Return what `_fit_components` learned."""

    @abstractmethod
    def _set_map(self, arrays: Arrays) -> None:
        """Take over what `_map_arrays` returned."""

    def _fit_traits(
        self,
        scores: NDArray[np.float64],
        confounds: NDArray[np.float64],
        traits: NDArray[np.float64] | None,
    ) -> None:
        self.trait_regression_ = None if traits is None else TraitRegression.fit(scores, traits)

    def _predict_traits(
        self, scores: NDArray[np.float64], confounds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        assert self.trait_regression_ is not None  # `_check_has_traits` came first
        return self.trait_regression_.predict(scores)

    def _check_has_traits(self) -> None:
        if self.trait_regression_ is None:
            raise NotFittedError(
                f"This {type(self).__name__} was fitted without traits, so it predicts none. "
                "Pass y to fit."
            )

    def _get_state(self) -> ModelState:
        arrays = prefixed("map.", self._map_arrays())
        if self.trait_regression_ is not None:
            arrays |= prefixed("traits.", vars(self.trait_regression_))
        return ModelState({name: getattr(self, name) for name in _KEPT}, arrays)

    def _set_state(self, state: ModelState) -> None:
        for name in _KEPT:
            setattr(self, name, state.values[name])
        self._set_map(under("map.", state.arrays))
        traits = under("traits.", state.arrays)
        self.trait_regression_ = TraitRegression(**traits) if traits else None

    def _n_components_for(self, n_subjects: int, n_edges: int, *, n_removed: int = 0) -> int:
        """Return how many components these subjects can carry, at most `n_components`."""
        possible = min(n_subjects - 1 - n_removed, n_edges)
        if possible < 1:
            raise InputError(
                f"X: n_samples={n_subjects} subjects leave no component after {n_removed} "
                "confound(s) are removed. Give more subjects."
            )
        return int(min(self.n_components, possible))

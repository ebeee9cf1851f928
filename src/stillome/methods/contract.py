"""The contract that every method keeps, so that nothing has to ask which method it is."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.validation import (
    check_confounds,
    check_connectomes,
    check_count,
    check_traits,
    n_regions_of,
)
from stillome.exceptions import ConfoundsError, InputError, NotFittedError


class UnfittedError(NotFittedError, SklearnNotFittedError):
    """Ours and scikit-learn's at once; the exceptions themselves do not load scikit-learn."""


class TrainingData(NamedTuple):
    """What `fit` was given, judged and in one shape."""

    edges: NDArray[Any]  # (n, E), integer or float
    traits: NDArray[np.float64] | None  # (n, T), NaN = missing
    confounds: NDArray[np.float64] | None  # (n, C), NaN = unknown


class ConnectomeMethod(ABC, TransformerMixin, BaseEstimator):
    """What a method is: ``fit``, ``transform``, ``adjust``, ``predict``, ``score``.

    `X` is (n, V, V) or (n, V(V-1)/2) everywhere; `adjust` answers in the shape it was given.
    Confounds are arguments of the methods, never of the constructor, so that cross-validation
    splits them with the subjects (``set_fit_request(confounds=True)`` and so on).

    Subclasses call `_training_data` at the start of `fit` and `_new_edges`, `_new_confounds`
    in the other methods, and set `n_regions_`, `n_confounds_` and `n_features_in_` through them.
    """

    @abstractmethod
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, confounds: ArrayLike | None = None
    ) -> Self:
        """Learn from training subjects only."""

    @abstractmethod
    def transform(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the representation Z, shape (n, n_components), of seen or unseen subjects."""

    @abstractmethod
    def adjust(
        self,
        X: ArrayLike,
        *,
        confounds: ArrayLike | None = None,
        reference: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return the connectomes as they would be at the reference motion (default 0)."""

    @abstractmethod
    def predict(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return trait predictions in the user's units: (n,) for one trait, else (n, T)."""

    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, *, confounds: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Fit, then transform the same subjects."""
        return self.fit(X, y, confounds=confounds).transform(X, confounds=confounds)

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well.

        Raises
        ------
        InputError
            Naming the parameter that cannot be used.
        """
        check_count(self.get_params()["n_components"], "n_components", minimum=1)

    def score(self, X: ArrayLike, y: ArrayLike, *, confounds: ArrayLike | None = None) -> float:
        """Return R² of the trait predictions, averaged over traits; missing traits are left out."""
        predicted = self.predict(X, confounds=confounds)
        observed = check_traits(y, n_subjects=len(predicted))
        predicted = predicted.reshape(observed.shape)
        known = ~np.isnan(observed)
        scores = [
            r2_score(observed[k, t], predicted[k, t]) for t, k in enumerate(known.T) if k.sum() > 1
        ]
        return float(np.mean(scores))

    def _training_data(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        confounds: ArrayLike | None,
        *,
        needs_confounds: bool = True,
        allow_missing: bool = False,
        min_subjects: int = 3,
    ) -> TrainingData:
        connectomes = check_connectomes(X, min_subjects=min_subjects, name="X")
        edges = matrices_to_edges(connectomes, check=False)
        if confounds is None and needs_confounds:
            raise ConfoundsError(
                f"{type(self).__name__}.fit needs confounds: the motion of the subjects in X. "
                "Pass confounds=..."
            )
        known = (
            None
            if confounds is None
            else check_confounds(confounds, n_subjects=len(edges), allow_missing=allow_missing)
        )
        traits = None if y is None else check_traits(y, n_subjects=len(edges), name="y")
        self.n_regions_ = n_regions_of(edges.shape[1])
        self.n_features_in_ = edges.shape[1]
        self.n_confounds_ = 0 if known is None else known.shape[1]
        self._one_trait = y is not None and np.ndim(y) == 1
        return TrainingData(edges, traits, known)

    def _new_connectomes(self, X: ArrayLike) -> NDArray[Any]:
        """Judge subjects given to a fitted model; the shape is kept."""
        self._check_fitted()
        return check_connectomes(X, n_regions=self.n_regions_, name="X")

    def _new_edges(self, X: ArrayLike) -> NDArray[Any]:
        return matrices_to_edges(self._new_connectomes(X), check=False)

    def _new_confounds(
        self, confounds: ArrayLike | None, n_subjects: int, *, allow_missing: bool = False
    ) -> NDArray[np.float64]:
        if confounds is None:
            raise ConfoundsError(
                f"{type(self).__name__} needs the confounds of these subjects here. "
                "Pass confounds=..."
            )
        return check_confounds(
            confounds,
            n_subjects=n_subjects,
            n_confounds=self.n_confounds_,
            allow_missing=allow_missing,
            allow_constant=True,
        )

    def _reference(self, reference: ArrayLike | None) -> NDArray[np.float64]:
        """Return the reference motion in the user's units, shape (C,)."""
        if reference is None:
            return np.zeros(self.n_confounds_)
        try:
            values = np.atleast_1d(np.asarray(reference, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"reference: {reference!r} is not a number or a list of them."
            ) from error
        if values.shape != (self.n_confounds_,) or not np.isfinite(values).all():
            raise InputError(
                f"reference: {reference!r}; expected {self.n_confounds_} finite value(s), one for "
                "each confound, in its own units."
            )
        return values

    def _check_fitted(self) -> None:
        try:
            check_is_fitted(self, "n_regions_")
        except SklearnNotFittedError as error:
            raise UnfittedError(
                f"This {type(self).__name__} is not fitted yet. Call fit first."
            ) from error

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = False
        return tags

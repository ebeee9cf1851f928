"""The contract that every method keeps, so that nothing has to ask which method it is."""

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from stillome.arrays import Floats
from stillome.cohort.groups import group_levels
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation import (
    check_confounds,
    check_connectomes,
    check_count,
    check_random_state,
    check_traits,
    n_regions_of,
)
from stillome.cohort.validation.alignment import check_aligned
from stillome.cohort.validation.confound_checks import check_trainable
from stillome.cohort.validation.magnitude_checks import (
    Magnitudes,
    check_alike,
    check_magnitude,
)
from stillome.cohort.validation.number_dtypes import in_wide_dtype
from stillome.exceptions import ConfoundsError, InputError, NotFittedError, StillomeWarning
from stillome.methods.array_words import check_array
from stillome.methods.cautions import (
    refuse_negative,
    warn_if_far,
    warn_if_not_separable,
    warn_of_design,
    warn_of_nothing_to_remove,
    warn_of_twins,
)
from stillome.methods.confound_distribution import ConfoundDistribution
from stillome.methods.feature_names import check_names, latent_names, remember_names
from stillome.methods.reference_level import reference_level
from stillome.methods.synthetic import SyntheticCohort
from stillome.methods.training_data import TrainingData


class UnfittedError(NotFittedError, SklearnNotFittedError):
    """Ours and scikit-learn's at once; the exceptions themselves do not load scikit-learn."""


class ConnectomeMethod(ABC, TransformerMixin, BaseEstimator):
    """The methods of a method: fit, transform, adjust, predict, sample, score.

    `X` is (n, V, V) or (n, V(V-1)/2) everywhere; `adjust` answers in the shape it was given.
    Confounds are arguments of the methods, never of the constructor, so that cross-validation
    splits them with the subjects (``set_fit_request(confounds=True)`` and so on).

    Subclasses call `_training_data` at the start of `fit` and `_new_edges`, `_new_confounds`
    in the other methods, and set `n_regions_`, `n_confounds_` and `n_features_in_` through them.
    They set `confound_distribution_` in `fit`; it is None where the method uses no confounds.
    """

    keeps_covariates: ClassVar[bool] = True  # False: `fit` warns that it cannot keep them
    reads_parts: ClassVar[bool] = False  # True: connectomes may stay where they are
    confound_distribution_: ConfoundDistribution | None

    @abstractmethod
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        confounds: ArrayLike | None = None,
        covariates_to_keep: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from training subjects only.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
            Fibre counts, or weights ≥ 0.
        y : array-like of shape (n,) or (n, T), optional
            Traits; NaN is missing.
        confounds : array-like of shape (n,) or (n, C)
            Motion and other variables to remove, in the users' units. Without them there is
            nothing to remove: a warning says so, and the fitted model changes no connectome for
            motion. scikit-learn's tools fit without arguments of their own; the command line
            refuses.
        covariates_to_keep : array-like of shape (n,) or (n, Q), optional
            Variables that are correlated with the confounds and must not be removed with them
            (age, sex, diagnosis). A method that cannot keep them warns and does not use them.
        groups : array-like of shape (n,) or (n, 2), optional
            Who belongs together: the label of the family or, where people have several scans, of
            the person. With two columns, of both: see `group_levels`. No division of the subjects
            inside the fit separates them, and variances account for their likeness.
        """

    @abstractmethod
    def transform(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> Floats:
        """Return the representation Z, shape (n, n_components), of seen or unseen subjects."""

    @abstractmethod
    def adjust(
        self,
        X: ArrayLike,
        *,
        confounds: ArrayLike | None = None,
        reference: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return the connectomes as they would be at the reference confounds (default 0)."""

    @abstractmethod
    def predict(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> Floats:
        """Return what the connectomes tell about the traits, in the users' units.

        In every method it is a linear function of the representation; what the confounds
        themselves tell about a trait is no part of it.

        Returns
        -------
        array of shape (n,) for one trait, else (n, T)
        """

    def sample(
        self, n_subjects: int, *, random_state: int | np.random.Generator | None = 0
    ) -> SyntheticCohort:
        """Draw connectomes, confounds and traits of synthetic subjects from the fitted model.

        Parameters
        ----------
        n_subjects : int
        random_state : int, Generator or None, default=0
            The same seed gives the same subjects.

        Returns
        -------
        SyntheticCohort
            Whole numbers if the training connectomes were, else weights in their unit.
        """
        self._check_fitted()
        n_subjects = check_count(n_subjects, "n_subjects", minimum=1)
        drawn = self._draw(n_subjects, check_random_state(random_state))
        if not self.n_confounds_:
            drawn = drawn._replace(confounds=None)
        traits = None if drawn.traits is None else self._shaped_traits(drawn.traits)
        return drawn._replace(traits=traits)

    @abstractmethod
    def _draw(self, n_subjects: int, rng: np.random.Generator) -> SyntheticCohort:
        """Draw subjects, with traits of shape (n, T) or None."""

    def fit_transform(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        confounds: ArrayLike | None = None,
        covariates_to_keep: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Floats:
        """Fit, then transform the same subjects."""
        self.fit(X, y, confounds=confounds, covariates_to_keep=covariates_to_keep, groups=groups)
        return self.transform(X, confounds=confounds)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the columns of `transform`: the class and a number (``invfa0``).

        Parameters
        ----------
        input_features : array-like, optional
            Not used; scikit-learn's tools pass the names of the columns of `X`.
        """
        self._check_fitted()
        n_components: int = getattr(self, "n_components_", self.get_params()["n_components"])
        return latent_names(self, n_components)

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well.

        Raises
        ------
        InputError
            Naming the parameter that cannot be used.
        """
        check_count(self.get_params()["n_components"], "n_components", minimum=1)

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, *, confounds: ArrayLike | None = None
    ) -> float:
        """Return R² of the trait predictions, averaged over traits; missing traits are left out.

        The likelihood of connectomes, where a method has one, is `log_likelihood`.
        """
        if y is None:
            raise InputError("y: score is the R² of predicted traits. Pass the traits as y.")
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
        covariates_to_keep: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        needs_confounds: bool = True,
        allow_missing: bool = False,
        min_subjects: int = 3,
    ) -> TrainingData:
        check_aligned(
            X=X, y=y, confounds=confounds, covariates_to_keep=covariates_to_keep, groups=groups
        )
        check_array(X)
        connectomes = check_connectomes(
            X, min_subjects=min_subjects, allow_empty=False, name="X", in_slices=True
        )
        rows = SubjectRows(connectomes)
        warn_of_twins(rows)
        magnitudes = Magnitudes.of(part for _, part in rows.parts())
        check_magnitude(magnitudes)
        check_alike(magnitudes)
        edges = rows if self.reads_parts else rows[:]
        known: Floats | None = None
        if confounds is not None:
            known = check_confounds(confounds, n_subjects=len(edges), allow_missing=allow_missing)
            if needs_confounds:
                check_trainable(known)
        elif needs_confounds:
            warn_of_nothing_to_remove(self._name)
            known = np.empty((len(edges), 0))
        traits = None if y is None else check_traits(y, n_subjects=len(edges), name="y")
        if known is not None and needs_confounds:
            warn_of_design(known, traits)
        kept = self._covariates(covariates_to_keep, known, len(edges))
        self.n_regions_ = n_regions_of(edges.shape[1])
        self.n_features_in_ = edges.shape[1]
        remember_names(self, X)
        self.n_confounds_ = 0 if known is None else known.shape[1]
        self._one_trait = y is not None and np.asarray(y).ndim == 1
        levels = None if groups is None else group_levels(groups, len(edges))
        return TrainingData(edges, traits, known, kept, levels)

    def _covariates(
        self, covariates_to_keep: ArrayLike | None, confounds: Floats | None, n_subjects: int
    ) -> Floats | None:
        """Validate the covariates to keep; None where the method has no way to keep them."""
        if covariates_to_keep is None:
            return None
        kept = check_confounds(covariates_to_keep, n_subjects=n_subjects, name="covariates_to_keep")
        if not self.keeps_covariates:
            warnings.warn(
                f"{self._name} has no way to keep covariates: covariates_to_keep is not "
                "used. Use inv-fa, gamma-glm, combat, pca-regression or edgewise to keep them.",
                StillomeWarning,
                stacklevel=4,
            )
            return None
        known = None if confounds is None else ~np.isnan(confounds).any(axis=1)
        if confounds is not None and known is not None and known.any():
            warn_if_not_separable(kept[known], confounds[known])
        return kept

    def _new_rows(self, X: ArrayLike, confounds: ArrayLike | None = None) -> SubjectRows:
        """Validate subjects given to a fitted model; they stay where they are."""
        self._check_fitted()
        check_aligned(X=X, confounds=confounds)
        check_names(X, getattr(self, "feature_names_in_", None))
        check_array(X)
        found = check_connectomes(
            X, n_regions=self.n_regions_, allow_empty=False, name="X", in_slices=True
        )
        rows = SubjectRows(found)
        check_magnitude(Magnitudes.of(part for _, part in rows.parts()))
        return rows

    def _new_connectomes(self, X: ArrayLike, confounds: ArrayLike | None = None) -> NDArray[Any]:
        """Validate subjects given to a fitted model; the shape is kept."""
        return in_wide_dtype(np.asarray(self._new_rows(X, confounds).source))

    def _new_edges(self, X: ArrayLike, confounds: ArrayLike | None = None) -> NDArray[Any]:
        return self._new_rows(X, confounds)[:]

    def _new_confounds(
        self, confounds: ArrayLike | None, n_subjects: int, *, allow_missing: bool = False
    ) -> Floats:
        if not self.n_confounds_:
            if confounds is not None:
                raise ConfoundsError(
                    f"confounds: this {self._name} was fitted without any, and removes "
                    "none. Leave them out, or pass confounds=... to fit."
                )
            return np.empty((n_subjects, 0))
        if confounds is None:
            raise ConfoundsError(
                f"{self._name} needs the confounds of these subjects here. Pass confounds=..."
            )
        return check_confounds(
            confounds,
            n_subjects=n_subjects,
            n_confounds=self.n_confounds_,
            allow_missing=allow_missing,
            allow_constant=True,
        )

    def _reference(self, reference: ArrayLike | None) -> Floats:
        """Return the reference confounds in the users' units, shape (C,).

        Refuses, for every method alike, what is negative where no subject was, and warns if the
        model would extrapolate; see `refuse_negative` and `warn_if_far`.
        """
        level = reference_level(reference, self.n_confounds_)
        known = self.confound_distribution_
        if known is not None and len(level):
            refuse_negative(level, known.bounds[0])
            warn_if_far(level, *known.bounds, known.spread)
        return level

    @property
    def _name(self) -> str:
        """What messages call this method."""
        return type(self).__name__

    def _shaped_traits(self, traits: Floats) -> Floats:
        """Return traits (n, T) in the shape that `fit` was given: (n,) for one trait."""
        return traits[:, 0] if self._one_trait else traits

    def _check_fitted(self) -> None:
        try:
            check_is_fitted(self, "n_regions_")
        except SklearnNotFittedError as error:
            raise UnfittedError(f"This {self._name} is not fitted yet. Call fit first.") from error

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = False
        return tags

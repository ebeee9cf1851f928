"""The common part of the linear methods: components of log edges, and a ridge regression."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices, matrices_to_edges, shaped_like
from stillome.cohort.validation import check_count
from stillome.exceptions import InputError, NotFittedError
from stillome.methods.cautions import warn_if_unlike_training
from stillome.methods.confound_distribution import ConfoundDistribution
from stillome.methods.linear.component_arrays import Arrays, prefixed, under
from stillome.methods.linear.score_distribution import ScoreDistribution
from stillome.methods.storage import ModelState, Storable, training_hash
from stillome.methods.synthetic import SyntheticCohort
from stillome.methods.training_data import TrainingData
from stillome.methods.trait_regression import TraitRegression
from stillome.methods.weight_units import in_unit, weight_unit

_KEPT = (
    "n_regions_",
    "n_features_in_",
    "n_confounds_",
    "n_components_",
    "_one_trait",
    "_whole",
    "unit_",
    "training_hash_",
)


def principal_components(values: Floats, n_components: int) -> PCA:
    """Fit exact principal components, by the faster solver for the shape of `values`.

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

    Subclasses implement how the map is learned (`_fit_components`), applied (`_scores`), inverted
    (`_expected_log`), changed to other confounds (`_adjusted_log`) and stored (`_map_arrays`,
    `_set_map`). The shape of the input, the log scale, traits and sampling are implemented here.
    """

    n_components: int

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        confounds: ArrayLike | None = None,
        covariates_to_keep: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn components, and the regression of the traits on them, from training subjects.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
            Fibre counts, or weights ≥ 0.
        y : array-like of shape (n,) or (n, T), optional
            Traits; NaN is missing.
        confounds : array-like of shape (n,) or (n, C)
            Motion and other variables to remove, in the users' units.
        covariates_to_keep : array-like of shape (n,) or (n, Q), optional
            Variables that are correlated with the confounds and must not be removed with them.
            The effect of the confounds is estimated beside theirs. Of new subjects they are not
            needed.
        groups : array-like of shape (n,) or (n, 2), optional
            Families, or scans of one person, which the choice of the penalty of the trait
            regression does not divide.
        """
        data = self._training_data(X, y, confounds, covariates_to_keep, groups)
        assert data.confounds is not None  # `_training_data` insists on them
        check_count(self.n_components, "n_components", minimum=1)
        self.unit_ = weight_unit(data.edges)
        log_edges = self._log(data.edges)
        scores = self._fit_components(log_edges, data.confounds, data.covariates)
        self.n_components_ = scores.shape[1]
        self.trait_regression_ = (
            None if data.traits is None else self._fit_traits(scores, data, data.traits)
        )
        self.confound_distribution_ = ConfoundDistribution.fit(data.confounds)
        expected = self._expected_log(scores, data.confounds)
        self.score_distribution_ = ScoreDistribution.fit(
            scores, data.confounds, log_edges, expected
        )
        self._whole = data.whole
        self.training_hash_ = training_hash(data.edges)
        return self

    def transform(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> Floats:
        """Return the component scores, shape ``(n, n_components_)``, with nothing refitted."""
        edges = self._new_edges(X, confounds)
        return self._scores(self._log(edges), self._within(confounds, len(edges)))

    def adjust(
        self,
        X: ArrayLike,
        *,
        confounds: ArrayLike | None = None,
        reference: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return edges (float, ≥ 0) at the reference confounds, in the shape of `X`.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
        confounds : array-like of shape (n,) or (n, C)
            Who moved more than all training subjects is adjusted as the one who moved most.
        reference : float or array-like of shape (C,), default=0
            The confounds to adjust to, in their own units.
        """
        connectomes = self._new_connectomes(X, confounds)
        known = self._within(confounds, len(connectomes))
        log_edges = self._log(matrices_to_edges(connectomes, check=False))
        adjusted = self._adjusted_log(log_edges, known, self._bounded(self._reference(reference)))
        return shaped_like(self._adjusted_edges(np.maximum(adjusted, 0.0)), connectomes)

    def predict(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> Floats:
        """Return trait predictions, shape (n,) for one trait, else (n, T)."""
        edges = self._new_edges(X, confounds)
        known = self._within(confounds, len(edges))
        self._check_has_traits()
        assert self.trait_regression_ is not None
        features = self._trait_features(self._scores(self._log(edges), known), known)
        return self._shaped_traits(self.trait_regression_.predict(features))

    def _within(self, confounds: ArrayLike | None, n_subjects: int) -> Floats:
        """Return the confounds (n, C) of new subjects, none above those of the training subjects.

        A line through few subjects, drawn far beyond them, gives totals several times too large.
        """
        known = self._new_confounds(confounds, n_subjects)
        assert self.confound_distribution_ is not None
        distribution = self.confound_distribution_
        warn_if_unlike_training(known, *distribution.bounds, distribution.spread)
        return self._bounded(known)

    def _bounded(self, confounds: Floats) -> Floats:
        assert self.confound_distribution_ is not None
        return np.minimum(confounds, self.confound_distribution_.bounds[1])

    def _log(self, edges: NDArray[Any]) -> Floats:
        """Return log1p of edges (n, E), with weights in the unit in which they vary like counts."""
        return np.log1p(in_unit(edges, self.unit_))

    def _draw(self, n_subjects: int, rng: np.random.Generator) -> SyntheticCohort:
        """Draw confounds, scores given them, edges given both, and traits."""
        assert self.confound_distribution_ is not None
        confounds = self.confound_distribution_.draw(n_subjects, rng)
        scores = self.score_distribution_.draw_scores(confounds, rng)
        expected = self._expected_log(scores, confounds)
        weights = self.score_distribution_.draw_edges(expected, rng) / self.unit_
        edges = np.rint(weights).astype(np.int64) if self._whole else weights
        traits = None
        if self.trait_regression_ is not None:
            traits = self.trait_regression_.draw(self._trait_features(scores, confounds), rng)
        return SyntheticCohort(edges_to_matrices(edges), confounds, traits)

    @abstractmethod
    def _fit_components(
        self, log_edges: Floats, confounds: Floats, covariates: Floats | None
    ) -> Floats:
        """Learn the map and return the training subjects' scores."""

    @abstractmethod
    def _scores(self, log_edges: Floats, confounds: Floats) -> Floats:
        """Apply the map, shape ``(n, n_components_)``."""

    @abstractmethod
    def _expected_log(self, scores: Floats, confounds: Floats) -> Floats:
        """Return the log1p edges (n, E) that these scores and confounds represent."""

    @abstractmethod
    def _adjusted_log(
        self,
        log_edges: Floats,
        confounds: Floats,
        reference: Floats,
    ) -> Floats:
        """Return log1p edges (n, E) at the reference; negative ones become 0."""

    def _adjusted_edges(self, adjusted_log: Floats) -> NDArray[Any]:
        """Return edges (n, E) in their own unit from adjusted log1p edges, all at least 0."""
        return np.expm1(adjusted_log) / self.unit_

    @abstractmethod
    def _map_arrays(self) -> Arrays:
        """Return what `_fit_components` learned."""

    @abstractmethod
    def _set_map(self, arrays: Arrays) -> None:
        """Take over what `_map_arrays` returned."""

    def _fit_traits(self, scores: Floats, data: TrainingData, traits: Floats) -> TraitRegression:
        return TraitRegression.fit(scores, traits, data.groups)

    def _trait_features(self, scores: Floats, confounds: Floats) -> Floats:
        """Return the regressors of the traits, (n, K) or more."""
        return scores

    def _check_has_traits(self) -> None:
        if self.trait_regression_ is None:
            raise NotFittedError(
                f"This {type(self).__name__} was fitted without traits, so it predicts none. "
                "Pass y to fit."
            )

    def _get_state(self) -> ModelState:
        assert self.confound_distribution_ is not None
        arrays = prefixed("map.", self._map_arrays())
        arrays |= prefixed("confounds.", self.confound_distribution_._asdict())
        arrays |= prefixed("scores.", vars(self.score_distribution_))
        if self.trait_regression_ is not None:
            arrays |= prefixed("traits.", vars(self.trait_regression_))
        return ModelState({name: getattr(self, name) for name in _KEPT}, arrays)

    def _set_state(self, state: ModelState) -> None:
        for name in _KEPT:
            setattr(self, name, state.values[name])
        self._set_map(under("map.", state.arrays))
        self.confound_distribution_ = ConfoundDistribution(**under("confounds.", state.arrays))
        self.score_distribution_ = ScoreDistribution(**under("scores.", state.arrays))
        traits = under("traits.", state.arrays)
        self.trait_regression_ = TraitRegression(**traits) if traits else None

    def _n_components_for(self, n_subjects: int, n_edges: int, *, n_removed: int = 0) -> int:
        """Return the number of components these subjects allow, at most `n_components`."""
        possible = min(n_subjects - 1 - n_removed, n_edges)
        if possible < 1:
            raise InputError(
                f"X: n_samples={n_subjects} subjects leave no component after {n_removed} "
                "confound(s) are removed. Give more subjects."
            )
        return int(min(self.n_components, possible))

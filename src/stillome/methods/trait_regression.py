"""From a representation to traits: the same ridge regression for every method."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GroupKFold

from stillome.arrays import Floats
from stillome.cohort.groups import Levels

PENALTIES = np.logspace(-2, 5, 22)
_N_FOLDS = 5  # of groups, where there are any


@dataclass(frozen=True)
class TraitRegression:
    """Linear prediction of one or several traits, each from the subjects who have it.

    Attributes
    ----------
    coefficients : array of shape (T, K)
    intercepts : array of shape (T,)
    noise : array of shape (T,)
        Standard deviation of the residuals of the training subjects, in the unit of each trait.
    """

    coefficients: Floats
    intercepts: Floats
    noise: Floats

    @classmethod
    def fit(cls, representation: Floats, traits: Floats, groups: Levels | None = None) -> Self:
        """Fit each trait by ridge regression; the penalty is chosen by leave-one-out.

        Parameters
        ----------
        representation : array of shape (n, K)
        traits : array of shape (n, T)
            NaN is missing.
        groups : array of shape (n, 1) or (n, 3), optional
            See `group_levels`. The penalty is then chosen by folds that divide none of them.

        Examples
        --------
        >>> Z = np.arange(6.0)[:, None]
        >>> head = TraitRegression.fit(Z, 2 * Z + 1)
        >>> bool(abs(head.predict(Z)[3, 0] - 7) < 0.1)
        True
        """
        spread = representation.std(axis=0)
        spread[spread == 0] = 1.0
        coefficients, intercepts = [], []
        for values in traits.T:
            known = ~np.isnan(values)
            # The penalty counts in units of the representation's own spread, so that a method
            # is not favoured for the scale of its latent.
            labels = None if groups is None else groups[known, 0]
            ridge = _ridge(representation[known] / spread, values[known], labels)
            coefficients.append(ridge.coef_ / spread)
            intercepts.append(float(ridge.intercept_))
        return cls.with_noise_of(
            representation, traits, np.array(coefficients), np.array(intercepts)
        )

    @classmethod
    def with_noise_of(
        cls, representation: Floats, traits: Floats, coefficients: Floats, intercepts: Floats
    ) -> Self:
        """Return the regression with these coefficients, its noise measured on these subjects."""
        residuals = traits - representation @ coefficients.T - intercepts
        return cls(coefficients, intercepts, np.nanstd(residuals, axis=0))

    def predict(self, representation: Floats) -> Floats:
        """Return predictions (n, T)."""
        return representation @ self.coefficients.T + self.intercepts

    def draw(self, representation: Floats, rng: np.random.Generator) -> Floats:
        """Return predictions (n, T) with Gaussian noise of the size of the residuals."""
        predicted = self.predict(representation)
        return predicted + rng.standard_normal(predicted.shape) * self.noise


def _ridge(X: Floats, y: Floats, labels: NDArray[np.intp] | None) -> Ridge | RidgeCV:
    """Fit a ridge regression that does not choose its penalty with a group on both sides."""
    n_groups = 0 if labels is None else len(np.unique(labels))
    if labels is None or n_groups < 2 or n_groups == len(labels):
        return RidgeCV(PENALTIES).fit(X, y)
    folds = GroupKFold(min(_N_FOLDS, n_groups)).split(labels, groups=labels)
    errors = np.mean([_errors(X, y, *fold) for fold in folds], axis=0)
    return Ridge(PENALTIES[int(np.argmin(errors))]).fit(X, y)


def _errors(X: Floats, y: Floats, train: NDArray[np.intp], test: NDArray[np.intp]) -> Floats:
    """Return the mean squared error of a fold for every penalty.

    One decomposition serves all penalties; `RidgeCV` with folds fits each anew, which takes a
    hundred times as long.
    """
    centre, level = X[train].mean(axis=0), y[train].mean()
    left, sizes, right = np.linalg.svd(X[train] - centre, full_matrices=False)
    shrunk = (sizes / (sizes**2 + PENALTIES[:, None])) * (left.T @ (y[train] - level))
    predicted = shrunk @ right @ (X[test] - centre).T + level
    return np.asarray(((y[test] - predicted) ** 2).mean(axis=1))

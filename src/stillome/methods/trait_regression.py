"""From a representation to traits: the same ridge regression for every method."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

PENALTIES = np.logspace(-2, 5, 22)


@dataclass(frozen=True)
class TraitRegression:
    """Linear prediction of one or several traits, each from the subjects who have it.

    Attributes
    ----------
    coefficients : array of shape (T, K)
    intercepts : array of shape (T,)
    """

    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]

    @classmethod
    def fit(cls, representation: NDArray[np.float64], traits: NDArray[np.float64]) -> Self:
        """Fit each trait by ridge regression; the penalty is chosen by leave-one-out.

        Parameters
        ----------
        representation : array of shape (n, K)
        traits : array of shape (n, T)
            NaN is missing.

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
            # is not favoured for the scale its latent happens to have.
            ridge = RidgeCV(PENALTIES).fit(representation[known] / spread, values[known])
            coefficients.append(ridge.coef_ / spread)
            intercepts.append(float(ridge.intercept_))
        return cls(np.array(coefficients), np.array(intercepts))

    def predict(self, representation: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions (n, T)."""
        return representation @ self.coefficients.T + self.intercepts

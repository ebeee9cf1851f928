"""Ordinary least squares of many columns on the confounds, fitted once and applied to anybody."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ConfoundRegression:
    """What the confounds predict of each column.

    Attributes
    ----------
    center : array of shape (C,)
        Mean confounds of the training subjects, in their own units.
    intercepts : array of shape (E,)
        Mean of each column, which is its expected value at `center`.
    coefficients : array of shape (C, E)
        Change of each column per unit of each confound.
    """

    center: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    coefficients: NDArray[np.float64]

    @classmethod
    def fit(cls, confounds: NDArray[np.float64], values: NDArray[np.float64]) -> Self:
        """Regress each column of `values` (n, E) on `confounds` (n, C) and an intercept.

        Collinear confounds (all dummies of a factor) share their effect.

        Examples
        --------
        >>> motion = np.array([[0.0], [1.0], [2.0]])
        >>> regression = ConfoundRegression.fit(motion, 5 - 2 * motion)
        >>> regression.predict(np.array([[3.0]])).round(6)
        array([[-1.]])
        """
        center, intercepts = confounds.mean(axis=0), values.mean(axis=0)
        # Millimetres and radians differ by orders of magnitude; the cut-off for collinearity
        # inside lstsq must not depend on the units.
        spread = confounds.std(axis=0)
        spread[spread == 0] = 1.0
        standard = (confounds - center) / spread
        coefficients = np.linalg.lstsq(standard, values - intercepts, rcond=None)[0]
        # In one layout, so that a model that was saved answers with the same bits.
        return cls(center, intercepts, np.ascontiguousarray(coefficients / spread[:, None]))

    def predict(self, confounds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected values (n, E) at these confounds (n, C)."""
        return self.intercepts + (confounds - self.center) @ self.coefficients

    def residuals(
        self, values: NDArray[np.float64], confounds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return `values` (n, E) minus what the confounds predict of them."""
        return values - self.predict(confounds)

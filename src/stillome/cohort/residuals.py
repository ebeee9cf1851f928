"""Ordinary least squares of many columns on a few, and what it leaves: the residuals.

The only place of the house that residualises: traits on motion, features on covariates, edges on
confounds.
"""

from dataclasses import dataclass

import numpy as np

from stillome.arrays import Floats


@dataclass(frozen=True)
class LeastSquares:
    """A linear regression of E columns on C predictors, with an intercept.

    Attributes
    ----------
    center : array of shape (C,)
        Mean predictors of the subjects it was fitted to, in their own units.
    intercepts : array of shape (E,)
        Mean of each column, which is its expected value at `center`.
    coefficients : array of shape (C, E)
        Change of each column per unit of each predictor.
    """

    center: Floats
    intercepts: Floats
    coefficients: Floats

    def predict(self, on: Floats) -> Floats:
        """Return the expected values (n, E) at these predictors (n, C)."""
        return np.asarray(self.intercepts + (on - self.center) @ self.coefficients)

    def residuals(self, values: Floats, on: Floats) -> Floats:
        """Return `values` (n, E) minus their expected values at these predictors (n, C)."""
        return np.asarray(values - self.predict(on))


def least_squares(values: Floats, on: Floats) -> LeastSquares:
    """Regress each column of `values` (n, E) on `on` (n, C) and an intercept.

    Collinear predictors (all dummies of a factor) share their effect.

    Examples
    --------
    >>> motion = np.array([[0.0], [1.0], [2.0]])
    >>> least_squares(5 - 2 * motion, motion).predict(np.array([[3.0]])).round(6)
    array([[-1.]])
    """
    center, intercepts = on.mean(axis=0), values.mean(axis=0)
    # Millimetres and radians differ by orders of magnitude; the cut-off for collinearity inside
    # lstsq must not depend on the units.
    spread = on.std(axis=0)
    spread[spread == 0] = 1.0
    coefficients = np.linalg.lstsq((on - center) / spread, values - intercepts, rcond=None)[0]
    # In one layout, so that a model that was saved answers with the same bits.
    return LeastSquares(center, intercepts, np.ascontiguousarray(coefficients / spread[:, None]))


def residualised(values: Floats, on: Floats) -> Floats:
    """Return `values` (n, E) minus their linear regression on `on` (n, C) and an intercept.

    Examples
    --------
    >>> motion = np.array([[0.0], [1.0], [2.0]])
    >>> np.abs(residualised(5 - 2 * motion, motion)).max() < 1e-12
    np.True_
    """
    return least_squares(values, on).residuals(values, on)

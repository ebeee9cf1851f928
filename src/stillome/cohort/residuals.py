"""Ordinary least squares of many columns on a few predictors, and its residuals."""

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
        # Not a matrix product, whose last bits depend on the number of rows: one subject alone
        # gets the same bits as among others.
        expected = np.tile(self.intercepts, (len(on), 1))
        for column, slopes in zip((on - self.center).T, self.coefficients, strict=True):
            expected += np.outer(column, slopes)
        return expected

    def residuals(self, values: Floats, on: Floats) -> Floats:
        """Return `values` (n, E) minus their expected values at these predictors (n, C)."""
        return np.asarray(values - self.predict(on))


def least_squares(values: Floats, on: Floats, beside: Floats | None = None) -> LeastSquares:
    """Regress each column of `values` on `on` and an intercept.

    Parameters
    ----------
    values : array of shape (n, E)
    on : array of shape (n, C)
        Collinear predictors (all dummies of a factor) share their effect.
    beside : array of shape (n, Q), optional
        Covariates to keep: regressors whose own effect is not part of the prediction, so that it
        stays in the residuals.

    Examples
    --------
    >>> motion = np.array([[0.0], [1.0], [2.0]])
    >>> least_squares(5 - 2 * motion, motion).predict(np.array([[3.0]])).round(6)
    array([[-1.]])
    """
    n_predictors = on.shape[1]
    design = on if beside is None else np.column_stack([on, beside])
    center, intercepts = design.mean(axis=0), values.mean(axis=0)
    # Millimetres and radians differ by orders of magnitude; the cut-off for collinearity inside
    # lstsq must not depend on the units.
    spread = design.std(axis=0)
    spread[spread == 0] = 1.0
    fitted = np.linalg.lstsq((design - center) / spread, values - intercepts, rcond=None)[0]
    # In one layout, so that a model that was saved answers with the same bits.
    coefficients = np.ascontiguousarray((fitted / spread[:, None])[:n_predictors])
    return LeastSquares(center[:n_predictors].copy(), intercepts, coefficients)


def residualised(values: Floats, on: Floats) -> Floats:
    """Return `values` (n, E) minus their linear regression on `on` (n, C) and an intercept.

    Examples
    --------
    >>> motion = np.array([[0.0], [1.0], [2.0]])
    >>> np.abs(residualised(5 - 2 * motion, motion)).max() < 1e-12
    np.True_
    """
    return least_squares(values, on).residuals(values, on)

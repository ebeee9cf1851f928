"""Ordinary least squares of many columns on the confounds, fitted once, applied to any subject."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from stillome.arrays import Floats


@dataclass(frozen=True)
class ConfoundRegression:
    """The part of each column that is explained by the confounds.

    Attributes
    ----------
    center : array of shape (C,)
        Mean confounds of the training subjects, in their own units.
    intercepts : array of shape (E,)
        Mean of each column, which is its expected value at `center`.
    coefficients : array of shape (C, E)
        Change of each column per unit of each confound.
    """

    center: Floats
    intercepts: Floats
    coefficients: Floats

    @classmethod
    def fit(cls, confounds: Floats, values: Floats, covariates: Floats | None = None) -> Self:
        """Regress each column of `values` on `confounds` and an intercept.

        Parameters
        ----------
        confounds : array of shape (n, C)
            Collinear confounds (all dummies of a factor) share their effect.
        values : array of shape (n, E)
        covariates : array of shape (n, Q), optional
            Regressors beside the confounds, whose own effect is not part of the prediction: it
            stays in the residuals.

        Examples
        --------
        >>> motion = np.array([[0.0], [1.0], [2.0]])
        >>> regression = ConfoundRegression.fit(motion, 5 - 2 * motion)
        >>> regression.predict(np.array([[3.0]])).round(6)
        array([[-1.]])
        """
        n_confounds = confounds.shape[1]
        design = confounds if covariates is None else np.column_stack([confounds, covariates])
        center, intercepts = design.mean(axis=0), values.mean(axis=0)
        # Millimetres and radians differ by orders of magnitude; the cut-off for collinearity
        # inside lstsq must not depend on the units.
        spread = design.std(axis=0)
        spread[spread == 0] = 1.0
        standard = (design - center) / spread
        coefficients = np.linalg.lstsq(standard, values - intercepts, rcond=None)[0]
        # In one layout, so that a model that was saved answers with the same bits.
        own = np.ascontiguousarray((coefficients / spread[:, None])[:n_confounds])
        return cls(center[:n_confounds].copy(), intercepts, own)

    def predict(self, confounds: Floats) -> Floats:
        """Return the expected values (n, E) at these confounds (n, C)."""
        # Not a matrix product, whose last bits depend on the number of rows: one subject
        # alone gets the same bits as among others.
        expected = np.tile(self.intercepts, (len(confounds), 1))
        for values, slopes in zip((confounds - self.center).T, self.coefficients, strict=True):
            expected += np.outer(values, slopes)
        return expected

    def residuals(self, values: Floats, confounds: Floats) -> Floats:
        """Return `values` (n, E) minus what the confounds predict of them."""
        return values - self.predict(confounds)

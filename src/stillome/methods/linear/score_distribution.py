"""The distribution of component scores and residual edges, from which subjects are drawn."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from stillome.arrays import Floats
from stillome.cohort.residuals import least_squares


@dataclass(frozen=True)
class ScoreDistribution:
    """Scores given the confounds, and log edges given the scores; both Gaussian.

    Attributes
    ----------
    center : array of shape (C,)
    intercepts : array of shape (K,)
    coefficients : array of shape (C, K)
        The regression of the scores on the confounds: see `LeastSquares`.
    covariance : array of shape (K, K)
        Of the scores around that regression.
    residual_sd : array of shape (E,)
        Standard deviation of the log1p edges around what the components represent.
    ceiling : array of shape (E,)
        The largest log1p edge of the training subjects.
    """

    center: Floats
    intercepts: Floats
    coefficients: Floats
    covariance: Floats
    residual_sd: Floats
    ceiling: Floats

    @classmethod
    def fit(cls, scores: Floats, confounds: Floats, log_edges: Floats, expected: Floats) -> Self:
        """Learn from training subjects.

        Parameters
        ----------
        scores : array of shape (n, K)
        confounds : array of shape (n, C)
        log_edges : array of shape (n, E)
        expected : array of shape (n, E)
            The log edges that the method expects given scores and confounds.
        """
        regression = least_squares(scores, confounds)
        around = regression.residuals(scores, confounds)
        return cls(
            **vars(regression),
            covariance=around.T @ around / len(scores),
            residual_sd=(log_edges - expected).std(axis=0),
            ceiling=log_edges.max(axis=0),
        )

    def draw_scores(self, confounds: Floats, rng: np.random.Generator) -> Floats:
        """Return scores (n, K) of subjects with these confounds (n, C)."""
        mean = self.intercepts + (confounds - self.center) @ self.coefficients
        zero = np.zeros(len(self.intercepts))
        return mean + rng.multivariate_normal(zero, self.covariance, len(mean), method="eigh")

    def draw_edges(self, expected: Floats, rng: np.random.Generator) -> Floats:
        """Return edges (n, E), in the unit of the training data, around expected log1p edges.

        On the log scale a Gaussian tail would become very large edges: none is larger than the
        largest of the training subjects.
        """
        noise = rng.standard_normal(expected.shape) * self.residual_sd
        return np.expm1(np.clip(expected + noise, 0.0, self.ceiling))

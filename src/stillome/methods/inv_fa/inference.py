"""Motion that was not measured, read from the connectome itself."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

_PENALTIES = np.logspace(-3, 2, 16)
_MOST_SUBJECTS = 3000  # the kernel is n × n


class InferredConfounds(NamedTuple):
    """Confounds read from connectomes.

    Attributes
    ----------
    mean : array of shape (n, C)
        In the users' units.
    sd : array of shape (n, C)
        How sure that is: error of left-out training subjects.
    """

    mean: Floats
    sd: Floats


@dataclass(frozen=True)
class ConfoundInference:
    """Ridge regression of the confounds on log(1 + counts).

    Attributes
    ----------
    center, scale : arrays of shape (E,)
    weights : array of shape (E, C)
    intercept, sd : arrays of shape (C,)
    """

    center: Floats
    scale: Floats
    weights: Floats
    intercept: Floats
    sd: Floats

    @classmethod
    def fit(cls, counts: NDArray[Any], confounds: Floats) -> tuple[Self, Floats]:
        """Fit, and return left-out predictions (m, C) for the first m subjects beside the model.

        Parameters
        ----------
        counts : array of shape (n, E)
        confounds : array of shape (n, C)
        """
        logs = np.log1p(counts[:_MOST_SUBJECTS].astype(np.float32))
        targets = confounds[:_MOST_SUBJECTS]
        center, scale = logs.mean(axis=0), logs.std(axis=0) + np.float32(0.1)
        standard = (logs - center) / scale
        kernel = (standard @ standard.T).astype(np.float64) / standard.shape[1]
        values, vectors = np.linalg.eigh(kernel)
        values = np.maximum(values, 0)
        means = targets.mean(axis=0)
        rotated = vectors.T @ (targets - means)
        dual, left_out = _best_ridge(values, vectors, rotated, targets - means)
        weights = standard.T.astype(np.float64) @ dual / standard.shape[1]
        errors = targets - means - left_out
        model = cls(
            center.astype(np.float64),
            scale.astype(np.float64),
            weights,
            means,
            np.sqrt((errors**2).mean(axis=0)),
        )
        return model, left_out + means

    def infer(self, counts: NDArray[Any]) -> InferredConfounds:
        """Read the confounds of these subjects."""
        standard = (np.log1p(counts.astype(np.float64)) - self.center) / self.scale
        mean = standard @ self.weights + self.intercept
        return InferredConfounds(mean, np.broadcast_to(self.sd, mean.shape).copy())


def _best_ridge(
    values: Floats, vectors: Floats, rotated: Floats, targets: Floats
) -> tuple[Floats, Floats]:
    """Return dual coefficients and leave-one-out predictions at the best penalty."""
    best: tuple[float, Floats, Floats] | None = None
    for penalty in _PENALTIES * max(values.mean(), 1e-12):
        shrunk = 1 / (values + penalty)
        dual = vectors @ (shrunk[:, None] * rotated)
        # Leave-one-out residual = dual coefficient / diagonal of the inverse kernel. The left-out
        # subject took part in the means: without the last term, the mean of the others would
        # tell what is missing.
        diagonal = (vectors**2) @ shrunk - 1 / (len(vectors) * penalty)
        residual = dual / diagonal[:, None]
        error = float((residual**2).mean())
        if best is None or error < best[0]:
            best = (error, dual, targets - residual)
    assert best is not None
    return best[1], best[2]

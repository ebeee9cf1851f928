"""Motion that was not measured, inferred from the connectome by ridge regression."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.groups import Levels
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.methods.inv_fa.tuning import TUNING, Tuning

_PENALTIES = np.logspace(-3, 2, 16)  # grid of the search, in units of the mean eigenvalue


class InferredConfounds(NamedTuple):
    """Confounds inferred from connectomes.

    Attributes
    ----------
    mean : array of shape (n, C)
        In the users' units.
    sd : array of shape (n, C)
        Root mean squared error of left-out training subjects.
    """

    mean: Floats
    sd: Floats


@dataclass(frozen=True)
class ConfoundInference:
    """Ridge regression of the confounds on log(1 + counts) (Hoerl and Kennard 1970).

    The penalty minimises the error of left-out subjects.

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
    def fit(
        cls,
        counts: AnyTable,
        confounds: Floats,
        tuning: Tuning = TUNING,
        groups: Levels | None = None,
    ) -> tuple[Self, Floats]:
        """Fit, and return left-out predictions (m, C) for the first m subjects beside the model.

        Parameters
        ----------
        counts : array or table of shape (n, E)
            In an order without meaning: of very many subjects only the first are used.
        confounds : array of shape (n, C)
        tuning : Tuning
        groups : array of shape (n, 1) or (n, 3), optional
            Left out together; see `group_levels`.
        """
        targets = confounds[: tuning.max_subjects]
        table = EdgeTable.of(counts).rows(slice(len(targets)))
        logs = table.then(lambda block: np.log1p(block.astype(np.float32)))
        center, scale = logs.each(lambda block: (block.mean(axis=0), block.std(axis=0)))
        scale = np.where(scale > 1e-6, scale, 1).astype(np.float32)
        standard = logs.then(lambda block, middle, sd: (block - middle) / sd, center, scale)
        kernel = standard.total(lambda block: block @ block.T) / standard.shape[1]
        values, vectors = np.linalg.eigh(kernel)
        values = np.maximum(values, 0)
        means = targets.mean(axis=0)
        rotated = vectors.T @ (targets - means)
        together = None if groups is None else groups[: tuning.max_subjects, 0]
        dual, left_out = _best_ridge(values, vectors, rotated, targets - means, together)
        weights = standard.each(lambda block: dual.T @ block.astype(np.float64))
        weights = weights.T / standard.shape[1]
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
        """Infer the confounds of these subjects."""
        standard = (np.log1p(counts.astype(np.float64)) - self.center) / self.scale
        mean = standard @ self.weights + self.intercept
        return InferredConfounds(mean, np.broadcast_to(self.sd, mean.shape).copy())


def _best_ridge(
    values: Floats,
    vectors: Floats,
    rotated: Floats,
    targets: Floats,
    labels: NDArray[np.intp] | None,
) -> tuple[Floats, Floats]:
    """Return dual coefficients and leave-one-out predictions at the best penalty.

    With `labels` (n,), the predictions leave out whole groups.
    """
    best: tuple[float, Floats, Floats] | None = None
    for penalty in _PENALTIES * max(values.mean(), 1e-12):
        shrunk = 1 / (values + penalty)
        dual = vectors @ (shrunk[:, None] * rotated)
        residual = _left_out(vectors, shrunk, penalty, dual, labels)
        error = float((residual**2).sum())
        if best is None or error < best[0]:
            best = (error, dual, targets - residual)
    assert best is not None
    return best[1], best[2]


def _left_out(
    vectors: Floats,
    shrunk: Floats,
    penalty: float,
    dual: Floats,
    labels: NDArray[np.intp] | None,
) -> Floats:
    """Return the residuals (n, C) of subjects, or of groups, that were left out."""
    # Leave-one-out residual = dual coefficient / diagonal of the inverse kernel. The last term
    # corrects for the means, in which the left-out subject took part.
    correction = 1 / (len(vectors) * penalty)
    diagonal = (vectors**2) @ shrunk - correction
    residual = dual / diagonal[:, None]
    if labels is None:
        return residual
    # For a group, the same with its block of the inverse kernel.
    for label, size in zip(*np.unique(labels, return_counts=True), strict=True):
        if size > 1:
            rows = np.flatnonzero(labels == label)
            block = (vectors[rows] * shrunk) @ vectors[rows].T - correction
            residual[rows] = np.linalg.solve(block, dual[rows])
    return residual

"""Motion that was not measured, inferred from the connectome by ridge regression."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, lapack

from stillome.arrays import Floats
from stillome.cohort.groups import Levels
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.methods.inv_fa.moments import means_and_spreads
from stillome.methods.inv_fa.tuning import TUNING, Tuning
from stillome.methods.stages.motion_effect.gram_matrices import gram_of_subjects

_PENALTIES = np.logspace(-3, 2, 16)  # grid of the search, in units of the mean eigenvalue
# Subjects among whom the penalty is chosen. The best one is a ratio of two variances, noise to
# signal, which does not depend on the number of subjects.
_CHOOSING = 700


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

    The penalty minimises the error of left-out subjects, among the first 700.

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
        logs = table.pointwise(lambda block: np.log1p(block.astype(np.float32)))
        center, scale = logs.each(means_and_spreads)
        center, scale = (a.astype(np.float32) for a in (center, np.where(scale > 1e-6, scale, 1)))
        standard = logs.pointwise(lambda block, middle, sd: (block - middle) / sd, center, scale)
        kernel = gram_of_subjects(standard)[0]
        kernel /= standard.shape[1]
        means = targets.mean(axis=0)
        together = None if groups is None else groups[: tuning.max_subjects, 0]
        penalty = _best_penalty(kernel, targets, together)
        dual, left_out = _ridge(kernel, targets - means, penalty, together)
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


def _best_penalty(kernel: Floats, targets: Floats, labels: NDArray[np.intp] | None) -> float:
    """Return the penalty with the smallest error of left-out subjects, or groups by `labels`."""
    some = slice(_CHOOSING)
    targets = targets[some] - targets[some].mean(axis=0)
    labels = None if labels is None else labels[some]
    chosen = kernel[some, some] - kernel[some, some].mean(axis=0)
    values, vectors = np.linalg.eigh(chosen - chosen.mean(axis=1, keepdims=True))
    values = np.maximum(values, 0)
    rotated = vectors.T @ targets

    def error(penalty: float) -> float:
        shrunk = 1 / (values + penalty)
        dual = vectors @ (shrunk[:, None] * rotated)
        return float((_left_out(_Inverse(vectors, shrunk), penalty, dual, labels) ** 2).sum())

    # In units of all subjects, among whom these may vary least.
    unit = max(float(np.trace(kernel)) / len(kernel), 1e-12)
    return float(min(_PENALTIES * unit, key=error))


def _ridge(
    kernel: Floats, targets: Floats, penalty: float, labels: NDArray[np.intp] | None
) -> tuple[Floats, Floats]:
    """Return dual coefficients (n, C) of centred targets, and predictions of left-out subjects.

    With `labels` (n,), the predictions leave out whole groups. The kernel is used up.
    """
    kernel[np.diag_indices_from(kernel)] += penalty
    # A symmetric matrix is its own transpose, which LAPACK overwrites without a copy.
    factor = cholesky(kernel.T, lower=True, overwrite_a=True)
    half = lapack.dtrtri(factor, lower=1, overwrite_c=1)[0].T
    dual = half @ (half.T @ targets)
    inverse = _Inverse(half, np.ones(len(half)))
    return dual, targets - _left_out(inverse, penalty, dual, labels)


class _Inverse(NamedTuple):
    """A symmetric inverse (n, n) in factors: `factor` diag(`weights`) `factor`ᵀ."""

    factor: Floats
    weights: Floats

    def diagonal(self) -> Floats:
        return np.einsum("ij,ij,j->i", self.factor, self.factor, self.weights)

    def block(self, rows: NDArray[np.intp]) -> Floats:
        return np.asarray((self.factor[rows] * self.weights) @ self.factor[rows].T)


def _left_out(
    inverse: _Inverse, penalty: float, dual: Floats, labels: NDArray[np.intp] | None
) -> Floats:
    """Return the residuals (n, C) of subjects, or of groups, that were left out.

    `inverse` is that of the kernel plus penalty.
    """
    # Leave-one-out residual = dual coefficient / diagonal of the inverse kernel. The last term
    # corrects for the means, in which the left-out subject took part.
    correction = 1 / (len(dual) * penalty)
    residual = dual / (inverse.diagonal() - correction)[:, None]
    if labels is None:
        return residual
    # For a group, the same with its block of the inverse kernel.
    for label, size in zip(*np.unique(labels, return_counts=True), strict=True):
        if size > 1:
            rows = np.flatnonzero(labels == label)
            residual[rows] = np.linalg.solve(inverse.block(rows) - correction, dual[rows])
    return residual

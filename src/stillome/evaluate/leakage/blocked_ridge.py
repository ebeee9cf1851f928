"""Ridge regression in many subjects, from sums over the subjects of every fold.

Inner products of features, and of features with confounds, are added up fold by fold. From them
come the regression of every training part, its penalty and the errors in the fold left out, for all
permutations, without another look at the subjects. The result is that of `probe_ridge`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from stillome.arrays import Floats
from stillome.counts.block_store import BlockStore
from stillome.evaluate.leakage.auc import best_auc
from stillome.evaluate.leakage.drawn_orders import DrawnOrders
from stillome.evaluate.leakage.folded_rows import FoldedRows, row_store
from stillome.evaluate.leakage.probes import Outcome, ridge_penalties

_NO_VARIANCE = 1e-12  # eigenvalues, relative to the largest, that are rounding errors


class _Targets(NamedTuple):
    """Sums over the subjects of some folds, of T permuted confounds."""

    products: Floats  # (q, T): with the features
    sums: Floats  # (T,)
    squares: Floats  # (T,)

    def less(self, other: "_Targets") -> "_Targets":
        return _Targets(*(one - two for one, two in zip(self, other, strict=True)))


def probe_ridge_in_blocks(
    rows: FoldedRows, confounds: Floats, orders: DrawnOrders, two_valued: Floats | None = None
) -> Outcome:
    """Ridge regression on all features; the penalty is chosen in every permutation.

    Parameters
    ----------
    rows : FoldedRows
        Standardised features.
    confounds : array of shape (n, C)
        Standardised.
    orders : DrawnOrders
    two_valued : array of shape (n, C), optional
        See `probe_ridge`.
    """
    predicted = np.empty_like(confounds)
    errors = np.zeros((1 + orders.n_permutations, confounds.shape[1]))
    for block in range(len(rows.blocks)):
        folds = _Folds(rows, block)
        done = 0
        for order in orders:
            targets = folds.targets(confounds, order)
            squares = np.zeros(targets[0].sums.shape)
            for number in range(len(folds)):
                weights, constants = folds.regression(number, targets)
                squares += folds.squared_errors(number, targets[number], weights, constants)
                if not done:
                    folds.predict(number, weights, constants, predicted)
            errors[done : done + len(order)] += squares.reshape(len(order), -1)
            done += len(order)
    # A permutation does not change the variance of the confounds.
    total = ((confounds - confounds.mean(axis=0)) ** 2).sum(axis=0)
    tests = [fold for block in rows.blocks for fold in block.folds]
    auc = best_auc(predicted, two_valued, tests)
    return Outcome(1 - errors / total, predicted, auc, n_features=rows.n_features)


class _Folds:
    """The folds of a block: sums of features, and an eigendecomposition for every training part."""

    def __init__(self, rows: FoldedRows, block: int) -> None:
        self._rows, self._numbers = rows, list(rows.folds_of(block))
        q = rows.n_features
        self._q = q
        shape = (len(self._numbers) * q, q)
        self._grams, self._vectors = row_store(shape, np.float64), row_store(shape, np.float64)
        self._sizes = np.zeros(len(self), dtype=np.intp)
        self._sums = np.zeros((len(self), q))
        total = np.zeros((q, q))
        for number, fold in enumerate(self._numbers):
            gram = np.zeros((q, q))
            for members, features in rows.chunks(fold):
                gram += features.T @ features
                self._sums[number] += features.sum(axis=0)
                self._sizes[number] += len(members)
            self._grams.write_rows(number * q, gram)
            total += gram
        self._eigenvalues = []
        for number in range(len(self)):
            kernel = self._square(self._grams, number)
            np.subtract(total, kernel, out=kernel)
            n, mean = self._training(number)
            for row, centre in enumerate(mean):
                kernel[row] -= n * centre * mean
            kernel /= q
            # In place, and by the driver that needs the least workspace.
            values, vectors = eigh(kernel.T, overwrite_a=True, check_finite=False, driver="evr")
            self._eigenvalues.append(np.maximum(values, 0))
            self._vectors.write_rows(number * q, vectors)

    def __len__(self) -> int:
        return len(self._numbers)

    def targets(self, confounds: Floats, order: NDArray[np.intp]) -> list[_Targets]:
        """Return the sums of every fold, of the confounds (n, C) in each order (b, n)."""
        found = []
        n_targets = len(order) * confounds.shape[1]
        for fold in self._numbers:
            products, sums, squares = (
                np.zeros(shape) for shape in ((self._q, n_targets), n_targets, n_targets)
            )
            for members, features in self._rows.chunks(fold):
                permuted = confounds[order[:, members]]  # (b, m, C)
                flat = np.moveaxis(permuted, 1, 0).reshape(len(members), -1)
                products += features.T @ flat
                sums += flat.sum(axis=0)
                squares += (flat**2).sum(axis=0)
            found.append(_Targets(products, sums, squares))
        return found

    def regression(self, number: int, targets: list[_Targets]) -> tuple[Floats, Floats]:
        """Return weights (q, T) and constants (T,), trained on all folds but one."""
        training = _sum(targets).less(targets[number])
        n, mean = self._training(number)
        means = training.sums / n
        eigenvalues, vectors = self._eigenvalues[number], self._square(self._vectors, number)
        scaled = vectors.T @ (training.products - n * np.outer(mean, means)) / np.sqrt(self._q)
        spanned = eigenvalues > _NO_VARIANCE * max(eigenvalues.max(initial=0), 1e-9)
        roots = np.sqrt(np.where(spanned, eigenvalues, 1))
        rotated = np.where(spanned[:, None], scaled / roots[:, None], 0)
        variance = training.squares - n * means**2
        # What no component of the features explains, and how many directions that has.
        rest = np.maximum(variance - (rotated**2).sum(axis=0), 0)
        n_rest = n - spanned.sum()
        scale = max(eigenvalues.sum() / n, 1e-9)
        best_error, best = np.full(len(means), np.inf), np.zeros_like(rotated)
        for penalty in ridge_penalties(scale):
            shrunk = np.where(spanned, penalty / (eigenvalues + penalty), 0)
            freedom = max(shrunk.sum() + n_rest - 1, 1e-9)
            error = ((shrunk**2) @ (rotated**2) + rest) / freedom**2
            better = error < best_error
            best_error[better] = error[better]
            fitted = rotated * (roots / (eigenvalues + penalty))[:, None]
            best[:, better] = fitted[:, better]
        weights = np.asarray(vectors @ best / np.sqrt(self._q))
        return weights, np.asarray(means - mean @ weights)

    def squared_errors(
        self, number: int, targets: _Targets, weights: Floats, constants: Floats
    ) -> Floats:
        """Return the sums of squared errors (T,) in a fold."""
        n, sums, gram = self._sizes[number], self._sums[number], self._square(self._grams, number)
        # Of (y - k) - x w, with the constant k and the weights w.
        own = targets.squares - 2 * constants * targets.sums + n * constants**2
        crossed = (weights * (targets.products - np.outer(sums, constants))).sum(axis=0)
        return np.asarray(own - 2 * crossed + (weights * (gram @ weights)).sum(axis=0))

    def predict(self, number: int, weights: Floats, constants: Floats, predicted: Floats) -> None:
        """Fill in the predictions (n, C) of the subjects of a fold."""
        for members, features in self._rows.chunks(self._numbers[number]):
            predicted[members] = features @ weights + constants

    def _training(self, number: int) -> tuple[int, Floats]:
        n = int(self._sizes.sum() - self._sizes[number])
        return n, (self._sums.sum(axis=0) - self._sums[number]) / n

    def _square(self, store: BlockStore, number: int) -> Floats:
        return store.read_rows(slice(number * self._q, (number + 1) * self._q))


def _sum(targets: list[_Targets]) -> _Targets:
    return _Targets(*(np.sum(values, axis=0) for values in zip(*targets, strict=True)))

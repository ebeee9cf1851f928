"""Area under the ROC curve of cross-fitted predictions of a confound with two values."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from stillome.arrays import Floats

Folds = list[NDArray[np.intp]]  # test positions of each fold


def two_valued(confounds: Floats) -> Floats:
    """Code columns with two values as 0 and 1; the others become NaN.

    Examples
    --------
    >>> two_valued(np.array([[3.0, 0.1], [5.0, 0.2], [5.0, 0.3]])).tolist()
    [[0.0, nan], [1.0, nan], [1.0, nan]]
    """
    low, high = confounds.min(axis=0), confounds.max(axis=0)
    binary = ((confounds == low) | (confounds == high)).all(axis=0)
    return np.where(binary, (confounds == high).astype(np.float64), np.nan)


def best_auc(predicted: Floats, labels: Floats | None, folds: Folds) -> float:
    """Return the largest AUC over the two-valued confounds; NaN where there is none.

    Only subjects of the same fold are compared. Folds have probes of their own, whose intercepts
    differ: a fold with many 1s is predicted by a training part with few, so that pooled
    predictions have an AUC below 0.5 without leakage.

    Parameters
    ----------
    predicted : array of shape (n, C)
    labels : array of shape (n, C), or None
        See `two_valued`.
    folds : list of test positions

    Examples
    --------
    >>> predicted = np.array([[0.1], [0.2], [0.8], [0.9]])
    >>> best_auc(predicted, np.array([[0.0], [1.0], [0.0], [1.0]]), [np.arange(4)])
    0.75
    """
    if labels is None:
        return float("nan")
    found = [
        _auc(predicted[:, column], labels[:, column], folds)
        for column in np.flatnonzero(np.isfinite(labels).all(axis=0))
    ]
    return float(np.nanmax(found)) if np.isfinite(found).any() else float("nan")


def _auc(predicted: Floats, labels: Floats, folds: Folds) -> float:
    """Share of pairs in the right order, over all pairs of a 0 and a 1 within a fold."""
    right = pairs = 0.0
    for test in folds:
        ones = labels[test] == 1
        n_ones, n_zeros = ones.sum(), (~ones).sum()
        # Mann and Whitney's U.
        right += rankdata(predicted[test])[ones].sum() - n_ones * (n_ones + 1) / 2
        pairs += n_ones * n_zeros
    return float(right / pairs) if pairs else float("nan")

"""Probes: regressions that predict confounds from features, each with an exact permutation test.

Two kinds of test keep the cost of permutations down without giving up their exactness:

* ridge and distance correlation have closed forms, so that the whole statistic is recomputed for
  every permutation of the subjects;
* support vectors and trees are too slow for that. They are tested *prequentially*: each fold is
  predicted by a probe trained on the folds before it only. Given those, the confounds of the fold
  are exchangeable under the null, so that permuting them against the finished predictions is
  exact, and the p-values of successive folds are independent. (Permuting against ordinary
  cross-validated predictions is not: every pair of folds then predicts each other.)

A probe is trained and tested within a *block* of subjects only. Usually all subjects are one block.
Subjects that were adjusted by different models are in different blocks.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.decomposition import PCA
from sklearn.svm import SVR

from stillome.arrays import Floats
from stillome.cohort.exchange import Shuffler
from stillome.evaluate.leakage.auc import best_auc
from stillome.evaluate.leakage.probe_data import Blocks

_PENALTIES = np.logspace(-3, 3, 13)
_FOLD_PERMUTATIONS = 2000
_SVR_COMPONENTS = 68


class Outcome(NamedTuple):
    """What one probe found in one arrangement of the subjects into blocks."""

    scores: Floats  # (1 + B, C): R² of every confound, as observed and in B permutations
    predicted: Floats | None  # (n, C), cross-fitted; None for distance correlation
    auc: float = float("nan")  # of the two-valued confound that is predicted best
    z_score: float = float("nan")  # of a prequential test
    null_95: float = float("nan")  # of a prequential test, on the scale of R²
    n_features: int = 0


def probe_ridge(
    features: Floats,
    confounds: Floats,
    blocks: Blocks,
    orders: NDArray[np.intp],
    two_valued: Floats | None = None,
) -> Outcome:
    """Ridge regression on all features; the penalty is chosen in every permutation.

    One eigendecomposition per fold serves all permutations. `RidgeCV` would choose a penalty for
    each of them too, but takes a matrix product for every candidate penalty.

    Parameters
    ----------
    features : array of shape (n, p)
        Standardised.
    confounds : array of shape (n, C)
        Standardised.
    blocks : list of Block
    orders : array of shape (B, n)
        Permutations of the subjects; without any there is no test.
    two_valued : array of shape (n, C), optional
        0 and 1 for confounds with two values, for the AUC; NaN for the others.
    """

    def kernel(members: NDArray[np.intp]) -> Floats:
        block = features[members]
        return np.asarray(block @ block.T / features.shape[1])

    found = probe_ridge_by_kernel(kernel, confounds, blocks, orders, two_valued)
    return found._replace(n_features=features.shape[1])


def probe_ridge_by_kernel(
    kernel_of: Callable[[NDArray[np.intp]], Floats],
    confounds: Floats,
    blocks: Blocks,
    orders: NDArray[np.intp],
    two_valued: Floats | None = None,
) -> Outcome:
    """Ridge regression on features of which only inner products (m, m) of subjects are given."""
    n, n_confounds = confounds.shape
    targets = np.concatenate([confounds[None], confounds[orders]])  # (1 + B, n, C)
    flat = np.moveaxis(targets, 1, 0).reshape(n, -1)
    predicted = np.empty_like(flat)
    for members, folds in blocks:
        kernel = kernel_of(members)
        places = np.arange(len(members))
        for fold in folds:
            test = np.flatnonzero(np.isin(members, fold))
            train = np.setdiff1d(places, test)
            predicted[members[test]] = _ridge_predictions(kernel, flat[members], train, test)
    residual = ((flat - predicted) ** 2).sum(axis=0)
    total = ((flat - flat.mean(axis=0)) ** 2).sum(axis=0)
    scores = (1 - residual / total).reshape(-1, n_confounds)
    observed = predicted[:, :n_confounds]
    auc = best_auc(observed, two_valued, [fold for block in blocks for fold in block.folds])
    return Outcome(scores, observed, auc)


def ridge_penalties(scale: float) -> Floats:
    """Return the penalties that are tried; `scale` is the mean eigenvalue of the kernel."""
    return np.asarray(_PENALTIES * scale * 10)


def _ridge_predictions(
    kernel: Floats, targets: Floats, train: NDArray[np.intp], test: NDArray[np.intp]
) -> Floats:
    inner = kernel[np.ix_(train, train)]
    outer = kernel[np.ix_(test, train)]
    row_means, total_mean = inner.mean(axis=0), inner.mean()
    inner = inner - row_means - row_means[:, None] + total_mean
    outer = outer - row_means - outer.mean(axis=1, keepdims=True) + total_mean
    means = targets[train].mean(axis=0)
    eigenvalues, vectors = np.linalg.eigh(inner)
    eigenvalues = np.maximum(eigenvalues, 0)
    rotated = vectors.T @ (targets[train] - means)
    best_error = np.full(targets.shape[1], np.inf)
    best = np.zeros_like(rotated)
    # Features that vary in the test part only leave rounding errors to train on.
    scale = max(eigenvalues.sum() / len(train), 1e-9)
    for penalty in ridge_penalties(scale):
        shrunk = penalty / (eigenvalues + penalty)  # residual factor of each component
        # Generalised cross-validation; the intercept takes one degree of freedom.
        error = (shrunk**2) @ (rotated**2) / max(shrunk.sum() - 1, 1e-9) ** 2
        better = error < best_error
        best_error[better] = error[better]
        best[:, better] = (rotated / (eigenvalues + penalty)[:, None])[:, better]
    return np.asarray(outer @ (vectors @ best) + means)


def probe_distance_correlation(
    features: Floats, confounds: Floats, blocks: Blocks, orders: NDArray[np.intp]
) -> Outcome:
    """Distance correlation, bias-corrected (squared; about 0 under independence).

    Over several blocks, distance covariances and variances of the blocks are added up.
    """
    # Rows of a centred block add up to 0, so that the other side need not be centred within it.
    everybody = _u_centred(_distances(confounds))
    lefts = [_u_centred(_distances(features[members])) for members, _ in blocks]
    rights = [_u_centred(_distances(confounds[members])) for members, _ in blocks]
    sizes = [
        np.sqrt(sum((one**2).sum(dtype=np.float64) for one in side)) for side in (lefts, rights)
    ]
    if min(sizes) < 1e-6:  # all pairs of subjects are equally distant
        return Outcome(np.zeros((1 + len(orders), 1)), None, n_features=features.shape[1])
    found = []
    for order in [np.arange(len(confounds)), *orders]:
        parts = [everybody[np.ix_(order[members], order[members])] for members, _ in blocks]
        found.append(sum(float(np.vdot(*pair)) for pair in zip(lefts, parts, strict=True)))
    scores = np.array(found)[:, None] / (sizes[0] * sizes[1])
    return Outcome(scores, None, n_features=features.shape[1])


def _distances(rows: Floats) -> Floats:
    """Euclidean distances of all pairs, by one matrix product."""
    squares = (rows**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * rows @ rows.T
    np.fill_diagonal(distances, 0)
    return np.sqrt(np.maximum(distances, 0))


def _u_centred(distances: Floats) -> NDArray[np.float32]:
    n = len(distances)
    rows = distances.sum(axis=0) / (n - 2)
    centred = distances - rows - rows[:, None] + distances.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0)
    return centred.astype(np.float32)


Fitter = Callable[[Floats, Floats, int], Callable[[Floats], Floats]]


def fit_svr(features: Floats, target: Floats, seed: int) -> Callable[[Floats], Floats]:
    """Fit support vectors with a radial kernel, on leading components when features are many."""
    n_components = min(_SVR_COMPONENTS, len(features) - 1)
    if features.shape[1] <= n_components:
        return SVR(C=1.0, epsilon=0.1).fit(features, target).predict
    solver = "randomized" if features.shape[1] > len(features) else "covariance_eigh"
    reduce = PCA(n_components, svd_solver=solver, random_state=seed)
    model = SVR(C=1.0, epsilon=0.1).fit(reduce.fit_transform(features), target)
    return lambda new: np.asarray(model.predict(reduce.transform(new)))


def probe_by_fitting(
    fit: Fitter,
    features: Floats,
    confounds: Floats,
    blocks: Blocks,
    groups: NDArray[np.intp] | None,
    rng: np.random.Generator,
    two_valued: Floats | None = None,
) -> Outcome:
    """Score a probe by cross-fitting and test it prequentially (see the module's docstring).

    Without `groups` (n, L) there is no test, which saves half the time. `two_valued` is that of
    `probe_ridge`.
    """
    folds = [fold for block in blocks for fold in block.folds]
    seeds = iter(rng.integers(2**31, size=2 * len(folds) * confounds.shape[1]).tolist())
    crossed = [(np.setdiff1d(b.members, test), test) for b in blocks for test in b.folds]
    predicted = np.empty_like(confounds)
    parts = _predictions(fit, features, confounds, crossed, seeds)
    for (_, test), part in zip(crossed, parts, strict=True):
        predicted[test] = part
    residual = ((confounds - predicted) ** 2).sum(axis=0)
    r2 = 1 - residual / ((confounds - confounds.mean(axis=0)) ** 2).sum(axis=0)
    auc = best_auc(predicted, two_valued, folds)
    found = Outcome(r2[None], predicted, auc, n_features=features.shape[1])
    if groups is None:
        return found

    forward = [
        (np.concatenate(block.folds[:i]), block.folds[i])
        for block in blocks
        for i in range(1, len(block.folds))
    ]
    z_scores, weights, null = [], [], []
    parts = _predictions(fit, features, confounds, forward, seeds)
    for (train, test), part in zip(forward, parts, strict=True):
        p_value, permuted = _fold_test(part, confounds[test], groups[test], rng)
        z_scores.append(norm.isf(p_value))
        # Weight by the sizes of training and test part: the power of a fold grows with both.
        weights.append(np.sqrt(len(test) * len(train)))
        null.append(np.quantile(permuted, 0.95))
    combined = np.dot(weights, z_scores) / np.linalg.norm(weights)
    null_r = float(np.mean(null)) / np.sqrt(len(null))
    return found._replace(z_score=float(combined), null_95=null_r**2)


def _predictions(
    fit: Fitter,
    features: Floats,
    confounds: Floats,
    splits: list[tuple[NDArray[np.intp], NDArray[np.intp]]],
    seeds: Iterator[int],
) -> Iterator[Floats]:
    for train, test in splits:
        if not np.ptp(features[train], axis=0).any():
            # Constant features: predict the mean.
            yield np.tile(confounds[train].mean(axis=0), (len(test), 1))
            continue
        columns = [
            fit(features[train], column[train], next(seeds))(features[test])
            for column in confounds.T
        ]
        yield np.column_stack(columns)


def _fold_test(
    predicted: Floats, observed: Floats, groups: NDArray[np.intp], rng: np.random.Generator
) -> tuple[float, Floats]:
    """Permute the confounds of one fold against its predictions."""
    left = predicted - predicted.mean(axis=0)
    right = observed - observed.mean(axis=0)
    scale = np.linalg.norm(left, axis=0) * np.linalg.norm(right, axis=0)
    scale[scale == 0] = np.inf
    orders = Shuffler(groups).draw_many(_FOLD_PERMUTATIONS, rng)
    null = np.max([right[:, c][orders] @ left[:, c] / scale[c] for c in range(len(scale))], axis=0)
    statistic = float(((left * right).sum(axis=0) / scale).max())
    exceeding = (null > statistic).sum() + rng.integers((null == statistic).sum() + 1)
    return (exceeding + 0.5) / (len(null) + 1), null

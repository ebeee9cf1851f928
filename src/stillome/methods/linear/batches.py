"""Batches for ComBat from confounds of any kind: sites as they are, motion by its quantiles."""

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from stillome.arrays import Floats
from stillome.exceptions import FitError, StillomeWarning

SMALLEST_BATCH = 10
_USUAL = 10  # batches that may become fewer without a word: the default
_FEWEST = 2  # subjects without whom a batch has no variance
_MOST_SITES = 10  # values of one confound, written as numbers, that are still read as sites


@dataclass(frozen=True)
class ConfoundBatches:
    """Subjects sorted into batches by their confounds.

    A confound with few values (a site, or the dummies of several sites) defines batches by
    itself. Continuous confounds (motion) are cut at their quantiles, within each site; several of
    them through the first principal component of their standardised values. New subjects go into
    the batch in which their confounds fall, or the nearest.

    Attributes
    ----------
    discrete : array of shape (C,), bool
        Which confounds have few values.
    levels : array of shape (L, C_discrete)
        The combinations of their values among the training subjects; one empty row without any.
    center, weights : arrays of shape (C_continuous,)
        The component of the continuous confounds is (confounds − center) · weights.
    cutoffs : array of shape (L, Q)
        Where the component is cut within each level, in its own unit if it is a single confound;
        unused places hold infinity.
    """

    discrete: NDArray[np.bool_]
    levels: Floats
    center: Floats
    weights: Floats
    cutoffs: Floats

    @classmethod
    def fit(cls, confounds: Floats, n_batches: int) -> Self:
        """Learn batches from training confounds (n, C).

        Parameters
        ----------
        confounds : array of shape (n, C)
        n_batches : int
            Largest number of motion quantiles within a site; fewer where a batch would have
            under 10 subjects, but at least 2 where there is no site. Without confounds all
            subjects are one batch.

        Raises
        ------
        FitError
            If a batch has fewer than two subjects, or there is only one.

        Examples
        --------
        >>> batches = ConfoundBatches.fit(np.repeat([[0.0], [1.0]], 20, axis=0), 10)
        >>> batches.of(np.array([[1.0], [0.0]])).tolist()
        [1, 0]
        """
        discrete = np.array(
            [_has_few_values(column, max(n_batches, _MOST_SITES)) for column in confounds.T],
            dtype=bool,
        )
        levels, found = np.unique(confounds[:, discrete], axis=0, return_inverse=True)
        center, weights = _component(confounds[:, ~discrete])
        motion = (confounds[:, ~discrete] - center) @ weights
        least = 1 if discrete.any() else 2
        cuts = [
            _cutoffs(motion[found.ravel() == level], n_batches, least)
            for level in range(len(levels))
        ]
        n_used = max(len(own) for own in cuts) + 1
        if _USUAL < n_batches != n_used and len(weights):
            warnings.warn(
                f"n_batches={n_batches}: {n_used} are used, since a batch needs {SMALLEST_BATCH} "
                "subjects and values of its own.",
                StillomeWarning,
                stacklevel=5,
            )
        cutoffs = np.full((len(levels), n_used - 1), np.inf)
        for row, own in zip(cutoffs, cuts, strict=True):
            row[: len(own)] = own
        batches = cls(discrete, levels, center, weights, cutoffs)
        sizes = np.unique(batches.of(confounds), return_counts=True)[1]
        if confounds.shape[1] and (len(sizes) < 2 or sizes.min() < _FEWEST):
            raise FitError(
                f"ComBat: {len(confounds)} subjects do not fill two or more batches with at least "
                f"{_FEWEST} each (smallest: {sizes.min()}). Give more subjects, lower n_batches, "
                "or leave out sites with a single subject."
            )
        return batches

    def of(self, confounds: Floats) -> NDArray[np.intp]:
        """Return the batch of each subject, an integer, shape (n,)."""
        spread = np.maximum(np.ptp(self.levels, axis=0), 1e-300)
        values = confounds[:, self.discrete]
        distance = (((values[:, None] - self.levels) / spread) ** 2).sum(axis=2)
        level = distance.argmin(axis=1)
        motion = (confounds[:, ~self.discrete] - self.center) @ self.weights
        quantile = (self.cutoffs[level] <= motion[:, None]).sum(axis=1)
        return level * (self.cutoffs.shape[1] + 1) + quantile


def _has_few_values(values: Floats, most: int) -> bool:
    """Whether a confound has two values, or at most `most` of which each is that of several."""
    counts = np.unique(values, return_counts=True)[1]
    return len(counts) == 2 or (len(counts) <= most and bool(counts.min() >= _FEWEST))


def _component(confounds: Floats) -> tuple[Floats, Floats]:
    """Return center and weights of the first principal component of (n, C) confounds."""
    n_confounds = confounds.shape[1]
    if n_confounds < 2:
        return np.zeros(n_confounds), np.ones(n_confounds)
    spread, center = confounds.std(axis=0), confounds.mean(axis=0)
    direction = PCA(1, svd_solver="full").fit((confounds - center) / spread)
    return center, direction.components_[0] / spread


def _cutoffs(motion: Floats, n_batches: int, least: int) -> Floats:
    """Cut motion (n,) at its quantiles into at least `least` and at most `n_batches` parts."""
    n_parts = min(n_batches, max(least, len(motion) // SMALLEST_BATCH))
    cutoffs = np.quantile(motion, np.arange(1, n_parts) / n_parts)
    # Ties (many subjects with one value) would give empty batches.
    return np.unique(cutoffs[(cutoffs > motion.min()) & (cutoffs <= motion.max())])

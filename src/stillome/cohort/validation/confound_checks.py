"""Whether the effect of confounds can be learned: enough subjects, and no value of another unit."""

import numpy as np

from stillome.arrays import Floats
from stillome.exceptions import ConfoundsError, ConfoundValueError

# With fewer, effects of noise add up to adjusted totals that are several times too large or small
# for unseen subjects (`benchmarks/robustness.py`). Several measures of motion are correlated, and
# the more there are, the larger their effects become: 40 subjects are too few for four.
_SUBJECTS_PER_MEASURE, _SUBJECTS_PER_PAIR, _SUBJECTS_PER_DUMMY = 10, 3, 2
_TAIL = 0.05  # share of subjects on either side that does not decide how far values may lie
_FAR = 50.0  # ranges of the other subjects; a lognormal measure of motion stays below 10
_ALONE = 10.0  # times as far as the next; counts of outlier slices have long tails
_FEWEST = 10  # with fewer subjects nobody can say what is usual


def check_trainable(confounds: Floats) -> None:
    """Refuse confounds (n, C) from which a fit would learn something wrong; NaN is unknown.

    Raises
    ------
    ConfoundsError
        If there are too few subjects for several confounds, with the number that would do, or if
        one value is so far from all others that it must be of another unit.

    Examples
    --------
    >>> check_trainable(np.random.default_rng(0).random((20, 4)))
    Traceback (most recent call last):
    ...
    stillome.exceptions.ConfoundsError: confounds: 20 subjects are too few to learn the effects of
    4 confounds; 48 would do. Leave out confounds, such as further measures of the same motion.
    """
    known = confounds[~np.isnan(confounds).any(axis=1)]
    _check_enough(known)
    for column, values in enumerate(confounds.T):
        _check_unit(values, column)


def _check_enough(known: Floats) -> None:
    n_confounds = known.shape[1]
    n_dummies = sum(len(np.unique(column)) <= 2 for column in known.T)
    n_measures = n_confounds - n_dummies
    needed = max(_SUBJECTS_PER_MEASURE * n_measures, _SUBJECTS_PER_PAIR * n_measures**2)
    needed += _SUBJECTS_PER_DUMMY * n_dummies
    if n_confounds > 1 and len(known) < needed:
        raise ConfoundsError(
            f"confounds: {len(known)} subjects are too few to learn the effects of {n_confounds} "
            f"confounds; {needed} would do. Leave out confounds, such as further measures of the "
            "same motion."
        )


def _check_unit(values: Floats, column: int) -> None:
    """Refuse a value that lies many times the range of the others away from them."""
    known = values[~np.isnan(values)]
    if len(known) < _FEWEST:
        return
    row = int(np.nanargmax(np.abs(values - np.median(known))))
    low, high = np.nanquantile(np.delete(values, row), [_TAIL, 1 - _TAIL])
    distance = np.nan_to_num(np.maximum(low - values, values - high))
    next_one = np.delete(distance, row).max()
    if high > low and distance[row] > max(_FAR * (high - low), _ALONE * next_one):
        said = (
            f"the others lie between {low:.3g} and {high:.3g}. Is this value in another unit? "
            "Correct it or leave out the subject."
        )
        raise ConfoundValueError(
            f"confounds: {values[row]:.6g} at subject {row}, column {column}; {said}",
            "confounds",
            row,
            column,
            f"is {values[row]:.6g}; {said}",
        )

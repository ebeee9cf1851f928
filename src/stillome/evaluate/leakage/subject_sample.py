"""A sample of subjects that does not depend on their order.

Support vectors, trees and distance correlation take time in proportion to the square of the number
of subjects, or need all features at a time. In large cohorts they see a sample: the subjects with
the smallest hashes of their own features, which is a simple random sample.
"""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.evaluate.leakage.large_views import LargeView

SAMPLE_SUBJECTS = 2000
SAMPLE_VALUES = 5_000_000  # subjects times features: more features are drawn from


def sampled_subjects(view: LargeView) -> NDArray[np.intp]:
    """Return the positions of at most `SAMPLE_SUBJECTS` subjects, in increasing order.

    Examples
    --------
    >>> sampled_subjects(LargeView.of_table(np.eye(3))).tolist()
    [0, 1, 2]
    """
    n = view.shape[0]
    if n <= SAMPLE_SUBJECTS:
        return np.arange(n)
    hashes = np.empty(n, dtype=np.uint64)
    for start, values in view.parts():
        for offset, row in enumerate(np.ascontiguousarray(values, dtype="<f8")):
            digest = blake2b(row.tobytes(), digest_size=8).digest()
            hashes[start + offset] = int.from_bytes(digest, "little")
    return np.sort(np.argsort(hashes, kind="stable")[:SAMPLE_SUBJECTS])


def sampled_features(
    columns: NDArray[np.intp], n_subjects: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return all columns, or as many drawn at random as fit into `SAMPLE_VALUES`.

    Examples
    --------
    >>> sampled_features(np.arange(3), 100, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    """
    most = max(1, SAMPLE_VALUES // n_subjects)
    return columns if len(columns) <= most else np.sort(rng.choice(columns, most, replace=False))


def gathered(view: LargeView, subjects: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Return some rows, in increasing order, and columns of a view.

    Examples
    --------
    >>> gathered(LargeView.of_table(np.eye(3)), np.array([0, 2]), np.array([2])).tolist()
    [[0.0], [1.0]]
    """
    found = np.empty((len(subjects), len(columns)))
    for start, values in view.parts():
        first, last = np.searchsorted(subjects, [start, start + len(values)])
        found[first:last] = values[np.ix_(subjects[first:last] - start, columns)]
    return found

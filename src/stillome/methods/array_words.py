"""Refusals in the words that scikit-learn's tools and users know, before ours."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from stillome.cohort.validation import n_regions_of
from stillome.cohort.validation.sliced import is_sliced
from stillome.exceptions import InputError


def check_array(X: ArrayLike) -> None:
    """Refuse what is no dense table or stack of real numbers.

    Raises
    ------
    InputError
        One sentence; the values themselves are judged elsewhere.

    Examples
    --------
    >>> check_array([1.0, 2.0, 3.0])
    Traceback (most recent call last):
    stillome.exceptions.InputError: X: shape (3,); expected (n, V, V) or (n, V(V-1)/2). Reshape
    your data: X.reshape(1, -1) is a single subject.
    """
    if sparse.issparse(X):
        raise InputError("X: sparse data is not supported. Pass a dense array, X.toarray().")
    if is_sliced(X):
        return  # judged in slices, by their own sentences
    try:
        array: Any = np.asarray(X)
    except ValueError:  # rows of unequal length, which are refused by their own sentence
        return
    if array.dtype.kind == "c":
        raise InputError("X: Complex data not supported; pass real numbers.")
    if array.ndim == 1:
        raise InputError(
            f"X: shape {array.shape}; expected (n, V, V) or (n, V(V-1)/2). Reshape your data: "
            "X.reshape(1, -1) is a single subject."
        )
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        return
    if array.shape[1] == 0:
        raise InputError(f"X: 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    try:
        n_regions_of(array.shape[1])
    except InputError as error:
        if (array < 0).any():
            raise InputError(f"X: Negative values in data, and {error}") from error
        raise

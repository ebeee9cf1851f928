"""Whether tables with an index are of the same subjects in the same order."""

from itertools import combinations
from typing import Any

import pandas as pd

from stillome.exceptions import InputError


def check_aligned(**tables: Any) -> None:
    """Refuse tables of the same subjects in another order; arrays have no order to compare.

    Parameters
    ----------
    **tables : array-like or None
        By the name of the argument. Of pandas objects, indices of the same kind are compared, ids
        with ids and numbers with numbers.

    Raises
    ------
    InputError
        Naming the first row that differs.

    Examples
    --------
    >>> X = pd.DataFrame([[3, 0, 1], [2, 2, 0]], index=["A", "B"])
    >>> check_aligned(X=X, confounds=pd.Series([0.1, 0.4], index=["B", "A"]))
    Traceback (most recent call last):
    ...
    stillome.exceptions.InputError: confounds: row 0 is 'B', that of X is 'A'. Put both in one
    order, e.g. with confounds.loc[X.index].
    """
    indices = {
        name: table.index
        for name, table in tables.items()
        if isinstance(table, pd.DataFrame | pd.Series)
    }
    for (first, ours), (then, theirs) in combinations(indices.items(), 2):
        numbers = [pd.api.types.is_numeric_dtype(index) for index in (ours, theirs)]
        if numbers[0] != numbers[1] or len(ours) != len(theirs) or ours.equals(theirs):
            continue  # other lengths are refused where rows are counted
        row = next(i for i in range(len(ours)) if ours[i] != theirs[i])
        raise InputError(
            f"{then}: row {row} is {theirs[row]!r}, that of {first} is {ours[row]!r}. Put both in "
            f"one order, e.g. with {then}.loc[{first}.index]."
        )

"""How many values of a trait are needed to predict it."""

from collections.abc import Iterable

import pandas as pd

from stillome.exceptions import InputError

# Of 30 values, five folds test six at a time: a correlation of six values is chance. Of 60, the
# interval of the mean r over folds is still about 0.3 wide on either side.
MIN_VALUES, SMALL_VALUES = 30, 60


def check_trait_sizes(table: pd.DataFrame, names: Iterable[str]) -> None:
    """Refuse traits that too few subjects have.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per subject; missing values are NaN.
    names : iterable of str
        The traits to predict.

    Raises
    ------
    InputError
        Naming the trait and the number of its values.

    Examples
    --------
    >>> check_trait_sizes(pd.DataFrame({"reading": [1.0, 2.0, None]}), ["reading"])
    Traceback (most recent call last):
    stillome.exceptions.InputError: 'reading' is known of 2 subjects, too few to predict it; ...

    """
    for name in names:
        n_known = int(table[name].notna().sum())
        if n_known < MIN_VALUES:
            subjects = "1 subject" if n_known == 1 else f"{n_known} subjects"
            raise InputError(
                f"{name!r} is known of {subjects}, too few to predict it; at least {MIN_VALUES} "
                "are needed. Leave out trait=..."
            )


def size_remark(n_subjects: float) -> str:
    """Return a remark on a trait that few subjects have; empty where they are enough.

    Examples
    --------
    >>> size_remark(45), size_remark(200)
    ('too small: 45 subjects', '')
    """
    return f"too small: {n_subjects:.0f} subjects" if n_subjects < SMALL_VALUES else ""

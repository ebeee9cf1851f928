"""Covariates to keep: biology that is correlated with motion and must not be removed with it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from stillome.arrays import Floats
from stillome.cohort.confound_coding import ConfoundCoding
from stillome.exceptions import ConfoundsError

WHAT = "column to keep"


class KeptCovariates(NamedTuple):
    """Columns to keep as numbers.

    Attributes
    ----------
    coding : ConfoundCoding
        How the columns become numbers: text becomes one column per level but the most frequent.
    values : array of shape (n, Q)
    """

    coding: ConfoundCoding
    values: Floats


def kept_covariates(traits: pd.DataFrame, names: Sequence[str]) -> KeptCovariates:
    """Code columns of numbers or text as covariates to keep, in the way of confounds.

    Parameters
    ----------
    traits : pandas.DataFrame
        One row per subject.
    names : sequence of str
        Columns of it.

    Raises
    ------
    ConfoundsError
        If a column is not there, is missing for somebody, does not vary, or a level of a text
        column has fewer than 10 subjects.

    Examples
    --------
    >>> traits = pd.DataFrame({"age": range(20), "sex": ["f", "m"] * 10})
    >>> kept = kept_covariates(traits, ["age", "sex"])
    >>> kept.coding.names, kept.values.shape
    (('age', 'sex=m'), (20, 2))
    """
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in traits:
            raise ConfoundsError(f"{WHAT} {name!r} is not among {', '.join(traits.columns)}.")
    table = traits[chosen]
    nothing = pd.DataFrame(index=table.index)
    coding = ConfoundCoding.fit(nothing, table, what=WHAT)
    # Nothing is adjusted to a value of these columns, so that numbers are taken as they are.
    coding = replace(coding, numbers=dict.fromkeys(coding.numbers, 0.0))
    for name, n_missing in table.isna().sum().items():
        if n_missing:
            one = str(table.index[table[name].isna()][0])
            raise ConfoundsError(
                f"{WHAT} {name!r} is missing for {n_missing} subjects, e.g. {one!r}; what is kept "
                "must be known for all. Leave them out of the table."
            )
    return KeptCovariates(coding, coding.encode(nothing, table).to_numpy())

"""Levels of text columns that need a word: sites nested in studies, and sites never seen."""

import warnings
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pandas as pd

from stillome.exceptions import StillomeWarning


def warn_of_nesting(texts: pd.DataFrame) -> None:
    """Warn if every level of a column is in one level of another, as sites of studies are.

    Columns that divide the subjects alike are said to do so.
    """
    for inner, outer in permutations(texts.columns, 2):
        pairs = texts[[inner, outer]].dropna().drop_duplicates()
        nested, inverse = (not pairs[name].duplicated().any() for name in (inner, outer))
        if nested and inverse and texts.columns.get_loc(inner) < texts.columns.get_loc(outer):
            warnings.warn(
                f"{inner} and {outer} divide the subjects alike, so that their effects cannot be "
                f"told apart. Leave out {outer}.",
                StillomeWarning,
                stacklevel=4,
            )
        if nested and not inverse:
            warnings.warn(
                f"{inner} is nested in {outer}: each {inner} has one {outer}, so that removing "
                f"{inner} removes {outer} as well. Leave out {outer}.",
                StillomeWarning,
                stacklevel=4,
            )


def without_unknown(labels: "pd.Series[Any]", known: Sequence[str]) -> "pd.Series[Any]":
    """Return labels with None in place of those that are not known, and say so."""
    unknown = labels.notna() & ~labels.isin(known)
    if unknown.any():
        warnings.warn(
            f"{labels.name} {labels[unknown].iloc[0]!r} of {int(unknown.sum())} subjects is "
            f"not among those fitted to ({', '.join(known)}). It is treated as unknown: only "
            "what their connectomes say about it is removed. `stillome adapt` learns it from "
            "10 or more of its people.",
            StillomeWarning,
            stacklevel=4,
        )
    return labels.where(~unknown, None)

"""Subjects at both ends of one measure of motion (Section 2.2 of the paper)."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.validation import as_floats, check_share
from stillome.exceptions import InputError


class MotionGroups(NamedTuple):
    """Subjects who moved least and most, as positions in the cohort, with the two cut-offs."""

    small: NDArray[np.intp]
    large: NDArray[np.intp]
    low_cutoff: float
    high_cutoff: float


def motion_groups(motion: pd.DataFrame, column: str, quantile: float) -> MotionGroups:
    """Find those who moved least and most; `Cohort.motion_groups` documents the arguments."""
    if not isinstance(column, str) or column not in motion:
        raise InputError(f"motion has no column {column!r}; it has {list(motion.columns)}.")
    share = check_share(quantile, "quantile", below=0.5)
    values = as_floats(motion[column].to_numpy(), f"motion: column {column!r}")
    values[np.isinf(values)] = np.nan
    if np.isnan(values).all():
        raise InputError(f"motion: column {column!r} holds no value for any subject.")
    low, high = np.nanquantile(values, [share, 1 - share])
    if low == high:
        raise InputError(f"motion: column {column!r} is {low:g} in both groups; nothing differs.")
    return MotionGroups(
        small=np.flatnonzero(values <= low),
        large=np.flatnonzero(values >= high),
        low_cutoff=float(low),
        high_cutoff=float(high),
    )

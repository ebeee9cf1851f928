"""Which columns are removed: measures of motion, and what else was asked for (site, scanner).

The default is the same for `run`, the single verbs, `compare_methods` and users of Python.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from stillome.cohort.confound_coding import ConfoundCoding
from stillome.cohort.motion_names import MOTION_NAMES, measure_of, rank_of, unit_trouble
from stillome.exceptions import ConfoundsError, InputError, StillomeWarning

# The default confound: the first of these measures that the motion table has, under any of the
# names in `MOTION_NAMES`, and that varies.
CONFOUND_ORDER: tuple[tuple[str, ...], ...] = (
    ("rms_mm",),
    ("fd_mm",),
    ("translation_mm", "rotation_rad"),
    ("rms_restricted_mm",),
    ("rms_absolute_mm",),
    ("translation_mm",),
    ("rotation_rad",),
    ("outliers_percent",),
    ("n_outlier_slices",),
)
_MOST_CODES = 30  # a column with so few different whole numbers may hold codes of sites


class Removed(NamedTuple):
    """Columns of motion, and of traits, whose effect is removed."""

    motion: tuple[str, ...]
    others: tuple[str, ...]

    def coding(self, motion: pd.DataFrame, traits: pd.DataFrame | None) -> ConfoundCoding:
        """Return how these columns of these subjects become numbers."""
        others = traits[list(self.others)] if traits is not None else None
        return ConfoundCoding.fit(motion[list(self.motion)], others)


def check_apart(
    removed: Sequence[str],
    *,
    trait: Sequence[str] = (),
    keep: Sequence[str] = (),
    group: str | None = None,
) -> None:
    """Refuse columns that are asked for twice, for different uses.

    Parameters
    ----------
    removed, trait, keep : sequence of str
        Confounds, columns to predict, and covariates to keep.
    group : str, optional
        The column whose members are never divided.

    Raises
    ------
    InputError
    """
    uses = {"removed": removed, "predicted": trait, "kept": keep, "held together": [group]}
    for first, then in (*(("removed", use) for use in list(uses)[1:]), ("predicted", "kept")):
        for name in uses[first]:
            if name in uses[then]:
                raise InputError(f"{name!r} cannot be both {first} and {then}; choose one.")


def not_motion(motion: pd.DataFrame | None, asked: Sequence[str]) -> list[str]:
    """Return those of the confounds asked for that must be columns of traits."""
    return [name for name in asked if motion is None or name not in motion]


def choose_removed(
    motion: pd.DataFrame, traits: pd.DataFrame | None, asked: Sequence[str] = ()
) -> Removed:
    """Return what is removed: columns of motion (the default if none is named) and of traits.

    Parameters
    ----------
    motion : pandas.DataFrame
        One row per subject.
    traits : pandas.DataFrame or None
        One row per subject.
    asked : sequence of str
        Names of columns of either table.

    Raises
    ------
    ConfoundsError
        If a column is in neither table.

    Warns
    -----
    StillomeWarning
        Where the numbers of a column may be codes of sites; and as `choose_confounds`.

    Examples
    --------
    >>> motion, traits = pd.DataFrame({"fd_mm": [0.1, 0.2]}), pd.DataFrame({"site": ["A", "B"]})
    >>> choose_removed(motion, traits, ["site"])
    Removed(motion=('fd_mm',), others=('site',))
    """
    traits = pd.DataFrame() if traits is None else traits
    others = [name for name in not_motion(motion, asked) if name in traits]
    wanted = [name for name in asked if name not in others]
    unknown = [name for name in not_motion(motion, wanted) if len(traits.columns)]
    if unknown:
        there = ", ".join(map(str, [*motion.columns, *traits.columns]))
        raise ConfoundsError(
            f"neither motion nor traits has a column {unknown[0]!r}. Choose among {there}."
        )
    chosen = choose_confounds(motion, wanted)
    for name in others:
        whole = pd.api.types.is_integer_dtype(traits[name].convert_dtypes())
        if whole and 2 < traits[name].nunique() <= _MOST_CODES:
            warnings.warn(
                f"{name!r} is removed as a number. If its numbers are codes, as of sites, write "
                "them as text: s1, s2 …",
                StillomeWarning,
                stacklevel=2,
            )
    return Removed(chosen, tuple(dict.fromkeys(others)))


def choose_confounds(motion: pd.DataFrame, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the columns of motion to remove: those asked for, or the first of `CONFOUND_ORDER`.

    Columns are found by the names in `MOTION_NAMES`, whatever their case and separators.

    Raises
    ------
    ConfoundsError
        If a column is missing, holds no number or the same one for everybody; or if none was
        asked for, and there is no usual name, or its numbers cannot be in its unit.

    Warns
    -----
    StillomeWarning
        Which measure was chosen, where its name was guessed or several could have been; and where
        the numbers of a column that was asked for cannot be in its unit.

    Examples
    --------
    >>> choose_confounds(pd.DataFrame({"fd_mm": [0.1], "rotation_rad": [0.0]}), ["fd_mm"])
    ('fd_mm',)
    >>> choose_confounds(pd.DataFrame({"fd_mm": [0.1, 0.2], "age": [9, 10]}))
    ('fd_mm',)
    """
    there = [str(name) for name in motion.columns]
    for name in asked:
        if name not in there:
            raise ConfoundsError(
                f"motion has no column {name!r}; it has {', '.join(there)}. If it is in a table of "
                "subjects, give that table with traits=..."
            )
    if asked:
        for name in asked:
            _check_varies(motion, name)
            trouble = unit_trouble(name, _median(motion[name]))
            if trouble is not None:
                warnings.warn(trouble, StillomeWarning, stacklevel=2)
        return tuple(dict.fromkeys(asked))
    names = _usual(motion)
    for name in names:
        trouble = unit_trouble(name, _median(motion[name]))
        if trouble is not None:
            raise ConfoundsError(
                f"motion: {trouble} Convert it, or name another with confounds=..."
            )
    _say_choice(motion, names)
    return names


def _usual(motion: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns of the first measure of `CONFOUND_ORDER` that is there and varies."""
    known = [str(name) for name in motion.columns if measure_of(str(name))]
    # Of one subject nothing varies; that there is only one is for the caller to say.
    alone = len(motion) == 1
    usable = sorted((name for name in known if alone or _varies(motion[name])), key=rank_of)
    for measures in CONFOUND_ORDER:
        found = [next((n for n in usable if measure_of(n) == one), None) for one in measures]
        names = tuple(name for name in found if name is not None)
        if len(names) == len(measures):
            return names
    if known:
        _check_varies(motion, min(known, key=rank_of))
    raise ConfoundsError(
        f"motion: none of its columns ({', '.join(map(str, motion.columns))}) has a usual name of "
        "a measure of motion. Name the one to remove with confounds=..."
    )


def _say_choice(motion: pd.DataFrame, names: tuple[str, ...]) -> None:
    others = [
        str(name)
        for name in motion.columns
        if name not in names and measure_of(str(name)) and _varies(motion[name])
    ]
    guessed = [name for name in names if name not in MOTION_NAMES]
    if not others and not guessed:
        return
    meant = {MOTION_NAMES[str(measure_of(name))].meaning for name in guessed}
    meaning = f" ({', '.join(sorted(meant))})" if meant else ""
    also = f"; {', '.join(others)} could be removed as well" if others else ""
    warnings.warn(
        f"Motion is measured by {' and '.join(names)}{meaning}{also}. Choose with confounds=...",
        StillomeWarning,
        stacklevel=4,
    )


def _varies(column: "pd.Series[Any]") -> bool:
    return pd.api.types.is_numeric_dtype(column) and column.nunique() > 1


def _median(column: "pd.Series[Any]") -> float:
    return float(column.median()) if pd.api.types.is_numeric_dtype(column) else float("nan")


def _check_varies(motion: pd.DataFrame, name: str) -> None:
    """Refuse motion that is missing, or the same, for everybody; one subject has nothing to vary.

    Raises
    ------
    ConfoundsError
    """
    known = motion[name].dropna()
    if not len(known):
        raise ConfoundsError(
            f"motion: {name!r} is missing for all {len(motion)} subjects. Measure it, or name "
            "another with confounds=..."
        )
    if len(motion) > 1 and known.nunique() < 2:
        raise ConfoundsError(
            f"motion: {name!r} is {known.iloc[0]} for all {len(known)} subjects who have it; there "
            "is nothing to adjust for. Name another with confounds=..."
        )

"""Confounds as numbers: motion as it is, sites and scanners as one dummy column per level."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.site_levels import warn_of_nesting, without_unknown
from stillome.exceptions import (
    ConfoundsError,
    ConfoundValueError,
    FileError,
    InputError,
)

FORMAT_VERSION = 1
INFERRED = "Fill it in, leave out the subject, or fit inv-fa, which infers it."
MIN_AT_LEVEL = 10  # with fewer, the effect of a level is not estimable, and a fold may have none


@dataclass(frozen=True)
class ConfoundCoding:
    """How columns of tables become confounds, kept so that new subjects are coded alike.

    Every confound is coded so that 0 is the default reference of `adjust`: no motion, the most
    frequent level of a text column, the median of a further number (the more frequent one, if it
    has two values).

    Attributes
    ----------
    motion : tuple of str
        Columns of motion, taken as they are.
    numbers : mapping of str to float
        Further columns of numbers, with the value that is coded as 0.
    levels : mapping of str to tuple of str
        Text columns with their levels, the reference first; each other level becomes a column
        (``site=B``) that is 1 for its subjects.

    Examples
    --------
    >>> motion = pd.DataFrame({"rms_mm": np.linspace(0.1, 0.4, 30)})
    >>> traits = pd.DataFrame({"site": ["B"] * 10 + ["A"] * 20})
    >>> coding = ConfoundCoding.fit(motion, traits)
    >>> coding.names
    ('rms_mm', 'site=B')
    >>> coding.encode(motion[9:11], traits[9:11])["site=B"].tolist()
    [1.0, 0.0]
    """

    motion: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def fit(
        cls, motion: pd.DataFrame, others: pd.DataFrame | None = None, *, what: str = "confound"
    ) -> Self:
        """Find the levels of text columns, and which value of a number is coded as 0.

        Parameters
        ----------
        motion : pandas.DataFrame
            One row per subject; every column is used.
        others : pandas.DataFrame, optional
            What is to be removed with motion (site, scanner), one row per subject.
        what : str, default="confound"
            What messages call a column of `others`.

        Raises
        ------
        ConfoundsError
            If a column does not vary, or a level has fewer than 10 subjects.
        """
        numbers, levels = {}, {}
        for name, column in ({} if others is None else others).items():
            is_number = pd.api.types.is_numeric_dtype(column)
            values = column.astype(np.float64) if is_number else _labels(column)
            if values.isna().all():
                raise ConfoundsError(f"{what} {name!r} is missing for everybody. Leave it out.")
            if values.nunique() < 2:
                raise ConfoundsError(
                    f"{what} {name!r} does not differ between subjects. Leave it out."
                )
            if is_number:
                # Two values may be codes of levels, and their median would be neither.
                two = values.nunique() == 2
                numbers[str(name)] = float(values.mode()[0] if two else values.median())
            else:
                levels[str(name)] = _levels(values, what)
        if others is not None:
            warn_of_nesting(others[list(levels)])
        return cls(tuple(motion.columns), numbers, levels)

    @property
    def names(self) -> tuple[str, ...]:
        """What the confounds are called, in their order."""
        dummies = (f"{name}={level}" for name in self.levels for level in self.levels[name][1:])
        return (*self.motion, *self.numbers, *dummies)

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that are removed with motion: numbers and levels."""
        return (*self.numbers, *self.levels)

    def encode(
        self,
        motion: pd.DataFrame | None,
        others: pd.DataFrame | None = None,
        *,
        unknown_levels: bool = False,
    ) -> pd.DataFrame:
        """Return the confounds (n, C) of subjects, NaN where unknown.

        Parameters
        ----------
        motion : pandas.DataFrame or None
            One row per subject; further columns are ignored. Without any, motion is unknown.
        others : pandas.DataFrame, optional
            Needed if the coding knows `others`.
        unknown_levels : bool, default=False
            Whether a level that is none of those of the fit is unknown (NaN), with a warning.

        Raises
        ------
        ConfoundsError
            If a column is missing or holds no numbers, or a level is none of those of the fit.
        """
        if motion is None or not len(motion.columns):
            index = None if others is None else others.index
            motion = pd.DataFrame(np.nan, index=index, columns=list(self.motion))
        others = pd.DataFrame(index=motion.index) if others is None else others
        _check_columns(motion, self.motion, "motion", "Measure motion in the same way.")
        _check_columns(others, self.others, "traits", "Give a table that has it.")
        coded = _numbers(motion, self.motion, "motion")
        for name, values in _numbers(others, tuple(self.numbers), "traits").items():
            coded[name] = values.to_numpy() - self.numbers[str(name)]
        for name, levels in self.levels.items():
            labels = _labels(others[name])
            if unknown_levels:
                labels = without_unknown(labels, levels)
            self._check_known(labels)
            for level in levels[1:]:
                dummy = (labels == level).astype(np.float64)
                coded[f"{name}={level}"] = dummy.where(labels.notna()).to_numpy()
        return coded

    def decode(self, confounds: ArrayLike) -> pd.DataFrame:
        """Return the columns that confounds (n, C) stand for; the inverse of `encode`."""
        coded = pd.DataFrame(np.asarray(confounds, dtype=np.float64), columns=list(self.names))
        table = coded[list(self.motion)]
        for name, zero in self.numbers.items():
            table[name] = coded[name] + zero
        for name, levels in self.levels.items():
            dummies = coded[[f"{name}={level}" for level in levels[1:]]].to_numpy()
            # A subject without any other level has the reference level.
            shares = np.column_stack([1 - dummies.sum(axis=1), dummies])
            found = np.array(levels, dtype=object)[np.argmax(np.nan_to_num(shares), axis=1)]
            table[name] = pd.Series(found, dtype=object).where(~np.isnan(dummies).any(axis=1))
        return table

    def reference(self, given: Mapping[str, float | str]) -> NDArray[np.float64]:
        """Return the confounds (C,) to adjust to: what is given, and 0 for the others.

        Parameters
        ----------
        given : mapping of str to float or str
            Columns, not the names of dummies: ``{"rms_mm": 0.1, "site": "B"}``.

        Examples
        --------
        >>> coding = ConfoundCoding(("rms_mm",), levels={"site": ("A", "B", "C")})
        >>> coding.reference({"site": "C"}).tolist()
        [0.0, 0.0, 1.0]
        """
        row = self.decode(np.zeros((1, len(self.names)))).assign(**given)
        return np.asarray(self.encode(row, row).to_numpy()[0])

    def said(self, reference: ArrayLike) -> dict[str, str]:
        """Return the value of each column that confounds (C,) stand for, as text.

        Examples
        --------
        >>> ConfoundCoding(("rms_mm",), levels={"site": ("A", "B")}).said([0.1, 0])
        {'rms_mm': '0.1', 'site': 'A'}
        """
        row = self.decode(np.atleast_2d(reference)).iloc[0]
        return {str(name): _label(value) for name, value in row.items()}

    @contextmanager
    def naming(self, subject_ids: Sequence[str], advice: str = INFERRED) -> Iterator[None]:
        """Name the column and the subject in the error about one value of a confound.

        Examples
        --------
        >>> from stillome.cohort.validation import check_confounds
        >>> coding = ConfoundCoding(("rms_mm",), levels={"site": ("A", "B")})
        >>> with coding.naming(["sub-1", "sub-2"], "Fill it in."):
        ...     _ = check_confounds([[0.1, 0], [0.2, np.nan]])
        Traceback (most recent call last):
        stillome.exceptions.ConfoundsError: 'site' of subject 'sub-2' is missing. Fill it in.
        """
        try:
            yield
        except ConfoundValueError as error:
            # Other arguments, such as covariates to keep, have columns of their own.
            if not error.argument.startswith("confounds"):
                raise
            dummies = (name for name, levels in self.levels.items() for _ in levels[1:])
            name = [*self.motion, *self.numbers, *dummies][error.column]
            reason = error.reason or f"is missing. {advice}"
            raise ConfoundsError(
                f"{name!r} of subject {subject_ids[error.row]!r} {reason}"
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return the coding as plain values."""
        return {
            "version": FORMAT_VERSION,
            "motion": list(self.motion),
            "numbers": dict(self.numbers),
            "levels": {name: list(levels) for name, levels in self.levels.items()},
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Read back what `to_json` gave.

        Raises
        ------
        FileError
            If it was changed by hand, or a later version wrote it.
        """
        try:
            if content["version"] != FORMAT_VERSION:
                raise FileError(
                    f"coding of confounds {content['version']}; this version reads "
                    f"{FORMAT_VERSION}. Update stillome."
                )
            return cls._from_plain(content)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FileError("damaged, its coding of confounds cannot be read.") from error

    @classmethod
    def _from_plain(cls, content: Mapping[str, Any]) -> Self:
        return cls(
            tuple(str(name) for name in content["motion"]),
            {name: float(value) for name, value in content["numbers"].items()},
            {name: tuple(map(str, levels)) for name, levels in content["levels"].items()},
        )

    def with_level(self, column: str, level: str) -> Self:
        """Return the coding with one more level, whose dummy is the last confound.

        Parameters
        ----------
        column : str
            A text column of the coding, the last of them, or a new one.
        level : str

        Raises
        ------
        InputError
            If the level is known already, or other text columns are coded after this one.

        Examples
        --------
        >>> coding = ConfoundCoding(("rms_mm",), levels={"site": ("A", "B")})
        >>> coding.with_level("site", "C").names
        ('rms_mm', 'site=B', 'site=C')
        """
        known = self.levels.get(column, (f"{column}s of the fit",))
        if level in known:
            raise InputError(f"{column} {level!r} is among those fitted to. Give a new one.")
        if column in self.levels and list(self.levels)[-1] != column:
            raise InputError(
                f"{column!r} is not the last of the text columns of the model "
                f"({', '.join(self.levels)}), and cannot get a further level. Fit anew."
            )
        return replace(self, levels={**self.levels, column: (*known, level)})

    def _check_known(self, labels: "pd.Series[Any]") -> None:
        known = self.levels[str(labels.name)]
        unknown = labels[labels.notna() & ~labels.isin(known)]
        if len(unknown):
            raise ConfoundsError(
                f"{labels.name} {unknown.iloc[0]!r} of subject {unknown.index[0]!r} is not among "
                f"those fitted to ({', '.join(known)}). Leave out such subjects, or fit to some."
            )


def in_words(others: Sequence[str], joint: str = "or") -> str:
    """Name what is removed: motion, and the other columns.

    Examples
    --------
    >>> in_words([]), in_words(["site"]), in_words(["site", "scanner"], "and")
    ('motion', 'motion or site', 'motion, site and scanner')
    """
    *first, last = ["motion", *others]
    return f"{', '.join(first)} {joint} {last}" if first else last


def _levels(labels: "pd.Series[Any]", what: str) -> tuple[str, ...]:
    """Return the levels in order, the most frequent one first."""
    sizes = labels.value_counts().sort_index()
    few = sizes[sizes < MIN_AT_LEVEL]
    if len(few):
        n = int(few.iloc[0])
        who = "1 subject has" if n == 1 else f"{n} subjects have"
        raise ConfoundsError(
            f"{what} {labels.name!r}: {who} {few.index[0]!r}, at least "
            f"{MIN_AT_LEVEL} are needed to estimate its effect. Leave them out, or join levels."
        )
    reference = str(sizes.idxmax())
    return (reference, *(str(level) for level in sizes.index if level != reference))


def _labels(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column as text; a number where text was, as in a part of a table, is its digits."""
    texts = column.astype(object).map(lambda value: _label(value, 15), na_action="ignore")
    return texts.where(texts.notna(), None)


def _label(value: Any, digits: int = 6) -> str:
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{value:.{digits}g}"
    return str(value).strip()


def _check_columns(table: pd.DataFrame, names: tuple[str, ...], where: str, advice: str) -> None:
    missing = [name for name in names if name not in table]
    if missing:
        raise ConfoundsError(
            f"{where}: no column {missing[0]!r}, with which the model was fitted; "
            f"it has {list(table.columns)}. {advice}"
        )


def _numbers(table: pd.DataFrame, names: tuple[str, ...], where: str) -> pd.DataFrame:
    try:
        values = table[list(names)].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ConfoundsError(f"{where}: {list(names)} are not all numbers ({error}).") from error
    return pd.DataFrame(values, index=table.index, columns=list(names))

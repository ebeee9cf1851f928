"""Weights that are counts in a unit which every subject has for itself.

Counts divided by a subject's total or by the volume of its brain, or multiplied by any factor of
the subject, are whole multiples of a number of the subject's own. That number often depends on
motion, and the smallest weight shows it. So such weights are taken apart: counts, which models
know how to adjust, and units, which are brought to the reference as well.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation.magnitude_checks import is_whole
from stillome.methods.stages.replay.support import lattice_step

_DIVISORS = (1, 2, 3)  # of the smallest weight of a subject, which need not be one unit
# Of a unit; the digits of a file, or of single precision, set the second one.
_TOLERANCE, _RELATIVE, _LARGEST_TOLERANCE = 1e-3, 1e-5, 0.05
_SAME_TOTAL = 1e-4  # how much totals of weights that were divided by them may differ
# Where motion says more than this of units, what it does not say is error of its curve, and would
# reveal motion.
_MOST_EXPLAINED = 0.95
_LEAST_SPREAD = 1e-6  # of log units that are not the same for everybody


def subject_units(weights: NDArray[Any]) -> Floats:
    """Return the largest unit of which all weights (n, E) of a subject are multiples, (n,).

    NaN if there is none; the weight itself where a subject has only one.

    Examples
    --------
    >>> subject_units(np.array([[0.2, 0.6, 0.0], [0.8, 1.2, 0.0], [0.1, 0.31416, 7.0]])).tolist()
    [0.2, 0.4, nan]
    """
    smallest = np.where(weights > 0, weights, np.inf).min(axis=1)
    units = np.full(len(weights), np.nan)
    for divisor in _DIVISORS[::-1]:
        tried = np.where(np.isfinite(smallest), smallest / divisor, 1.0)
        multiples = weights / tried[:, None]
        allowed = np.minimum(_TOLERANCE + _RELATIVE * multiples, _LARGEST_TOLERANCE)
        found = (np.abs(multiples - np.round(multiples)) <= allowed).all(axis=1)
        units = np.where(found, tried, units)
    return units


class CountRows(SubjectRows):
    """Connectomes of weights, read as counts: whole numbers where a subject has a unit.

    Parameters
    ----------
    source, rows
        As for `SubjectRows`.
    units : array of shape (n,)
        Of the chosen rows.
    """

    def __init__(self, source: Any, rows: NDArray[np.intp] | None, units: Floats) -> None:
        super().__init__(source, rows)
        self.units = units

    @classmethod
    def read(cls, rows: SubjectRows) -> Self:
        """Look at all subjects. Where one has no unit, its smallest weight stands for it."""
        found = []
        for _, part in rows.parts():
            smallest = np.where(part > 0, part, np.inf).min(axis=1)
            units = subject_units(part)
            found.append(np.where(np.isfinite(units), units, smallest))
        return cls(rows.source, rows.rows, np.concatenate(found))

    @classmethod
    def found(cls, rows: SubjectRows) -> SubjectRows:
        """Return rows of counts if all subjects have units of their own; else the rows."""
        if all(is_whole(part) for _, part in rows.parts()):
            return rows
        units, common = [], True
        for _, part in rows.parts():
            whole = is_whole(part)
            common = common and (whole or lattice_step(part) > 0)
            units.append(subject_units(part))
            if not whole and not np.isfinite(units[-1]).all():
                return rows
        # Whole numbers, and weights with a few decimals, have one unit for everybody.
        return rows if common else cls(rows.source, rows.rows, np.concatenate(units))

    def __getitem__(self, subjects: slice | NDArray[Any]) -> Any:
        """Return the counts (m, E) of consecutive subjects; others stay where they are."""
        if isinstance(subjects, np.ndarray):
            return self.some(subjects)
        multiples = super().__getitem__(subjects) / self.units[subjects][:, None]
        whole = np.round(multiples)
        near = np.abs(multiples - whole) <= _LARGEST_TOLERANCE
        counts = np.where(near.all(axis=1, keepdims=True), whole, multiples)
        return counts.astype(np.int64) if near.all() else counts

    def some(self, rows: NDArray[Any]) -> Self:
        """Return some of these subjects: a mask, or positions in increasing order."""
        chosen = SubjectRows(self.source, self.rows).some(rows)
        return type(self)(self.source, chosen.rows, self.units[rows])

    def by_path(self) -> Self:
        """Return the same subjects in a form that is sent to other processes as a path."""
        sent = SubjectRows(self.source, self.rows).by_path()
        return type(self)(sent.source, sent.rows, self.units)


def own_units_of(rows: SubjectRows) -> Floats | None:
    """Return the units (n,) of rows of counts; None of others."""
    return rows.units if isinstance(rows, CountRows) else None


@dataclass(frozen=True)
class OwnUnits:
    """How units of subjects depend on their counts or their motion.

    Attributes
    ----------
    total : array of shape ()
        What the weights of a subject add up to, if that is the same for everybody: they were
        divided by their total. NaN else.
    level : array of shape ()
    slopes : array of shape (P,)
        log unit = level + functions of motion · slopes + what is the subject's own.
    spread : array of shape ()
        Standard deviation of what is the subject's own; 0 if motion says nearly all.
    """

    total: Floats
    level: Floats
    slopes: Floats
    spread: Floats

    @classmethod
    def none(cls, n_functions: int) -> Self:
        """Return that of counts, and of weights that are no multiples."""
        nothing = np.array(np.nan)
        return cls(nothing, nothing, np.zeros(n_functions), np.zeros(()))

    @property
    def found(self) -> bool:
        """Whether subjects have units of their own."""
        return bool(np.isfinite(self.level))

    @classmethod
    def fit(cls, rows: CountRows, functions: AnyFloats) -> Self:
        """Describe the units of training subjects with these functions of motion (n, P)."""
        totals = np.concatenate([part.sum(axis=1) for _, part in rows.parts()]) * rows.units
        used = totals > 0
        logs = np.log(rows.units[used])
        design = np.column_stack([np.ones(len(logs)), functions[used]])
        coefficients = np.linalg.lstsq(design, logs, rcond=None)[0]
        left = (logs - design @ coefficients).std()
        same = np.ptp(totals[used]) < _SAME_TOTAL * totals[used].mean()
        common = left**2 < (1 - _MOST_EXPLAINED) * logs.var() or left < _LEAST_SPREAD
        found = (totals[used].mean() if same else np.nan, coefficients[0], coefficients[1:])
        return cls(*(np.array(value) for value in (*found, 0.0 if common else left)))

    def at_reference(
        self,
        counts: NDArray[Any],
        estimated: NDArray[Any],
        units: Floats,
        here: AnyFloats,
        there: AnyFloats,
    ) -> Floats:
        """Return weights of adjusted counts, draws or bounds (m, ..., E).

        Parameters
        ----------
        counts : array of shape (m, ..., E)
        estimated : array of shape (m, E) or (m, ..., E)
            The adjusted counts that bounds belong to; else the same as `counts`.
        units : array of shape (m,)
            Of the scans.
        here, there : arrays of shape (m, P) and (1, P)
            Functions of motion of the scans and of the reference.
        """
        if self.spread == 0:
            moved = np.exp(np.repeat(self.level + there @ self.slopes, len(units)))
        else:
            moved = units * np.exp((there - here) @ self.slopes)
        answer = self._weights(counts, estimated, moved)
        same = (here == there).all(axis=1)  # who is at the reference keeps the unit, too
        own = units[same].reshape(-1, *(1,) * (counts.ndim - 1))
        answer[same] = counts[same] * own
        return answer

    def drawn(self, counts: NDArray[Any], functions: AnyFloats, rng: np.random.Generator) -> Floats:
        """Return weights of drawn counts (m, E) at this motion."""
        own = self.spread * rng.standard_normal(len(counts))
        units = np.exp(self.level + functions @ self.slopes + own)
        return self._weights(counts, counts, units)

    def with_function(self) -> Self:
        """Return it with one more function of motion, on which no unit depends."""
        return replace(self, slopes=np.append(self.slopes, 0.0))

    def _weights(self, counts: NDArray[Any], estimated: NDArray[Any], units: Floats) -> Floats:
        if np.isfinite(self.total):
            sums = estimated.sum(axis=-1, keepdims=True)
            sums = sums if sums.ndim == counts.ndim else sums[:, None]
            return np.asarray(counts * (self.total / np.where(sums > 0, sums, 1)))
        return np.asarray(counts * units.reshape(-1, *(1,) * (counts.ndim - 1)))

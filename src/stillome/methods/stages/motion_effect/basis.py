"""Functions of motion: natural cubic splines, orthonormal over the training subjects.

Reference: Hastie, Tibshirani and Friedman (2009), The Elements of Statistical Learning, 5.2.1.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.groups import Levels, design_effects, mean_effects
from stillome.counts.edge_tables import AnyTable, EdgeTable, Kind, of_kind
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_COLLINEAR = 1e-3  # a column with less variance of its own than the square of this is left out
# Bends are estimated only where there are this many subjects for every function of motion. With
# fewer, bends of small samples grow without bound outside them (Harrell 2001: 10 to 20).
_SUBJECTS_PER_FUNCTION = 10
_TAIL = 0.05  # share of subjects on either side that does not decide how far values may lie
_REACH = 3.0  # values are cut off this many times the range of the others outside that range
# Largest leverage |h(c)|² / n of a subject: the variance of an estimated effect, as a share of the
# variance between subjects. A subject with more is adjusted as if it had moved less: with few
# subjects, the errors of the slopes would be multiplied until totals are many times too large.
# From this many subjects on it is 1, which only subjects outside the training sample can exceed.
_LEAST_LEVERAGE, _MANY_SUBJECTS = 0.4, 200


@dataclass(frozen=True)
class MotionBasis:
    """Turns confounds (n, C) into basis functions h(c) (n, P), each of mean 0 and variance 1.

    Mean and variance are exact where no training subject has more leverage than `longest` allows.

    The first function of each confound is that confound itself; the others bend. Beyond the
    outermost knots all are straight lines, so that a reference outside the data is reached by
    linear extrapolation, as far as `limits`.

    Attributes
    ----------
    knots : array of shape (C, n_knots)
        NaN for a confound without cubic bends.
    scales : array of shape (C,)
        Standard deviations of the confounds.
    means : array of shape (Q,)
    rotation : array of shape (Q, P)
        From centred raw functions to orthonormal ones.
    hinges : array of shape (C, H)
        Where the line of a confound with few values bends, and last its largest value; else NaN.
    order : array of shape (C,)
        The order in which confounds are made orthogonal, a property of the data: each function
        is without what earlier ones explain of it.
    limits : array of shape (2, C)
        Smallest and largest value of each confound that counts. One value in a wrong unit is cut
        off here, and so is its effect.
    longest : array of shape ()
        Largest |h(c)|; longer ones are shrunk to it.
    """

    knots: Floats
    scales: Floats
    means: Floats
    rotation: Floats
    hinges: Floats
    order: NDArray[np.intp]
    limits: Floats
    longest: Floats

    @classmethod
    def fit(
        cls,
        confounds: Floats,
        order: NDArray[np.intp] | None = None,
        tuning: StageTuning = STAGE_TUNING,
    ) -> Self:
        """Place the knots and make the functions orthonormal over these subjects.

        Parameters
        ----------
        confounds : array of shape (n, C)
        order : array of shape (C,), optional
            As they stand without.
        tuning : StageTuning
        """
        if order is None:
            order = np.arange(confounds.shape[1])
        limits = _outermost(confounds)
        confounds = np.clip(confounds, *limits)
        scales = confounds.std(axis=0)
        columns = (confounds / scales).T
        n_knots = _n_knots(columns, tuning)
        knots = np.array([_place_knots(column, n_knots, tuning) for column in columns])
        hinges = np.array([_place_hinges(column, tuning) for column in columns])
        if not len(columns):  # without confounds there are no functions of them
            knots, hinges = np.zeros((0, n_knots)), np.zeros((0, tuning.few_levels))
        raw = _raw_functions(columns[order], knots[order], hinges[order])
        means = raw.mean(axis=0)
        triangular = np.linalg.qr(raw - means, mode="r") / np.sqrt(len(raw))
        kept = np.flatnonzero(np.abs(np.diag(triangular)) > _COLLINEAR)
        triangular = triangular[np.ix_(kept, kept)]
        rotation = np.zeros((raw.shape[1], len(kept)))
        rotation[kept] = np.linalg.inv(triangular) * np.sign(np.diag(triangular))
        leverage = float(np.clip(len(raw) / _MANY_SUBJECTS, _LEAST_LEVERAGE, 1))
        longest = np.sqrt(leverage * len(raw))
        return cls(knots, scales, means, rotation, hinges, order, limits, np.array(longest))

    def __call__(self, confounds: Floats) -> Floats:
        """Evaluate the functions."""
        columns = (np.clip(confounds, *self.limits) / self.scales).T[self.order]
        raw = _raw_functions(columns, self.knots[self.order], self.hinges[self.order])
        functions = (raw - self.means) @ self.rotation
        lengths = np.linalg.norm(functions, axis=1, keepdims=True)
        return np.asarray(functions * np.minimum(1, self.longest / np.maximum(lengths, 1e-12)))

    @property
    def n_functions(self) -> int:
        """Number of basis functions, P."""
        return int(self.rotation.shape[1])

    @property
    def confound_shares(self) -> Floats:
        """Split the functions by confound; ``functions @ shares[c]`` is the part of confound c.

        The split is by the raw columns of each confound, and so does not depend on the order in
        which they were made orthogonal. Shape (C, P, P).
        """
        places = zip(self.knots[self.order], self.hinges[self.order], strict=True)
        n_columns = [_n_columns(*place) for place in places]
        kept = self.rotation.any(axis=1)
        confound_of = np.repeat(self.order, n_columns)[kept]
        made, unmade = self.rotation[kept], np.linalg.inv(self.rotation[kept])
        parts = [confound_of == confound for confound in range(len(n_columns))]
        shape = (len(parts), self.n_functions, self.n_functions)
        return np.reshape([unmade[:, part] @ made[part] for part in parts], shape)


class MotionFunctions(NamedTuple):
    """Functions of motion of the training subjects, and what slopes on them are estimated with.

    Attributes
    ----------
    values : array of shape (n, P)
    estimating : array of shape (n, P)
        Residuals of the functions given the covariates to keep, at unit variance: a regression
        on these gives the effect of motion at equal age, sex or diagnosis.
    spread : array of shape (P,)
        Slopes on `estimating` are divided by this to become slopes on `values`.
    covariates : array of shape (n, Q), or None
        What is to be kept.
    groups : array of shape (n, 1) or (n, 3), or None
        Who belongs together; see `group_levels`.
    """

    values: NDArray[np.float32]
    estimating: NDArray[np.float32]
    spread: Floats
    covariates: Floats | None = None
    groups: Levels | None = None

    @classmethod
    def given(
        cls, functions: Floats, covariates: Floats | None, groups: Levels | None = None
    ) -> Self:
        """Separate functions of motion (n, P) from covariates (n, Q)."""
        values = functions.astype(np.float32)
        if covariates is None:
            return cls(values, values, np.ones(functions.shape[1]), None, groups)
        design = np.column_stack([np.ones(len(covariates)), covariates])
        own = functions - design @ np.linalg.lstsq(design, functions, rcond=None)[0]
        spread = np.maximum(own.std(axis=0), 1e-6)
        return cls(values, (own / spread).astype(np.float32), spread, covariates, groups)

    def n_independent(self, table: AnyTable) -> float:
        """Return as how many independent scans the rows of a table (n, K) count in regressions.

        Fewer than n where scans of a group, and their motion, are alike.
        """
        return n_independent(table, self.estimating, self.groups)

    def apart_from(self, table: Kind) -> Kind:
        """Return the residuals of a table (n, E) given motion at equal covariates.

        Factors are estimated from these. A factor that correlates with motion in this sample
        would take what is left of the motion effect for a difference between subjects.
        """
        return apart_from(self.estimating, table)

    def scatter(self, table: Kind, *, around_motion: bool) -> Kind:
        """Return a table (n, K) without what the covariates explain of its means at equal motion.

        Variances are estimated from these. Where older subjects move more, age alone makes the
        squares of z depend on motion. With `around_motion`, without what motion explains either;
        where motion leaves no fibres, that leaves those subjects no variance at all.
        """
        if self.covariates is None and not around_motion:
            return table
        kept = np.zeros((len(table), 0)) if self.covariates is None else self.covariates
        kept = kept - kept.mean(axis=0)
        design = np.column_stack([kept, self.values, np.ones(len(kept))])
        used = design.shape[1] if around_motion else kept.shape[1]

        def of_block(block: NDArray[Any]) -> NDArray[Any]:
            own = design.astype(block.dtype)
            slopes = np.linalg.lstsq(own, block, rcond=None)[0]
            return np.asarray(block - own[:, :used] @ slopes[:used])

        return of_kind(table, of_block)


def apart_from(functions: NDArray[Any], table: Kind) -> Kind:
    """Return a table (n, E) without what goes with functions of motion (n, P)."""
    directions = np.linalg.qr(functions)[0]

    def of_block(block: NDArray[Any]) -> NDArray[Any]:
        own = directions.astype(block.dtype, copy=False)
        return np.asarray(block - own @ (own.T @ block))

    return of_kind(table, of_block)


def n_independent(table: AnyTable, functions: NDArray[Any], groups: Levels | None) -> float:
    """Return as how many independent scans n rows count in regressions on functions (n, P).

    Examples
    --------
    >>> rows = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    >>> n_independent(rows, rows, None), n_independent(rows, np.ones((4, 1)), rows[:, [0]] > 0)
    (4, 2.0)
    """
    if groups is None or not functions.shape[1]:
        return len(table)

    def of_block(block: NDArray[Any]) -> Floats:
        centred = block - block.mean(axis=0)
        return np.stack([design_effects(centred * one[:, None], groups) for one in functions.T])

    effects = mean_effects(EdgeTable.of(table).each(of_block), groups)
    return len(table) / float(np.mean(effects))


def _outermost(confounds: Floats) -> Floats:
    """Return the smallest and the largest value (2, C) that counts of each confound."""
    low, high = np.quantile(confounds, [_TAIL, 1 - _TAIL], axis=0)
    least, most = confounds.min(axis=0), confounds.max(axis=0)
    # Of a site with few subjects, or outliers that hardly anybody has, every value counts.
    rare = high == low
    low, high = np.where(rare, least, low), np.where(rare, most, high)
    return np.stack([low - _REACH * (high - low), high + _REACH * (high - low)])


def _n_knots(columns: Floats, tuning: StageTuning) -> int:
    """Return how many knots the subjects suffice for, at most those of the tuning; 2 is a line."""
    n_confounds, n_subjects = columns.shape
    n_bending = sum(len(np.unique(column)) >= tuning.few_levels for column in columns)
    n_bends = (n_subjects // _SUBJECTS_PER_FUNCTION - n_confounds) // max(n_bending, 1)
    return int(np.clip(2 + n_bends, 2, tuning.n_knots))


def _place_knots(values: Floats, n_knots: int, tuning: StageTuning) -> Floats:
    none = np.full(n_knots, np.nan)
    if n_knots == 2 or len(np.unique(values)) < tuning.few_levels:
        return none
    shares = np.linspace(tuning.trimmed, 1 - tuning.trimmed, n_knots)
    quantiles = np.quantile(values, shares)
    # Halfway between equal shares of subjects and equal steps of motion: motion is skewed, and
    # quantiles alone would put every knot among subjects who hardly moved.
    knots = (quantiles + np.linspace(quantiles[0], quantiles[-1], n_knots)) / 2
    return knots if (np.diff(knots) > 1e-6).all() else none


def _place_hinges(values: Floats, tuning: StageTuning) -> Floats:
    """Return the inner levels of a confound that has few, and its largest."""
    hinges = np.full(tuning.few_levels, np.nan)
    levels, sizes = np.unique(values, return_counts=True)
    if len(levels) < tuning.few_levels:
        inner = levels[1:-1][sizes[1:-1] >= tuning.few_levels]
        hinges[: len(inner)], hinges[-1] = inner, levels[-1]
    return hinges


def _n_columns(knots: Floats, hinges: Floats) -> int:
    """Return how many columns `_raw_functions` makes of a confound."""
    n_bends = 0 if np.isnan(knots).any() else len(knots) - 2
    return 1 + int((~np.isnan(hinges[:-1])).sum()) + n_bends


def _raw_functions(columns: Floats, knots: Floats, hinges: Floats) -> Floats:
    """Return the raw functions (n, Q) of standardised confounds (C, n)."""
    functions = [columns[:0].T]
    for column, places, levels in zip(columns, knots, hinges, strict=True):
        functions.append(column)
        for level in levels[:-1][~np.isnan(levels[:-1])]:
            functions.append(np.maximum(column - level, 0) / (levels[-1] - level))
        if np.isnan(places).any():
            continue
        last = np.maximum(column - places[-1], 0) ** 3
        bends = [
            (np.maximum(column - place, 0) ** 3 - last) / (places[-1] - place)
            for place in places[:-1]
        ]
        functions += [bend - bends[-1] for bend in bends[:-1]]
    return np.column_stack(functions)

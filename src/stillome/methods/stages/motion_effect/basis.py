"""Functions of motion: natural cubic splines, orthonormal over the training subjects."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

_N_KNOTS = 4
_TRIMMED = 0.02  # share of subjects outside the outermost knots, where splines go straight on
_MIN_DISTINCT = 10  # fewer distinct values (levels, sites) get a line that bends at each of them
_MIN_AT_LEVEL = 10  # subjects a level must have for the line to bend there
_NEGLIGIBLE = 1e-3  # a spline column that adds less than this to the others is left out


@dataclass(frozen=True)
class MotionBasis:
    """Turns confounds (n, C) into basis functions (n, P), each of mean 0 and variance 1.

    The first function of each confound is that confound itself; the others bend. Beyond the
    outermost knots all are straight lines, so that a reference outside the data is reached by
    the gentlest extrapolation there is.

    Attributes
    ----------
    knots : array of shape (C, 4)
        NaN for a confound without cubic bends.
    scales : array of shape (C,)
    means : array of shape (Q,)
    rotation : array of shape (Q, P)
    hinges : array of shape (C, H)
        Where the line of a confound of few values bends, and last the largest value; NaN else.
    """

    knots: Floats
    scales: Floats
    means: Floats
    rotation: Floats
    hinges: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def fit(cls, confounds: Floats) -> Self:
        """Place the knots and make the functions orthonormal over these subjects."""
        scales = confounds.std(axis=0)
        knots = np.stack([_place_knots(column) for column in (confounds / scales).T])
        hinges = np.stack([_place_hinges(column) for column in (confounds / scales).T])
        raw = _raw_functions(confounds / scales, knots, [*hinges])
        means = raw.mean(axis=0)
        triangular = np.linalg.qr(raw - means, mode="r") / np.sqrt(len(raw))
        kept = np.flatnonzero(np.abs(np.diag(triangular)) > _NEGLIGIBLE)
        triangular = triangular[np.ix_(kept, kept)]
        rotation = np.zeros((raw.shape[1], len(kept)))
        rotation[kept] = np.linalg.inv(triangular) * np.sign(np.diag(triangular))
        return cls(knots, scales, means, rotation, hinges)

    def __call__(self, confounds: Floats) -> Floats:
        """Evaluate the functions."""
        raw = _raw_functions(confounds / self.scales, self.knots, self._bends)
        return np.asarray((raw - self.means) @ self.rotation)

    @property
    def n_functions(self) -> int:
        """Number of basis functions, P."""
        return int(self.rotation.shape[1])

    @property
    def confound_shares(self) -> Floats:
        """Split the functions by confound; ``functions @ shares[c]`` is the part that c makes.

        Functions of a later confound are without what earlier ones explain of it; the split is of
        the confounds' own columns, and so does not depend on their order. Shape (C, P, P).
        """
        n_columns = [_n_columns(*places) for places in zip(self.knots, self._bends, strict=True)]
        kept = self.rotation.any(axis=1)
        confound_of = np.repeat(np.arange(len(n_columns)), n_columns)[kept]
        made, unmade = self.rotation[kept], np.linalg.inv(self.rotation[kept])
        parts = [confound_of == confound for confound in range(len(n_columns))]
        return np.stack([unmade[:, part] @ made[part] for part in parts])

    @property
    def _bends(self) -> list[Floats]:
        """Hinges of every confound; models of earlier versions have none."""
        return [*self.hinges] or [np.full(1, np.nan)] * len(self.knots)


class MotionFunctions(NamedTuple):
    """Functions of motion of the training subjects, and what slopes on them are estimated with.

    Attributes
    ----------
    values : array of shape (n, P)
    estimating : array of shape (n, P)
        The same without what covariates to keep explain, at unit variance: a regression on these
        gives the effect of motion at equal age, sex or diagnosis.
    spread : array of shape (P,)
        By which slopes on `estimating` are divided to become slopes on `values`.
    covariates : array of shape (n, Q), or None
        What is to be kept.
    """

    values: NDArray[np.float32]
    estimating: NDArray[np.float32]
    spread: Floats
    covariates: Floats | None = None

    @classmethod
    def given(cls, functions: Floats, covariates: Floats | None) -> Self:
        """Separate functions of motion (n, P) from covariates (n, Q)."""
        values = functions.astype(np.float32)
        if covariates is None:
            return cls(values, values, np.ones(functions.shape[1]))
        design = np.column_stack([np.ones(len(covariates)), covariates])
        own = functions - design @ np.linalg.lstsq(design, functions, rcond=None)[0]
        spread = np.maximum(own.std(axis=0), 1e-6)
        return cls(values, (own / spread).astype(np.float32), spread, covariates)

    def apart_from(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return a table (n, K) without what goes with motion at equal covariates, in this sample.

        Directions in which people differ are looked for here: a factor that leans on motion,
        however little, would pass what is left of its effect for a difference of brains.
        """
        directions = np.linalg.qr(self.estimating.astype(table.dtype))[0]
        return np.asarray(table - directions @ (directions.T @ table))

    def scatter(self, table: NDArray[Any], *, around_motion: bool) -> NDArray[Any]:
        """Return a table (n, K) without what the covariates explain of its means at equal motion.

        How people scatter must not be read off what is kept: where the old move more, age alone
        makes the squares of z go with motion. With `around_motion`, without what motion explains
        either; where the restless have no fibres left, that leaves them no scatter at all.
        """
        if self.covariates is None and not around_motion:
            return table
        kept = np.zeros((len(table), 0)) if self.covariates is None else self.covariates
        kept = kept - kept.mean(axis=0)
        design = np.column_stack([kept, self.values, np.ones(len(kept))]).astype(table.dtype)
        slopes = np.linalg.lstsq(design, table, rcond=None)[0]
        used = design.shape[1] if around_motion else kept.shape[1]
        return np.asarray(table - design[:, :used] @ slopes[:used])


def _place_knots(values: Floats) -> Floats:
    if len(np.unique(values)) < _MIN_DISTINCT:
        return np.full(_N_KNOTS, np.nan)
    quantiles = np.quantile(values, np.linspace(_TRIMMED, 1 - _TRIMMED, _N_KNOTS))
    # Halfway between equal shares of subjects and equal steps of motion: motion is skewed, and
    # quantiles alone would spend every knot on people who hardly moved.
    knots = (quantiles + np.linspace(quantiles[0], quantiles[-1], _N_KNOTS)) / 2
    return knots if (np.diff(knots) > 1e-6).all() else np.full(_N_KNOTS, np.nan)


def _place_hinges(values: Floats) -> Floats:
    """Return the inner levels of a confound that has few, and its largest."""
    hinges = np.full(_MIN_DISTINCT, np.nan)
    levels, sizes = np.unique(values, return_counts=True)
    if len(levels) < _MIN_DISTINCT:
        inner = levels[1:-1][sizes[1:-1] >= _MIN_AT_LEVEL]
        hinges[: len(inner)], hinges[-1] = inner, levels[-1]
    return hinges


def _n_columns(knots: Floats, hinges: Floats) -> int:
    """Return how many columns `_raw_functions` makes of a confound."""
    n_bends = 0 if np.isnan(knots).any() else len(knots) - 2
    return 1 + int((~np.isnan(hinges[:-1])).sum()) + n_bends


def _raw_functions(values: Floats, knots: Floats, hinges: list[Floats]) -> Floats:
    columns = []
    for column, places, levels in zip(values.T, knots, hinges, strict=True):
        columns.append(column)
        for level in levels[:-1][~np.isnan(levels[:-1])]:
            columns.append(np.maximum(column - level, 0) / (levels[-1] - level))
        if np.isnan(places).any():
            continue
        last = np.maximum(column - places[-1], 0) ** 3
        bends = [
            (np.maximum(column - place, 0) ** 3 - last) / (places[-1] - place)
            for place in places[:-1]
        ]
        columns += [bend - bends[-1] for bend in bends[:-1]]
    return np.column_stack(columns)

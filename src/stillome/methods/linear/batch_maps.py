"""What ComBat does to an edge of a batch: a straight line, read off `combatlearn` by two probes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.residuals import least_squares
from stillome.exceptions import FitError, require_extra


@dataclass(frozen=True)
class BatchMaps:
    """Straight lines from the scale of each batch to the scale that all batches share.

    Attributes
    ----------
    levels : array of shape (B,)
        The batches, in growing order.
    offsets, slopes : arrays of shape (B, K)
        A value x of column k in batch b becomes ``offsets[b, k] + slopes[b, k] * x``.
    """

    levels: NDArray[np.intp]
    offsets: Floats
    slopes: Floats

    def to_common(self, values: Floats, batches: NDArray[np.intp]) -> Floats:
        """Map values (n, K) of these batches (n,) to the common scale.

        Examples
        --------
        >>> maps = BatchMaps(np.array([0, 4]), np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]]))
        >>> maps.to_common(np.array([[3.0], [3.0]]), np.array([0, 4])).tolist()
        [[3.0], [7.0]]
        """
        places = np.searchsorted(self.levels, batches)
        return np.asarray(self.offsets[places] + self.slopes[places] * values)

    def from_common(self, values: Floats, batches: NDArray[np.intp]) -> Floats:
        """Map values (n, K) of the common scale to the scales of these batches (n,)."""
        places = np.searchsorted(self.levels, batches)
        return np.asarray((values - self.offsets[places]) / self.slopes[places])


class FittedComBat:
    """A model of `combatlearn`, fitted, of which only `fit` and `transform` are used.

    Its parameters are private. They are not needed: ComBat maps the values of an edge in a batch by
    a straight line, and two probes give the line. So a saved model holds the lines, and reading it
    needs no `combatlearn`.

    Parameters
    ----------
    log_edges : array of shape (n, E)
        Less the effects of covariates; see `covariate_effects`.
    batches : array of shape (n,)
    **settings
        Of `combatlearn.core.ComBatModel`.
    """

    def __init__(self, log_edges: Floats, batches: NDArray[np.intp], **settings: Any) -> None:
        self._varies = np.ptp(log_edges, axis=0) > 0
        if not self._varies.any():
            raise FitError("ComBat: every edge is the same in all subjects; nothing to harmonise.")
        self.levels = np.unique(batches)
        self._model = combat_model()(**settings)
        if len(self.levels) > 1:
            self._model.fit(log_edges[:, self._varies], batch=batches)

    def transform(self, log_edges: Floats, batches: NDArray[np.intp]) -> Floats:
        """Return harmonised log edges (n, E); edges that never varied, and one batch, stay."""
        harmonised = np.array(log_edges, dtype=np.float64)
        if len(self.levels) == 1:
            return harmonised
        found = self._model.transform(log_edges[:, self._varies], batch=batches)
        harmonised[:, self._varies] = found.to_numpy()
        return harmonised

    def lines(self) -> BatchMaps:
        """Return what it does to every edge of every batch."""
        shape = (len(self.levels), len(self._varies))
        offsets = self.transform(np.zeros(shape), self.levels)
        return BatchMaps(
            self.levels, offsets, self.transform(np.ones(shape), self.levels) - offsets
        )


def covariate_effects(log_edges: Floats, covariates: Floats, batches: NDArray[np.intp]) -> Floats:
    """Return the change of each log edge per unit of covariates (n, Q) within batches, (Q, E).

    This is the least squares with which ComBat begins. ComBat with covariates is ComBat without
    them on what they do not explain.
    """
    return least_squares(
        log_edges, covariates, (batches[:, None] == np.unique(batches)).astype(np.float64)
    ).coefficients


def combat_model() -> Any:
    """Return the class `ComBatModel` of `combatlearn`.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    require_extra("combatlearn", "combat", "combat")
    from combatlearn.core import ComBatModel

    return ComBatModel

"""When an iteration has converged: its next step is small against the standard errors.

Every iterative stage of a fit uses the same rule. A step is measured in standard errors of what
it changes, as a root mean square over all parameters of the stage. An estimate that is off by
0.1 standard errors has a mean squared error only 1 % larger than the optimum.
"""

import warnings
from collections.abc import Iterator
from copy import copy

import numpy as np
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.exceptions import StillomeWarning
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning


class Iterations:
    """Counts the iterations of every stage of one fit, and warns where one does not converge.

    Parameters
    ----------
    tuning : StageTuning

    Attributes
    ----------
    n_iter : dict of str to int
        Iterations by stage; the largest number where a stage ran several times.

    Examples
    --------
    >>> iterations, value = Iterations(), 1.0
    >>> for _ in iterations.of("halving"):
    ...     value /= 2
    ...     if iterations.converged(value):
    ...         break
    >>> iterations.n_iter
    {'halving': 4}
    """

    def __init__(self, tuning: StageTuning = STAGE_TUNING) -> None:
        self.tolerance = tuning.tolerance
        self.max_iter = tuning.max_iter
        self.n_iter: dict[str, int] = {}

    def of(self, stage: str, at_most: int | None = None, *, refines: bool = False) -> Iterator[int]:
        """Iterate until the caller breaks out of the loop, or warn after `max_iter` times.

        `at_most` is a smaller limit of one stage; a stage that only `refines` ends without a
        warning.
        """
        limit = self.max_iter if at_most is None else min(at_most, self.max_iter)
        for number in range(1, limit + 1):
            self.n_iter[stage] = max(self.n_iter.get(stage, 0), number)
            yield number
        if refines:
            return
        warnings.warn(
            f"The stage '{stage}' of the fit did not converge in {limit} iterations. Look "
            "for subjects or edges with extreme values, or fit more subjects; read the results "
            "with care.",
            StillomeWarning,
            stacklevel=2,
        )

    def apart(self) -> "Iterations":
        """Return a count of its own with the same limits, for what runs beside other things."""
        own = copy(self)
        own.n_iter = {}
        return own

    def include(self, other: "Iterations") -> None:
        """Add the stages that another one has counted."""
        for stage, number in other.n_iter.items():
            self.n_iter[stage] = max(self.n_iter.get(stage, 0), number)

    def converged(self, change: float) -> bool:
        """Whether a change, in standard errors, is below the tolerance."""
        return change < self.tolerance


class Relaxation:
    """Shortens Newton steps that overshoot (Aitken relaxation; Irons and Tuck 1969).

    Approximate information can make steps too long, and an iteration that overshoots alternates
    between two points. How much a step reverses the one before shows the right length.

    Parameters
    ----------
    axis : int, tuple of int or None
        Parameters along these axes have one step length together.

    Examples
    --------
    >>> relaxation, value = Relaxation(axis=0), np.array([1.0])
    >>> for _ in range(3):
    ...     value = value + relaxation(-1.9 * value)  # nearly twice as far as it should be
    >>> bool(abs(value[0]) < 0.01)
    True
    """

    def __init__(self, axis: int | tuple[int, ...] | None) -> None:
        self.axis = axis
        self.length: Floats = np.ones(())
        self.last: Floats | None = None

    def __call__(self, step: Floats) -> Floats:
        """Return the step at a length between a tenth and the whole."""
        if self.last is not None:
            change = self.last - step
            square = (change**2).sum(axis=self.axis, keepdims=True)
            along = (self.last * change).sum(axis=self.axis, keepdims=True)
            ideal = self.length * along / np.where(square > 0, square, 1)
            # Steps that grow in the same direction are too short rather than too long.
            self.length = np.where(along > 0, np.clip(ideal, 0.1, 1.0), 1.0)
        self.last = step
        return np.asarray(self.length * step)


def in_standard_errors(step: ArrayLike, information: ArrayLike) -> float:
    """Return the root mean square of a step times the square root of the information.

    Parameters
    ----------
    step, information : array-like
        Parameters with information 0 are not estimated, and do not count.

    Examples
    --------
    >>> in_standard_errors([0.1, 0.1, 5.0], [100.0, 100.0, 0.0])
    1.0
    """
    step_, information_ = np.broadcast_arrays(np.asarray(step), np.asarray(information))
    estimated = information_ > 0
    if not estimated.any():
        return 0.0
    return float(np.sqrt((step_[estimated] ** 2 * information_[estimated]).mean()))

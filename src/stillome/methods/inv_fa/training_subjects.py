"""Whom a fit can use, and how it was asked to run."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.validation import check_confounds, check_random_state, check_traits
from stillome.exceptions import ConfoundsError, InputError
from stillome.methods.contract import TrainingData

MIN_SUBJECTS = 10


class KnownSubjects(NamedTuple):
    """The subjects whose confounds are all known.

    Attributes
    ----------
    edges : array of shape (n, E)
    motion : array of shape (n, C)
    traits : array of shape (n, T) or None
    covariates : array of shape (n, Q) or None
        What must not be removed with motion.
    """

    edges: NDArray[Any]
    motion: Floats
    traits: Floats | None
    covariates: Floats | None

    def take(self, rows: NDArray[np.intp]) -> "KnownSubjects":
        """Return some of the subjects."""
        traits = None if self.traits is None else self.traits[rows]
        covariates = None if self.covariates is None else self.covariates[rows]
        return KnownSubjects(self.edges[rows], self.motion[rows], traits, covariates)


def known_subjects(data: TrainingData, covariates_to_keep: ArrayLike | None) -> KnownSubjects:
    """Leave out subjects with unknown confounds, and judge what remains.

    Raises
    ------
    ConfoundsError, InputError
        If too few remain, or what they have does not vary.
    """
    assert data.confounds is not None
    known = np.asarray(~np.isnan(data.confounds).any(axis=1))
    if known.sum() < MIN_SUBJECTS:
        raise ConfoundsError(
            f"confounds: known for {known.sum()} subjects; at least {MIN_SUBJECTS} needed. "
            "Leave out columns that few subjects have."
        )
    traits = covariates = None
    if data.traits is not None:
        traits = check_traits(data.traits[known], name="y of subjects with known confounds")
    if covariates_to_keep is not None:
        covariates = check_confounds(
            covariates_to_keep, n_subjects=len(known), name="covariates_to_keep"
        )[known]
    motion = check_confounds(data.confounds[known])
    return KnownSubjects(data.edges[known], motion, traits, covariates)


def check_weight(weight: object) -> float | Literal["auto"]:
    """Judge `invariance_weight`.

    Examples
    --------
    >>> check_weight(1)
    1.0
    """
    if isinstance(weight, str) and weight == "auto":
        return "auto"
    if isinstance(weight, int | float | np.integer | np.floating) and 0 <= weight <= 1:
        return float(weight)
    raise InputError(f"invariance_weight={weight!r}; expected a share from 0 to 1, or 'auto'.")


def check_seed(random_state: int | np.random.Generator | None) -> int:
    """Turn what `random_state` may be into one whole number; a whole number stays as it is.

    Examples
    --------
    >>> check_seed(7)
    7
    """
    rng = check_random_state(random_state)
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(rng.integers(2**32))

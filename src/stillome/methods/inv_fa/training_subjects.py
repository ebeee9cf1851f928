"""The subjects that `InvFA.fit` can use, and the validation of its parameters."""

from typing import NamedTuple

import numpy as np

from stillome.arrays import Floats
from stillome.cohort.groups import Levels
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation import check_confounds, check_random_state, check_traits
from stillome.counts.available_memory import free_bytes
from stillome.exceptions import ConfoundsError, InputError
from stillome.methods.own_units import CountRows
from stillome.methods.training_data import TrainingData

MIN_SUBJECTS = 10


class KnownSubjects(NamedTuple):
    """The subjects whose confounds are all known.

    Attributes
    ----------
    edges : SubjectRows of shape (n, E)
        `CountRows` where weights are counts in a unit of the subject.
    motion : array of shape (n, C)
    traits : array of shape (n, T) or None
    covariates : array of shape (n, Q) or None
        Not to be removed with motion.
    groups : array of shape (n, 1) or (n, 3) or None
        See `group_levels`.
    """

    edges: SubjectRows
    motion: Floats
    traits: Floats | None
    covariates: Floats | None
    groups: Levels | None = None


def known_subjects(data: TrainingData) -> KnownSubjects:
    """Leave out subjects with unknown confounds, and validate those that remain.

    Raises
    ------
    ConfoundsError, InputError
        If too few remain, or their confounds or traits do not vary.
    """
    assert data.confounds is not None
    known = np.asarray(~np.isnan(data.confounds).any(axis=1))
    if known.sum() < MIN_SUBJECTS:
        raise ConfoundsError(
            f"confounds: known for {known.sum()} subjects; at least {MIN_SUBJECTS} needed. "
            "Leave out columns that few subjects have."
        )
    traits = None
    if data.traits is not None:
        traits = check_traits(data.traits[known], name="y of subjects with known confounds")
    covariates = None if data.covariates is None else data.covariates[known]
    motion = data.confounds[known]
    if motion.shape[1]:
        motion = check_confounds(motion)
    groups = None if data.groups is None else data.groups[known]
    edges = CountRows.found(SubjectRows.of(data.edges).some(known))
    return KnownSubjects(edges, motion, traits, covariates, groups)


def check_weight(weight: object) -> float:
    """Validate `invariance_weight`: a share, unlike the weight λ of `InvVAE`.

    Examples
    --------
    >>> check_weight(1)
    1.0
    """
    if isinstance(weight, int | float | np.integer | np.floating) and 0 <= weight <= 1:
        return float(weight)
    raise InputError(f"invariance_weight={weight!r}; expected a share from 0 to 1.")


def check_seed(random_state: int | np.random.Generator | None) -> int:
    """Return one whole number for any `random_state`; a whole number stays as it is.

    Examples
    --------
    >>> check_seed(7)
    7
    """
    rng = check_random_state(random_state)
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(rng.integers(2**32))


def check_memory(memory: object) -> float:
    """Return how many bytes a fit may use; a quarter of what is free for None.

    Examples
    --------
    >>> check_memory(2e9)
    2000000000.0
    """
    if memory is None:
        return free_bytes() / 4
    if isinstance(memory, int | float | np.integer | np.floating) and memory > 0:
        return float(memory)
    raise InputError(f"memory={memory!r}; expected a number of bytes, such as 2e9, or None.")

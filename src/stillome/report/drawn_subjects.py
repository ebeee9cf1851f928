"""Whose connectomes a figure loads: everybody's, or those of some who stand for a large cohort."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.motion_groups import MotionGroups
from stillome.cohort.stored_matrices import matrix_parts, mean_matrix, some_matrices
from stillome.cohort.validation.sliced import is_sliced
from stillome.run.folder import RunFolder

MOST_DRAWN = 1000  # subjects of a large cohort, in one figure or group


def drawn(folder: RunFolder, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return these places, or as many of a large cohort as are drawn, spread evenly."""
    if not is_sliced(folder.cohort.connectomes) or len(places) <= MOST_DRAWN:
        return places
    return places[np.linspace(0, len(places) - 1, MOST_DRAWN).astype(np.intp)]


def drawn_groups(folder: RunFolder) -> tuple[NDArray[np.intp], MotionGroups]:
    """Return positions of those who moved little and much, and the groups among them."""
    groups = folder.motion_effects.groups
    small, large = (drawn(folder, members) for members in (groups.small, groups.large))
    if not is_sliced(folder.cohort.connectomes):
        return folder.known, groups
    places = folder.known[np.concatenate([small, large])]
    among = np.arange(len(places))
    return places, groups._replace(small=among[: len(small)], large=among[len(small) :])


def mean_of(connectomes: Any, places: NDArray[np.intp]) -> Floats:
    """Return the mean connectome (V, V) of some subjects, in a large cohort in slices."""
    if is_sliced(connectomes):
        return mean_matrix(connectomes, places)
    return np.asarray(connectomes[places].mean(axis=0, dtype=np.float64))


def mean_and_deviation(connectomes: Any, places: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return mean and standard deviation (E,) of every edge over some subjects of a file."""
    mean = matrices_to_edges(mean_matrix(connectomes, places)[None], check=False)[0]
    squares = np.zeros_like(mean)
    for _, part in matrix_parts(some_matrices(connectomes, places)):
        squares += ((matrices_to_edges(part, check=False) - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(squares / len(places))

"""What every simulation returns: a cohort together with the same scans without motion."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.exceptions import InputError

RandomState = int | np.random.Generator | None


class Oracle(Protocol):
    """Knows how motion acted on a cohort, but not the noise of any scan."""

    def draw(self, observed: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw motion-free edges (n, E) given the observed ones (n, E)."""
        ...


@dataclass(frozen=True, eq=False)
class SimulatedCohort:
    """A cohort with the motion-free network of every subject.

    Attributes
    ----------
    cohort : Cohort
        What a study would see.
    motion_free : array of shape (n, V, V)
        The same scans without motion, in the dtype of ``cohort.connectomes``.
    oracle : Oracle
        How motion acted; used by `oracle_adjust`.
    confound_columns : tuple of str
        The columns of ``cohort.motion`` through which motion acted.
    latents : array of shape (n, K) or None
        What makes the subjects differ, standard normal; None where nothing does.
    explained : pandas.Series or None
        For each trait the share of its variance that the latents explain.

    Examples
    --------
    >>> from stillome.simulate import simulate_communities
    >>> simulated = simulate_communities(10, random_state=1)
    >>> simulated.X.shape, simulated.confounds.shape
    ((10, 2278), (10, 1))
    >>> bool((simulated.oracle_adjust() == simulated.motion_free).all())
    True
    """

    cohort: Cohort
    motion_free: NDArray[Any] = field(repr=False)
    oracle: Oracle = field(repr=False)
    confound_columns: tuple[str, ...]
    latents: NDArray[np.float64] | None = field(default=None, repr=False)
    explained: "pd.Series[float] | None" = field(default=None, repr=False)

    @property
    def X(self) -> NDArray[Any]:  # noqa: N802
        """Observed edges, shape (n, E)."""
        return self.cohort.edges

    @property
    def X_free(self) -> NDArray[Any]:  # noqa: N802
        """Motion-free edges, shape (n, E)."""
        return matrices_to_edges(self.motion_free, check=False)

    @property
    def confounds(self) -> NDArray[np.float64]:
        """Motion as it acted, shape (n, C)."""
        return self.cohort.motion[list(self.confound_columns)].to_numpy(dtype=np.float64)

    def oracle_adjust(self, random_state: RandomState = 0) -> NDArray[Any]:
        """Draw every motion-free scan given the observed one: the best any method could do.

        The oracle knows the generator (rates, dispersions, what motion did) but not the noise, so
        the answer follows the law of the truth given what was seen, and is not the truth itself.

        Returns
        -------
        numpy.ndarray of shape (n, V, V)
            In the dtype of ``cohort.connectomes``.
        """
        edges = self.oracle.draw(self.X, generator(random_state))
        return edges_to_matrices(edges.astype(self.cohort.connectomes.dtype, copy=False))


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator of random numbers for a seed, judging the seed."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"random_state={random_state!r}; expected a whole number ≥ 0, a Generator or None."
        ) from error


def check_whole(value: int, name: str, *, at_least: int) -> int:
    """Judge a number of things."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise InputError(f"{name}={value!r}; expected a whole number of at least {at_least}.")
    return int(value)


def check_choice(value: str, name: str, choices: tuple[str, ...]) -> str:
    """Judge a word."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name}={value!r}; choose one of {', '.join(choices)}.")
    return value


def numbered_ids(n_subjects: int) -> list[str]:
    """Return sub-0001, sub-0002, ... ."""
    width = max(4, len(str(n_subjects)))
    return [f"sub-{i + 1:0{width}d}" for i in range(n_subjects)]

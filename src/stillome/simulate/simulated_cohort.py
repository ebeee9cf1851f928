"""The result of a simulation: a cohort together with the same scans without motion."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.cohort.validation import check_random_state
from stillome.exceptions import InputError

RandomState = int | np.random.Generator | None


class Oracle(Protocol):
    """Draws from the posterior of the truth: the generator is known, the noise of a scan is not."""

    def draw(self, observed: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw motion-free edges (n, E) given the observed ones (n, E)."""
        ...


@dataclass(frozen=True, eq=False)
class SimulatedCohort:
    """A cohort with the motion-free network of every subject.

    Attributes
    ----------
    cohort : Cohort
        The observed data.
    motion_free : array of shape (n, V, V)
        The same scans without motion, in the dtype of ``cohort.connectomes``.
    oracle : Oracle
        The generator; used by `oracle_adjust`.
    confound_columns : tuple of str
        The columns of ``cohort.motion`` that change the counts.
    latents : array of shape (n, K) or None
        Individual differences, standard normal; None where subjects have no latents.
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
    latents: Floats | None = field(default=None, repr=False)
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
    def confounds(self) -> Floats:
        """The motion that changed the counts, shape (n, C)."""
        return self.cohort.motion[list(self.confound_columns)].to_numpy(dtype=np.float64)

    def oracle_adjust(self, random_state: RandomState = 0) -> NDArray[Any]:
        """Draw every motion-free scan from its posterior given the observed one.

        The oracle knows the generator (rates, dispersions, effects of motion) but not the noise.
        Methods, which know less, are compared with its fidelity.

        Returns
        -------
        numpy.ndarray of shape (n, V, V)
            In the dtype of ``cohort.connectomes``.
        """
        edges = self.oracle.draw(self.X, check_random_state(random_state))
        return edges_to_matrices(edges.astype(self.cohort.connectomes.dtype, copy=False))


def check_choice(value: str, name: str, choices: tuple[str, ...]) -> str:
    """Check a word that must be one of several."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name}={value!r}; choose one of {', '.join(choices)}.")
    return value


def numbered_ids(n_subjects: int) -> list[str]:
    """Return sub-0001, sub-0002, ... ."""
    width = max(4, len(str(n_subjects)))
    return [f"sub-{i + 1:0{width}d}" for i in range(n_subjects)]

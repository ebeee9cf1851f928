"""The paper's own simulations: two communities (Section 4) and extreme motion (Appendix H)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.validation import check_count, check_random_state
from stillome.simulate.simulated_cohort import (
    RandomState,
    SimulatedCohort,
    check_choice,
    numbered_ids,
)

WITHIN, BETWEEN = 0.25, 0.01
AFFECTED_SHARE = 0.2
AFFECTED_S, UNAFFECTED_S = (0.6, 0.05), (1.0, 0.01)  # mean and standard deviation of s
EXTREME_S = (0.5, 0.1, 0.01, 0.001, 0.0001)
PAIRED_C = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)


@dataclass(frozen=True, eq=False)
class _ScaleOracle:
    """s and the whole-number truth are known, so that the draw is exact."""

    scale: Floats  # (n,)

    def draw(self, observed: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        return np.rint(observed / self.scale[:, None] ** 2)


def simulate_communities(
    n_subjects: int = 1000, *, n_regions: int = 68, random_state: RandomState = 0
) -> SimulatedCohort:
    """Simulate Section 4 of the paper.

    Random graphs A of two equally large communities (edge probability 0.25 within, 0.01 between).
    A fifth of the subjects has s from N(0.6, 0.05), the rest from N(1, 0.01), mean and standard
    deviation; the observed network is Ã = (sA)ᵀ(sA), the motion-free one AᵀA, both with a zero
    diagonal.

    Parameters
    ----------
    n_subjects : int, default=1000
    n_regions : int, default=68
    random_state : int, numpy.random.Generator or None, default=0

    Returns
    -------
    SimulatedCohort
        ``cohort.motion`` has the confound ``c`` = 1 − s and ``s``; ``cohort.regions`` the
        ``community``.

    Examples
    --------
    >>> simulated = simulate_communities(50, random_state=0)
    >>> simulated.cohort
    Cohort(50 subjects, 68 regions, motion: ['c', 's'], traits: [])
    """
    n_subjects = check_count(n_subjects, "n_subjects", minimum=1)
    n_regions = check_count(n_regions, "n_regions", minimum=2)
    rng = check_random_state(random_state)
    graphs = _community_graphs(n_subjects, n_regions, rng)
    affected = rng.permutation(n_subjects) < round(AFFECTED_SHARE * n_subjects)
    scale = np.where(
        affected, rng.normal(*AFFECTED_S, n_subjects), rng.normal(*UNAFFECTED_S, n_subjects)
    )
    return _propagate(_walks_of_two(graphs), scale, pd.DataFrame())


def simulate_extreme_motion(
    n_networks: int = 200,
    design: str = "levels",
    *,
    n_regions: int = 68,
    random_state: RandomState = 0,
) -> SimulatedCohort:
    """Simulate Appendix H of the paper: motion of any size, up to the loss of all information.

    The same networks (two communities, as in `simulate_communities`) are taken motion-free and at
    five levels of motion, Ã = ((1 − c)A)ᵀ((1 − c)A).

    Parameters
    ----------
    n_networks : int, default=200
        Networks at each level; the cohort is six times as large.
    design : {"levels", "paired"}, default="levels"
        "levels": s = 1 − c from N(μ, μ), mean and standard deviation, for μ = 0.5, 0.1, 0.01,
        0.001, 0.0001. "paired": all networks at a level have the same c, which is 0, 0.5, 0.9,
        0.99, 0.999 or 0.9999.
    n_regions : int, default=68
    random_state : int, numpy.random.Generator or None, default=0

    Returns
    -------
    SimulatedCohort
        ``cohort.traits`` has ``level`` (μ, or 1 for motion-free, in "levels"; c in "paired") and
        ``network``, the number of the network of which the row is a copy.

    Examples
    --------
    >>> simulated = simulate_extreme_motion(20, "paired")
    >>> simulated.cohort.traits["level"].unique().tolist()
    [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999]
    """
    n_networks = check_count(n_networks, "n_networks", minimum=1)
    n_regions = check_count(n_regions, "n_regions", minimum=2)
    design = check_choice(design, "design", ("levels", "paired"))
    rng = check_random_state(random_state)
    base = _walks_of_two(_community_graphs(n_networks, n_regions, rng))
    if design == "levels":
        levels = np.repeat((1.0, *EXTREME_S), n_networks)
        scale = np.where(levels == 1, 1.0, levels * (1 + rng.standard_normal(len(levels))))
    else:
        levels = np.repeat(PAIRED_C, n_networks)
        scale = 1 - levels
    copies = len(levels) // n_networks
    labels = pd.DataFrame({"level": levels, "network": np.tile(np.arange(n_networks), copies)})
    return _propagate(np.tile(base, (copies, 1, 1)), scale, labels)


def _communities(n_regions: int) -> NDArray[np.intp]:
    return (np.arange(n_regions) >= (n_regions + 1) // 2).astype(np.intp)


def _community_graphs(n_networks: int, n_regions: int, rng: np.random.Generator) -> Floats:
    community = _communities(n_regions)
    probability = np.where(community[:, None] == community[None, :], WITHIN, BETWEEN)
    chance = probability[np.triu_indices(n_regions, k=1)]
    return edges_to_matrices((rng.random((n_networks, len(chance))) < chance).astype(np.float64))


def _walks_of_two(graphs: Floats) -> Floats:
    """AᵀA without its diagonal: the number of common neighbours of every pair."""
    common = np.matmul(graphs, graphs)
    diagonal = np.arange(graphs.shape[1])
    common[:, diagonal, diagonal] = 0.0
    return common


def _propagate(motion_free: Floats, scale: Floats, traits: pd.DataFrame) -> SimulatedCohort:
    n_regions = motion_free.shape[1]
    regions = pd.DataFrame(
        {
            "name": [f"region-{i + 1:03d}" for i in range(n_regions)],
            "community": _communities(n_regions) + 1,
        }
    )
    cohort = Cohort(
        subject_ids=numbered_ids(len(scale)),
        connectomes=scale[:, None, None] ** 2 * motion_free,
        motion=pd.DataFrame({"c": 1 - scale, "s": scale}),
        traits=traits,
        regions=regions,
    )
    return SimulatedCohort(cohort, motion_free, _ScaleOracle(scale), ("c",))

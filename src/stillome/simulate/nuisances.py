"""The nuisances of simulated scans: what varies between scans, and on what it acts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stillome.arrays import Floats


@dataclass(frozen=True)
class Nuisance:
    """One nuisance variable and how it acts; streamlines are always lost.

    Attributes
    ----------
    meaning : str
        One line for tables and help texts.
    column : str
        Its name in ``cohort.motion``.
    draw : callable
        From a generator and n to values (n,).
    dose : callable
        From values to the dose that multiplies every effect.
    noise : float
        How much the survival of streamlines varies between scans, per unit of dose: discarded
        volumes.
    loses_edges : bool
        Whether the probability that an edge is not tracked at all depends on the dose.
    adds_edges : bool
        Whether false streamlines appear on short, weak edges.
    """

    meaning: str
    column: str
    draw: Callable[[np.random.Generator, int], Floats]
    dose: Callable[[Floats], Floats]
    noise: float = 0.0
    loses_edges: bool = True
    adds_edges: bool = True


def _millimetres(rng: np.random.Generator, n: int) -> Floats:
    return np.asarray(0.35 * np.exp(0.55 * rng.standard_normal(n)))


def _some(share: float) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: (rng.random(n) < share).astype(np.float64)


NUISANCES: dict[str, Nuisance] = {
    "motion": Nuisance(
        "head motion in mm: streamlines lost, edges lost, false short edges",
        "rms_mm",
        _millimetres,
        lambda c: c,
    ),
    "thinned": Nuisance(
        "head motion in mm that removes streamlines one by one and does nothing else",
        "rms_mm",
        _millimetres,
        lambda c: c,
        loses_edges=False,
        adds_edges=False,
    ),
    "lost-volumes": Nuisance(
        "head motion in mm that also adds noise: volumes were discarded",
        "rms_mm",
        _millimetres,
        lambda c: c,
        noise=0.3,
    ),
    "incomplete": Nuisance(
        "1 for the 9 % of scans that were not completed, else 0",
        "incomplete",
        _some(0.09),
        lambda c: 0.15 * c,
    ),
    "late": Nuisance(
        "1 for the 47 % of scans after a change of the protocol, else 0",
        "late",
        _some(0.47),
        lambda c: 0.07 * c,
    ),
}

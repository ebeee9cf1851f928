"""Which probes are run, on which description of the networks."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.exchange import Shuffler
from stillome.evaluate.leakage.forest import N_TREES, fit_trees
from stillome.evaluate.leakage.outcomes import ProbeResult, joined
from stillome.evaluate.leakage.probe_data import ProbeData
from stillome.evaluate.leakage.probes import (
    Fitter,
    Outcome,
    fit_svr,
    probe_by_fitting,
    probe_distance_correlation,
    probe_ridge,
)

Job = Callable[[], Outcome]
Jobs = dict[str, Callable[[], ProbeResult]]  # by the names of the probes in the table

# Summary numbers include the graph measures, so that trees see these too.
_ALSO_BY_TREES = ("zeros", "summary")


def probe_jobs(repeats: Sequence[ProbeData], n_permutations: int, rng: np.random.Generator) -> Jobs:
    """Return the probes to run by their names in the table; 0 permutations make no test."""
    # Each probe has its own generator, so that scores are the same with and without tests.
    first = repeats[0]
    shuffles, *seeds = rng.integers(2**63, size=1 + 4 * len(repeats)).tolist()
    bootstrap = int(rng.integers(2**63))
    orders = np.empty((0, len(first.groups)), dtype=np.intp)
    if n_permutations:
        shuffler = Shuffler(first.groups).check_any()
        orders = shuffler.draw_many(n_permutations, np.random.default_rng(shuffles))
    jobs = [
        jobs_of_repeat(data, orders, seeds[4 * i : 4 * i + 4]) for i, data in enumerate(repeats)
    ]

    def over_repeats(name: str) -> Callable[[], ProbeResult]:
        return lambda: joined(
            [one[name]() for one in jobs], first.confounds, first.groups, bootstrap
        )

    # A view that does not vary in one of the repeats is not probed in the others.
    return {name: over_repeats(name) for name in jobs[0] if all(name in one for one in jobs)}


def jobs_of_repeat(
    data: ProbeData, orders: NDArray[np.intp], seeds: Sequence[int]
) -> dict[str, Job]:
    """Return the probes of one repeat; without permutations `orders` (B, n) they have no test."""
    fits = [np.random.default_rng(seed) for seed in seeds]
    x, c, blocks, labels = data.features, data.confounds, data.blocks, data.two_valued
    groups = data.groups if len(orders) else None

    def ridge(view: Floats) -> Job:
        return lambda: probe_ridge(view, c, blocks, orders, labels)

    # The chance in a forest averages out over the forests of several blocks.
    trees = partial(fit_trees, n_trees=N_TREES // len(blocks))

    def fitting(fit: Fitter, view: Floats, own: np.random.Generator) -> Job:
        return lambda: probe_by_fitting(fit, view, c, blocks, groups, own, labels)

    jobs: dict[str, Job] = {
        "ridge": ridge(x),
        "svr": fitting(fit_svr, x, fits[0]),
        "trees": fitting(trees, x, fits[1]),
        "distance correlation": lambda: probe_distance_correlation(x, c, blocks, orders),
    }
    for name, view in data.views.items():
        jobs[f"{name}, ridge"] = ridge(view)
        if name in _ALSO_BY_TREES:
            own = fits[2 + _ALSO_BY_TREES.index(name)]
            jobs[f"{name}, trees"] = fitting(trees, view, own)
    return jobs

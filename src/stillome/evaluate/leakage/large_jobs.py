"""Which probes are run in a large cohort: ridge regression in everybody, others in a sample."""

from collections.abc import Callable, Sequence

import numpy as np

from stillome.cohort.exchange import Shuffler
from stillome.evaluate.leakage.blocked_ridge import probe_ridge_in_blocks
from stillome.evaluate.leakage.drawn_orders import DrawnOrders
from stillome.evaluate.leakage.folded_rows import MOST_SQUARE, FoldedRows
from stillome.evaluate.leakage.large_probes import LargeProbeData
from stillome.evaluate.leakage.large_views import StandardisedView
from stillome.evaluate.leakage.outcomes import ProbeResult, joined
from stillome.evaluate.leakage.probe_jobs import Job, Jobs, jobs_of_repeat
from stillome.evaluate.leakage.probes import Outcome, probe_ridge_by_kernel


def large_probe_jobs(
    repeats: Sequence[LargeProbeData], n_permutations: int, rng: np.random.Generator
) -> Jobs:
    """Return the probes to run by their names in the table; 0 permutations make no test."""
    first = repeats[0]
    shuffles, sums, bootstrap, *seeds = rng.integers(2**63, size=3 + 4 * len(repeats)).tolist()
    orders = DrawnOrders(first.groups, n_permutations, shuffles)
    few = np.empty((0, len(first.subjects)), dtype=np.intp)
    if n_permutations:
        draws = np.random.default_rng(shuffles)
        few = Shuffler(first.sample.groups).draw_many(n_permutations, draws)
    sampled = [
        jobs_of_repeat(data.sample, few, seeds[4 * i : 4 * i + 4]) for i, data in enumerate(repeats)
    ]

    def in_everybody(view: str) -> Callable[[], ProbeResult]:
        return lambda: joined(
            [_ridge(data, data.views[view], orders, sums) for data in repeats],
            first.targets.confounds,
            first.groups,
            bootstrap,
        )

    def in_sample(jobs: Sequence[Job]) -> Callable[[], ProbeResult]:
        sample = first.sample
        return lambda: joined([job() for job in jobs], sample.confounds, sample.groups, bootstrap)

    names = list(sampled[0])
    for view in first.views:
        ridge = f"{view}, ridge" if view else "ridge"
        if ridge not in names:
            names.append(ridge)
    jobs: Jobs = {}
    for name in names:
        view = name.removesuffix("ridge").removesuffix(", ")
        if name.endswith("ridge"):
            if all(view in data.views for data in repeats):
                jobs[name] = in_everybody(view)
        elif all(name in one for one in sampled):
            jobs[name] = in_sample([one[name] for one in sampled])
    return jobs


def _ridge(data: LargeProbeData, view: StandardisedView, orders: DrawnOrders, seed: int) -> Outcome:
    rows = FoldedRows(view, data.blocks, seed)
    confounds, two_valued = data.targets.confounds, data.targets.two_valued
    if len(confounds) > MOST_SQUARE:
        return probe_ridge_in_blocks(rows, confounds, orders, two_valued)
    _, *drawn = orders
    permuted = np.concatenate(drawn) if drawn else np.empty((0, len(confounds)), dtype=np.intp)
    found = probe_ridge_by_kernel(rows.kernel, confounds, data.blocks, permuted, two_valued)
    return found._replace(n_features=rows.n_features)

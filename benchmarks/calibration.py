"""How often the leakage certificate fails without a leak (5 % is right), and with a weak one.

*Counts*: networks of 20 regions of 150 subjects, no count below 3, totals and densities that differ
between subjects. Each leak is weak, and of a kind of its own. *Features*: 15 features of 150
subjects; the mean or the variance of one of them depends on motion.

    python benchmarks/calibration.py                    110 data sets without, 20 with each leak
    python benchmarks/calibration.py --kind features --null 200 --leaks 30
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

from stillome.cohort.edges import edge_indices
from stillome.evaluate import leakage_certificate
from stillome.evaluate.leakage.certificate import holm

N_SUBJECTS, N_FEATURES, N_REGIONS = 150, 15, 20
EDGES = edge_indices(N_REGIONS)
N_EDGES = len(EDGES[0])
FLOOR = 3  # smallest count that the pipeline writes
LEVEL = 0.05
# The certificate before summary numbers, graph measures and regions were probed.
OLD = ["ridge", "svr", "trees", "distance correlation", "zeros, ridge", "zeros, trees"]

Array = NDArray[np.float64]
DataSet = tuple[Array, Array]
Maker = Callable[[np.random.Generator], DataSet]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=["counts", "features"], default="counts")
    parser.add_argument("--null", type=int, default=110, help="data sets without a leak")
    parser.add_argument("--leaks", type=int, default=20, help="data sets of each kind of leak")
    parser.add_argument("--permutations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    scenarios = COUNTS if options.kind == "counts" else FEATURES
    columns = {name: run(make, name, options) for name, make in scenarios.items()}
    print("Share of data sets in which the certificate, and each probe by itself, detects motion:")
    print(pd.DataFrame(columns).to_string(float_format="{:.3f}".format))
    print(f"{time.perf_counter() - start:.0f} s")


def run(make: Maker, name: str, options: argparse.Namespace) -> dict[str, float]:
    n_sets = options.null if name == "no leak" else options.leaks
    found = []
    for number in range(n_sets):
        features, motion = make(np.random.default_rng([options.seed, number]))
        certificate = leakage_certificate(
            features,
            motion,
            kind=options.kind,
            n_permutations=options.permutations,
            level=LEVEL,
            random_state=number,
        )
        p_values = certificate.table["p_value"]
        before = holm(p_values[p_values.index.isin(OLD)].to_numpy())
        verdicts = {"certificate": not certificate.passed}
        if options.kind == "counts":
            verdicts["certificate, old probes"] = before.min() <= LEVEL
        scores = {"mean of worst R²": certificate.worst_r2}
        found.append(verdicts | (p_values <= LEVEL).to_dict() | scores)
    means = pd.DataFrame(found).astype(float).mean()
    low, high = interval(means["certificate"] * n_sets, n_sets)
    return {"data sets": n_sets, "certificate, low 95 %": low, "high 95 %": high, **means}


def interval(n_hits: float, n_sets: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95 % interval of a share."""
    low = beta.ppf(0.025, n_hits, n_sets - n_hits + 1) if n_hits else 0.0
    high = beta.ppf(0.975, n_hits + 1, n_sets - n_hits) if n_hits < n_sets else 1.0
    return float(low), float(high)


def draw_motion(rng: np.random.Generator) -> Array:
    """Skewed motion (n,), standardised."""
    motion = rng.gamma(2.0, 0.2, N_SUBJECTS)
    return np.asarray((motion - motion.mean()) / motion.std())


def leaking_feature(leak: Callable[[Array, Array], Array]) -> Maker:
    """Correlated, heavy-tailed features (n, p), the first of them with a leak."""

    def make(rng: np.random.Generator) -> DataSet:
        mixing = rng.standard_normal((N_FEATURES, N_FEATURES)) / np.sqrt(N_FEATURES)
        features = rng.standard_t(5, (N_SUBJECTS, N_FEATURES)) * np.sqrt(3 / 5)
        motion = draw_motion(rng)
        features[:, 1:] += 0.5 * features @ mixing[:, 1:]
        features[:, 0] = leak(features[:, 0], motion)
        return features, motion

    return make


def linear(share: float) -> Maker:
    """Let motion explain this share of the feature's variance."""
    return leaking_feature(lambda x, motion: np.sqrt(1 - share) * x + np.sqrt(share) * motion)


def leaking_rates(effect: Array) -> Maker:
    """Let the log rate of edges change by `effect` (p,) per standard deviation of motion."""

    def make(rng: np.random.Generator) -> DataSet:
        motion = draw_motion(rng)
        return draw_counts(np.outer(motion, effect), rng), motion

    return make


def draw_counts(shift: Array, rng: np.random.Generator) -> Array:
    """Overdispersed counts (n, p) with a floor; totals, regions and densities differ."""
    first, second = EDGES
    log_rate = rng.normal(1.5, 1.5, N_EDGES) + shift
    log_rate = log_rate + 0.2 * rng.standard_normal((N_SUBJECTS, 1))
    regions = 0.15 * rng.standard_normal((N_SUBJECTS, N_REGIONS))
    log_rate = log_rate + regions[:, first] + regions[:, second]
    counts = rng.poisson(np.exp(log_rate) * rng.gamma(4.0, 0.25, log_rate.shape))
    counts = counts * (rng.random(counts.shape) > rng.beta(2, 30, (N_SUBJECTS, 1)))
    return np.asarray(np.where(counts < FLOOR, 0, counts), dtype=np.float64)


def missing_edges(rng: np.random.Generator) -> DataSet:
    """Let each edge be lost with a probability that grows with motion."""
    motion = draw_motion(rng)
    counts = draw_counts(np.zeros((1, 1)), rng)
    lost = rng.random(counts.shape) < 0.02 * np.clip(motion + 1, 0, None)[:, None]
    return np.where(lost, 0, counts), motion


def below_the_floor(rng: np.random.Generator) -> DataSet:
    """Put one or two 1s and 2s in place of zeros where motion was above its median."""
    motion = draw_motion(rng)
    counts = draw_counts(np.zeros((1, 1)), rng)
    for subject in np.flatnonzero(motion > np.median(motion)):
        empty = np.flatnonzero(counts[subject] == 0)
        some = rng.choice(empty, rng.integers(1, 3), replace=False)
        counts[subject, some] = rng.integers(1, 3, len(some))
    return counts, motion


FEATURES: dict[str, Maker] = {
    "no leak": leaking_feature(lambda x, _: x),
    "R² 0.05": linear(0.05),
    "R² 0.10": linear(0.10),
    "spread": leaking_feature(lambda x, motion: x * np.exp(0.5 * motion)),
}
COUNTS: dict[str, Maker] = {
    "no leak": leaking_rates(np.zeros(N_EDGES)),
    "5 edges": leaking_rates(np.where(np.arange(N_EDGES) % 38 == 0, 0.3, 0.0)),
    "density": missing_edges,
    "below floor": below_the_floor,
    "2 regions": leaking_rates(np.where(EDGES[0] < 2, -0.1, 0.0)),
}


if __name__ == "__main__":
    main()

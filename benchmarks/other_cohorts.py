"""Cohorts that `simulate_cohort` does not make: no method may be tuned to its own simulator.

A generator of its own, which shares no code and no distribution with `stillome.simulate`:
log-normal counts, individual differences of low rank, a motion effect that depends on regions and
distance and, by kind of cohort, on something else. The truth is the same scan drawn with
motion 0.

    python benchmarks/other_cohorts.py                 # every kind, three seeds
    python benchmarks/other_cohorts.py --kinds sparse sift2 --seeds 1
"""

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import poisson
from tqdm import tqdm

from stillome.evaluate import fidelity_r2, identification_rate, probe_scores
from stillome.exceptions import StillomeWarning
from stillome.methods import make_method

METHODS = ("edgewise", "combat", "sog", "inv-fa")


@dataclass(frozen=True)
class Kind:
    """One kind of cohort, and how it departs from the plain one."""

    n_subjects: int = 400
    n_regions: int = 70
    mean_log_count: float = 2.0
    noise: float = 0.5  # sd of log counts around the person's own rate
    gains: bool = False  # half of the regions gain fibres with motion
    threshold: bool = False  # motion acts above a threshold only
    gated: bool = False  # motion empties edges outright
    fixed_total: bool = False  # the tracking stops at the same number of streamlines
    weights: bool = False  # SIFT2-like: not whole numbers
    two_confounds: bool = False
    site: bool = False
    uneven: bool = False  # motion effects differ between people, whatever their brains


KINDS = {
    "plain": Kind(),
    "small": Kind(n_subjects=100),
    "sparse": Kind(n_regions=120, mean_log_count=-0.5, n_subjects=300),
    "strong": Kind(n_regions=40, mean_log_count=6.0, noise=0.3),
    "noisy": Kind(noise=1.2),
    "gains": Kind(gains=True),
    "threshold": Kind(threshold=True),
    "gated": Kind(gated=True),
    "fixed total": Kind(fixed_total=True),
    "sift2": Kind(weights=True),
    "two confounds": Kind(two_confounds=True),
    "motion and site": Kind(site=True),
    "uneven": Kind(uneven=True),
}


def simulate(kind: Kind, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return counts (n, E), the same scans at motion 0 (n, E), and confounds (n, C)."""
    rng = np.random.default_rng([seed, 20_000])
    n, v = kind.n_subjects, kind.n_regions
    rows, columns = np.triu_indices(v, 1)
    place = rng.uniform(-1, 1, (v, 3))
    distance = np.linalg.norm(place[rows] - place[columns], axis=1)
    base = kind.mean_log_count + 1.5 * rng.standard_normal(len(rows)) - 1.2 * distance
    # The person: hubs that differ, and a few circuits that do.
    hubs = 0.15 * rng.standard_normal((n, v))
    circuits = rng.standard_normal((8, v))
    people = hubs[:, rows] + hubs[:, columns]
    people += 0.15 * rng.standard_normal((n, 8)) @ (circuits[:, rows] * circuits[:, columns])
    motion = rng.lognormal(-1.5, 0.6, n)
    confounds = motion[:, None]
    shown = np.maximum(motion - 0.25, 0) if kind.threshold else motion
    regional = rng.standard_normal(v) if kind.gains else 1 + 0.3 * rng.standard_normal(v)
    susceptible = 0.5 * (regional[rows] + regional[columns]) * (0.5 + 0.5 * distance)
    susceptible += 0.2 * rng.standard_normal(len(rows))
    effect = -np.outer(shown, 1.5 * susceptible)
    if kind.two_confounds:
        turning = 0.01 * rng.lognormal(0, 0.5, n) * np.sqrt(motion / motion.mean())
        confounds = np.column_stack([motion, turning])
        effect -= np.outer(turning / 0.01, 0.15 * np.abs(place[rows, 0]))
    if kind.site:
        site = rng.integers(0, 2, n).astype(float)
        confounds = np.column_stack([motion, site])
        effect += np.outer(site, 0.3 * rng.standard_normal(len(rows)))
    if kind.uneven:
        effect *= rng.lognormal(-0.08, 0.4, n)[:, None]
    noise = kind.noise * rng.standard_normal(people.shape)
    level = rng.random(people.shape)
    seen = _drawn(kind, base + people + effect, noise, level)
    free = _drawn(kind, base + people, noise, level)
    if kind.gated:
        seen *= rng.random(seen.shape) > 0.6 * ndtr(3 * (motion - 0.4))[:, None] * distance / 2
    return seen, free, confounds


def _drawn(kind: Kind, log_rates: np.ndarray, noise: np.ndarray, level: np.ndarray) -> np.ndarray:
    values = np.exp(log_rates + noise)
    if kind.fixed_total:
        values *= np.exp(kind.mean_log_count) * log_rates.shape[1] / values.sum(1, keepdims=True)
    counts = poisson.ppf(level, values)
    if not kind.weights:
        return counts
    # Every streamline has a weight of its own, around 0.05.
    return 0.05 * counts * np.exp(0.5 * noise / kind.noise / np.sqrt(np.maximum(counts, 1)))


def judge(name: str, kind: Kind, seed: int) -> list[dict[str, Any]]:
    X, free, confounds = simulate(kind, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    cut = round(0.7 * len(X))
    everyone = np.arange(len(X))
    found = []
    for use, fitted, used in (("cohort", everyone, everyone), ("unseen", order[:cut], order[cut:])):
        row: dict[str, Any] = {"method": name, "seed": seed, "use": use}
        start = time.process_time()
        adjusted = z = X[used]
        if name != "raw":
            model = make_method(name).fit(X[fitted], confounds=confounds[fitted])
            z = model.transform(X[used], confounds=confounds[used])
            adjusted = model.adjust(X[used], confounds=confounds[used])
            row["active"] = getattr(getattr(model, "diagnostics_", None), "active_units", np.nan)
            row["fit s"] = time.process_time() - start
            row["z"] = max(probe_scores(z, confounds[used]).values())
        positive = np.maximum(adjusted, 0)  # only stillome's own method promises no negative count
        row["A*"] = max(probe_scores(positive, confounds[used], kind="counts").values())
        row["fidelity"] = fidelity_r2(positive, free[used])
        row["identified"] = identification_rate(positive, free[used])
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--methods", nargs="+", default=["raw", *METHODS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    jobs = [(k, m, s) for k in options.kinds for m in options.methods for s in options.seeds]
    rows = []
    for kind, method, seed in tqdm(jobs, disable=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StillomeWarning)
            rows += [{"kind": kind, **row} for row in judge(method, KINDS[kind], seed)]
    table = pd.DataFrame(rows).drop(columns="seed")
    means = table.groupby(["kind", "use", "method"], sort=False).mean()
    print(means.to_string(float_format="{:.3f}".format, na_rep="-"))


if __name__ == "__main__":
    main()

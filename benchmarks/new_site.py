"""A site that training never saw: error of its effects against the number of people there.

    python benchmarks/new_site.py                   # 200 people at four sites, k = 10, 20, 50, 100
    python benchmarks/new_site.py --seeds 7

Sites multiply expected counts by a factor of their own for every edge: a common part, one that
depends on length, and one of each edge. Models are fitted to 200 people of four sites. Of a fifth
site, k people are given to

- adapt: `InvFA.adapt`, which keeps the fitted model;
- refit: InvFA fitted to all 200 + k people;
- combat: ComBat with the training subjects as the reference batch and k people as the other. It is
  given connectomes from which the model of "adapt" removed motion and the trained sites.

Error: 100 other people of the new site are adjusted to the reference site and no motion; root mean
square over edges of the mean difference from the same people's scans there, log(1 + count), in
percent. "nothing" treats them as if they were at the reference site; "truth" are other scans of the
same people at the reference site, the error that would remain. Coverage (adapt): share of edges
whose 95 % interval of the site effect contains the true one, of all edges and of those with a mean
count above 5; and share of seeds whose interval of the mean over edges contains the true mean.

Seeds 0, 1 and 2 were used in development.
"""

import argparse
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from stillome import InvFA
from stillome.cohort.edges import matrices_to_edges
from stillome.exceptions import StillomeWarning
from stillome.methods.inv_fa.new_site import SiteEffect
from stillome.methods.registry import make_method
from stillome.simulate import simulate_cohort
from stillome.simulate.realistic import RateOracle, draw_scans

N_TRAIN, N_SITES, N_TEST, KS = 200, 4, 100, (10, 20, 50, 100)


@dataclass
class Sites:
    """People of five sites: the first is the reference, the last is new."""

    seed: int

    def __post_init__(self) -> None:
        n_new = max(KS) + N_TEST
        self.n = N_TRAIN + n_new
        simulated = simulate_cohort(self.n, "thinning", random_state=self.seed)
        rng = np.random.default_rng([self.seed, 1])
        oracle: Any = simulated.oracle
        assert isinstance(oracle, RateOracle)
        lengths = oracle.population.lengths
        long = (lengths - lengths.mean()) / lengths.std()
        size = (N_SITES + 1, len(lengths))
        common, slope = rng.normal(0, 0.15, (N_SITES + 1, 1)), rng.normal(0, 0.1, (N_SITES + 1, 1))
        self.effects = common + slope * long + rng.normal(0, 0.1, size)
        self.effects[0] = 0
        self.site = np.append(np.arange(N_TRAIN) % N_SITES, np.full(n_new, N_SITES))
        self.motion = simulated.confounds[:, 0]
        scanned = np.empty((self.n, len(lengths)), dtype=np.int32)
        self.again = simulated.X_free  # at the reference site, without motion
        for site in range(N_SITES + 1):
            rows = np.flatnonzero(self.site == site)
            shifted = oracle.population.baseline + self.effects[site]
            there = replace(
                oracle,
                population=replace(oracle.population, baseline=shifted),
                latents=oracle.latents[rows],
                motion=oracle.motion[rows],
            )
            scanned[rows] = matrices_to_edges(draw_scans(there, 68, rng)[0])
        self.X = scanned
        self.free = matrices_to_edges(draw_scans(oracle, 68, rng)[1])

    def confounds(self, *, new: bool) -> np.ndarray:
        """Motion and dummies of the sites but the first; of the new one only if asked for."""
        last = N_SITES + 1 if new else N_SITES
        return np.column_stack([self.motion, *(self.site == s for s in range(1, last))])

    def error(self, adjusted: np.ndarray) -> float:
        """Error of the people of the new site that are tested, in percent."""
        test = slice(self.n - N_TEST, None)
        away = np.log1p(adjusted.astype(float)) - np.log1p(self.free[test].astype(float))
        return 100 * float(np.sqrt((away.mean(axis=0) ** 2).mean()))

    def covered(self, found: SiteEffect) -> dict[str, float]:
        """Shares of intervals that contain the true effect of the new site."""
        true, strong = self.effects[-1], self.free.mean(axis=0) > 5
        inside = np.abs(found.effects - true) < 1.96 * found.sd
        return {
            "coverage": float(inside.mean()),
            "above 5": float(inside[strong].mean()),
            "of mean": float(found.low < true.mean() < found.high),
        }


def rows_of(seed: int) -> list[dict[str, Any]]:
    sites = Sites(seed)
    test = slice(sites.n - N_TEST, None)
    old, new = sites.confounds(new=False), sites.confounds(new=True)
    train = np.arange(N_TRAIN)
    model = InvFA().fit(sites.X[train], confounds=old[train])
    still = model.adjust(sites.X, confounds=old)
    nothing = sites.error(still[test])
    rows = [
        {"method": "nothing", "k": 0, "seed": seed, "error": nothing},
        {"method": "truth", "k": 0, "seed": seed, "error": sites.error(sites.again[test])},
    ]
    for k in KS:
        there = np.arange(N_TRAIN, N_TRAIN + k)
        both = np.append(train, there)
        for name in ("adapt", "refit", "combat"):
            start = time.perf_counter()
            if name == "adapt":
                fitted: Any = model.adapt(sites.X[there], confounds=old[there])
            elif name == "refit":
                fitted = InvFA().fit(sites.X[both], confounds=new[both])
            else:
                fitted = make_method("combat").fit(still[both], confounds=new[both, -1])
            seconds = time.perf_counter() - start
            row = {"method": name, "k": k, "seed": seed, "seconds": seconds}
            X, told = (still, new[:, -1]) if name == "combat" else (sites.X, new)
            row["error"] = sites.error(fitted.adjust(X[test], confounds=told[test]))
            if name == "adapt":
                row |= sites.covered(fitted.site_effect_)
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 4, 5, 6])
    options = parser.parse_args()
    warnings.simplefilter("ignore", StillomeWarning)
    table = pd.DataFrame([row for seed in options.seeds for row in rows_of(seed)])
    print(f"seeds {options.seeds}")
    print(table.drop(columns="seed").groupby(["method", "k"], sort=False).mean().round(2))
    errors = table[table["k"] > 0].pivot_table("error", ["k", "seed"], "method")
    apart = (errors["adapt"] - errors["refit"]).groupby("k").agg(["mean", "std"])
    print("\nerror of adapt minus that of refit: mean and standard deviation over seeds")
    print(apart.round(2).to_string())


if __name__ == "__main__":
    main()

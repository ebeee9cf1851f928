"""Change within a person: what adjusting keeps of ageing, and removes of motion.

    python benchmarks/longitudinal.py                       # 100 people to fit, 100 others, 3 seeds
    python benchmarks/longitudinal.py --people 60 --seeds 1

People of `simulate_visits` are scanned twice, two years apart. They move less when they are older,
and 30 % of the edges change with age. Methods are fitted to the scans of some people (age is kept,
scans of a person are grouped) and applied to others. All columns are about the difference between
both scans of a person, log(1 + count), in people the methods have not seen:

- fidelity: R² of the differences, against those of the same scans without motion;
- r: correlation of a person's differences with the motion-free ones, mean over people;
- bias: mean over edges of the estimated change per year, minus that of the motion-free scans, in
  percent per year;
- error: root mean square of the same difference, in percent per year;
- false, true: share of edges that do not, and that do, change with age with p < 0.05 (t-test).
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from stillome.exceptions import StillomeWarning
from stillome.methods.registry import make_method
from stillome.simulate import SimulatedVisits, simulate_visits

METHODS = ("raw", "edgewise", "combat", "inv-fa")
YEARS = 2.0


def differences(edges: np.ndarray) -> np.ndarray:
    """Second visit minus first, (people, E), per year."""
    logs = np.log1p(edges.astype(np.float64)).reshape(len(edges) // 2, 2, -1)
    return (logs[:, 1] - logs[:, 0]) / YEARS


def measures(changed: np.ndarray, free: np.ndarray, simulated: SimulatedVisits) -> dict[str, Any]:
    """Compare the differences within people with those without motion."""
    p_values = ttest_1samp(changed, 0, axis=0).pvalue
    found = np.nan_to_num(p_values, nan=1.0) < 0.05  # an edge that nobody has does not change
    ages = simulated.ageing != 0
    away = changed.mean(axis=0) - free.mean(axis=0)
    return {
        "fidelity": 1 - ((changed - free) ** 2).sum() / ((free - free.mean(axis=0)) ** 2).sum(),
        "r": np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(changed, free, strict=True)]),
        "bias": 100 * away.mean(),
        "error": 100 * np.sqrt((away**2).mean()),
        "false": found[~ages].mean(),
        "true": found[ages].mean(),
    }


def rows_of(seed: int, n_people: int) -> list[dict[str, Any]]:
    """Fit every method to one half of the people, and measure the other half."""
    simulated = simulate_visits(2 * n_people, random_state=seed)
    cohort = simulated.cohort
    train, test = np.arange(2 * n_people), np.arange(2 * n_people, 4 * n_people)
    free = differences(simulated.X_free[test])
    groups, age = cohort.groups(), cohort.traits["age"].to_numpy()
    assert groups is not None
    rows = []
    for name in METHODS:
        start = time.perf_counter()
        method = make_method(name)
        method.fit(
            simulated.X[train],
            confounds=simulated.confounds[train],
            covariates_to_keep=age[train],
            groups=groups[train],
        )
        adjusted = method.adjust(simulated.X[test], confounds=simulated.confounds[test])
        seconds = time.perf_counter() - start
        found = measures(differences(adjusted), free, simulated)
        rows.append({"method": name, "seed": seed, **found, "seconds": seconds})
    drawn = simulated.oracle.draw(simulated.X, np.random.default_rng(seed))[test]
    rows.append({"method": "oracle", "seed": seed, **measures(differences(drawn), free, simulated)})
    rows.append({"method": "truth", "seed": seed, **measures(free, free, simulated)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=100, help="to fit; as many others are tested")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    warnings.simplefilter("ignore", StillomeWarning)
    table = pd.DataFrame([row for seed in options.seeds for row in rows_of(seed, options.people)])
    order = list(dict.fromkeys(table["method"]))
    mean = table.drop(columns="seed").groupby("method").mean().loc[order]
    print(f"{options.people} people to fit, {options.people} others, seeds {options.seeds}")
    print(mean.round(3).to_string())
    spread = table.drop(columns="seed").groupby("method").std().loc[order]
    print("\nstandard deviation over seeds")
    print(spread.round(3).to_string())


if __name__ == "__main__":
    main()

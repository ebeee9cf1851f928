"""How much a network could win where people lie on a curved surface.

    python benchmarks/curved_ceiling.py --sizes 800 --seeds 81

inv-FA is fitted to n subjects; on 400 others traits are predicted from its z by ridge regression
and by kernel ridge regression, which can bend, and from the three coordinates of the surface
themselves. R² is of these coordinates, predicted from z in the same two ways. Where bending wins
nothing over the straight line, z holds no more for a network to read; what is between it and the
coordinates is lost in the counts, or to an encoder that does not know the surface.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from invariance import simulate
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from tqdm import tqdm

from stillome.exceptions import StillomeWarning
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.simulate.population import N_COORDINATES

N_UNSEEN = 400
GRID = {"alpha": [0.1, 0.3, 1.0], "gamma": [0.001, 0.003, 0.01]}


def straight() -> RidgeCV:
    return RidgeCV(np.logspace(-3, 5, 20))


def bent() -> GridSearchCV:
    return GridSearchCV(KernelRidge(kernel="rbf"), GRID, cv=3)


def ceiling(n: int, seed: int) -> dict[str, float]:
    """Return correlations of traits, and R² of coordinates, for unseen subjects."""
    simulated = simulate("curved", n + N_UNSEEN, seed)
    X, motion = simulated.X, simulated.confounds
    traits = simulated.cohort.traits.to_numpy(dtype=float)
    places = simulated.latents[:, :N_COORDINATES]
    model = InvFA(lengths=simulated.cohort.lengths)
    model.fit(X[:n], traits[:n], confounds=motion[:n])
    z = model.transform(X, confounds=motion)
    mean = traits[:n].mean(axis=0)

    def r(regression: RidgeCV | GridSearchCV, features: np.ndarray) -> float:
        found = regression.fit(features[:n], traits[:n] - mean).predict(features[n:])
        pairs = zip(found.T, traits[n:].T, strict=True)
        return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs]))

    def r2(regression: RidgeCV | GridSearchCV) -> float:
        found = regression.fit(z[:n], places[:n]).predict(z[n:])
        return float(np.mean(1 - np.var(places[n:] - found, axis=0) / np.var(places[n:], axis=0)))

    return {
        "traits from z, straight": r(straight(), z),
        "traits from z, bent": r(bent(), z),
        "traits from coordinates": r(straight(), places),
        "R² of coordinates, straight": r2(straight()),
        "R² of coordinates, bent": r2(bent()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[800, 4000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[81, 82, 83])
    options = parser.parse_args()
    warnings.simplefilter("ignore", StillomeWarning)
    jobs = [(n, seed) for n in options.sizes for seed in options.seeds]
    rows = [
        {"n": n, "seed": seed} | ceiling(n, seed)
        for n, seed in tqdm(jobs, desc="ceiling", disable=None)
    ]
    print(pd.DataFrame(rows).groupby("n").mean().drop(columns="seed").round(3).T.to_string())


if __name__ == "__main__":
    main()

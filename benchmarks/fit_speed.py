"""Time of InvFA beside PCA(68) on the same data in the same run.

python benchmarks/fit_speed.py
"""

import time
from collections.abc import Callable

import numpy as np
from sklearn.decomposition import PCA

from stillome import InvFA, simulate_cohort

ROUNDS = 3


def seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def main() -> None:
    simulated = simulate_cohort(1065, regime="thinning", random_state=0)
    X, motion, logs = simulated.X, simulated.confounds, np.log1p(simulated.X)
    print("round   PCA(68)   InvFA.fit   ratio   adjust 1,000 subjects")
    for number in range(1, ROUNDS + 1):
        model = InvFA(lengths=simulated.cohort.lengths)
        pca = seconds(lambda: PCA(68).fit(logs))
        fit = seconds(lambda model=model: model.fit(X, confounds=motion))
        adjust = seconds(lambda model=model: model.adjust(X[:1000], confounds=motion[:1000]))
        print(f"{number:5d} {pca:7.2f} s {fit:10.2f} s {fit / pca:7.1f} {adjust:21.2f} s")


if __name__ == "__main__":
    main()

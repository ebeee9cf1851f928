"""Time of InvFA beside PCA(68) on the same data in the same process, on one thread.

python benchmarks/fit_speed.py
python benchmarks/fit_speed.py --sizes 1065x68 --rounds 3

PCA is that of scikit-learn with the randomised solver, on log counts in single precision. Seconds
are those of the processor, so that a busy machine changes them less. 68 regions are simulated
(`thinning`), more are generated as in `scale.py`.
"""

import argparse
import os

# Before numpy is imported, whose libraries read it then.
os.environ["OMP_NUM_THREADS"] = "1"

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import zarr
from scale import generate, size
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from stillome import InvFA, simulate_cohort

SIZES = ("1065x68", "1000x200", "500x400")
MOST_ADJUSTED = 5e6  # subjects times edges


def seconds(job: Callable[[], object]) -> float:
    start = time.process_time()
    job()
    return time.process_time() - start


def cohort(n: int, n_regions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return counts (n, E) and motion."""
    if n_regions == 68:
        simulated = simulate_cohort(n, regime="thinning", random_state=0)
        return simulated.X, simulated.confounds
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), n, n_regions)
        X = zarr.open_array(str(Path(folder) / "X"), mode="r")[:]
        return X, np.load(Path(folder) / "motion.npy")


def measure(name: str) -> str:
    n, n_regions = (int(number) for number in name.split("x"))
    X, motion = cohort(n, n_regions)
    logs = np.log1p(X.astype(np.float32))
    solver = PCA(68, svd_solver="randomized", random_state=0)
    pca = min(seconds(lambda: solver.fit(logs)) for _ in range(3))
    model = InvFA()
    fit = seconds(lambda: model.fit(X, confounds=motion))
    some = slice(min(n, int(MOST_ADJUSTED // X.shape[1])))
    adjust = seconds(lambda: model.adjust(X[some], confounds=motion[some]))
    each = 1e6 * adjust / X[some].size
    return f"{name:>8s} {pca:7.2f} s {fit:10.2f} s {fit / pca:7.1f} {each:27.2f} µs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", nargs="+", type=size, default=SIZES, metavar="SUBJECTSxREGIONS")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    # What is imported and tabulated at the first fit is no time of the measured one.
    X, motion = cohort(100, 68)
    InvFA(2).fit(X[:, :66], confounds=motion).adjust(X[:, :66], confounds=motion)
    print("    size   PCA(68)   InvFA.fit   ratio   adjust, per subject·edge")
    with threadpool_limits(1):
        for _ in range(options.rounds):
            for name in options.sizes:
                print(measure(name), flush=True)


if __name__ == "__main__":
    main()

"""How often the leakage certificate fails without a leak (5 % is right), and with a weak one.

Without a leak, features of 150 subjects are independent of their skewed motion. With one, the mean
or the variance of a single feature of 15 depends on motion.

    python benchmarks/calibration.py                    200 data sets without, 3 × 30 with a leak
    python benchmarks/calibration.py --null 20 --leaks 5
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.evaluate import leakage_certificate

N_SUBJECTS, N_FEATURES = 150, 15
LEVEL = 0.05

Array = NDArray[np.float64]
Leak = Callable[[Array, Array], Array]


def nothing(feature: Array, motion: Array) -> Array:
    del motion
    return feature


def linear(share: float) -> Leak:
    """Let motion explain this share of the feature's variance."""
    return lambda feature, motion: np.sqrt(1 - share) * feature + np.sqrt(share) * motion


def spread(feature: Array, motion: Array) -> Array:
    """Let the feature's variance, but not its mean, depend on motion."""
    return feature * np.exp(0.5 * motion)


SCENARIOS: dict[str, Leak] = {
    "no leak": nothing,
    "one feature, R² 0.05": linear(0.05),
    "one feature, R² 0.10": linear(0.10),
    "one feature's spread": spread,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--null", type=int, default=200, help="data sets without a leak")
    parser.add_argument("--leaks", type=int, default=30, help="data sets of each kind of leak")
    parser.add_argument("--permutations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    rows = {
        name: run(leak, options.null if leak is nothing else options.leaks, options)
        for name, leak in SCENARIOS.items()
    }
    print("Share of data sets in which the certificate, and each probe by itself, detects motion:")
    print(pd.DataFrame.from_dict(rows, orient="index").to_string(float_format="{:.3f}".format))
    print(f"{time.perf_counter() - start:.0f} s")


def run(leak: Leak, n_sets: int, options: argparse.Namespace) -> dict[str, float]:
    found = []
    for number in range(n_sets):
        rng = np.random.default_rng([options.seed, number])
        features, motion = data_set(leak, rng)
        certificate = leakage_certificate(
            features, motion, n_permutations=options.permutations, level=LEVEL, random_state=number
        )
        alone = certificate.table["p_value"] <= LEVEL
        found.append(
            {"certificate": not certificate.passed, **alone, "worst R²": certificate.worst_r2}
        )
    means = pd.DataFrame(found).astype(float).mean()
    error = np.sqrt(means["certificate"] * (1 - means["certificate"]) / n_sets)
    return {"data sets": n_sets, "± s.e.": error, **means}


def data_set(leak: Leak, rng: np.random.Generator) -> tuple[Array, Array]:
    """Correlated, heavy-tailed features (n, p) and skewed motion (n,)."""
    mixing = rng.standard_normal((N_FEATURES, N_FEATURES)) / np.sqrt(N_FEATURES)
    features = rng.standard_t(5, (N_SUBJECTS, N_FEATURES)) * np.sqrt(3 / 5)
    motion = rng.gamma(2.0, 0.2, N_SUBJECTS)
    standard = (motion - motion.mean()) / motion.std()
    features[:, 1:] += 0.5 * features @ mixing[:, 1:]
    features[:, 0] = leak(features[:, 0], standard)
    return features, motion


if __name__ == "__main__":
    main()

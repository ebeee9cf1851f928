"""Appendix E: latent size and depth of inv-VAE, chosen by cross-validation.

    python benchmarks/model_selection.py                 # 1,065 subjects, the paper's training
    python benchmarks/model_selection.py --rate 1e-3     # trained further
    python benchmarks/model_selection.py --subjects 200 --epochs 20

The paper takes the size and depth with the smallest *training* loss. The table has, for every
combination, means over three folds: the loss of the fitted subjects and of those left out (nats
per subject; the negative evidence bound without the invariance penalty), the KL, and the mean r of
predicted traits of those left out. What is smallest, and largest for r, has a star.
"""

import argparse
import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold
from tqdm import tqdm

from stillome import InvVAE
from stillome.exceptions import StillomeWarning
from stillome.simulate import simulate_cohort

SIZES, DEPTHS = (20, 34, 68, 100), (1, 2, 3)


def one(X: np.ndarray, traits: np.ndarray, motion: np.ndarray, seed: int, **settings: Any) -> dict:
    rows = []
    for train, test in KFold(3, shuffle=True, random_state=seed).split(X):
        model = InvVAE.as_published(random_state=seed, **settings)
        model.fit(X[train], traits[train], confounds=motion[train])
        predicted = model.predict(X[test], confounds=motion[test])
        r = [np.corrcoef(a, b)[0, 1] for a, b in zip(predicted.T, traits[test].T, strict=True)]
        rows.append(
            {
                "training loss": -model.log_likelihood(X[train], confounds=motion[train]),
                "held-out loss": -model.log_likelihood(X[test], confounds=motion[test]),
                "KL": model.diagnostics_.kl,
                "trait r": np.mean(r),
            }
        )
    return pd.DataFrame(rows).mean().to_dict()


def starred(table: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers as text, with a star at the best of each column that can choose."""
    text = table.map("{:.2f}".format).assign(K=table["K"], M=table["M"])
    best = {
        "training loss": table["training loss"].idxmin(),
        "held-out loss": table["held-out loss"].idxmin(),
        "trait r": table["trait r"].idxmax(),
    }
    for column, row in best.items():
        text.loc[row, column] += "*"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=1065)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--rate", type=float, default=2e-5, help="the paper's; 1e-3 converges")
    parser.add_argument("--seed", type=int, default=101)
    options = parser.parse_args()
    simulated = simulate_cohort(options.subjects, "thinning", random_state=options.seed)
    traits = simulated.cohort.traits.to_numpy(dtype=float)
    warnings.simplefilter("ignore", StillomeWarning)
    rows = []
    for size, depth in tqdm(list(product(SIZES, DEPTHS)), desc="model selection", disable=None):
        settings = {"n_components": size, "n_layers": depth, "max_epochs": options.epochs}
        found = one(
            *(simulated.X, traits, simulated.confounds, options.seed),
            learning_rate=options.rate,
            **settings,
        )
        rows.append({"K": size, "M": depth} | found)
    print(starred(pd.DataFrame(rows)).to_string(index=False))


if __name__ == "__main__":
    main()

"""How far simulated scans look like real fibre counts: the same aggregates of both, side by side.

The aggregates of real counts are not part of the repository. A file of them is JSON with the keys
that `real_column` reads; without one, the simulated column is printed alone.

    python benchmarks/real_likeness.py
    python benchmarks/real_likeness.py --facts facts.json --subjects 1065
"""

import argparse
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.simulate import simulate_scans

RATES = (0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, np.inf)
SMALL_VALUES = range(12)
EIGENVALUES = (1, 2, 3, 6, 11, 21, 41, 61)
ZERO_EIGENVALUES = range(1, 6)


def rate_name(low: float, high: float) -> str:
    return f"mean {low:g} and more" if np.isinf(high) else f"mean {low:g} to {high:g}"


def simulated_column(counts: NDArray[np.int32]) -> dict[str, float]:
    """Return the aggregates of counts (n, E)."""
    present, mean, total = (counts > 0).mean(axis=0), counts.mean(axis=0), counts.sum(axis=1)
    density = (counts > 0).mean(axis=1)
    column = {f"share of {value}": float((counts == value).mean()) for value in SMALL_VALUES}
    column["density, mean"], column["density, sd"] = density.mean(), density.std()
    independent = np.sqrt((present * (1 - present)).sum()) / counts.shape[1]
    column["density, sd if zeros were independent"] = independent
    column["total, mean"], column["total, cv"] = total.mean(), total.std() / total.mean()
    column["correlation of density and log total"] = np.corrcoef(density, np.log(total))[0, 1]
    for low, high in pairwise(RATES):
        some = (mean >= low) & (mean < high) & (mean > 0)
        excess = (counts[:, some].var(axis=0) - mean[some]) / mean[some] ** 2
        column[f"edges, {rate_name(low, high)}"] = some.sum()
        column[f"zeros, {rate_name(low, high)}"] = 1 - present[some].mean()
        column[f"dispersion, {rate_name(low, high)}"] = np.median(excess)
    shares = eigenvalue_shares(np.log1p(counts[:, np.log1p(counts).std(axis=0) > 0.05]))
    column |= {f"eigenvalue {i}, log counts": shares[i - 1] for i in EIGENVALUES}
    zeros = (counts == 0)[:, (present > 0.05) & (present < 0.95)].astype(float)
    shares = eigenvalue_shares(zeros)
    column |= {f"eigenvalue {i}, zeros": shares[i - 1] for i in ZERO_EIGENVALUES}
    related = np.corrcoef(zeros.T)
    column["mean correlation of zeros"] = (related.sum() - len(related)) / (
        len(related) * (len(related) - 1)
    )
    return column


def eigenvalue_shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the eigenvalues of the correlations of columns, largest first, as shares."""
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    found = np.linalg.eigvalsh(standard @ standard.T)[::-1]
    return np.asarray(found / found.sum())


def real_column(facts: dict[str, Any]) -> dict[str, float]:
    """Return the same aggregates from a file of facts."""
    column = {f"share of {value}": facts["share_of_values"][str(value)] for value in SMALL_VALUES}
    column["density, mean"], column["density, sd"] = (facts["density"][k] for k in ("mean", "sd"))
    independent = facts["sd_of_density_if_zeros_were_independent"]
    column["density, sd if zeros were independent"] = independent
    column["total, mean"] = facts["total_fibres"]["mean"]
    column["total, cv"] = facts["total_fibres"]["cv"]
    column["correlation of density and log total"] = facts["correlation_density_log_total"]
    for (low, high), row in zip(pairwise(RATES), facts["by_rate"], strict=True):
        column[f"edges, {rate_name(low, high)}"] = row["edges"]
        column[f"zeros, {rate_name(low, high)}"] = row["zero_share_observed"]
        column[f"dispersion, {rate_name(low, high)}"] = row["median_dispersion"]
    shares = facts["eigenvalue_shares_of_standardised_log1p"]
    column |= {f"eigenvalue {i}, log counts": shares[i - 1] for i in EIGENVALUES}
    zeros = facts["zero_indicator"]
    column |= {
        f"eigenvalue {i}, zeros": zeros["eigenvalue_shares"][i - 1] for i in ZERO_EIGENVALUES
    }
    column["mean correlation of zeros"] = zeros["mean_correlation_between_edges"]
    return column


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=Path, help="aggregates of real counts, JSON")
    parser.add_argument("--subjects", type=int, default=1065)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    scans = simulate_scans(options.subjects, random_state=options.seed)
    columns = {"simulated": simulated_column(scans.X_free)}
    if options.facts is not None:
        columns["real"] = real_column(json.loads(options.facts.read_text(encoding="utf-8")))
    print(pd.DataFrame(columns).to_string(float_format="{:.4g}".format))


if __name__ == "__main__":
    main()

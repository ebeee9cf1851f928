"""From one row per fold to one row per method, and to tests between methods."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from stillome.evaluate.leakage.certificate import holm
from stillome.evaluate.prediction.statistics import corrected_interval, corrected_paired_test

BASELINE = "gate"
TEST_COLUMNS = [
    "trait",
    "method",
    "against",
    "kind",
    "difference",
    "t",
    "df",
    "p_value",
    "p_holm",
]


def summarise(
    folds: pd.DataFrame, null: pd.DataFrame, methods: Sequence[str], traits: Sequence[str]
) -> pd.DataFrame:
    """Return one row per method and trait; see `ComparisonResult.summary`.

    Parameters
    ----------
    folds, null : pandas.DataFrame
        As in `ComparisonResult`.
    methods, traits : sequences of str
        In the order of the rows.
    """
    return pd.DataFrame(
        [
            _summary_row(
                method,
                trait,
                folds[(folds["method"] == method) & (folds["trait"] == trait)],
                null.loc[(null["method"] == method) & (null["trait"] == trait), "r_mean"],
            )
            for method in methods
            for trait in traits
        ]
    )


def _summary_row(
    method: str, trait: str, rows: pd.DataFrame, null: "pd.Series[float]"
) -> dict[str, Any]:
    errors = [error for error in rows["error"] if error]
    # A mean over the folds that happened to work would flatter a method that fails.
    r = rows["r"].dropna() if not errors else rows["r"].iloc[:0]
    # A permutation that failed is no evidence for or against the method.
    null = null.dropna()
    sizes = rows[["n_test", "n_train"]].sum()
    low, high = corrected_interval(r, test_share=float(sizes["n_test"] / max(sizes["n_train"], 1)))
    p_value = float("nan")
    if len(null) and len(r):
        p_value = (1 + int((null >= r.mean()).sum())) / (1 + len(null))
    return {
        "method": method,
        "trait": trait,
        "n_subjects": int(rows.loc[rows["repeat"] == 0, "n_test"].sum()),
        "r_mean": r.mean(),
        "r_low": max(low, -1.0),
        "r_high": min(high, 1.0),
        "r_sd": r.std(ddof=1),
        "r_min": r.min(),
        "r_max": r.max(),
        "n_folds": len(r),
        "leakage_z": rows["leakage_z"].mean(),
        "leakage_adjusted": rows["leakage_adjusted"].mean(),
        "fidelity": rows["fidelity"].mean(),
        "p_permutation": p_value,
        "r_null": null.mean() if len(null) else float("nan"),
        "seconds": rows["seconds"].mean(),
        "status": "failed" if errors else "ok",
        "reason": errors[0] if errors else "",
        "note": next((note for note in rows["note"] if note), ""),
    }


def paired_tests(
    folds: pd.DataFrame, summary: pd.DataFrame, *, baseline: str = BASELINE
) -> pd.DataFrame:
    """Test every method against the best of each trait, and against `baseline` if it ran.

    See `ComparisonResult.tests`; ``kind`` is ``best`` or ``baseline``.
    """
    tables = []
    for trait, rows in summary[summary["status"] == "ok"].groupby("trait", sort=False):
        scores = (
            folds[folds["trait"] == trait]
            .pivot(index=["repeat", "fold"], columns="method", values="r")
            .dropna(axis=1, how="all")
        )
        sizes = folds.loc[folds["trait"] == trait, ["n_test", "n_train"]].sum()
        share = float(sizes["n_test"] / sizes["n_train"])
        ran = [m for m in rows.sort_values("r_mean", ascending=False)["method"] if m in scores]
        for kind, other in (("best", ran[0] if ran else None), ("baseline", baseline)):
            if other in ran and len(ran) > 1:
                table = _tests(scores[ran], str(other), share)
                tables.append(table.assign(trait=trait, kind=kind))
    if not tables:
        return pd.DataFrame(columns=TEST_COLUMNS)
    return pd.concat(tables, ignore_index=True)[TEST_COLUMNS]


def _tests(scores: pd.DataFrame, other: str, share: float) -> pd.DataFrame:
    rows = []
    for method in scores.columns.drop(other):
        both = scores[[method, other]].dropna()
        outcome = corrected_paired_test(both[method], both[other], test_share=share)
        rows.append((method, other, *outcome))
    table = pd.DataFrame(rows, columns=["method", "against", "difference", "t", "df", "p_value"])
    testable = table["p_value"].notna()
    table["p_holm"] = np.nan
    table.loc[testable, "p_holm"] = holm(table.loc[testable, "p_value"].to_numpy())
    return table

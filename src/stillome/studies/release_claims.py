"""How synthetic cohorts resemble real ones: the figure, and the paper's claims."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from stillome.evaluate import edge_slopes
from stillome.plot import house_style
from stillome.studies import study
from stillome.studies.intervals import with_interval
from stillome.studies.judged import above
from stillome.studies.study import (
    ALL_COLUMNS,
    AS_PUBLISHED,
    GATE,
    INV_FA,
    NOT_TESTED,
    Claim,
    in_columns,
)

TRAINING_HALF = "training half"
ALMOST = 0.8  # share of what the training half itself reaches
SHOWN = (AS_PUBLISHED, GATE, INV_FA)  # in every run
_PANELS = {
    "mean": "mean of log(1 + count)",
    "variance": "variance of log(1 + count)",
    "motion": "slope on motion",
    "trait": "slope on the first trait",
}


def draw_edges(cohorts: dict[str, Any], judge: Any) -> tuple[Figure, pd.DataFrame]:
    """Draw every edge of each cohort against the held-out half."""
    real = _of_edges(judge)
    found = {name: _of_edges(cohort) for name, cohort in cohorts.items()}
    with house_style():
        figure = Figure(figsize=(11, 2.6 * len(found)))
        grid = figure.subplots(len(found), len(_PANELS), squeeze=False)
        for row, (name, values) in zip(grid, found.items(), strict=True):
            row[0].set_ylabel(name)
            for axes, column in zip(row, _PANELS, strict=True):
                if column not in values:
                    axes.set_axis_off()
                    axes.text(
                        0.5, 0.5, "no motion in this model", ha="center", transform=axes.transAxes
                    )
                    continue
                x, y = real[column], values[column]
                ends = [min(x.min(), y.min()), max(x.max(), y.max())]
                axes.plot(ends, ends, color="grey", lw=0.8)
                axes.scatter(x, y, s=3, lw=0, alpha=0.4, rasterized=True)
                axes.locator_params(nbins=4)
        for top, bottom, title in zip(grid[0], grid[-1], _PANELS.values(), strict=True):
            top.set_title(title)
            bottom.set_xlabel("held-out half")
    tables = [pd.DataFrame(v).assign(cohort=name) for name, v in ({"real": real} | found).items()]
    return figure, pd.concat(tables).rename_axis("edge").reset_index()


def _of_edges(cohort: Any) -> dict[str, Any]:
    logs = np.log1p(cohort.edges)
    found = {"mean": logs.mean(axis=0), "variance": logs.var(axis=0, ddof=1)}
    if cohort.motion is not None:
        found["motion"] = edge_slopes(cohort.edges, cohort.motion[:, 0])
    return found | {"trait": edge_slopes(cohort.edges, cohort.traits[:, 0])}


def claims(table: pd.DataFrame, name: str) -> list[Claim]:
    told = {
        "edge_variances_r2": "Synthetic networks resemble those the model was fitted to.",
        "motion_slopes_r": "They show the same effect of motion.",
        "trait_slopes_r": "They show the same association with traits.",
    }
    how = {
        "edge_variances_r2": "R² over edges of variances",
        "motion_slopes_r": "correlation over edges of slopes on motion",
        "trait_slopes_r": "correlation over edges of slopes on traits, mean over traits",
    }
    by = table.groupby("method")
    rest = (by["edge_means_r2"].mean(), by["degree_ks"].mean(), by["strength_ks"].mean())
    looks = "; ".join(
        f"{m}: means R² {a:.2f}, degree gap {b:.2f}, strength gap {c:.2f}"
        for m, a, b, c in zip(SHOWN, *(part[list(SHOWN)] for part in rest), strict=True)
    )
    found = []
    for column, claim in told.items():
        values = by[column].agg(["mean", "min", "max"])
        best = values.loc[TRAINING_HALF, "mean"]
        good = values["min"] >= ALMOST * best
        why = f"Judged by all draws. The training half itself: {best:.2f}" + (
            f". {looks}." if column == "edge_variances_r2" else "."
        )
        tested = f"{name}, against the held-out half: {how[column]} [min, max of draws]"
        shown = {
            m: NOT_TESTED
            if np.isnan(values.loc[m, "mean"])
            else with_interval(values.loc[m, "mean"], tuple(values.loc[m, ["min", "max"]]))
            for m in ALL_COLUMNS
            if m in values.index
        }
        found.append(
            Claim(
                claim,
                "Section 6",
                tested,
                **in_columns(shown),
                verdict=study.verdict(published=good[AS_PUBLISHED], inv_fa=good[INV_FA]),
                judged=(above(values["mean"] / best, ALMOST),),
                why=why,
            )
        )
    first = table[table["draw"] == 0].set_index("method")
    return [*found, _transfer_claim(first, name), *_disclosure_claims(first, name)]


def _transfer_claim(first: pd.DataFrame, name: str) -> Claim:
    def told(method: str) -> str:
        row = first.loc[method]
        r = with_interval(row["transfer_r"], (row["transfer_r_low"], row["transfer_r_high"]))
        leaks = f"z {row['leakage_z']:.2f}, A* {row['leakage_adjusted']:.2f}"
        leaks = leaks.replace("-", "−").replace("z nan", "z – (empty)")
        return NOT_TESTED if np.isnan(row["transfer_r"]) else f"{r}; leakage {leaks}"

    best = first.loc[TRAINING_HALF, "transfer_r"]
    good = first["transfer_r_low"] >= ALMOST * best
    return Claim(
        "Methods developed on the synthetic cohort work on the real one.",
        "Section 6",
        f"{name}: inv-FA fitted to the synthetic half, used on the held-out half; r of "
        "traits [95 %, bootstrap over subjects] and leakage (largest R² of any probe)",
        **in_columns({m: told(m) for m in ALL_COLUMNS if m in first.index}),
        verdict=study.verdict(published=good[AS_PUBLISHED], inv_fa=good[INV_FA]),
        judged=(above(first["transfer_r"] / best, ALMOST),),
        why="Judged by the whole interval. Fitted to the training half itself: "
        f"{told(TRAINING_HALF)}.",
    )


def _disclosure_claims(first: pd.DataFrame, name: str) -> list[Claim]:
    words = {
        "nearest": (
            "Synthetic subjects can be shared freely: they are no nearer to the training subjects "
            "than to others.",
            "the distance to the nearest synthetic subject",
        ),
        "mean": (
            "Nor does the synthetic cohort as a whole reveal who was a training subject.",
            "likeness to the synthetic mean, by someone who holds connectomes of all of them",
        ),
    }
    ratios = ", ".join(f"{first.loc[m, 'distance_ratio']:.3f} ({m})" for m in SHOWN)
    why = {
        "nearest": "Distance to the nearest training subject over that to the nearest other: "
        f"{ratios}.",
        "mean": "A mean over thousands of edges is nearer to its contributors (Homer et al. 2008), "
        "the more the better the edges were estimated and the fewer the subjects.",
    }
    found = []
    for attack, (claim, how) in words.items():
        auc, low, high = (first[f"{attack}_{part}"] for part in ("auc", "low", "high"))
        there = [m for m in ALL_COLUMNS if m in auc]
        shown = {m: with_interval(auc[m], (low[m], high[m])) for m in there}
        # A model that was fitted badly discloses nothing; the claim must hold for both models.
        safe = bool((low[[AS_PUBLISHED, INV_FA]] <= 0.5).all())
        verdict = study.HOLDS if safe else study.FAILS
        tested = f"{name}: membership guessed by {how}; AUC, 0.5 is chance [95 %, DeLong]"
        told = in_columns(shown)
        found.append(Claim(claim, "Section 6", tested, **told, verdict=verdict, why=why[attack]))
    return found

"""What `ladder.py` prints and draws of its rows: markdown tables, gains, and one figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from real_counts_tables import markdown

Rows = Sequence[dict[str, Any]]
# Columns of the tables, and their decimals.
COLUMNS = {
    "KL": 1,
    "active": 0,
    "z": 2,
    "A* ridge": 2,
    "A* trees": 2,
    "zeros": 2,
    "summary": 2,
    "fidelity": 3,
    "of oracle": 2,
    "identified": 2,
    "trait share": 2,
    "trait r": 4,
    "log likelihood": 1,
    "best epoch": 0,
    "seconds": 0,
}
KEYS = ["use", "n", "regime", "row"]


def frame_of(rows: Rows) -> pd.DataFrame:
    """Return the rows with the mean log likelihood of their subjects."""
    table = pd.DataFrame([row for row in rows if "failed" not in row])
    if "log likelihoods" in table:
        found = table["log likelihoods"]
        table["log likelihood"] = [np.mean(v) if isinstance(v, list) else np.nan for v in found]
    return table


def ladder(rows: Rows, order: Sequence[str]) -> str:
    """Return means over seeds, one line for every row of the ladder."""
    table = frame_of(rows)
    columns = [name for name in COLUMNS if name in table and table[name].notna().any()]
    grouped = table.groupby(KEYS, sort=False)
    means = grouped[columns].mean()
    seeds = grouped["seed"].nunique()
    place = {name: i for i, name in enumerate(order)}
    lines = sorted(means.index, key=lambda key: (*key[:3], place[key[3]]))
    text = means.loc[lines].apply(lambda column: column.map(decimals(COLUMNS[str(column.name)])))
    text.insert(0, "seeds", seeds.loc[lines])
    return markdown(text.reset_index())


def gains(rows: Rows) -> str:
    """Return what inv-VAE has more than inv-FA, with standard errors.

    Log likelihood in nats per subject, subject by subject, with the standard error of the mean
    over the subjects of all seeds; the error of the 64 samples is part of it. Trait r (or its share
    of the truth's), fidelity and leakage seed by seed: mean, smallest and largest difference.
    """
    table = frame_of(rows).set_index([*KEYS[:3], "seed", "row"]).sort_index()
    ours, factors = (table.xs(name, level="row") for name in ("inv-vae", "inv-fa"))
    ours, factors = ours.align(factors, join="inner", axis=0)
    lines = []
    for key in ours.index.droplevel("seed").unique():
        a, b = ours.loc[key], factors.loc[key]
        line: dict[str, Any] = dict(zip(KEYS[:3], key, strict=True)) | {"seeds": len(a)}
        pairs = zip(a["log likelihoods"], b["log likelihoods"], strict=True)
        both = [np.subtract(x, y) for x, y in pairs if isinstance(x, list)]
        if both:
            more = np.concatenate(both)
            error = more.std() / len(more) ** 0.5
            line["log likelihood"] = f"{more.mean():+.2f} (SE {error:.2f})"
        for name in ("trait r", "trait share", "z", "A* worst", "zeros", "fidelity"):
            if name in a and a[name].notna().all():
                less = a[name] - b[name]
                line[name] = f"{less.mean():+.4f} ({less.min():+.4f} … {less.max():+.4f})"
        lines.append(line)
    return markdown(pd.DataFrame(lines).fillna("–").replace("-", "−", regex=True))


def decimals(number: int) -> Any:
    """Return a function that writes a number with so many decimals, and missing ones as a dash."""

    def written(value: float) -> str:
        # The sum has no negative zero.
        return "–" if pd.isna(value) else f"{round(value, number) + 0.0:.{number}f}"

    return lambda value: written(value).replace("-", "−")


def draw(rows: Rows, order: Sequence[str], path: Path) -> None:
    """Draw leakage of z and A*, and fidelity, of every row: means over seeds."""
    import matplotlib.pyplot as plt

    from stillome.plot.style import house_style

    table = frame_of(rows)
    table = table[(table["use"] == "unseen") & table["row"].isin(order)]
    if not len(table):
        return
    names = [name for name in order if name in set(table["row"])]
    shown = {
        "z": "motion in z (R², worst probe)",
        "A* worst": "motion in A* (R², worst probe of edges)",
        "fidelity": "fidelity of A* (R²)",
    }
    with house_style():
        size = (11, 1.2 + 0.32 * len(names))
        figure, axes = plt.subplots(1, 3, figsize=size, sharey=True, layout="constrained")
        for axis, (column, label) in zip(axes, shown.items(), strict=True):
            for marker, (regime, part) in zip("osD^v", table.groupby("regime"), strict=False):
                means = part.groupby("row")[column].mean().reindex(names).clip(-0.1, 1)
                axis.plot(means, np.arange(len(names)), marker, label=regime, alpha=0.8)
            axis.axvline(0, linewidth=0.8, color="grey")
            axis.set(xlabel=label, xlim=(-0.15, 1.05))
        axes[0].set_yticks(np.arange(len(names)), names)
        axes[0].invert_yaxis()
        axes[2].legend(fontsize="small", loc="lower left")
        figure.savefig(path)

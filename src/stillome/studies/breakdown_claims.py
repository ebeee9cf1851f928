"""Where methods break down: the figure, and what it says about the paper's claims."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from stillome.evaluate import group_separation
from stillome.plot import house_style
from stillome.plot.palette import method_looks
from stillome.studies import study
from stillome.studies.intervals import with_interval
from stillome.studies.judged import Judged, above, held
from stillome.studies.study import (
    ALL_COLUMNS,
    AS_PUBLISHED,
    GATE,
    INV_FA,
    Claim,
    in_columns,
)

CATEGORIES = f"{INV_FA}, levels as categories"
AS_CATEGORIES = "with levels as categories"
Z_RATE, A_RATE = "identified z", "identified A*"
ENOUGH = 0.95
HELD = 0.9  # the largest c that the paper calls recovered
_TITLES = {Z_RATE: "z, by KL", A_RATE: "A*, by distance", "KL ratio": "KL to oneself / to others"}


def draw_rates(table: pd.DataFrame) -> Figure:
    """Draw identification by level of motion, a line per method."""
    looks = method_looks(table["method"].unique())
    steps = {c: place for place, c in enumerate(sorted(table["c"].unique()))}
    with house_style():
        figure = Figure(figsize=(10.5, 3.6))
        for axes, (column, title) in zip(figure.subplots(1, 3), _TITLES.items(), strict=True):
            for method, rows in table.dropna(subset=column).groupby("method", sort=False):
                look, places = looks[str(method)], rows["c"].map(steps)
                line = {"color": look.colour, "marker": look.marker, "label": method}
                axes.plot(places, rows[column], **line)
                if f"{column} low" in rows:
                    low, high = rows[f"{column} low"], rows[f"{column} high"]
                    axes.fill_between(places, low, high, color=look.colour, alpha=0.15, lw=0)
            axes.set_xticks(list(steps.values()), [f"{c:g}" for c in steps])
            axes.set(title=title, xlabel="motion c", ylim=(-0.05, None))
        figure.axes[0].axhline(ENOUGH, color="grey", lw=0.8, ls=":")
        figure.axes[0].set_ylabel("share of networks identified")
        figure.axes[1].axhline(ENOUGH, color="grey", lw=0.8, ls=":")
        handles, names = figure.axes[1].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=3)
    return figure


def separations(order: NDArray[Any], latents: dict[str, NDArray[Any]], seed: int) -> pd.DataFrame:
    """Return how far each level lies from the networks free of motion, in two components."""
    rows = []
    for name, z in latents.items():
        for step in range(1, 6):
            both = (order == 0) | (order == step)
            shown = PCA(2, random_state=0).fit_transform(z[both])
            found = group_separation(shown, order[both], random_state=seed)
            rows.append({"method": name, "level": step, **found._asdict()})
    return pd.DataFrame(rows)


def claims(table: pd.DataFrame, apart: pd.DataFrame) -> list[Claim]:
    at = table.set_index(["method", "c"])

    def told(method: str, c: float) -> str:
        row = at.loc[(method, c)]
        return with_interval(row[Z_RATE], (row[f"{Z_RATE} low"], row[f"{Z_RATE} high"]))

    def keeps(method: str) -> bool:
        return bool((at.loc[method].loc[0.5:HELD, f"{Z_RATE} low"] >= ENOUGH).all())

    def lost(method: str) -> bool:
        return bool(at.loc[(method, 0.9999), f"{Z_RATE} high"] < ENOUGH)

    there = [m for m in ALL_COLUMNS if m in set(table["method"])]
    shown = {m: f"{told(m, 0.5)} at 0.5, {told(m, HELD)} at 0.9" for m in there}
    shown[INV_FA] += f"; {told(CATEGORIES, 0.5)}, {told(CATEGORIES, HELD)} {AS_CATEGORIES}"
    best = keeps(INV_FA) or keeps(CATEGORIES)
    adjusted = {m: at.loc[(m, HELD), A_RATE] for m in (AS_PUBLISHED, GATE, INV_FA, CATEGORIES)}
    first = {m: _breakdown(at.loc[m]) for m in [*there, CATEGORIES]}
    own = (_found_at(at, 0.5), _found_at(at, HELD))
    return [
        Claim(
            "The same network gives the same z at c = 0.5 and 0.9 as without motion.",
            "Appendix H, KL matrices",
            "extreme motion, paired: share whose z is nearest (symmetric KL) to their own without "
            "motion [95 %, bootstrap over networks]",
            **in_columns(shown),
            verdict=study.verdict(published=keeps(AS_PUBLISHED), inv_fa=best),
            judged=own,
            why="A* at c = 0.9 is nearest to the own network for "
            + ", ".join(f"{value:.0%} ({m})" for m, value in adjusted.items())
            + "; raw networks also pass by correlation, since motion only scales them.",
        ),
        Claim(
            "Only above c = 0.9 does the method break down.",
            "Appendix H, KL matrices",
            f"the same: smallest c at which the interval is below {ENOUGH:.0%}",
            **in_columns(first | {INV_FA: f"{first[INV_FA]}; {first[CATEGORIES]} {AS_CATEGORIES}"}),
            verdict=study.verdict(
                published=keeps(AS_PUBLISHED) and lost(AS_PUBLISHED), inv_fa=best
            ),
            judged=(*own, held({AS_PUBLISHED: lost(AS_PUBLISHED), INV_FA: True})),
            why="inv-FA at c = 0.99, 0.999, 0.9999 identifies "
            + ", ".join(f"{at.loc[(CATEGORIES, c), Z_RATE]:.0%}" for c in (0.99, 0.999, 0.9999))
            + f" {AS_CATEGORIES}. Motion multiplies all whole numbers of a network by one factor "
            "here; inv-FA finds it as the unit of that network and divides by it, which undoes it.",
        ),
        _overlap_claim(apart),
    ]


def _found_at(at: pd.DataFrame, c: float) -> Judged:
    """Return who is found by z at one level; inv-FA in the better of its two ways."""
    rate = at.xs(c, level="c")[Z_RATE].drop("raw", errors="ignore")
    return above({**rate, INV_FA: max(rate[INV_FA], rate[CATEGORIES])}, ENOUGH)


def _breakdown(rows: pd.DataFrame) -> str:
    lost = rows.index[rows[f"{Z_RATE} high"] < ENOUGH]
    return f"c = {lost[0]:g}" if len(lost) else "none"


def _overlap_claim(apart: pd.DataFrame) -> Claim:
    at = apart.set_index(["method", "level"])
    shown = {
        m: ", ".join(f"{at.loc[(m, step), 'distance']:.1f}" for step in range(1, 6))
        for m in ALL_COLUMNS
        if m in set(apart["method"])
    }
    near = {m: at.loc[(m, 1), "p_value"] > 0.05 for m in shown}
    p = {m: " and ".join(f"p = {at.loc[(m, k), 'p_value']:.2g}" for k in (1, 5)) for m in shown}
    return Claim(
        "z of networks with and without motion overlap while motion is small.",
        "Appendix H, components of z",
        "extreme motion, spread levels μ = 0.5, 0.1, 0.01, 0.001, 0.0001: distance in sd from "
        "those without motion, in two components; permutation p at μ = 0.5",
        **in_columns(shown),
        verdict=study.verdict(published=near[AS_PUBLISHED], inv_fa=near[INV_FA]),
        judged=(held(near),),
        why=f"p at the first and the last level: {AS_PUBLISHED} {p[AS_PUBLISHED]}, "
        f"{GATE} {p[GATE]}, {INV_FA} {p[INV_FA]}; in the paper they separate at the last "
        "level.",
    )

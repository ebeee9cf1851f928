"""The markdown tables of `real_counts.py`: means over seeds, with the smallest and the largest."""

from collections.abc import Iterator, Sequence

import pandas as pd
from real_counts_parts import EDGE_PROBES, RATIOS, VIEWS

Tables = Iterator[tuple[str, str]]  # titles and markdown


def leakage(rows: pd.DataFrame) -> Tables:
    columns = ["z", *EDGE_PROBES, *VIEWS, "A* worst"]
    for (scale, use), part in rows.groupby(["scale", "use"], sort=False):
        yield f"Leakage, {scale}, {use} subjects", over_seeds(part, ["cohort", "method"], columns)
    if "z, own motion" in rows:
        part = rows[rows["z, own motion"].notna()]
        title = "Worst probe of motion, and of the part of motion that is unrelated to brains (R²)"
        columns = ["z", "z, own motion", "A* worst", "A*, own motion"]
        yield title, over_seeds(part, ["cohort", "method", "use"], columns)
    columns = ["fidelity", "of oracle", "identified", "trait R²"]
    yield "What is kept", over_seeds(rows, ["cohort", "method", "use"], columns)


def ratios(rows: pd.DataFrame) -> Tables:
    grouped = rows.groupby(["cohort", "method", "seed"], sort=False)[list(RATIOS)]
    ends = {"lowest": grouped.min(), "highest": grouped.max()}
    table = pd.DataFrame(
        {f"{name}, {end}": values[name] for name in RATIOS for end, values in ends.items()}
    ).reset_index()
    title = "A* ÷ truth, lowest and highest mean of a motion decile (or group)"
    yield title, over_seeds(table, ["cohort", "method"], list(table.columns[3:]))
    long = rows[rows["method"] == "inv-fa"].melt(
        ["cohort", "group"], list(RATIOS), var_name="measure"
    )
    wide = long.groupby(["cohort", "measure", "group"], sort=False)["value"].mean().unstack()
    if len(wide):
        wide = wide[sorted(wide.columns)].map(lambda v: "–" if pd.isna(v) else f"{v:.3f}")
        title = "A* ÷ truth of inv-fa by motion decile, mean over seeds (binary: 0 and 1)"
        yield title, markdown(wide.reset_index())


def training(rows: pd.DataFrame) -> Tables:
    columns = ["raw", "inv-fa", "limit", "truth"]
    title = "Ridge R² of A* by number of training subjects"
    yield title, over_seeds(rows, ["cohort", "training"], columns)


def coverage(rows: pd.DataFrame) -> Tables:
    columns = [name for name in rows if name.startswith(("interval, ", "draws, "))]
    title = "Coverage of 90 % intervals and draws by motion third"
    yield title, over_seeds(rows, ["cohort", "coupling", "third"], columns)


def keeping(rows: pd.DataFrame) -> Tables:
    spread = rows.groupby(["cohort", "probe"])["difference"].std()
    spread = spread.rename("sd over seeds").reset_index()
    table = rows.merge(spread, on=["cohort", "probe"])
    columns = ["without", "with", "difference", "sd over seeds"]
    title = "Ridge R² of unseen A*, with and without covariates_to_keep"
    yield title, over_seeds(table, ["cohort", "probe"], columns)


def speed(rows: pd.DataFrame) -> Tables:
    columns = [name for name in rows if name.endswith((", s", ", ratio"))]
    yield "Seconds of inv-fa and of edge-wise regression", over_seeds(rows, ["cohort"], columns)


def over_seeds(rows: pd.DataFrame, index: list[str], columns: Sequence[str]) -> str:
    """Return one line per value of `index`: mean (smallest … largest) over seeds."""
    columns = [name for name in columns if name in rows and rows[name].notna().any()]
    table = rows.groupby(index, sort=False)[columns].agg(cell)
    table.insert(0, "seeds", rows.groupby(index, sort=False)["seed"].nunique())
    return markdown(table.reset_index())


def cell(values: "pd.Series[float]") -> str:
    values = values.dropna()
    if values.empty:
        return "–"
    low, high = f"{values.min():.3f}", f"{values.max():.3f}"
    return f"{values.mean():.3f}" + (f" ({low} … {high})" if low != high else "")


def markdown(table: pd.DataFrame) -> str:
    lines = [[str(name) for name in table.columns], ["---"] * table.shape[1]]
    lines += [[str(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

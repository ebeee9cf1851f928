"""How much each tuning constant of inv-FA matters: each is halved and doubled.

Three cohorts of two generators, 70 % of the subjects to fit and 30 % to judge. A constant matters
if it changes a figure by more than leaving out a fiftieth of the training subjects does.

    OMP_NUM_THREADS=1 python benchmarks/sensitivity.py
    OMP_NUM_THREADS=1 python benchmarks/sensitivity.py --constants n_knots sd_floor

Rows are written to JSON as they come, so that an interrupted run keeps what it has.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from other_cohorts import Kind
from other_cohorts import simulate as simulate_other
from tqdm import tqdm

from stillome.evaluate import fidelity_r2, identification_rate, probe_scores
from stillome.exceptions import StillomeWarning
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.inv_fa.tuning import TUNING, Tuning
from stillome.simulate import simulate_cohort

N_SUBJECTS = 300
MEASURES = ("z", "A*", "fidelity", "identified", "active")
REPEATS = 4
LEFT_OUT = 0.02


class Data(NamedTuple):
    """A cohort: counts (n, E), the same scans without motion, confounds, lengths if known."""

    X: np.ndarray
    free: np.ndarray
    confounds: np.ndarray
    lengths: np.ndarray | None


def ours(regime: str, seed: int) -> Data:
    simulated = simulate_cohort(N_SUBJECTS, regime, random_state=seed)
    return Data(simulated.X, simulated.X_free, simulated.confounds, simulated.cohort.lengths)


def other(kind: Kind, seed: int) -> Data:
    return Data(*simulate_other(kind, seed), None)


COHORTS: dict[str, Callable[[int], Data]] = {
    "thinning": lambda seed: ours("thinning", seed),
    "heteroscedastic": lambda seed: ours("heteroscedastic", seed),
    "other, weights": lambda seed: other(Kind(n_subjects=N_SUBJECTS, weights=True), seed),
}


class Change(NamedTuple):
    """One way to fit: a constant at another value, or one of the two references."""

    constant: str
    value: float
    tuning: Tuning
    seed: int = 0
    leave_out: int = 0  # 0: nobody; else the seed of the choice


def changes(only: list[str]) -> Iterator[Change]:
    """Yield the fit as it is, the references, and every constant halved and doubled."""
    yield Change("", np.nan, TUNING)
    for number in range(1, REPEATS + 1):
        yield Change("(4 training subjects left out)", number, TUNING, leave_out=number)
        yield Change("(another cohort)", number, TUNING, seed=number)
    for record, put in ((TUNING.stages, _in_stages), (TUNING, _in_tuning)):
        for item in fields(record):
            value = getattr(record, item.name)
            if item.name == "stages":
                continue
            if only and item.name not in only:
                continue
            for other_value in halved_and_doubled(value):
                yield Change(item.name, other_value, put(item.name, other_value))


def _in_stages(name: str, value: float) -> Tuning:
    return replace(TUNING, stages=replace(TUNING.stages, **{name: value}))


def _in_tuning(name: str, value: float) -> Tuning:
    return replace(TUNING, **{name: value})


def halved_and_doubled(value: float) -> tuple[float, float]:
    """Return half and twice a constant; of a share above one half, of what is missing to 1."""
    if isinstance(value, int):
        return max(1, value // 2), 2 * value
    if 0.5 < value < 1:
        return 1 - (1 - value) / 2, 1 - 2 * (1 - value)
    return value / 2, 2 * value


def judge(data: Data, change: Change) -> dict[str, float]:
    """Fit and return what is measured on unseen subjects."""
    order = np.random.default_rng(0).permutation(len(data.X))
    cut = round(0.7 * len(data.X))
    fitted, unseen = order[:cut], order[cut:]
    if change.leave_out:
        rng = np.random.default_rng([change.leave_out, 1])
        fitted = rng.permutation(fitted)[round(LEFT_OUT * cut) :]
    model = InvFA(lengths=data.lengths)
    model._tuning = change.tuning
    model.fit(data.X[fitted], confounds=data.confounds[fitted])
    moved = data.confounds[unseen]
    z = model.transform(data.X[unseen], confounds=moved)
    adjusted = model.adjust(data.X[unseen], confounds=moved)
    scores = probe_scores(adjusted, moved, kind="counts")
    return {
        "z": max(probe_scores(z, moved).values()),
        "A*": max(scores["ridge"], scores["trees"]),
        "fidelity": fidelity_r2(adjusted, data.free[unseen]),
        "identified": identification_rate(adjusted, data.free[unseen]),
        "active": model.diagnostics_.active_units,
    }


def table_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the largest change over cohorts per constant and value, with what is noise."""
    table = pd.DataFrame(rows)
    usual = table[table["constant"] == ""].set_index("cohort")[list(MEASURES)]
    changed = table[table["constant"] != ""].copy()
    for measure in MEASURES:
        changed[measure] = (changed[measure] - changed["cohort"].map(usual[measure])).abs()
    references = changed["constant"].str.startswith("(")
    noise = changed[references].groupby("constant", sort=False)[list(MEASURES)].max()
    found = changed[~references].groupby(["constant", "value"], sort=False)[list(MEASURES)].max()
    floor = noise.loc["(4 training subjects left out)"]
    found["matters"] = (found > floor).any(axis=1).map({True: "yes", False: ""})
    noise = noise.assign(value=np.nan, matters="").set_index("value", append=True)
    return pd.concat([noise, found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--constants", nargs="+", default=[], help="only these")
    parser.add_argument("--out", type=Path, default=Path("results/sensitivity"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    jobs = [(name, change) for change in changes(options.constants) for name in COHORTS]
    cohorts: dict[tuple[str, int], Data] = {}
    rows: list[dict[str, Any]] = []
    for name, change in tqdm(jobs, desc="sensitivity", disable=None):
        key = (name, change.seed)
        if key not in cohorts:
            cohorts[key] = COHORTS[name](change.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StillomeWarning)
            found = judge(cohorts[key], change)
        row = {"constant": change.constant, "value": change.value, "cohort": name}
        rows.append(row | found)
        (options.out / "rows.json").write_text(json.dumps(rows, indent=1))
    print(table_of(rows).to_string(float_format="{:.4g}".format, na_rep=""))


if __name__ == "__main__":
    main()

"""Appendix F of the paper, Figure A1: motion, residual misalignment and outlier slices.

Pearson's r between head motion, residual translation, residual rotation and the number of slices
that eddy replaced, with bootstrap intervals. The paper finds that outliers correlate with none of
them and concludes that they are another kind of artefact.
"""

from typing import Any

import numpy as np
import pandas as pd

from stillome.plot import plot_motion_measures
from stillome.studies.intervals import bootstrap, with_interval
from stillome.studies.real_data import study_cohorts
from stillome.studies.study import (
    DATA,
    FAILS,
    HOLDS,
    NOT_TESTED,
    UNTESTABLE,
    Claim,
    Options,
    Outcome,
)
from stillome.studies.study_cohort import StudyCohort, dropped_of

OUTLIERS = ("n_outlier_slices", "outliers_percent")
LITTLE = 0.2  # |r| below which we would speak of no relationship


def run(options: Options) -> Outcome:
    figures, numbers, claims, notes = {}, {}, [], []
    cohorts = study_cohorts(options)
    for study in cohorts:
        options.step(f"Correlating {study.name}")
        outliers = next((name for name in OUTLIERS if name in study.cohort.motion), None)
        columns = [study.head_motion, *study.residual, *([outliers] if outliers else [])]
        if len(columns) < 2:
            notes.append(f"{study.name}: {columns[0]} is the only measure; nothing to correlate.")
            continue
        name = f"figureA1_{study.name.replace(' ', '_').lower()}"
        table = _pairs(study, columns, options.seed)
        figures[name] = plot_motion_measures(study.cohort.motion[columns])
        numbers[name] = table
        numbers[f"{name}_subjects"] = study.cohort.motion[columns]
        if outliers is None:
            notes.append(f"{study.name}: no outlier slices (eddy_outlier_map); not in the figure.")
        else:
            claims.append(_claim(study, table[table["with"] == outliers]))
    inputs = [path for study in cohorts for path in study.inputs]
    return Outcome(figures, numbers, claims, inputs, notes, dropped_of(cohorts))


def _pairs(study: StudyCohort, columns: list[str], seed: int) -> pd.DataFrame:
    motion = study.cohort.motion[columns]
    rows = []
    for j, second in enumerate(columns):
        for first in columns[:j]:
            pair = motion[[first, second]].dropna().to_numpy(dtype=float)

            def correlation(rows: Any, pair: Any = pair) -> float:
                return float(np.corrcoef(pair[rows].T)[0, 1])

            low, high = bootstrap(correlation, len(pair), seed)
            r = correlation(np.arange(len(pair)))
            told = {"measure": first, "with": second, "subjects": len(pair)}
            rows.append(told | {"r": r, "r_low": low, "r_high": high})
    return pd.DataFrame(rows)


def _claim(study: StudyCohort, pairs: pd.DataFrame) -> Claim:
    strongest = pairs.loc[pairs["r"].abs().idxmax()]
    interval = (strongest["r_low"], strongest["r_high"])
    why = (
        "Here slices are lost in proportion to motion, as simulated: this says nothing about HCP, "
        "where the paper found no correlation; run it on real data."
    )
    if study.motion_free is None:
        why = "Measured on the data themselves."
    return Claim(
        "Outlier slices correlate neither with head motion nor with residual misalignment.",
        "Appendix F, Figure A1",
        f"{study.name}, {strongest['subjects']} subjects: strongest correlation of outliers, with "
        f"{strongest['measure']}: {with_interval(strongest['r'], interval)}",
        *(NOT_TESTED,) * 3,
        verdict=(
            UNTESTABLE if study.simulated else HOLDS if max(map(abs, interval)) < LITTLE else FAILS
        ),
        about=DATA,
        why=why,
    )

"""One row per subject: motion, fibres before and after, and what deserves a second look."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from stillome.arrays import Floats
from stillome.cohort.subject_rows import AnyRows, SubjectRows
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers
from stillome.run.run_files import ID

FAR = 3.5  # robust standard deviations, as Iglewicz and Hoaglin advise


def subjects_step(folder: RunFolder, workers: Workers) -> None:
    """Write the table of subjects."""
    cohort = folder.cohort
    raw, adjusted = (SubjectRows(one) for one in (cohort.connectomes, folder.adjusted))
    found = [
        _before_and_after(
            part.astype(np.float64), adjusted[start : start + len(part)].astype(np.float64)
        )
        for start, part in raw.parts()
    ]
    numbers = pd.concat(found, ignore_index=True)
    before, after = numbers["fibres_raw"].to_numpy(), numbers["fibres_adjusted"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(before > 0, 100 * (after - before) / before, np.nan)
    table = pd.DataFrame(
        {
            ID: list(cohort.subject_ids),
            **{name: cohort.motion[name].to_numpy() for name in cohort.motion},
            "fibres_raw": before,
            "fibres_adjusted": after,
            "change_percent": change,
            **numbers[["zeros_raw", "zeros_adjusted", "correlation"]],
            "flags": flag_subjects(folder.motion, raw, change),
        }
    )
    folder.write_table("subjects", table)


def _before_and_after(raw: Floats, adjusted: Floats) -> pd.DataFrame:
    """Return what is listed of some subjects, from their edges (m, E)."""
    return pd.DataFrame(
        {
            "fibres_raw": raw.sum(axis=1),
            "fibres_adjusted": adjusted.sum(axis=1),
            "zeros_raw": (raw == 0).mean(axis=1),
            "zeros_adjusted": (adjusted == 0).mean(axis=1),
            "correlation": _row_correlations(np.log1p(raw), np.log1p(adjusted)),
        }
    )


def flag_subjects(motion: Floats, edges: AnyRows, change: Floats) -> list[str]:
    """Name what is unusual about each subject, among those of the same cohort.

    Parameters
    ----------
    motion : array of shape (n, M)
        NaN where unknown.
    edges : array or SubjectRows of shape (n, E)
        Raw.
    change : array of shape (n,)
        Percent of fibres by which adjusting changed the total.

    Returns
    -------
    list of str
        Joined by ";"; empty if there is nothing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> edges = 3 + rng.normal(0, 0.1, (30, 1)) + rng.normal(0, 0.3, (30, 40)) + np.arange(40)
    >>> motion = np.append(rng.uniform(0.2, 0.4, 28), [2.5, np.nan])[:, None]
    >>> flag_subjects(motion, np.expm1(edges), rng.normal(10, 1, 30))[-2:]
    ['moved much', 'motion inferred']
    """
    rows = SubjectRows.of(edges)
    mean = sum(np.log1p(part).sum(axis=0) for _, part in rows.parts()) / len(rows)
    alike, sums = [], []
    for _, part in rows.parts():
        logs = np.log1p(part)
        alike.append(_row_correlations(logs, np.broadcast_to(mean, logs.shape)))
        sums.append(part.sum(axis=1, dtype=np.float64))
    likeness, totals = np.concatenate(alike), np.log1p(np.concatenate(sums))
    with np.errstate(invalid="ignore"):
        flags = {
            "moved much": (robust_scores(np.log(np.maximum(motion, 1e-6))) > FAR).any(axis=1),
            "motion inferred": np.isnan(motion).any(axis=1),
            "unusual connectome": robust_scores(np.arctanh(likeness * (1 - 1e-9))) < -FAR,
            "few fibres": robust_scores(totals) < -FAR,
            "changed much": np.abs(robust_scores(change)) > FAR,
        }
    each = zip(*flags.values(), strict=True)
    return [";".join(n for n, on in zip(flags, row, strict=True) if on) for row in each]


def flag_rules(table: pd.DataFrame, confounds: Sequence[str]) -> dict[str, str]:
    """Say what raises each flag, with its threshold in this cohort.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of subjects.
    confounds : sequence of str
        Its columns of motion that were removed.

    Returns
    -------
    dict of str to str
        One sentence by flag, in the order of `flag_subjects`.

    Examples
    --------
    >>> table = pd.DataFrame({"rms_mm": [0.1, 0.2, 0.4], "fibres_raw": [90.0, 100, 110]})
    >>> flag_rules(table.assign(change_percent=[1.0, 2, 3]), ["rms_mm"])["moved much"]
    'rms_mm above 7.3'
    """
    motion = [(name, np.log(np.maximum(table[name].to_numpy(float), 1e-6))) for name in confounds]
    moved = [f"{name} above {np.exp(_cutoffs(values)[1]):.2g}" for name, values in motion]
    fewest = np.expm1(_cutoffs(np.log1p(table["fibres_raw"].to_numpy(float)))[0])
    low, high = _cutoffs(table["change_percent"].to_numpy(float))
    rules = {
        "moved much": " or ".join(moved),
        "motion inferred": "motion was not measured and was inferred from the connectome",
        "unusual connectome": "the correlation with the mean connectome is far below the median",
        "few fibres": f"a total below {fewest:,.{0 if fewest >= 100 else 3}f}",
        "changed much": f"a change of the total below {low:+.1f} % or above {high:+.1f} %",
    }
    # Without a spread, no distance from the median is large.
    never = {
        "moved much": not np.isfinite([_cutoffs(values)[1] for _, values in motion]).any(),
        "few fibres": fewest <= 0,
        "changed much": not np.isfinite(low),
    }
    return {
        flag: "no subject can have it: values differ too little or too much"
        if never.get(flag)
        else rule.replace("-", "−")
        for flag, rule in rules.items()
    }


def _cutoffs(values: Floats) -> tuple[float, float]:
    """Return the values beyond which robust scores exceed `FAR`; infinite without spread."""
    middle = np.nanmedian(values)
    spread = 1.4826 * np.nanmedian(np.abs(values - middle))
    reach = FAR * spread if spread > 0 else np.inf
    return float(middle - reach), float(middle + reach)


def robust_scores(values: Floats) -> Floats:
    """Return distances from the median in robust standard deviations, per column; NaN stays.

    Examples
    --------
    >>> robust_scores(np.array([1.0, 2.0, 3.0, 100.0])).round(1).tolist()
    [-1.0, -0.3, 0.3, 65.8]
    """
    centred = values - np.nanmedian(values, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(centred), axis=0)
    return np.asarray(centred / np.where(spread > 0, spread, np.inf))


def _row_correlations(left: Floats, right: Floats) -> Floats:
    """Return Pearson's r of each row of (n, E) with the same row of another; NaN if constant."""
    a = left - left.mean(axis=1, keepdims=True)
    b = right - right.mean(axis=1, keepdims=True)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray((a * b).sum(axis=1) / np.where(scale > 0, scale, np.nan))

"""Words and numbers of the page: what was removed, what was kept, traits, diagnostics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from stillome.plot.labels import signed
from stillome.report.certificates import Certificate, certificates_of
from stillome.report.html_tables import HtmlTable, Row, html_table, passed_badge
from stillome.report.results import Results
from stillome.report.words import method_name, number, p_value, read_r2, share, things

_FEWEST_RANKED = 4
_FEATURES = {"connectomes": "connectomes", "z": "latents z"}
# What each figure of a FidelityReport means, and its digits (None: percent).
_KEPT: tuple[tuple[str, str, int | None], ...] = (
    ("r2", "agreement with the true motion-free connectomes (R²)", 2),
    ("subject_correlation", "what sets a person apart, against the truth (r)", 2),
    ("identification", "nearest to the same person's truth", None),
    ("edge_means_r2", "edge means, against people who hardly moved (R²)", 2),
    ("edge_variances_r2", "edge variances, against people who hardly moved (R²)", 2),
    (
        "variance_ratio",
        "differences between people, against people who hardly moved (1 is ideal)",
        2,
    ),
    ("strength_r", "node strength, before and after (r)", 2),
    ("efficiency_r", "global efficiency, before and after (r)", 2),
    ("clustering_r", "clustering, before and after (r)", 2),
    ("zeros_raw", "edges without fibres, as scanned", None),
    ("zeros_adjusted", "edges without fibres, adjusted", None),
    ("total_ratio", "fibres per subject, adjusted over scanned", 2),
)


def certificate_tables(results: Results) -> dict[str, Any]:
    """Return the certificates: one line each, and every probe."""
    cohort, unseen = (certificates_of(results, use) for use in ("cohort", "unseen"))
    notes = results.certificate_notes.get("notes") or []
    return {
        "cohort": _summary(
            "Fitted to these subjects and applied to them, as a study is adjusted", cohort, results
        ),
        "unseen": _summary(
            f"Fitted without {unseen[0].n_subjects} subjects and applied to them", unseen, results
        )
        if unseen
        else None,
        "notes": [notes] if isinstance(notes, str) else [str(note) for note in notes],
        "probes": [_probes(one) for one in [*cohort, *unseen]],
    }


def _summary(caption: str, found: list[Certificate], results: Results) -> HtmlTable:
    rows = [
        Row(
            (
                method_name(one.method),
                _FEATURES.get(one.features, one.features),
                read_r2(one.worst_r2),
                one.worst,
                p_value(float(one.table["p_holm"].min())),
                passed_badge(one.passed),
            ),
            ours=one.method == results.method,
        )
        for one in found
    ]
    left = f"{results.removed} left".replace("m", "M", 1)
    titles = ["Method", "Probed", "Best R²", "By", "Smallest p (Holm)", left]
    return html_table(caption, titles, rows, text=["Probed", "By", left])


def _probes(one: Certificate) -> HtmlTable:
    where = "these subjects" if one.use == "cohort" else f"{one.n_subjects} unseen subjects"
    rows = [
        Row(
            (
                str(probe),
                number(values["r2"], 3),
                number(values["null_95"], 3),
                p_value(values["p_value"]),
                p_value(values["p_holm"]),
            )
        )
        for probe, values in one.table.iterrows()
    ]
    return html_table(
        f"{method_name(one.method)}, {_FEATURES.get(one.features, one.features)}, {where}",
        ["Probe", "R²", "95 % of permuted", "p", "p (Holm)"],
        rows,
    )


def fidelity_table(results: Results) -> HtmlTable:
    """Return what each method kept, one figure per row."""
    table = results.fidelity
    rows = []
    for name, meaning, digits in _KEPT:
        if name not in table or table[name].isna().all():
            continue
        values = [float(value) for value in table[name]]
        shown = [share(v, 1) if digits is None else number(v, digits) for v in values]
        rows.append(Row((meaning, *shown)))
    titles = ["", *(method_name(str(name)) for name in table["method"])]
    truth = "" if results.truth is None else " The truth is known, because the cohort is simulated."
    return html_table(f"What is left of the people after adjusting.{truth}", titles, rows)


def graph_table(results: Results) -> HtmlTable | None:
    """Return each graph measure before and after, and how it goes with motion."""
    table = results.graph_measures
    motion = results.cohort.motion[results.confound].to_numpy(dtype=float)
    known = np.isfinite(motion)
    rows = []
    for name in ("strength", "efficiency", "clustering"):
        pair = [f"{name}_raw", f"{name}_adjusted"]
        if not set(pair) <= set(table.columns) or known.sum() < _FEWEST_RANKED:
            continue
        values = table[pair].to_numpy(dtype=float)
        means = [f"{value:,.4g}" for value in values.mean(axis=0)]
        ranks = [rank_correlation(motion[known], values[known, side]) for side in (0, 1)]
        rows.append(Row((name, *means, *(number(r) for r in ranks))))
    titles = ["Measure", "Scanned", "Adjusted", "r with motion, scanned", "r with motion, adjusted"]
    caption = "Graph measures: mean over subjects, and rank correlation with motion"
    return html_table(caption, titles, rows) if rows else None


def rank_correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return Spearman's r; NaN where one of the two is the same in everybody.

    Examples
    --------
    >>> round(rank_correlation(np.array([1.0, 2, 9]), np.array([3.0, 5, 6])), 6)
    1.0
    """
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def trait_tables(results: Results) -> dict[str, Any]:
    """Return how well traits are predicted, and tests between methods."""
    if not results.comparison:
        return {"summary": None, "tests": None}
    rows = [
        Row(
            (
                str(row["trait"]),
                method_name(str(row["method"])),
                number(row["r_mean"]),
                number(row["r_sd"]),
                f"{number(row.get('r_min', np.nan))} … {number(row.get('r_max', np.nan))}",
                "" if row["status"] == "ok" else f"failed: {row.get('reason', '')}",
            ),
            ours=row["method"] == results.method,
        )
        for _, row in results.comparison["summary"].sort_values("trait", kind="stable").iterrows()
    ]
    titles = ["Trait", "Method", "r (mean)", "sd", "min … max", "Remark"]
    summary = html_table(
        "Correlation of predicted and observed, over folds", titles, rows, text=["Method", "Remark"]
    )
    tests = [
        Row(
            (
                str(row["trait"]),
                f"{method_name(str(row['method']))} − {method_name(str(row['against']))}",
                signed(round(float(row["difference"]), 3)),
                p_value(row["p_holm"]),
            )
        )
        for _, row in results.comparison["tests"].iterrows()
    ]
    tests_table = html_table(
        "Differences between methods (corrected resampled t-test)",
        ["Trait", "Compared", "Difference in r", "p (Holm)"],
        tests,
        text=["Compared"],
    )
    return {"summary": summary, "tests": tests_table if tests else None}


def diagnostics(results: Results) -> dict[str, Any]:
    """Return how much of the latent is in use, and the frontier where one was made."""
    kl = [float(value) for value in results.diagnostics.get("kl_per_unit") or []]
    told = "This method has no latent units that could fall out of use."
    if kl:
        told = (
            f"{results.diagnostics.get('active_units')} of {things(len(kl), 'latent unit')} are in "
            f"use; together they hold {number(sum(kl), 1)} nats about the person. An empty latent "
            "would look free of motion, and of everything else."
        )
    return {"told": told, "frontier": _frontier(results)}


def _frontier(results: Results) -> HtmlTable | None:
    table = results.frontier
    if table is None:
        return None
    rows = [
        Row(tuple(number(v, 3) if isinstance(v, (int, float)) else str(v) for v in row))
        for row in table.itertuples(index=False)
    ]
    titles = [str(name).replace("_", " ") for name in table.columns]
    return html_table("What more invariance costs, in held-out subjects", titles, rows)

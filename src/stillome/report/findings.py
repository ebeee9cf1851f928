"""Words and numbers of the page: what was removed, what was kept, traits, diagnostics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from stillome.evaluate.graph_measures import GRAPH_MEASURES
from stillome.evaluate.words import number, p_value, percent, read_r2, things
from stillome.methods.method_words import method_name
from stillome.plot.labels import signed
from stillome.report.html_tables import HtmlTable, Row, html_table, passed_badge
from stillome.run.folder import RunFolder
from stillome.run.run_certificates import RunCertificate

_FEATURES = {"connectomes": "connectomes", "z": "latents z"}
# What each figure of a FidelityReport means, and its digits (None: percent).
_KEPT: tuple[tuple[str, str, int | None], ...] = (
    ("r2", "agreement with the true motion-free connectomes (R²)", 2),
    ("subject_correlation", "differences between subjects, against the truth (r)", 2),
    ("identification", "nearest to the same subject's truth", None),
    ("edge_means_r2", "edge means, against subjects with small motion (R²)", 2),
    ("edge_variances_r2", "edge variances, against subjects with small motion (R²)", 2),
    (
        "variance_ratio",
        "variance between subjects, against subjects with small motion (1 is ideal)",
        2,
    ),
    ("density_r", "density, before and after (r)", 2),
    ("strength_r", "node strength, before and after (r)", 2),
    ("clustering_r", "clustering, before and after (r)", 2),
    ("efficiency_r", "global efficiency, before and after (r)", 2),
    ("modularity_r", "modularity, before and after (r)", 2),
    ("zeros_raw", "edges without fibres, as scanned", None),
    ("zeros_adjusted", "edges without fibres, adjusted", None),
    ("total_ratio", "fibres per subject, adjusted over scanned", 2),
)


def certificate_tables(folder: RunFolder) -> dict[str, Any]:
    """Return the certificates: one line each, and every probe."""
    cohort, unseen = (
        [one for one in folder.certificates if one.use == use] for use in ("cohort", "unseen")
    )
    caption = "Fitted to these subjects and applied to them, as a study is adjusted"
    held_out = None
    if unseen:
        told = f"Fitted without {unseen[0].n_subjects} subjects and applied to them"
        held_out = _summary(told, unseen, folder)
    return {
        "cohort": _summary(caption, cohort, folder),
        "unseen": held_out,
        "probes": [_probes(one) for one in [*cohort, *unseen]],
    }


def _summary(caption: str, found: list[RunCertificate], folder: RunFolder) -> HtmlTable:
    rows = [
        Row(
            (
                method_name(one.method),
                _FEATURES[one.features],
                read_r2(one.found.worst_r2),
                one.found.worst,
                p_value(float(one.found.table["p_holm"].min())),
                passed_badge(one.found.passed, folder.removed),
            ),
            ours=one.method == folder.method,
        )
        for one in found
    ]
    left = f"{folder.removed} left".replace("m", "M", 1)
    titles = ["Method", "Probed", "Best R²", "By", "Smallest p (Holm)", left]
    return html_table(caption, titles, rows, text=["Probed", "By", left])


def _probes(one: RunCertificate) -> HtmlTable:
    where = "these subjects" if one.use == "cohort" else f"{one.n_subjects} unseen subjects"
    # Only a confound with two values (a site, a scanner) has an AUC.
    with_auc = ["AUC"] if one.found.table["auc"].notna().any() else []
    rows = [
        Row(
            (
                str(probe),
                number(values["r2"], 3),
                number(values["null_95"], 3),
                *(number(values["auc"]) for _ in with_auc),
                p_value(values["p_value"]),
                p_value(values["p_holm"]),
            )
        )
        for probe, values in one.found.table.iterrows()
    ]
    return html_table(
        f"{method_name(one.method)}, {_FEATURES[one.features]}, {where}",
        ["Probe", "R²", "95 % of permuted", *with_auc, "p", "p (Holm)"],
        rows,
    )


def fidelity_table(folder: RunFolder) -> HtmlTable:
    """Return what each method kept, one figure per row."""
    table = folder.fidelity
    rows = []
    for name, meaning, digits in _KEPT:
        if name not in table or table[name].isna().all():
            continue
        values = [float(value) for value in table[name]]
        shown = [percent(v, 1) if digits is None else number(v, digits) for v in values]
        rows.append(Row((meaning, *shown)))
    titles = ["", *(method_name(str(name)) for name in table["method"])]
    truth = "" if folder.truth is None else " The truth is known, because the cohort is simulated."
    return html_table(f"What adjusting kept.{truth}", titles, rows)


def graph_table(folder: RunFolder) -> HtmlTable:
    """Return each graph measure before and after, and its correlation with motion."""
    table = folder.graph_measures
    known = folder.known
    motion = folder.motion[known, 0]
    rows = []
    for name in GRAPH_MEASURES:
        pair = [f"{name}_raw", f"{name}_adjusted"]
        values = table[pair].to_numpy(dtype=float)[known]
        means = [f"{value:,.4g}" for value in values.mean(axis=0)]
        ranks = [rank_correlation(motion, values[:, side]) for side in (0, 1)]
        rows.append(Row((name, *means, *(number(r) for r in ranks))))
    titles = ["Measure", "Scanned", "Adjusted", "r with motion, scanned", "r with motion, adjusted"]
    caption = "Graph measures: mean over subjects, and rank correlation with motion"
    return html_table(caption, titles, rows)


def rank_correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return Spearman's r; NaN where one of the two does not vary.

    Examples
    --------
    >>> round(rank_correlation(np.array([1.0, 2, 9]), np.array([3.0, 5, 6])), 6)
    1.0
    """
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def trait_tables(folder: RunFolder) -> dict[str, Any]:
    """Return how well traits are predicted, and tests between methods."""
    if folder.comparison is None:
        return {"summary": None, "tests": None}
    rows = [
        Row(
            (
                str(row["trait"]),
                method_name(str(row["method"])),
                number(row["r_mean"]),
                number(row["r_sd"]),
                f"{number(row['r_min'])} … {number(row['r_max'])}",
                "" if row["status"] == "ok" else f"failed: {row.get('reason', '')}",
            ),
            ours=row["method"] == folder.method,
        )
        for _, row in folder.comparison["summary"].sort_values("trait", kind="stable").iterrows()
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
        for _, row in folder.comparison["tests"].iterrows()
    ]
    tests_table = html_table(
        "Differences between methods (corrected resampled t-test)",
        ["Trait", "Compared", "Difference in r", "p (Holm)"],
        tests,
        text=["Compared"],
    )
    return {"summary": summary, "tests": tests_table if tests else None}


def diagnostics(folder: RunFolder) -> dict[str, Any]:
    """Return how much of the latent is in use, and the frontier where one was made."""
    found = folder.diagnostics
    told = (
        f"{method_name(folder.method)} has no prior on its latents, so that no posterior collapse "
        "can occur."
    )
    if found is not None:
        dimensions = things(len(found.kl_per_dimension), "latent dimension")
        told = (
            f"{found.active_units} of {dimensions} are active; together they hold "
            f"{number(found.kl, 1)} nats of information about the subjects. Latents without "
            "information would look motion-free."
        )
    return {"told": told, "frontier": _frontier(folder)}


def _frontier(folder: RunFolder) -> HtmlTable | None:
    table = folder.frontier
    if table is None:
        return None
    rows = [
        Row(tuple(number(v, 3) if isinstance(v, (int, float)) else str(v) for v in row))
        for row in table.itertuples(index=False)
    ]
    titles = [str(name).replace("_", " ") for name in table.columns]
    return html_table("What more invariance costs, in held-out subjects", titles, rows)

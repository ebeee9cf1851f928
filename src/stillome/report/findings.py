"""Words and numbers of the page: what was removed, what was kept, traits, diagnostics."""

from typing import Any

import numpy as np

from stillome.evaluate.graph_measures import GRAPH_MEASURES
from stillome.evaluate.leakage.certificate_record import FEW_SUBJECTS, r2_with_interval
from stillome.evaluate.prediction.trait_sizes import size_remark
from stillome.evaluate.words import listed, number, p_value, percent, things
from stillome.methods.method_words import method_name
from stillome.plot.labels import signed
from stillome.report.html_tables import HtmlTable, Row, html_table, passed_badge
from stillome.run.folder import RunFolder
from stillome.run.judging import graph_before_and_after
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
    """Return the certificates: one line each, unseen subjects first, and every probe."""
    cohort, unseen = (
        [one for one in folder.certificates if one.use == use] for use in ("cohort", "unseen")
    )
    crossed = None
    if unseen:
        notes = folder.certificate_notes
        divided = things(notes["repeats"], "division")
        told = (
            f"In subjects the model has not seen: {unseen[0].n_subjects:,} subjects, each adjusted "
            f"by a model fitted to others ({notes['parts']} parts, {divided})"
        )
        crossed = _summary(told, unseen, folder)
    return {
        "unseen": crossed,
        "cohort": _summary("In the subjects the model was fitted to", cohort, folder),
        "keeping": _keeping(folder),
        "probes": [_probes(one) for one in [*unseen, *cohort]],
    }


def _summary(caption: str, found: list[RunCertificate], folder: RunFolder) -> HtmlTable:
    rows = []
    for one in found:
        worst, least = one.found.worst, one.found.most_significant
        rows.append(
            Row(
                (
                    method_name(one.method),
                    _FEATURES[one.features],
                    f"{r2_with_interval(one.found.table.loc[worst])} ({worst})",
                    f"{p_value(float(one.found.table.loc[least, 'p_holm']))} ({least})",
                    passed_badge(_judged(one), folder.removed),
                ),
                ours=one.method == folder.method,
            )
        )
    left = f"{folder.removed} left".replace("m", "M", 1)
    titles = ["Method", "Probed", "Largest R² (probe)", "Smallest p (probe)", left]
    return html_table(caption, titles, rows, text=titles)


def _keeping(folder: RunFolder) -> HtmlTable | None:
    """Return what the covariates to keep cost, where there are any."""
    if folder.leakage_by_keeping is None:
        return None
    names = listed(list(folder.settings.keep))
    rows = [
        Row(
            (
                f"{names} kept" if kept else f"{names} not kept",
                r2_with_interval(found.table.loc[found.worst]),
                found.worst,
                p_value(float(found.table["p_holm"].min())),
            )
        )
        for kept, found in folder.leakage_by_keeping.items()
    ]
    caption = (
        f"What keeping {names} costs: {folder.removed} in unseen subjects, where probes may use "
        f"what goes with {names}"
    )
    return html_table(caption, ["Fit", "Largest R²", "By", "Smallest p (Holm)"], rows, text=["By"])


def _judged(one: RunCertificate) -> bool | None:
    """Whether a certificate passes; None where there are too few subjects to tell."""
    few = one.n_subjects < FEW_SUBJECTS
    return None if few and one.found.passed else one.found.passed


def _probes(one: RunCertificate) -> HtmlTable:
    where = "subjects of the fit" if one.use == "cohort" else f"{one.n_subjects} unseen subjects"
    # Only a confound with two values (a site, a scanner) has an AUC.
    with_auc = ["AUC"] if one.found.table["auc"].notna().any() else []
    with_sizes = ["Subjects"] if one.found.sampled() else []
    rows = [
        Row(
            (
                str(probe),
                number(values["r2"], 3),
                _interval(values["low"], values["high"], 3),
                number(values["null_95"], 3),
                *(number(values["auc"]) for _ in with_auc),
                *(f"{values['n_subjects']:,.0f}" for _ in with_sizes),
                p_value(values["p_value"]),
                p_value(values["p_holm"]),
            )
        )
        for probe, values in one.found.table.iterrows()
    ]
    return html_table(
        f"{method_name(one.method)}, {_FEATURES[one.features]}, {where}",
        [
            "Probe",
            "R²",
            "95 % interval",
            "95 % of permuted",
            *with_auc,
            *with_sizes,
            "p",
            "p (Holm)",
        ],
        rows,
    )


def _interval(low: float, high: float, digits: int = 2) -> str:
    return "–" if np.isnan(low) else f"{number(low, digits)} … {number(high, digits)}"


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
    caption = f"What adjusting kept, in the subjects the model was fitted to.{truth}"
    return html_table(caption, titles, rows)


def graph_table(folder: RunFolder) -> HtmlTable:
    """Return each graph measure before and after, and its correlation with motion."""
    table = folder.graph_measures.iloc[folder.known]
    use = "unseen" if (folder.graph_motion["use"] == "unseen").any() else "cohort"
    motion = graph_before_and_after(folder, use)
    rows = []
    for name in GRAPH_MEASURES:
        values = table[[f"{name}_raw", f"{name}_adjusted"]].to_numpy(dtype=float)
        means = [_four_digits(value) for value in values.mean(axis=0)]
        found = [] if motion is None else motion.loc[name, ["r_raw", "r", "p_holm"]].to_list()
        rows.append(Row((name, *means, *(number(r) for r in found[:2]), *map(p_value, found[2:]))))
    titles = [
        *("Measure", "Scanned", "Adjusted"),
        *("r with motion, scanned", "r with motion, adjusted", "p (Holm), adjusted"),
    ]
    where = {
        "unseen": "subjects the model has not seen",
        "cohort": "the subjects the model was fitted to",
    }[use]
    caption = (
        "Graph measures: mean over the subjects the model was fitted to, and rank correlation with "
        f"motion in {where}"
    )
    return html_table(caption, titles, rows)


def _four_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


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
                _interval(row["r_low"], row["r_high"]),
                f"{number(row['r_min'])} … {number(row['r_max'])}",
                size_remark(row["n_subjects"])
                if row["status"] == "ok"
                else f"failed: {row.get('reason', '')}",
            ),
            ours=row["method"] == folder.method,
        )
        for _, row in folder.comparison["summary"].sort_values("trait", kind="stable").iterrows()
    ]
    titles = ["Trait", "Method", "r (mean)", "95 % interval", "min … max", "Remark"]
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
    return {"told": told + _collapse(folder), "frontier": _frontier(folder)}


def _collapse(folder: RunFolder) -> str:
    """Say of a network whether its latent collapsed, and where its training began."""
    found, history = folder.diagnostics, folder.history
    if found is None or history is None:
        return ""
    if found.collapsed:
        return (
            " The latent has collapsed: it holds next to nothing about the person, so that its "
            "independence of motion means nothing."
        )
    if history["epoch"].min() > 0:
        return " The latent has not collapsed."
    return " The latent has not collapsed. Epoch 0 of the training is the factor model."


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

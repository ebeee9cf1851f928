"""Words and numbers of each section of the page."""

from typing import Any

import numpy as np

from stillome.evaluate.motion_effects import MotionEffects
from stillome.plot.labels import measure_label, signed
from stillome.report.certificates import Certificate, certificate, certificates_of
from stillome.report.html_tables import HtmlTable, Row, html_table, passed_badge
from stillome.report.methods_text import methods_paragraph, references
from stillome.report.results import Results
from stillome.report.tables import ID
from stillome.report.words import (
    listed,
    method_name,
    number,
    p_value,
    read_r2,
    share,
    signed_share,
    things,
)

_MOST_DROPPED = 500
_FEATURES = {"connectomes": "connectomes", "z": "latents z"}
# What each figure of a FidelityReport means, and its digits (None: percent).
_KEPT: tuple[tuple[str, str, int | None], ...] = (
    ("r2", "agreement with the true motion-free connectomes (R²)", 2),
    ("subject_correlation", "what sets a person apart, against the truth (r)", 2),
    ("identification", "nearest to the same person's truth", None),
    ("edge_means_r2", "edge means, against people who hardly moved (R²)", 2),
    ("edge_variances_r2", "edge variances, against people who hardly moved (R²)", 2),
    ("variance_ratio", "differences between people, against people who hardly moved (1 is ideal)", 2),
    ("strength_r", "node strength, before and after (r)", 2),
    ("efficiency_r", "global efficiency, before and after (r)", 2),
    ("clustering_r", "clustering, before and after (r)", 2),
    ("zeros_raw", "edges without fibres, as scanned", None),
    ("zeros_adjusted", "edges without fibres, adjusted", None),
    ("total_ratio", "fibres per subject, adjusted over scanned", 2),
)


def key_facts(results: Results, effects: MotionEffects | None) -> list[dict[str, str]]:
    """Return the handful of numbers under the verdict."""
    raw = certificate(results, "cohort", "raw", "connectomes")
    ours = certificate(results, "cohort", results.method, "connectomes")
    latent = certificate(results, "cohort", results.method, "z")
    facts = [_fact("Subjects", f"{results.cohort.n_subjects:,}", f"{len(results.dropped)} dropped")]
    if effects is not None:
        note = "from the least to the most moving group"
        facts.append(_fact("Lost to motion", share(effects.share_lost), note))
    if raw is not None and ours is not None:
        change = f"{read_r2(raw.worst_r2)} → {read_r2(ours.worst_r2)}"
        facts.append(_fact("Motion in connectomes", change, "R² of the best probe, before → after"))
    if latent is not None:
        facts.append(_fact("Motion in z", read_r2(latent.worst_r2), "R² of the best probe"))
    rows = results.fidelity[results.fidelity["method"] == results.method]
    if len(rows) and np.isfinite(rows["r2"].iloc[0]):
        found = share(float(rows["identification"].iloc[0]))
        facts.append(_fact("Recognised", found, "of people nearest to their own truth"))
    elif len(rows):
        ratio = number(float(rows["variance_ratio"].iloc[0]))
        facts.append(_fact("Individuality", f"{ratio} ×", "differences between people kept; 1 is ideal"))
    change_of_all = float(results.subjects["change_percent"].median()) / 100
    facts.append(_fact("Given back", signed_share(change_of_all), "fibres, median subject"))
    return facts


def _fact(name: str, value: str, note: str) -> dict[str, str]:
    return {"name": name, "value": value, "note": note}


def data_facts(results: Results) -> dict[str, str]:
    """Return what was read."""
    cohort, source = results.cohort, results.run.get("source") or {}
    zeros = float(results.subjects["zeros_raw"].mean()) if "zeros_raw" in results.subjects else np.nan
    facts = {
        "Connectomes": f"{things(cohort.n_subjects, 'subject')}, {cohort.n_regions} regions, "
        f"{cohort.n_regions * (cohort.n_regions - 1) // 2:,} edges",
        "Written by": ", ".join(
            str(source[key]) for key in ("producer", "measure", "atlas") if source.get(key)
        ),
        "Values": "whole fibre counts" if results.whole_counts else "weights (not whole numbers)",
        "Edges without fibres": share(zeros),
        "Fibres per subject": f"{number(results.subjects['fibres_raw'].median(), 0)} (median)",
        "Motion": listed([measure_label(str(name)) for name in cohort.motion.columns]),
        "Removed": listed([measure_label(str(name)) for name in results.settings["confounds"]]),
        "Kept on purpose": listed([str(name) for name in results.settings.get("keep") or []]),
        "Traits": listed([str(name) for name in cohort.traits.columns]) if len(cohort.traits.columns) else "none",
        "Fibre lengths": "known" if cohort.lengths is not None else "not given",
        "Truth": "known: the cohort is simulated" if results.truth is not None else "",
    }
    return {name: value for name, value in facts.items() if value}


def dropped(results: Results) -> dict[str, Any]:
    """Return who could not be used, and why."""
    table = results.dropped
    reasons = table["reason"].value_counts()
    people = [Row((str(row[ID]), str(row["reason"]))) for _, row in table.head(_MOST_DROPPED).iterrows()]
    more = "" if len(table) <= _MOST_DROPPED else f"; the first {_MOST_DROPPED}"
    return {
        "n": len(table),
        "title": f"{things(len(table), 'subject')} could not be used",
        "reasons": html_table(
            "Why, and how many",
            ["Reason", "Subjects"],
            [Row((str(reason), f"{n:,}")) for reason, n in reasons.items()],
        ),
        "people": html_table(
            f"From dropped.tsv{more}", ["Subject", "Reason"], people, text=["Reason"]
        ),
    }


def motion_told(effects: MotionEffects, results: Results) -> str:
    """Say in one or two sentences what motion did."""
    median = number(float(np.median(effects.motion)), 2)
    what = "fibres" if results.whole_counts else "total weight"
    return (
        f"Median {measure_label(effects.column)}: {median}. Between the group that moved least and "
        f"the group that moved most, {share(effects.share_lost)} of the {what} are lost; "
        f"{share(effects.qcsc.share_significant)} of edges go with motion (median |r| "
        f"{number(effects.qcsc.median_absolute)})."
    )


def changed_edges(effects: MotionEffects) -> HtmlTable:
    """Return the edges that motion changes most."""
    rows = [
        Row(
            (
                f"{edge.region_a} – {edge.region_b}",
                number(edge.length_mm, 0),
                number(edge.small_mean, 1),
                number(edge.large_mean, 1),
                signed(round(edge.difference, 1)),
                signed_share(edge.change),
            )
        )
        for edge in effects.changed_edges.itertuples()
    ]
    titles = ["Edge", "Length (mm)", "Small motion", "Large motion", "Difference", "Change"]
    return html_table("The edges that motion changes most: mean per group", titles, rows)


def certificate_tables(results: Results) -> dict[str, Any]:
    """Return the certificates: one line each, and every probe."""
    cohort, unseen = (certificates_of(results, use) for use in ("cohort", "unseen"))
    notes = results.certificate_notes.get("notes") or []
    return {
        "cohort": _summary("Fitted to these subjects and applied to them, as a study is adjusted", cohort, results),
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
    titles = ["Method", "Probed", "Best R²", "By", "Smallest p (Holm)", "Motion left"]
    return html_table(caption, titles, rows, text=["Probed", "By", "Motion left"])


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
    highest = max(kl, default=0.0) or 1.0
    units = [
        {
            "x": 10 * place,
            "y": round(118 - 116 * max(value, 0) / highest, 2),
            "height": round(2 + 116 * max(value, 0) / highest, 2),
            "active": value > 0.01,
            "kl": number(value, 2),
        }
        for place, value in enumerate(kl)
    ]
    return {
        "told": told,
        "units": units,
        "width": 10 * len(kl),
        "highest": number(highest, 1),
        "frontier": _frontier(results),
    }


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


def methods(results: Results) -> dict[str, Any]:
    """Return the paragraph to paste, and what it cites."""
    return {"paragraph": methods_paragraph(results), "references": references(results)}


def provenance(results: Results) -> dict[str, Any]:
    """Return seed, versions, settings and the hashes of the inputs."""
    told = results.run.get("provenance") or {}
    versions = told.get("Versions") or {}
    facts = {
        "Method": results.method,
        "Compared with": listed(results.baselines),
        "Reference motion": listed([f"{float(v):g}" for v in results.settings.get("reference") or []]),
        "Seed": str(results.settings.get("seed")),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Results": f"run.json, certificates.tsv, subjects.tsv and others in {results.folder.name}/",
    }
    inputs = told.get("Inputs") or {}
    rows = [Row((str(path), str(digest))) for path, digest in list(inputs.items())[:2000]]
    return {
        "facts": {name: value for name, value in facts.items() if value},
        "inputs": html_table("Inputs", ["File", "SHA-256"], rows, text=["SHA-256"]),
    }

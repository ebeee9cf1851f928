"""Words and numbers of the page: the cohort, what motion did to it, where it came from."""

from typing import Any

import numpy as np

from stillome.evaluate.motion_effects import MotionEffects
from stillome.plot.labels import measure_label, signed
from stillome.report.certificates import certificate
from stillome.report.html_tables import HtmlTable, Row, html_table
from stillome.report.methods_text import methods_paragraph, references
from stillome.report.results import Results
from stillome.report.run_tables import ID
from stillome.report.words import (
    listed,
    number,
    read_r2,
    share,
    signed_share,
    things,
)

_MOST_DROPPED = 500


def key_facts(results: Results, effects: MotionEffects | None) -> list[dict[str, str]]:
    """Return the handful of numbers under the verdict."""
    raw = certificate(results, "cohort", "raw", "connectomes")
    ours = certificate(results, "cohort", results.method, "connectomes")
    latent = certificate(results, "cohort", results.method, "z")
    facts = [_fact("Subjects", f"{results.cohort.n_subjects:,}", f"{len(results.dropped)} dropped")]
    if effects is not None:
        note = "from the least to the most moving group"
        facts.append(_fact("Lost to motion", share(effects.share_lost), note))
    what = results.removed.replace("m", "M", 1)
    if raw is not None and ours is not None:
        change = f"{read_r2(raw.worst_r2)} → {read_r2(ours.worst_r2)}"
        facts.append(
            _fact(f"{what} in connectomes", change, "R² of the best probe, before → after")
        )
    if latent is not None:
        facts.append(_fact(f"{what} in z", read_r2(latent.worst_r2), "R² of the best probe"))
    rows = results.fidelity[results.fidelity["method"] == results.method]
    if len(rows) and np.isfinite(rows["r2"].iloc[0]):
        found = share(float(rows["identification"].iloc[0]))
        facts.append(_fact("Recognised", found, "of people nearest to their own truth"))
    elif len(rows):
        ratio = number(float(rows["variance_ratio"].iloc[0]))
        facts.append(
            _fact("Individuality", f"{ratio} ×", "differences between people kept; 1 is ideal")
        )
    change_of_all = float(results.subjects["change_percent"].median()) / 100
    facts.append(_fact("Given back", signed_share(change_of_all), "fibres, median subject"))
    return facts


def _fact(name: str, value: str, note: str) -> dict[str, str]:
    return {"name": name, "value": value, "note": note}


def data_facts(results: Results) -> dict[str, str]:
    """Return what was read."""
    cohort, source = results.cohort, results.run.get("source") or {}
    zeros = (
        float(results.subjects["zeros_raw"].mean()) if "zeros_raw" in results.subjects else np.nan
    )
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
        "Removed": listed(
            [*map(measure_label, results.settings["confounds"]), *results.others_said]
        ),
        "Kept on purpose": listed([str(name) for name in results.settings.get("keep") or []]),
        "Traits": listed(cohort.traits.columns.drop(results.others).tolist()) or "none",
        "Fibre lengths": "known" if cohort.lengths is not None else "not given",
        "Truth": "known: the cohort is simulated" if results.truth is not None else "",
    }
    return {name: value for name, value in facts.items() if value}


def dropped(results: Results) -> dict[str, Any]:
    """Return who could not be used, and why."""
    table = results.dropped
    reasons = table["reason"].value_counts()
    people = [
        Row((str(row[ID]), str(row["reason"]))) for _, row in table.head(_MOST_DROPPED).iterrows()
    ]
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
        "Reference motion": listed(results.reference),
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

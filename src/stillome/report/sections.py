"""Words and numbers of the page: the cohort, what motion did to it, where it came from."""

from typing import Any

import numpy as np

from stillome.evaluate.words import (
    listed,
    number,
    percent,
    read_r2,
    signed_percent,
    things,
)
from stillome.methods.method_words import METHOD_WORDS, method_name
from stillome.plot.labels import measure_label, signed
from stillome.report.html_tables import HtmlTable, Row, html_table
from stillome.report.methods_text import (
    methods_paragraph,
    motion_reference,
    others_removed,
    references,
)
from stillome.run.folder import RunFolder
from stillome.run.run_certificates import RAW, find_certificate
from stillome.run.run_files import ID

_MOST_DROPPED = 500


def key_facts(folder: RunFolder) -> list[dict[str, str]]:
    """Return the handful of numbers under the verdict."""
    use = "unseen" if folder.certificate_notes["repeats"] else "cohort"
    raw, ours, latent = (
        find_certificate(folder.certificates, use, method, features)
        for method, features in (
            (RAW, "connectomes"),
            (folder.method, "connectomes"),
            (folder.method, "z"),
        )
    )
    lost = percent(folder.motion_effects.share_lost)
    facts = [
        _fact("Subjects", f"{folder.cohort.n_subjects:,}", f"{len(folder.dropped)} dropped"),
        _fact("Lost to motion", lost, "fibres, from the least to the most moving group"),
    ]
    what = folder.removed.replace("m", "M", 1)
    if raw is not None and ours is not None:
        change = f"{read_r2(raw.found.worst_r2)} → {read_r2(ours.found.worst_r2)}"
        facts.append(
            _fact(f"{what} in connectomes", change, "R² of the best probe, before → after")
        )
    if latent is not None:
        best = read_r2(latent.found.worst_r2)
        facts.append(_fact(f"{what} in z", best, "R² of the best probe"))
    row = folder.fidelity[folder.fidelity["method"] == folder.method].iloc[0]
    if np.isfinite(row["r2"]):
        found = percent(float(row["identification"]))
        facts.append(_fact("Identified", found, "of subjects nearest to their own truth"))
    else:
        ratio = number(float(row["variance_ratio"]))
        note = "variance between subjects kept; 1 is ideal"
        facts.append(_fact("Individuality", f"{ratio} ×", note))
    change_of_all = float(folder.subjects["change_percent"].median()) / 100
    facts.append(_fact("Restored", signed_percent(change_of_all), "fibres, median subject"))
    return facts


def _fact(name: str, value: str, note: str) -> dict[str, str]:
    return {"name": name, "value": value, "note": note}


def data_facts(folder: RunFolder) -> dict[str, str]:
    """Return what was read."""
    cohort, source, settings = folder.cohort, folder.source, folder.settings
    facts = {
        "Connectomes": f"{things(cohort.n_subjects, 'subject')}, {cohort.n_regions} regions, "
        f"{cohort.n_regions * (cohort.n_regions - 1) // 2:,} edges",
        "Written by": ", ".join(
            str(source[key]) for key in ("producer", "measure", "atlas") if source.get(key)
        ),
        "Values": "whole fibre counts" if folder.whole_counts else "weights (not whole numbers)",
        "Edges without fibres": percent(float(folder.subjects["zeros_raw"].mean())),
        "Fibres per subject": f"{number(folder.subjects['fibres_raw'].median(), 0)} (median)",
        "Motion": listed([measure_label(str(name)) for name in cohort.motion.columns]),
        "Removed": listed([*map(measure_label, settings.confounds), *others_removed(folder)]),
        "Kept on purpose": listed(list(settings.keep)),
        "Traits": listed(list(settings.trait)) or "none",
        "Fibre lengths": "known" if cohort.lengths is not None else "not given",
        "Truth": "known: the cohort is simulated" if folder.truth is not None else "",
    }
    return {name: value for name, value in facts.items() if value}


def dropped(folder: RunFolder) -> dict[str, Any]:
    """Return who could not be used, and why."""
    table = folder.dropped
    reasons = table["reason"].value_counts()
    subjects = [
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
        "subjects": html_table(
            f"From dropped.tsv{more}", ["Subject", "Reason"], subjects, text=["Reason"]
        ),
    }


def motion_told(folder: RunFolder) -> str:
    """Say in one or two sentences what motion did."""
    effects = folder.motion_effects
    median = number(float(np.median(effects.motion)), 2)
    what = "fibres" if folder.whole_counts else "total weight"
    return (
        f"Median {measure_label(effects.column)}: {median}. Between the group that moved least and "
        f"the group that moved most, {percent(effects.share_lost)} of the {what} are lost; "
        f"{percent(effects.qcsc.share_significant)} of edges correlate with motion (median |r| "
        f"{number(effects.qcsc.median_absolute)})."
    )


def changed_edges(folder: RunFolder) -> HtmlTable:
    """Return the edges that motion changes most."""
    rows = [
        Row(
            (
                f"{edge.region_a} – {edge.region_b}",
                number(edge.length_mm, 0),
                number(edge.small_mean, 1),
                number(edge.large_mean, 1),
                signed(round(edge.difference, 1)),
                signed_percent(edge.change),
            )
        )
        for edge in folder.motion_effects.changed_edges.itertuples()
    ]
    titles = ["Edge", "Length (mm)", "Small motion", "Large motion", "Difference", "Change"]
    return html_table("The edges that motion changes most: mean per group", titles, rows)


def methods(folder: RunFolder) -> dict[str, Any]:
    """Return the paragraph to paste, and what it cites."""
    return {"paragraph": methods_paragraph(folder), "references": references(folder)}


def provenance(folder: RunFolder) -> dict[str, Any]:
    """Return seed, versions, settings and the hashes of the inputs."""
    told = folder.header.get("provenance") or {}
    versions = told.get("Versions") or {}
    words = METHOD_WORDS.get(folder.method)
    parameters = folder.settings.parameters
    facts = {
        "Method": f"{folder.method}: {words.what}" if words else folder.method,
        "Parameters": ", ".join(f"{name} = {value}" for name, value in parameters.items()),
        "Compared with": listed([method_name(name) for name in folder.settings.baselines]),
        "Reference motion": listed(motion_reference(folder)),
        "Seed": str(folder.settings.seed),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Results": f"run.json, certificates.tsv, subjects.tsv and others in {folder.path.name}/",
    }
    inputs = told.get("Inputs") or {}
    rows = [Row((str(path), str(digest))) for path, digest in list(inputs.items())[:2000]]
    return {
        "facts": {name: value for name, value in facts.items() if value},
        "inputs": html_table("Inputs", ["File", "SHA-256"], rows, text=["SHA-256"]),
    }

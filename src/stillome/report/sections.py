"""Words and numbers of the page: the cohort, what motion did to it, where it came from."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from stillome.evaluate.leakage.certificate_record import r2_with_interval
from stillome.evaluate.words import (
    listed,
    number,
    percent,
    read_r2,
    signed_percent,
    things,
)
from stillome.methods.method_words import method_name, words_of
from stillome.plot.labels import measure_label
from stillome.report.html_tables import HtmlTable, Row, html_table
from stillome.report.methods_text import (
    methods_paragraph,
    motion_reference,
    others_removed,
    references,
)
from stillome.report.privacy import hider_of, shown_command
from stillome.report.seen import things_counted
from stillome.run.folder import RunFolder
from stillome.run.run_certificates import RAW, find_certificate
from stillome.run.run_files import ID

_MOST_DROPPED = 500
_MOST_FILES = 2000


def key_facts(folder: RunFolder) -> list[dict[str, str]]:
    """Return the handful of numbers under the verdict."""
    n_people, n_dropped = len(set(folder.cohort.people)), len(folder.dropped)
    of_people = f"of {n_people:,} people; " if n_people < folder.cohort.n_subjects else ""
    facts = [
        _fact("Subjects", f"{folder.cohort.n_subjects:,}", f"{of_people}{n_dropped} dropped"),
        _fact(
            "Most against least motion",
            signed_percent(-folder.motion_effects.share_lost),
            f"{things_counted(folder)} per subject as scanned, end groups",
        ),
    ]
    facts += [*_leakage_facts(folder, "unseen"), *_leakage_facts(folder, "cohort")]
    row = folder.fidelity[folder.fidelity["method"] == folder.method].iloc[0]
    if np.isfinite(row["r2"]):
        found = percent(float(row["identification"]))
        facts.append(
            _fact("Identified", found, "of subjects of the fit nearest to their own truth")
        )
    else:
        ratio = number(float(row["variance_ratio"]))
        note = "variance between subjects of the fit kept; 1 is ideal"
        facts.append(_fact("Individuality", f"{ratio} ×", note))
    change_of_all = float(folder.subjects["change_percent"].median()) / 100
    facts.append(
        _fact("Changed", signed_percent(change_of_all), "by adjusting, median subject of the fit")
    )
    return facts


def _leakage_facts(folder: RunFolder, use: str) -> list[dict[str, str]]:
    """Return R² of the best probe before and after, in subjects of the fit or in others."""
    raw, ours, latent = (
        find_certificate(folder.certificates, use, method, features)
        for method, features in (
            (RAW, "connectomes"),
            (folder.method, "connectomes"),
            (folder.method, "z"),
        )
    )
    if raw is None or ours is None:
        return []
    where = "unseen subjects" if use == "unseen" else "subjects of the fit"
    name = f"{folder.removed} in {where}".replace("m", "M", 1)
    change = f"{read_r2(raw.found.worst_r2)} → {read_r2(ours.found.worst_r2)}"
    in_z = f"; latents z {read_r2(latent.found.worst_r2)}" if latent is not None else ""
    found = r2_with_interval(ours.found.table.loc[ours.found.worst])
    return [_fact(name, change, f"largest R² of a probe, raw → adjusted {found}{in_z}")]


def _fact(name: str, value: str, note: str) -> dict[str, str]:
    return {"name": name, "value": value, "note": note}


def data_facts(folder: RunFolder) -> dict[str, str]:
    """Return what was read."""
    cohort, source, settings = folder.cohort, folder.source, folder.settings
    facts = {
        "Connectomes": f"{things(cohort.n_subjects, 'subject')}, {cohort.n_regions} regions, "
        f"{cohort.n_regions * (cohort.n_regions - 1) // 2:,} edges",
        "Together": _together(folder),
        "Read as": ", ".join(
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


def _together(folder: RunFolder) -> str:
    """Say who was never divided: scans of one person, families."""
    cohort, column = folder.cohort, folder.settings.group
    n_people = len(set(cohort.people))
    parts = []
    if n_people < cohort.n_subjects:
        parts.append(f"{n_people:,} people, whose scans were never divided")
    if column is not None:
        parts.append(f"{cohort.traits[column].nunique():,} groups by {column}, never divided")
    return "; ".join(parts)


def dropped(folder: RunFolder, *, with_subjects: bool) -> dict[str, Any]:
    """Return how many could not be used and why; who they are only `with_subjects`."""
    table = folder.dropped
    hide = str if with_subjects else hider_of(folder)
    reasons = table["reason"].map(hide).value_counts()
    listed_ones = table.head(_MOST_DROPPED) if with_subjects else table.iloc[:0]
    subjects = [Row((str(row[ID]), str(row["reason"]))) for _, row in listed_ones.iterrows()]
    more = "" if len(table) <= _MOST_DROPPED else f"; the first {_MOST_DROPPED}"
    return {
        "n": len(table),
        "title": f"{things(len(table), 'subject')} could not be used",
        "reasons": html_table(
            "Why, and how many",
            ["Reason", "Subjects"],
            [Row((str(reason), f"{n:,}")) for reason, n in reasons.items()],
        ),
        "subjects": with_subjects
        and html_table(f"From dropped.tsv{more}", ["Subject", "Reason"], subjects, text=["Reason"]),
    }


def motion_told(folder: RunFolder) -> str:
    """Say in one or two sentences what motion did."""
    effects = folder.motion_effects
    median = number(float(np.median(effects.motion)), 2)
    return (
        f"Median {measure_label(effects.column)}: {median}. In the group that moved most, "
        f"{things_counted(folder)} per subject differ by {signed_percent(-effects.share_lost)} "
        f"from the group that moved least; "
        f"{percent(effects.qcsc.share_significant)} of edges correlate with motion (median |r| "
        f"{number(effects.qcsc.median_absolute)})."
    )


def changed_edges(folder: RunFolder) -> HtmlTable:
    """Return the edges that motion changes most."""
    edges = folder.motion_effects.changed_edges
    by_length = bool(edges["length_mm"].notna().any())
    rows = [
        Row(
            (
                f"{edge.region_a} – {edge.region_b}",
                *([number(edge.length_mm, 0)] if by_length else []),
                number(edge.small_mean, 1),
                number(edge.large_mean, 1),
                number(edge.difference, 1),
                signed_percent(edge.change),
            )
        )
        for edge in edges.itertuples()
    ]
    titles = ["Edge", *(["Length (mm)"] if by_length else [])]
    titles += ["Small motion", "Large motion", "Difference", "Change"]
    return html_table("The edges that motion changes most: mean per group", titles, rows)


def methods(folder: RunFolder) -> dict[str, Any]:
    """Return the paragraph to paste, and what it cites."""
    return {"paragraph": methods_paragraph(folder), "references": references(folder)}


def provenance(folder: RunFolder, *, with_subjects: bool) -> dict[str, Any]:
    """Return command, seed, versions and settings; file names only `with_subjects`."""
    told = folder.header.get("provenance") or {}
    versions = told.get("Versions") or {}
    words = words_of(folder.method, folder.settings.parameters)
    parameters = folder.settings.parameters
    facts = {
        "Method": f"{folder.method}: {words.what}" if words else folder.method,
        "Parameters": ", ".join(f"{name} = {value}" for name, value in parameters.items()),
        "Compared with": listed([method_name(name) for name in folder.settings.baselines]),
        "Reference motion": listed(motion_reference(folder)),
        "Seed": str(folder.settings.seed),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
    inputs = {str(path): str(digest) for path, digest in (told.get("Inputs") or {}).items()}
    if inputs:
        facts["Inputs"] = f"{things(len(inputs), 'file')}; SHA-256 of their sorted SHA-256:"
        facts["Inputs"] += f" {_digest(inputs.values())}"
    rows = [Row(pair) for pair in list(inputs.items())[:_MOST_FILES]] if with_subjects else []
    command = folder.header.get("command") if with_subjects else shown_command(folder.settings)
    return {
        "command": command,
        "facts": {name: value for name, value in facts.items() if value},
        "inputs": html_table("Inputs", ["File", "SHA-256"], rows, text=["SHA-256"]),
    }


def _digest(digests: Iterable[str]) -> str:
    """Return one fingerprint of all inputs, whatever their names are."""
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()

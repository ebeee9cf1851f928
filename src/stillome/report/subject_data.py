"""The table of subjects as the page holds it: one list per column."""

import hashlib
from typing import Any

import numpy as np
import pandas as pd

from stillome.cohort.scan_words import row_words
from stillome.evaluate.words import number
from stillome.plot.labels import measure_label
from stillome.report.html_tables import HtmlTable, Row, html_table
from stillome.run.folder import RunFolder
from stillome.run.run_files import ID
from stillome.run.steps.listing import FAR, flag_rules

_TITLES = {
    "flags": "Flags",
    "fibres_raw": "Fibres, scanned",
    "fibres_adjusted": "Fibres, adjusted",
    "change_percent": "Change (%)",
    "zeros_raw": "Zeros, scanned (%)",
    "zeros_adjusted": "Zeros, adjusted (%)",
    "correlation": "r before, after",
}
_DIGITS = {"change_percent": 1, "zeros_raw": 1, "zeros_adjusted": 1, "correlation": 3}


def subject_data(folder: RunFolder) -> dict[str, Any]:
    """Return columns, titles and values of the table of subjects, and a key for ratings.

    Numbers are rounded to what is shown; flags are lists of words.
    """
    table = folder.subjects
    first = [folder.measure, *_TITLES]
    names = [name for name in first if name in table]
    names += [name for name in table.columns if name not in (*names, ID)]
    title = row_words(folder.cohort.subject_ids)("Subject")
    columns = [{"name": ID, "title": title, "kind": "id", "digits": 0}]
    values: list[list[Any]] = [[str(subject) for subject in table[ID]]]
    for name in names:
        column = table[name]
        if name == "flags":
            kind, digits = "flags", 0
            values.append([_flags(text) for text in column.fillna("")])
        elif pd.api.types.is_numeric_dtype(column.dtype):
            kind = "number"
            scaled = column.to_numpy(dtype=float) * (100 if name.startswith("zeros_") else 1)
            digits = _digits(name, scaled, whole=folder.whole_counts)
            values.append([_rounded(value, digits) for value in scaled])
        else:
            kind, digits = "text", 0
            values.append([str(text) for text in column.fillna("")])
        columns.append(
            {"name": name, "title": _title(name, folder), "kind": kind, "digits": digits}
        )
    # Ratings are kept by the browser under a name that belongs to these subjects.
    digest = hashlib.sha256("\n".join(values[0]).encode()).hexdigest()[:12]
    return {"columns": columns, "values": values, "key": f"stillome-ratings-{digest}"}


def flag_counts(folder: RunFolder) -> dict[str, int]:
    """Count the subjects that carry each flag, most frequent first."""
    flags = [flag for text in folder.subjects["flags"].fillna("") for flag in _flags(text)]
    return {str(flag): int(n) for flag, n in pd.Series(flags, dtype=object).value_counts().items()}


def flag_table(folder: RunFolder) -> HtmlTable:
    """Return every flag with its threshold in this cohort, and how many subjects carry it."""
    counts = flag_counts(folder)
    rules = flag_rules(folder.subjects, folder.settings.confounds)
    for name in folder.settings.confounds:
        rules["moved much"] = rules["moved much"].replace(name, measure_label(name))
    rows = [Row((flag, rule, f"{counts.get(flag, 0):,}")) for flag, rule in rules.items()]
    caption = (
        f"Flags. Thresholds are {FAR:g} robust standard deviations (1.4826 × median absolute "
        "deviation) from the median of this cohort; motion and totals on the log scale."
    )
    return html_table(caption, ["Flag", "Raised by", "Subjects"], rows, text=["Raised by"])


def spread_table(folder: RunFolder) -> HtmlTable:
    """Return quartiles over subjects of what the table of subjects holds."""
    table = folder.subjects
    rows = []
    for name in (folder.measure, *_TITLES):
        if name not in table or not pd.api.types.is_numeric_dtype(table[name].dtype):
            continue
        values = table[name].to_numpy(dtype=float) * (100 if name.startswith("zeros_") else 1)
        digits = _digits(name, values, whole=folder.whole_counts)
        quartiles = np.nanquantile(values, [0.25, 0.5, 0.75])
        rows.append(Row((_title(name, folder), *(number(v, digits) for v in quartiles))))
    titles = ["", "Lower quartile", "Median", "Upper quartile"]
    return html_table("Spread over subjects", titles, rows)


def _title(name: str, folder: RunFolder) -> str:
    title = _TITLES.get(name) or measure_label(name)
    return title if folder.whole_counts else title.replace("Fibres", "Weight")


def _flags(text: str) -> list[str]:
    return [flag.strip() for flag in str(text).split(";") if flag.strip()]


def _digits(name: str, values: Any, *, whole: bool) -> int:
    if name in _DIGITS:
        return _DIGITS[name]
    known = values[np.isfinite(values)]
    if not len(known) or (known == np.round(known)).all():
        return 0
    if name.startswith("fibres") and whole:
        return 0
    # Three digits of the typical value.
    typical = float(np.median(np.abs(known))) or float(np.abs(known).max())
    return int(np.clip(2 - np.floor(np.log10(typical)), 0, 6))


def _rounded(value: float, digits: int) -> float | None:
    return round(float(value), digits) if np.isfinite(value) else None

"""A finished run in a few plain sentences, read from its folder."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from stillome.evaluate.fidelity import FidelityReport
from stillome.persistence import MISSING, read_json
from stillome.run.folder import read_header
from stillome.run.settings import from_json
from stillome.run.steps.certifying import RAW


def verdict(out: str | os.PathLike[str]) -> list[str]:
    """Say what a run found: motion before and after, what was kept, and the traits.

    Parameters
    ----------
    out : path-like
        A run folder whose certificates have been written.

    Returns
    -------
    list of str
        One sentence or two each.

    Raises
    ------
    FileError
        If the folder is not that of a run.
    """
    folder = Path(out)
    method = from_json(read_header(folder)["settings"]).method
    certificates = read_json(folder / "certificates.json")
    lines = [
        f"{one['sentence']}."
        for one in certificates["sentences"]
        if one["method"] == method or (one["use"], one["method"]) == ("cohort", RAW)
    ]
    lines += certificates["notes"]
    fidelity = _table(folder / "fidelity.tsv").set_index("method").loc[method]
    values: dict[str, Any] = {field.name: fidelity[field.name] for field in fields(FidelityReport)}
    lines.append(FidelityReport(**values).sentence())
    if (folder / "comparison").is_dir():
        lines += _traits(_table(folder / "comparison" / "summary.tsv"), method)
    return lines


def _traits(summary: pd.DataFrame, method: str) -> list[str]:
    lines = []
    for trait, rows in summary.groupby("trait", sort=False):
        said = [
            f"{row.method} r = {row.r_mean:.2f} ± {row.r_sd:.2f}"
            if row.status == "ok"
            else f"{row.method} failed"
            for row in rows.itertuples()
        ]
        lines.append(f"{trait} of people not seen in the fit: {', '.join(said)}.")
    return lines


def _table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", na_values=[MISSING], keep_default_na=False)

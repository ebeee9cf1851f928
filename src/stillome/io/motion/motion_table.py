"""Writing a table of motion with a sidecar that describes every column and its source."""

import os
from pathlib import Path
from typing import Any

import pandas as pd

from stillome.cohort.scan_ids import with_session_column
from stillome.exceptions import InputError
from stillome.io.write import provenance, unit_of
from stillome.persistence import check_replaceable, write_json, write_table, written_aside


def write_motion(
    table: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    version: str,
    overwrite: bool = False,
) -> Path:
    """Write motion as TSV, with a JSON sidecar beside it, both in BIDS' way.

    Parameters
    ----------
    table : pandas.DataFrame
        What `read_motion` returned.
    path : path-like
        Ends in ``.tsv``; the sidecar gets the same name with ``.json``.
    version : str
        The version of stillome, for the sidecar.
    overwrite : bool, default=False
        Whether existing files may be replaced.

    Returns
    -------
    pathlib.Path
        The sidecar.

    Raises
    ------
    FileError, InputError
        If the name does not end in ``.tsv``, or a file exists already.
    """
    path, sidecar = Path(path), sidecar_of(path)
    check_replaceable(sidecar, overwrite=overwrite)
    with written_aside(path, overwrite=overwrite) as aside:
        rows = with_session_column(table)
        write_table(aside, rows.rename_axis("participant_id"), index=True)
    with written_aside(sidecar, overwrite=overwrite) as aside:
        write_json(aside, _description(table, version))
    return sidecar


def sidecar_of(path: str | os.PathLike[str]) -> Path:
    """Return the name of a table's sidecar; refuse a table that is not named ``.tsv``.

    Examples
    --------
    >>> sidecar_of("motion.tsv").name
    'motion.json'
    """
    path = Path(path)
    if path.suffix != ".tsv":
        raise InputError(f"{path}: the table is written as .tsv. Give it a name that says so.")
    return path.with_suffix(".json")


def _description(table: pd.DataFrame, version: str) -> dict[str, Any]:
    measures, sources = table.attrs.get("measures", {}), table.attrs.get("sources", {})
    columns = {
        name: {
            "Description": measures.get(name, ""),
            "Units": unit_of(name),
            "Source": sources.get(name, "n/a"),
        }
        for name in table.columns
    }
    made_by = {"Name": "stillome", "Version": version}
    return {**columns, "GeneratedBy": made_by, **provenance(inputs=table.attrs.get("files", []))}

"""The verdict on a finished run, the same for the console and for the report."""

import os
from dataclasses import fields
from typing import Any

from stillome.evaluate.fidelity import FidelityReport
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.verdict import Evidence, Verdict, judge
from stillome.evaluate.words import number
from stillome.exceptions import FileError
from stillome.methods.method_words import method_name
from stillome.run.folder import RunFolder
from stillome.run.run_certificates import RAW, find_certificate


def verdict(out: str | os.PathLike[str]) -> list[str]:
    """Return the verdict on a run as lines of text, ready to be printed.

    Parameters
    ----------
    out : path-like
        The folder of a finished run.

    Returns
    -------
    list of str
        The headline, one line per check, and notes.

    Raises
    ------
    FileError
        If the folder is not that of a finished run.
    """
    return judge_run(RunFolder(out)).lines()


def judge_run(folder: RunFolder) -> Verdict:
    """Judge a finished run by what it left in its folder."""

    def found(use: str, method: str, features: str) -> LeakageCertificate | None:
        one = find_certificate(folder.certificates, use, method, features)
        return None if one is None else one.found

    unseen = [one.n_subjects for one in folder.certificates if one.use == "unseen"]
    return judge(
        Evidence(
            method=method_name(folder.method),
            n_subjects=folder.cohort.n_subjects,
            raw=found("cohort", RAW, "connectomes"),
            adjusted=found("cohort", folder.method, "connectomes"),
            latents=found("cohort", folder.method, "z"),
            unseen_adjusted=found("unseen", folder.method, "connectomes"),
            unseen_latents=found("unseen", folder.method, "z"),
            n_unseen=max(unseen, default=0),
            fidelity=_fidelity(folder),
            diagnostics=folder.diagnostics,
            others=folder.settings.other_confounds,
            notes=[*map(str, folder.certificate_notes["notes"]), *_traits(folder)],
        )
    )


def _fidelity(folder: RunFolder) -> FidelityReport:
    rows = folder.fidelity[folder.fidelity["method"] == folder.method]
    try:
        values: dict[str, Any] = {
            field.name: rows[field.name].iloc[0] for field in fields(FidelityReport)
        }
    except (KeyError, IndexError) as error:
        raise FileError(
            f"{folder.place('fidelity')}: no row of {folder.method}. {folder.again('fidelity')}"
        ) from error
    return FidelityReport(**values)


def _traits(folder: RunFolder) -> list[str]:
    """Say how well every trait is predicted in subjects who were not in the fit."""
    if folder.comparison is None:
        return []
    notes = []
    for trait, rows in folder.comparison["summary"].groupby("trait", sort=False):
        said = [
            f"{method_name(row.method)} r = {number(row.r_mean)} ± {number(row.r_sd)}"
            if row.status == "ok"
            else f"{method_name(row.method)} failed"
            for row in rows.itertuples()
        ]
        notes.append(f"{trait} predicted in subjects who were not in the fit: {', '.join(said)}.")
    return notes

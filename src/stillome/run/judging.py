"""The verdict on a finished run, the same for the console and for the report."""

import os
from dataclasses import fields
from typing import Any

import pandas as pd

from stillome.cohort.scan_words import row_words
from stillome.evaluate.fidelity import FidelityReport
from stillome.evaluate.leakage.certificate_record import LeakageCertificate, r2_with_interval
from stillome.evaluate.prediction.trait_sizes import size_remark
from stillome.evaluate.verdict import Verdict, judge
from stillome.evaluate.verdict_evidence import Evidence
from stillome.evaluate.words import listed, number
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

    Examples
    --------
    A folder that holds no run is refused; `run_pipeline` shows the verdict on a run.

    >>> import tempfile
    >>> from stillome import StillomeError
    >>> try:
    ...     verdict(tempfile.mkdtemp())
    ... except StillomeError as error:
    ...     print(str(error).split(": ", 1)[1])
    no results of `stillome run` (run.json is missing).
    """
    folder = RunFolder(out)
    folder.check()
    words = row_words(folder.cohort.subject_ids)
    return [words(line) for line in judge_run(folder).lines()]


def judge_run(folder: RunFolder) -> Verdict:
    """Judge a finished run by what it left in its folder."""

    def found(use: str, method: str, features: str) -> LeakageCertificate | None:
        one = find_certificate(folder.certificates, use, method, features)
        return None if one is None else one.found

    return judge(
        Evidence(
            method=method_name(folder.method),
            n_subjects=len(folder.known),
            raw=found("cohort", RAW, "connectomes"),
            adjusted=found("cohort", folder.method, "connectomes"),
            latents=found("cohort", folder.method, "z"),
            unseen_raw=found("unseen", RAW, "connectomes"),
            unseen_adjusted=found("unseen", folder.method, "connectomes"),
            unseen_latents=found("unseen", folder.method, "z"),
            power=folder.power("connectomes"),
            latent_power=folder.power("z"),
            graph=graph_before_and_after(folder, "unseen"),
            fidelity=_fidelity(folder),
            diagnostics=folder.diagnostics,
            others=folder.settings.other_confounds,
            notes=[
                *map(str, folder.certificate_notes["notes"]),
                *keeping_told(folder),
                *_traits(folder),
            ],
        )
    )


def graph_before_and_after(folder: RunFolder, use: str) -> pd.DataFrame | None:
    """Return how graph measures go with motion before and after, in one kind of use.

    Parameters
    ----------
    folder : RunFolder
    use : {"cohort", "unseen"}

    Returns
    -------
    pandas.DataFrame or None
        Index ``measure``; ``r_raw`` and ``rms_raw`` of the connectomes as scanned, ``r``, ``rms``
        and ``p_holm`` of the adjusted ones. None where that was not measured.
    """
    table = folder.graph_motion
    of_use = table[table["use"] == use].set_index("measure")
    raw, ours = (of_use[of_use["method"] == name] for name in (RAW, folder.method))
    if ours.empty:
        return None
    return pd.DataFrame(
        {
            "r_raw": raw["r"],
            "rms_raw": raw["rms"],
            "r": ours["r"],
            "rms": ours["rms"],
            "p_holm": ours["p_holm"],
        },
        index=ours.index,
    )


def keeping_told(folder: RunFolder) -> list[str]:
    """Say what the covariates to keep cost: the motion that stays because it goes with them."""
    if folder.leakage_by_keeping is None:
        return []
    with_, without = (
        r2_with_interval(one.table.loc[one.worst])
        for one in (folder.leakage_by_keeping[True], folder.leakage_by_keeping[False])
    )
    names = listed(list(folder.settings.keep))
    return [
        f"What keeping {names} costs: in subjects the model has not seen, the largest R² of "
        f"{folder.removed} is {with_} with and {without} without keeping, where probes may also "
        f"use what goes with {names}."
    ]


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
            f"{method_name(row.method)} r = {number(row.r_mean)} [{number(row.r_low)}, "
            f"{number(row.r_high)}]"
            if row.status == "ok"
            else f"{method_name(row.method)} failed"
            for row in rows.itertuples()
        ]
        small = size_remark(float(rows["n_subjects"].min()))
        notes.append(
            f"{trait} predicted in subjects who were not in the fit: {', '.join(said)}"
            + (f" ({small})." if small else ".")
        )
    return notes

"""Adjust everybody to the reference, and say what that kept of the person."""

from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.evaluate.fidelity import FidelityReport, fidelity_report
from stillome.evaluate.graph_measures import graph_measures
from stillome.io.write import write_connectomes
from stillome.run.folder import Work
from stillome.run.inputs import source_data
from stillome.run.parallel import run_jobs
from stillome.run.steps.fitting import fit_method


class Baseline(NamedTuple):
    """What another method makes of the subjects whose motion is known."""

    latents: NDArray[np.float64]  # (n_known, K)
    adjusted: NDArray[Any]  # (n_known, V, V)


def adjust_step(work: Work) -> None:
    """Write everybody's connectomes at the reference, for the report and for the user."""
    adjusted = work.model.adjust(
        work.cohort.connectomes, confounds=work.confounds, reference=work.reference
    )
    work.write_array("work/adjusted.npy", adjusted)
    data = source_data(work)
    if work.settings.form == "relmat":
        # run.json has the hashes of all files, which need not be there any more.
        data = replace(data, source=replace(data.source, files=()))
    at = ", ".join(f"{name} = {level}" for name, level in work.coding.said(work.reference).items())
    write_connectomes(
        work.out / "adjusted",
        data,
        adjusted,
        form=work.settings.form,
        random_state=work.settings.seed,
        description=f"motion-adjusted connectomes ({work.settings.method}, at {at})",
        overwrite=True,
    )


def fit_baseline(work: Work, name: str) -> Baseline:
    """Fit another method to the subjects whose motion is known, and apply it to them."""
    model = fit_method(work, name, work.known)
    X, motion = work.cohort.connectomes[work.known], work.confounds[work.known]
    return Baseline(
        model.transform(X, confounds=motion),
        model.adjust(X, confounds=motion, reference=work.reference),
    )


def fidelity_step(work: Work) -> None:
    """Write what adjusting kept, for the method and its baselines, and the graph measures."""
    names = (work.settings.method, *work.settings.baselines)
    jobs = [partial(_fidelity, work, name) for name in names]
    reports = run_jobs(jobs, n_jobs=work.n_jobs, progress=work.progress)
    measures = [
        graph_measures(values).add_suffix(suffix)
        for values, suffix in ((work.cohort.connectomes, "_raw"), (work.adjusted, "_adjusted"))
    ]
    table = pd.concat(measures, axis=1)
    table.insert(0, "participant_id", list(work.cohort.subject_ids))
    work.write_table("graph_measures.tsv", table)
    rows = [{"method": n} | asdict(report) for n, report in zip(names, reports, strict=True)]
    work.write_table("fidelity.tsv", pd.DataFrame(rows))


def _fidelity(work: Work, name: str) -> FidelityReport:
    known = work.known
    ours = name == work.settings.method
    adjusted = work.adjusted[known] if ours else fit_baseline(work, name).adjusted
    return fidelity_report(
        adjusted,
        work.cohort.connectomes[known],
        None if work.truth is None else work.truth[known],
        motion=work.motion[known],
    )

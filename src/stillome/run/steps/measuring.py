"""Measure what adjusting kept of the subjects, and what it left of the motion effects."""

from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pandas as pd

from stillome.cohort.validation.sliced import is_sliced
from stillome.evaluate.fidelity import FidelityReport, fidelity_report
from stillome.evaluate.graph_measures import graph_measures
from stillome.methods.registry import RAW
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers
from stillome.run.run_files import ID
from stillome.run.steps.describing import describe_known

MOST_COMPARED = 2000  # subjects of a large cohort


def fidelity_step(folder: RunFolder, workers: Workers) -> None:
    """Write fidelity of the method and its baselines, graph measures and motion effects left."""
    names = list(dict.fromkeys((folder.method, *folder.settings.baselines, RAW)))
    reports = workers.run([partial(_fidelity, folder, name) for name in names])
    measures = [
        graph_measures(values).add_suffix(suffix)
        for values, suffix in ((folder.cohort.connectomes, "_raw"), (folder.adjusted, "_adjusted"))
    ]
    table = pd.concat(measures, axis=1)
    table.insert(0, ID, list(folder.cohort.subject_ids))
    folder.write_table("graph_measures", table)
    adjusted = replace(folder.cohort, connectomes=folder.adjusted)
    folder.write_tables("effects_left", describe_known(folder, adjusted))
    rows = [{"method": n} | asdict(report) for n, report in zip(names, reports, strict=True)]
    folder.write_table("fidelity", pd.DataFrame(rows))


def _fidelity(folder: RunFolder, name: str) -> FidelityReport:
    places = np.arange(len(folder.known))
    if is_sliced(folder.cohort.connectomes):
        # Subjects are compared with each other, in pairs: some stand for all.
        places = np.unique(np.linspace(0, len(places) - 1, MOST_COMPARED).astype(np.intp))
    known = folder.known[places]
    raw = folder.cohort.connectomes[known]
    if name == folder.method:
        adjusted = folder.adjusted[known]
    else:
        adjusted = raw if name == RAW else folder.baseline(name).adjusted[places]
    return fidelity_report(
        adjusted,
        raw,
        None if folder.truth is None else folder.truth[known],
        motion=folder.motion[known],
    )

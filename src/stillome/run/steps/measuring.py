"""Measure what adjusting kept of the subjects, and what it left of the motion effects."""

from dataclasses import asdict, replace
from functools import partial

import pandas as pd

from stillome.evaluate.fidelity import FidelityReport, fidelity_report
from stillome.evaluate.graph_measures import graph_measures
from stillome.methods.registry import RAW
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers
from stillome.run.run_files import ID
from stillome.run.steps.describing import describe_known


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
    known = folder.known
    raw = folder.cohort.connectomes[known]
    if name == folder.method:
        adjusted = folder.adjusted[known]
    else:
        adjusted = raw if name == RAW else folder.baseline(name).adjusted
    return fidelity_report(
        adjusted,
        raw,
        None if folder.truth is None else folder.truth[known],
        motion=folder.motion[known],
    )

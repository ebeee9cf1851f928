"""Fit every baseline once, for the certificates and for fidelity."""

from functools import partial

import numpy as np

from stillome.cohort.stored_matrices import some_matrices
from stillome.persistence import written_aside
from stillome.run.folder import Baseline, RunFolder
from stillome.run.parallel import Workers
from stillome.run.steps.fitting import fit_to, method_of_run


def baselines_step(folder: RunFolder, workers: Workers) -> None:
    """Write what every baseline makes of the subjects whose confounds are known."""
    names = folder.settings.baselines
    found = workers.run([partial(fit_baseline, folder, name) for name in names])
    first = f"{names[0]}/adjusted.npy"
    with written_aside(folder.place("baselines"), overwrite=True, marker=first) as aside:
        for name, baseline in zip(names, found, strict=True):
            (aside / name).mkdir(parents=True)
            for part, values in baseline._asdict().items():
                np.save(aside / name / f"{part}.npy", values, allow_pickle=False)


def fit_baseline(folder: RunFolder, name: str) -> Baseline:
    """Fit one method to the subjects whose confounds are known, and apply it to them."""
    known = folder.known
    model = fit_to(folder, method_of_run(folder, name), known)
    X, confounds = some_matrices(folder.cohort.connectomes, known), folder.confounds[known]
    return Baseline(
        model.transform(X, confounds=confounds),
        model.adjust(X, confounds=confounds, reference=folder.reference),
    )

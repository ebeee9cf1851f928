"""Certify whether motion can be read: raw, after the baselines, after the method; also in others.

"Others" are subjects whom the model has not seen: it is fitted to 70 % and applied to the rest.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.evaluate.leakage.certificate import Kind, LeakageCertificate, leakage_certificate
from stillome.evaluate.prediction.folds import group_labels, inner_split
from stillome.run.folder import RunFolder
from stillome.run.method_parameters import AUTO, WEIGHT
from stillome.run.parallel import Workers
from stillome.run.run_certificates import RAW, RunCertificate
from stillome.run.steps.fitting import fit_to, method_of_run

MIN_COHORT = 60  # below which too few would be left to fit to
MIN_UNSEEN, MIN_GROUPS = 20, 5  # what the probes need of those held out
UNSEEN_FRACTION = 0.3
N_PERMUTATIONS = 500


class Probed(NamedTuple):
    """What is probed, in whom, and what it is called in the tables."""

    use: str  # "cohort" or "unseen"
    method: str
    features: str  # "connectomes" or "z"
    subjects: NDArray[np.intp]
    values: NDArray[Any]


def certify_step(folder: RunFolder, workers: Workers) -> None:
    """Write one certificate for each kind of features, in the cohort and in unseen subjects."""
    notes = _notes(folder)
    probed = _in_the_cohort(folder)
    divided = hold_out(folder)
    if isinstance(divided, str):
        notes.append(f"No certificate of unseen subjects: {divided}.")
    else:
        probed += _unseen(folder, *divided)
        if folder.settings.parameters.get(WEIGHT) == AUTO:
            notes.append("The invariance weight was chosen with all subjects, also the unseen.")
    found = workers.run([_certificate(folder, part) for part in probed])
    certificates = [
        RunCertificate(part.use, part.method, part.features, len(part.subjects), one)
        for part, one in zip(probed, found, strict=True)
    ]
    table = pd.concat([one.rows() for one in certificates], ignore_index=True)
    folder.write_table("certificates", table)
    content = {"level": found[0].level, "n_permutations": N_PERMUTATIONS, "notes": notes}
    folder.write_json("certificate_notes", content)


def _notes(folder: RunFolder) -> list[str]:
    notes = []
    n_unknown = folder.cohort.n_subjects - len(folder.known)
    if n_unknown:
        notes.append(
            f"The {folder.removed} of {n_unknown} subjects is unknown; they were not probed."
        )
    if folder.settings.other_confounds:
        notes.append(f"Probes look for {folder.removed}.")
    return notes


def _in_the_cohort(folder: RunFolder) -> list[Probed]:
    known = folder.known
    probed = [Probed("cohort", RAW, "connectomes", known, folder.cohort.connectomes[known])]
    answers = {name: folder.baseline(name) for name in folder.settings.baselines}
    ours = (folder.latents[known], folder.adjusted[known])
    for name, (latents, adjusted) in [*answers.items(), (folder.method, ours)]:
        probed.append(Probed("cohort", name, "connectomes", known, adjusted))
        probed.append(Probed("cohort", name, "z", known, latents))
    return probed


def hold_out(folder: RunFolder) -> tuple[NDArray[np.intp], NDArray[np.intp]] | str:
    """Divide those whose motion is known: 70 % to fit to, the others (whole groups) to probe.

    Returns
    -------
    two arrays of positions, or str
        Why not, where too few would be left on either side.
    """
    known = folder.known
    labels = group_labels(folder.groups, folder.cohort.n_subjects)
    if len(known) < MIN_COHORT:
        return f"{len(known)} subjects are too few to hold some out; {MIN_COHORT} are needed"
    if len(np.unique(labels[known])) < 2 * MIN_GROUPS:
        return f"too few groups of subjects to hold some out; {2 * MIN_GROUPS} are needed"
    fraction = max(UNSEEN_FRACTION, MIN_UNSEEN / len(known))
    train, test = inner_split(known, labels, share=fraction, random_state=folder.settings.seed)
    if len(test) < MIN_UNSEEN or len(np.unique(labels[test])) < MIN_GROUPS:
        return "the groups held out have too few subjects"
    return np.sort(train), np.sort(test)


def _unseen(folder: RunFolder, train: NDArray[np.intp], test: NDArray[np.intp]) -> list[Probed]:
    """Fit to some of the subjects, and apply to the others."""
    name = folder.method
    model = fit_to(folder, method_of_run(folder, name), train)
    X, confounds = folder.cohort.connectomes[test], folder.confounds[test]
    adjusted = model.adjust(X, confounds=confounds, reference=folder.reference)
    return [
        Probed("unseen", RAW, "connectomes", test, X),
        Probed("unseen", name, "connectomes", test, adjusted),
        Probed("unseen", name, "z", test, model.transform(X, confounds=confounds)),
    ]


def _certificate(folder: RunFolder, part: Probed) -> Callable[[], LeakageCertificate]:
    kind: Kind = "counts" if part.features == "connectomes" else "features"
    return partial(
        leakage_certificate,
        part.values,
        folder.confounds[part.subjects],
        kind=kind,
        nuisance=None if folder.kept is None else folder.kept[part.subjects],
        groups=None if folder.groups is None else folder.groups[part.subjects],
        n_permutations=N_PERMUTATIONS,
        random_state=folder.settings.seed,
    )

"""Whether motion can still be read: raw, after the baselines, after the method; also of others."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.evaluate.leakage.certificate import Kind, LeakageCertificate, leakage_certificate
from stillome.evaluate.prediction.folds import group_labels, inner_split
from stillome.run.folder import Work
from stillome.run.parallel import run_jobs
from stillome.run.steps.adjusting import fit_baseline
from stillome.run.steps.fitting import fit_method

MIN_COHORT = 60  # below which too few would be left to fit to
MIN_UNSEEN, MIN_GROUPS = 20, 5  # what the probes need of those held out
UNSEEN_SHARE = 0.3
N_PERMUTATIONS = 500
RAW = "raw"


class Probed(NamedTuple):
    """What is probed, of whom, and what it is called in the tables."""

    use: str  # "cohort" or "unseen"
    method: str
    features: str  # "connectomes" or "z"
    subjects: NDArray[np.intp]
    values: NDArray[Any]


def certify_step(work: Work) -> None:
    """Write one certificate for each kind of features, in the cohort and in unseen subjects."""
    notes = []
    if len(work.known) < work.cohort.n_subjects:
        n_unknown = work.cohort.n_subjects - len(work.known)
        notes.append(
            f"The {work.removed} of {n_unknown} subjects is unknown; they were not probed."
        )
    if work.settings.other_confounds:
        notes.append(f"Probes look for {work.removed}.")
    parts = [partial(_in_the_cohort, work, name) for name in (RAW, *work.settings.baselines)]
    parts.append(partial(_in_the_cohort, work, work.settings.method))
    divided = hold_out(work)
    if isinstance(divided, str):
        notes.append(f"No certificate of unseen subjects: {divided}.")
    else:
        parts.append(partial(_unseen, work, *divided))
    made = run_jobs(parts, n_jobs=work.n_jobs)
    probed = [one for several in made for one in several]
    jobs = [_certificate(work, part) for part in probed]
    found = run_jobs(jobs, n_jobs=work.n_jobs, progress=work.progress)
    tables = [_table(part, one) for part, one in zip(probed, found, strict=True)]
    work.write_table("certificates.tsv", pd.concat(tables, ignore_index=True))
    content = {
        "sentences": _sentences(probed, found, work.removed),
        "level": found[0].level,
        "n_permutations": N_PERMUTATIONS,
        "notes": notes,
    }
    work.write_json("certificates.json", content)


def _in_the_cohort(work: Work, name: str) -> list[Probed]:
    known = work.known
    if name == RAW:
        return [Probed("cohort", RAW, "connectomes", known, work.cohort.connectomes[known])]
    if name == work.settings.method:
        adjusted, latents = work.adjusted[known], work.latents[known]
    else:
        latents, adjusted = fit_baseline(work, name)
    return [
        Probed("cohort", name, "connectomes", known, adjusted),
        Probed("cohort", name, "z", known, latents),
    ]


def hold_out(work: Work) -> tuple[NDArray[np.intp], NDArray[np.intp]] | str:
    """Divide those whose motion is known: 70 % to fit to, the others (whole groups) to probe.

    Returns
    -------
    two arrays of positions, or str
        Why not, where too few would be left on either side.
    """
    known = work.known
    labels = group_labels(work.groups, work.cohort.n_subjects)
    if len(known) < MIN_COHORT:
        return f"{len(known)} subjects are too few to hold some out; {MIN_COHORT} are needed"
    if len(np.unique(labels[known])) < 2 * MIN_GROUPS:
        return f"too few groups of subjects to hold some out; {2 * MIN_GROUPS} are needed"
    share = max(UNSEEN_SHARE, MIN_UNSEEN / len(known))
    train, test = inner_split(known, labels, share=share, random_state=work.settings.seed)
    if len(test) < MIN_UNSEEN or len(np.unique(labels[test])) < MIN_GROUPS:
        return "the groups held out have too few subjects"
    return np.sort(train), np.sort(test)


def _unseen(work: Work, train: NDArray[np.intp], test: NDArray[np.intp]) -> list[Probed]:
    """Fit to some of the subjects, and apply to the others."""
    name = work.settings.method
    model = fit_method(work, name, train)
    X, motion = work.cohort.connectomes[test], work.confounds[test]
    adjusted = model.adjust(X, confounds=motion, reference=work.reference)
    return [
        Probed("unseen", RAW, "connectomes", test, X),
        Probed("unseen", name, "connectomes", test, adjusted),
        Probed("unseen", name, "z", test, model.transform(X, confounds=motion)),
    ]


def _certificate(work: Work, part: Probed) -> Callable[[], LeakageCertificate]:
    kind: Kind = "counts" if part.features == "connectomes" else "features"
    return partial(
        leakage_certificate,
        part.values,
        work.confounds[part.subjects],
        kind=kind,
        nuisance=None if work.kept is None else work.kept[part.subjects],
        groups=None if work.groups is None else work.groups[part.subjects],
        n_permutations=N_PERMUTATIONS,
        random_state=work.settings.seed,
    )


def _table(part: Probed, certificate: LeakageCertificate) -> pd.DataFrame:
    table = certificate.table.reset_index()
    head = {
        "use": part.use,
        "method": part.method,
        "features": part.features,
        "n_subjects": len(part.subjects),
    }
    for place, (name, value) in enumerate(head.items()):
        table.insert(place, name, value)
    columns = [*head, "probe", "r2", "p_value", "p_holm", "null_95"]
    return table[columns].assign(passed=certificate.passed)


def _sentences(
    probed: list[Probed], found: list[LeakageCertificate], removed: str
) -> list[dict[str, Any]]:
    raw = {part.use: one for part, one in zip(probed, found, strict=True) if part.method == RAW}
    return [
        {
            "use": part.use,
            "method": part.method,
            "features": part.features,
            "passed": one.passed,
            "sentence": one.sentence(
                _words(part), None if part.method == RAW else raw[part.use], confounds=removed
            ),
        }
        for part, one in zip(probed, found, strict=True)
    ]


def _words(part: Probed) -> str:
    of_whom = " of unseen subjects" if part.use == "unseen" else ""
    if part.method == RAW:
        return f"the raw connectomes{of_whom}"
    what = "z" if part.features == "z" else "the adjusted connectomes"
    return f"{what}{of_whom} ({part.method})"

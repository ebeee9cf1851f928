"""Whether motion can still be read: raw, after the baselines, after the method; also of others."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.evaluate.folds import group_labels, inner_split
from stillome.evaluate.leakage import Kind, LeakageCertificate, leakage_certificate
from stillome.pipeline.adjusting import fit_baseline
from stillome.pipeline.fitting import fit_method
from stillome.pipeline.parallel import run_jobs
from stillome.pipeline.work import Work

MIN_UNSEEN = 60  # of whom 30 % are enough to be probed only just
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
    probed, notes = _in_the_cohort(work), []
    if len(work.known) < work.cohort.n_subjects:
        n_unknown = work.cohort.n_subjects - len(work.known)
        notes.append(f"The motion of {n_unknown} subjects is unknown; they were not probed.")
    if len(work.known) < MIN_UNSEEN:
        notes.append(
            f"No certificate of unseen subjects: {len(work.known)} subjects are too few to hold "
            f"some out; {MIN_UNSEEN} are needed."
        )
    else:
        probed += _unseen(work)
    jobs = [_certificate(work, part) for part in probed]
    found = run_jobs(jobs, n_jobs=work.n_jobs, progress=work.progress)
    tables = [_table(part, one) for part, one in zip(probed, found, strict=True)]
    work.write_table("certificates.tsv", pd.concat(tables, ignore_index=True))
    content = {
        "sentences": _sentences(probed, found),
        "level": found[0].level,
        "n_permutations": N_PERMUTATIONS,
        "notes": notes,
    }
    work.write_json("certificates.json", content)


def _in_the_cohort(work: Work) -> list[Probed]:
    known, settings = work.known, work.settings
    probed = [Probed("cohort", RAW, "connectomes", known, work.cohort.connectomes[known])]
    for name in settings.baselines:
        other = fit_baseline(work, name)
        probed.append(Probed("cohort", name, "connectomes", known, other.adjusted))
        probed.append(Probed("cohort", name, "z", known, other.latents))
    probed.append(Probed("cohort", settings.method, "connectomes", known, work.adjusted[known]))
    probed.append(Probed("cohort", settings.method, "z", known, work.latents[known]))
    return probed


def _unseen(work: Work) -> list[Probed]:
    """Fit to 70 % of the subjects (whole groups), and apply to the others."""
    labels = group_labels(work.groups, work.cohort.n_subjects)
    train, test = inner_split(
        work.known, labels, share=UNSEEN_SHARE, random_state=work.settings.seed
    )
    train, test = np.sort(train), np.sort(test)
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


def _sentences(probed: list[Probed], found: list[LeakageCertificate]) -> list[dict[str, Any]]:
    raw = {part.use: one for part, one in zip(probed, found, strict=True) if part.method == RAW}
    return [
        {
            "use": part.use,
            "method": part.method,
            "features": part.features,
            "passed": one.passed,
            "sentence": one.sentence(_words(part), None if part.method == RAW else raw[part.use]),
        }
        for part, one in zip(probed, found, strict=True)
    ]


def _words(part: Probed) -> str:
    of_whom = " of unseen subjects" if part.use == "unseen" else ""
    if part.method == RAW:
        return f"the raw connectomes{of_whom}"
    what = "z" if part.features == "z" else "the adjusted connectomes"
    return f"{what}{of_whom} ({part.method})"

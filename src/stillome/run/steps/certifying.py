"""Certify whether motion can be read: as scanned, after the baselines, after the method.

Each is probed twice: in subjects the model has not seen, by cross-fitting, and in the subjects the
model was fitted to.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.stored_matrices import some_matrices
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation.sliced import is_sliced
from stillome.evaluate.graph_measures import graph_measures
from stillome.evaluate.graph_motion import graph_motion
from stillome.evaluate.leakage.certificate import Kind, repeated_certificate
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.leakage.power import (
    Power,
    smallest_detected,
    smallest_detected_in_latents,
)
from stillome.run.folder import RunFolder
from stillome.run.method_parameters import AUTO, WEIGHT
from stillome.run.parallel import Workers
from stillome.run.run_certificates import RAW, RunCertificate
from stillome.run.steps.cross_fitting import (
    N_PARTS,
    CrossFitted,
    Labels,
    cross_fit,
    divisions,
)
from stillome.run.steps.kept_parts import kept_certificate, place_of_part, remove_parts

N_PERMUTATIONS = 500
LEVEL = 0.05


class Probed(NamedTuple):
    """What is probed, and what it is called in the tables."""

    use: str  # "cohort" or "unseen"; of `keeping.tsv`, "keeping-0" or "keeping-1"
    method: str
    features: str  # "connectomes" or "z"
    values: list[Any]  # of the known subjects, one for each repeat
    within: list[Labels] | None = None


def certify_step(folder: RunFolder, workers: Workers) -> None:
    """Write one certificate for each kind of features, in unseen subjects and in the cohort."""
    notes = _notes(folder)
    probed = _in_the_cohort(folder)
    within, fitted = divisions(folder), None
    power: dict[str, dict[str, float | None]] = {}
    if isinstance(within, str):
        notes.append(f"Nothing is known about subjects the model has not seen: {within}.")
    else:
        fitted = cross_fit(folder, workers, (folder.method, *folder.settings.baselines), within)
        probed += _unseen(folder, fitted)
        if folder.settings.parameters.get(WEIGHT) == AUTO:
            notes.append("The invariance weight was chosen with all subjects, also the unseen.")
    # The method of a run may be "raw" itself.
    probed = list({part[:3]: part for part in probed}.values())
    found = workers.run([_certificate(folder, part) for part in probed])
    certificates = [
        RunCertificate(part.use, part.method, part.features, len(folder.known), one)
        for part, one in zip(probed, found, strict=True)
    ]
    if fitted is not None and not isinstance(within, str):
        n_probes = {c.features: len(c.found.table) for c in certificates}
        if is_sliced(folder.cohort.connectomes):
            notes.append("How much leakage would be detected is not measured in large cohorts.")
        else:
            power = _power(folder, workers, fitted[folder.method], n_probes)
        if folder.kept is not None:
            _write_keeping(folder, workers, fitted[folder.method][0])
    folder.write_table("certificates", pd.concat([c.rows() for c in certificates]))
    folder.write_table("graph_motion", _graph_motion(folder, workers, fitted))
    content = {
        "level": LEVEL,
        "n_permutations": N_PERMUTATIONS,
        "parts": N_PARTS,
        "repeats": 0 if isinstance(within, str) else len(within),
        "power": power,
        "notes": notes,
    }
    folder.write_json("certificate_notes", content)
    remove_parts(folder)


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
    raw = some_matrices(folder.cohort.connectomes, known)
    probed = [Probed("cohort", RAW, "connectomes", [raw])]
    answers = {name: folder.baseline(name) for name in folder.settings.baselines}
    ours = (folder.latents[known], some_matrices(folder.adjusted, known))
    for name, (latents, adjusted) in [*answers.items(), (folder.method, ours)]:
        probed.append(Probed("cohort", name, "connectomes", [adjusted]))
        probed.append(Probed("cohort", name, "z", [latents]))
    return probed


def _unseen(folder: RunFolder, fitted: dict[str, list[CrossFitted]]) -> list[Probed]:
    """Probe raw connectomes, baselines and the method in the same subjects and parts."""
    repeats = fitted[folder.method]
    within = [one.within for one in repeats]
    raw = [_raw_edges(folder)] * len(repeats)
    probed = [Probed("unseen", RAW, "connectomes", raw, within)]
    for name in (*folder.settings.baselines, folder.method):
        edges, latents = ([getattr(one, part) for one in fitted[name]] for part in _PARTS)
        probed.append(Probed("unseen", name, "connectomes", edges, within))
        probed.append(Probed("unseen", name, "z", latents, within))
    return probed


_PARTS = ("adjusted", "latents")


def _raw_edges(folder: RunFolder) -> Any:
    return _edges(some_matrices(folder.cohort.connectomes, folder.known))


def _edges(connectomes: Any) -> Any:
    """Return edges (n, E); of connectomes in a file, such as are read in slices."""
    if is_sliced(connectomes):
        return SubjectRows(connectomes)
    return matrices_to_edges(connectomes, check=False)


def _given(folder: RunFolder, *, nuisance: bool = True) -> dict[str, Any]:
    """Return what all tests of the known subjects share."""
    known = folder.known
    return {
        "nuisance": folder.kept[known] if folder.kept is not None and nuisance else None,
        "groups": None if folder.groups is None else folder.groups[known],
        "random_state": folder.settings.seed,
    }


def _certificate(
    folder: RunFolder, part: Probed, *, nuisance: bool = True
) -> Callable[[], LeakageCertificate]:
    kind: Kind = "counts" if part.features == "connectomes" else "features"
    make = partial(
        repeated_certificate,
        part.values,
        folder.confounds[folder.known],
        within=part.within,
        kind=kind,
        n_permutations=N_PERMUTATIONS,
        level=LEVEL,
        **_given(folder, nuisance=nuisance),
    )
    return partial(kept_certificate, place_of_part(folder, "-".join(part[:3])), make)


def _power(
    folder: RunFolder, workers: Workers, repeats: list[CrossFitted], n_probes: dict[str, int]
) -> dict[str, dict[str, float | None]]:
    """Find the smallest leakage that would have been detected in connectomes and in z."""
    confounds = folder.confounds[folder.known]
    given = _given(folder) | {
        "within": [one.within for one in repeats],
        "n_permutations": N_PERMUTATIONS,
    }
    # What Holm's correction asks of the smallest p-value.
    levels = {features: LEVEL / n for features, n in n_probes.items()}
    edges, latents = ([getattr(one, part) for one in repeats] for part in _PARTS)
    jobs = [
        partial(
            smallest_detected,
            *(edges, _raw_edges(folder), confounds),
            level=levels["connectomes"],
            **given,
        ),
        partial(smallest_detected_in_latents, latents, confounds, level=levels["z"], **given),
    ]
    return dict(zip(("connectomes", "z"), map(_plain, workers.run(jobs)), strict=True))


def _plain(power: Power) -> dict[str, float | None]:
    """Return the power as JSON can hold it, which has no NaN."""
    return {name: value if np.isfinite(value) else None for name, value in power._asdict().items()}


def _write_keeping(folder: RunFolder, workers: Workers, kept: CrossFitted) -> None:
    """Certify the first repeat with and without keeping covariates, which are not set aside."""
    fitted = cross_fit(folder, workers, [folder.method], [kept.within], keep=False)
    both = {True: kept, False: fitted[folder.method][0]}
    jobs = [
        _certificate(
            folder,
            Probed(f"keeping-{keep:d}", folder.method, "connectomes", [one.adjusted], [one.within]),
            nuisance=False,
        )
        for keep, one in both.items()
    ]
    tables = [
        found.table.reset_index().assign(kept=keep)
        for keep, found in zip(both, workers.run(jobs), strict=True)
    ]
    folder.write_table("keeping", pd.concat(tables, ignore_index=True))


def _graph_motion(
    folder: RunFolder, workers: Workers, fitted: dict[str, list[CrossFitted]] | None
) -> pd.DataFrame:
    """Correlate graph measures with motion, before and after, in both uses."""
    known, method = folder.known, folder.method
    values = [_raw_edges(folder), _edges(some_matrices(folder.adjusted, known))]
    repeats = [] if fitted is None else fitted[method]
    values += [one.adjusted for one in repeats]
    raw, ours, *unseen = workers.run([partial(graph_measures, one) for one in values])
    sets: list[tuple[str, str, list[pd.DataFrame], list[Labels] | None]] = [
        ("cohort", RAW, [raw], None),
        ("cohort", method, [ours], None),
    ]
    if repeats:
        within = [one.within for one in repeats]
        sets.append(("unseen", RAW, [raw] * len(repeats), within))
        sets.append(("unseen", method, unseen, within))
    rows = []
    for use, name, tables, labels in sets:
        found = graph_motion(tables, folder.motion[known, 0], within=labels, **_given(folder))
        rows.append(found.reset_index().assign(use=use, method=name))
    table = pd.concat(rows, ignore_index=True).drop_duplicates(["use", "method", "measure"])
    return table[["use", "method", *(name for name in table if name not in ("use", "method"))]]

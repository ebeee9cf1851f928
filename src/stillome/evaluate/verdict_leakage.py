"""Checks of a verdict that ask whether motion was there, and whether it is left."""

import numpy as np

from stillome.evaluate.leakage.certificate_record import FEW_SUBJECTS, LeakageCertificate
from stillome.evaluate.verdict_evidence import Check, Evidence, State
from stillome.evaluate.words import listed, number, p_equals

# Leakage is small where the R² is below this, or below a tenth of that of the raw connectomes; it
# is large where more than half of the R² of the raw connectomes is left.
_SMALL_R2, _SMALL_PART, _LARGE_PART = 0.05, 0.1, 0.5


def motion_was_there(evidence: Evidence) -> Check | None:
    """Ask whether there was anything to remove."""
    raw, removed = evidence.unseen_raw or evidence.raw, evidence.removed
    if raw is None:
        return None
    question = f"Did {removed} affect the connectomes as scanned?"
    if raw.passed:
        answer = (
            f"No probe reads {removed} from the connectomes as scanned: there was little to "
            "remove, or too few subjects to notice."
        )
        return Check(question, "unknown", answer)
    reads = "reads" if raw.n_reading == 1 else "read"
    return Check(
        question,
        "good",
        f"Yes: {raw.n_reading} of {len(raw.table)} probes {reads} {removed} in subjects they were "
        f"not trained on ({raw.probes_named()}).",
    )


def unseen(evidence: Evidence, found: LeakageCertificate | None, name: str) -> Check | None:
    """Ask whether motion is gone in subjects the model has not seen."""
    if found is None:
        return None
    question = f"{evidence.gone} from {name} of subjects the model has not seen?"
    state, text = _left(found, evidence.unseen_raw, evidence)
    if state in ("good", "unknown"):
        return Check(question, state, text)
    advice = {
        "bad": "Fit the model to more subjects, or try another method.",
        "caution": f"Keep {evidence.removed} as a covariate in group analyses; more subjects to "
        "fit to leave less.",
    }
    return Check(question, state, f"{text} {advice[state]}")


def in_the_cohort(evidence: Evidence, found: LeakageCertificate | None, name: str) -> Check | None:
    """Ask whether motion is gone in the subjects the model was fitted to."""
    if found is None:
        return None
    question = f"{evidence.gone} from {name} in the subjects the model was fitted to?"
    state, text = _left(found, evidence.raw, evidence)
    advice = {
        "good": "",
        "unknown": "",
        "caution": f" Keep {evidence.removed} as a covariate in group analyses.",
        "bad": " Check the motion measure and the flagged subjects, or try another method.",
    }
    return Check(question, state, text + advice[state])


def _left(
    found: LeakageCertificate, raw: LeakageCertificate | None, evidence: Evidence
) -> tuple[State, str]:
    before = "" if raw is None else f"; as scanned {number(raw.worst_r2)}"
    told = f"({found.probes_named()}{before})."
    if found.passed:
        outcome = f"no probe of {len(found.table)} reads {evidence.removed}"
        if evidence.n_subjects < FEW_SUBJECTS:
            few = f"with {evidence.n_subjects} subjects that says little"
            return "unknown", f"{outcome[0].upper()}{outcome[1:]}, but {few} {told}"
        return "good", f"Yes: {outcome} {told}"
    small = _is_small(found, raw)
    reads = "reads" if found.n_reading == 1 else "read"
    text = (
        f"{'Almost' if small else 'No'}: {found.n_reading} of {len(found.table)} probes {reads} "
        f"{evidence.removed} {told}"
    )
    large = not small and (raw is None or found.worst_r2 > _LARGE_PART * max(raw.worst_r2, 0))
    return ("bad" if large else "caution"), text


def _is_small(found: LeakageCertificate, raw: LeakageCertificate | None) -> bool:
    before = 0.0 if raw is None else raw.worst_r2
    return found.worst_r2 <= max(_SMALL_R2, _SMALL_PART * before)


def graph_check(evidence: Evidence) -> Check | None:
    """Ask whether graph measures of unseen subjects still go with motion."""
    table = evidence.graph
    if table is None:
        return None
    question = "Are graph measures of subjects the model has not seen free of motion?"
    level = 0.05 if evidence.unseen_adjusted is None else evidence.unseen_adjusted.level
    if table["p_holm"].isna().all():
        return Check(question, "unknown", "Not known: none of them differs between subjects.")
    left = table[table["p_holm"] <= level]
    told = listed(
        [f"{name} {number(row.r_raw)} → {number(row.r)}" for name, row in table.iterrows()]
    )
    shown = f"rank correlation with motion, as scanned → adjusted: {told}"
    if left.empty:
        return Check(question, "good", f"Yes: {shown}.")
    # Within parts: over parts, errors of cross-fitted models have opposite signs.
    small = (left["rms"] ** 2 <= np.maximum(_SMALL_R2, _SMALL_PART * left["rms_raw"] ** 2)).all()
    names = [
        f"{name} (root mean square within parts {number(row.rms)}, {p_equals(row.p_holm)})"
        for name, row in left.iterrows()
    ]
    answer = f"{'Almost' if small else 'No'}: motion is left in {listed(names)}; {shown}."
    return Check(question, "caution" if small else "bad", answer)


def enough_subjects(n_subjects: int) -> Check | None:
    """Say where there are too few subjects for any answer."""
    if n_subjects >= FEW_SUBJECTS:
        return None
    return Check(
        "Were there enough subjects?",
        "unknown",
        f"No: with {n_subjects} subjects, subjects the model has not seen cannot be probed, and "
        f"probes detect only very strong leakage; at least {FEW_SUBJECTS} are needed.",
    )

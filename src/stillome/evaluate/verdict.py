"""The verdict on an adjustment in plain words: what was checked, what came out, what to do."""

from dataclasses import dataclass

import numpy as np

from stillome.evaluate.fidelity import FidelityReport
from stillome.evaluate.leakage.certificate_record import (
    FEW_SUBJECTS,
    LeakageCertificate,
    r2_with_interval,
)
from stillome.evaluate.verdict_evidence import Check, Evidence, State
from stillome.evaluate.verdict_leakage import (
    enough_subjects,
    graph_check,
    in_the_cohort,
    motion_was_there,
    unseen,
)
from stillome.evaluate.verdict_power import power_check
from stillome.evaluate.words import number, percent
from stillome.methods.diagnostics import LatentDiagnostics

STATE_WORDS: dict[State, str] = {
    "good": "passed",
    "caution": "with care",
    "bad": "failed",
    "unknown": "cannot be told",
}
_WORST_FIRST: tuple[State, ...] = ("bad", "unknown", "caution", "good")
_ADVICE: dict[State, str] = {
    "good": "The connectomes adjusted by {method} can be used as they are.",
    "caution": "Read the points marked “with care” before using the connectomes adjusted by "
    "{method}.",
    "bad": "At least one check failed; the connectomes adjusted by {method} should not be analysed "
    "yet.",
    "unknown": "Whether {removed} is left in the connectomes adjusted by {method} is not known.",
}


@dataclass(frozen=True)
class Verdict:
    """The worst state of all checks, a headline, the checks, and notes to the reader.

    Attributes
    ----------
    state : {"good", "caution", "bad", "unknown"}
        ``good`` only where nothing failed, nothing calls for care, and everything is known.
    headline : str
        What holds for subjects the model has not seen; no final full stop.
    advice : str
        What was found in the subjects the model was fitted to, and what to do.
    checks : tuple of Check
    notes : tuple of str
    """

    state: State
    headline: str
    advice: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the verdict as plain text: the headline, one line per check, one per note."""
        checks = [f"{STATE_WORDS[c.state]}: {c.question} {c.answer}" for c in self.checks]
        return [f"{self.headline}. {self.advice}", *checks, *self.notes]


def judge(evidence: Evidence) -> Verdict:
    """Judge an adjustment by its certificates, by what was kept, and by the use of the latent.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Verdict
        Unseen subjects come first. Where they were not probed, or leakage could not have been
        detected, the state is ``unknown`` unless something failed.
    """
    checks = [
        enough_subjects(evidence.n_subjects),
        motion_was_there(evidence),
        _unseen_measured(evidence),
        unseen(evidence, evidence.unseen_adjusted, "the adjusted connectomes"),
        unseen(evidence, evidence.unseen_latents, "the latents z"),
        power_check(evidence),
        graph_check(evidence),
        in_the_cohort(evidence, evidence.adjusted, "the adjusted connectomes"),
        in_the_cohort(evidence, evidence.latents, "the latents z"),
        _kept(evidence.fidelity),
        _latent_used(evidence.diagnostics),
    ]
    known = tuple(check for check in checks if check is not None)
    state = _worst(known, evidence)
    advice = _ADVICE[state].format(method=evidence.method, removed=evidence.removed)
    told = [_fitted_to(evidence), advice]
    return Verdict(
        state,
        _headline(state, evidence),
        " ".join(sentence for sentence in told if sentence),
        known,
        tuple(evidence.notes),
    )


def _worst(checks: tuple[Check, ...], evidence: Evidence) -> State:
    states = {check.state for check in checks}
    if evidence.n_subjects < FEW_SUBJECTS:
        # What was kept, and how many latents are in use, says little about so few subjects;
        # leakage that is found although they are few is there.
        found = [evidence.adjusted, evidence.latents]
        if all(one is None or one.passed for one in found):
            return "unknown"
    return next(one for one in _WORST_FIRST if one in states)


def _headline(state: State, evidence: Evidence) -> str:
    found, removed = evidence.unseen_adjusted, evidence.removed
    if state == "unknown" and (evidence.n_subjects < FEW_SUBJECTS or found is not None):
        return f"Cannot be told with {evidence.n_subjects} subjects"
    if found is None:
        start = "Not convincing; nothing" if state == "bad" else "Nothing"
        return f"{start} is known about subjects the model has not seen"
    latents = evidence.unseen_latents
    left = "can still be read" if state == "bad" else "is reduced, not gone,"
    if not found.passed:
        text = f"{removed} {left} in subjects the model has not seen"
    elif latents is not None and not latents.passed:
        text = f"{removed} {left} in the latents z of subjects the model has not seen"
    else:
        outcome = f"no probe reads {removed} in subjects the model has not seen"
        start = {"caution": "Usable with care; ", "bad": "Not convincing, although "}.get(state, "")
        text = start + outcome
    numbers = _before_and_after(evidence.unseen_raw, found)
    in_z = "" if latents is None else f"; in z {number(latents.worst_r2)}"
    return f"{text[0].upper()}{text[1:]}: {numbers}{in_z}"


def _before_and_after(raw: LeakageCertificate | None, found: LeakageCertificate) -> str:
    after = f"largest R² {r2_with_interval(found.table.loc[found.worst])}"
    if raw is None:
        return after
    return f"{after}, as scanned {r2_with_interval(raw.table.loc[raw.worst])}"


def _fitted_to(evidence: Evidence) -> str:
    """Say what was found in the subjects of the fit, which is the second figure, not the first."""
    if evidence.adjusted is None:
        return ""
    numbers = _before_and_after(evidence.raw, evidence.adjusted)
    return f"In the subjects the model was fitted to: {numbers}."


def _unseen_measured(evidence: Evidence) -> Check | None:
    if evidence.unseen_adjusted is not None or evidence.n_subjects < FEW_SUBJECTS:
        return None
    return Check(
        "Does this hold for subjects the model has not seen?",
        "unknown",
        "Not measured: nothing is known about them.",
    )


def _kept(fidelity: FidelityReport) -> Check:
    question = "Were differences between subjects kept?"
    if np.isfinite(fidelity.r2):
        found, r2 = fidelity.identification, fidelity.r2
        good, poor = found >= 0.9 and r2 >= 0.5, found < 0.5 or r2 < 0
        text = (
            f"{percent(found)} of the adjusted connectomes are nearest to the same subject's true "
            f"motion-free one; agreement with the truth R² {number(r2)}."
        )
    else:
        ratio, means = fidelity.variance_ratio, fidelity.edge_means_r2
        good, poor = 0.5 <= ratio <= 2 and means >= 0.8, ratio < 0.2 or means < 0.3
        text = (
            f"the variance between subjects is {number(ratio)} times that of subjects with small "
            f"motion (1 is ideal, 0 is one network for all); edge means agree by R² "
            f"{number(means)}."
        )
    state: State = "good" if good else "bad" if poor else "caution"
    start = {"good": "Yes: ", "caution": "Partly: ", "bad": "No: "}[state]
    return Check(question, state, start + text)


def _latent_used(diagnostics: LatentDiagnostics | None) -> Check | None:
    if diagnostics is None:
        return None
    question = "Do the latents hold information about the subjects?"
    told = (
        f"{diagnostics.active_units} of {len(diagnostics.kl_per_dimension)} dimensions are active, "
        f"{number(diagnostics.kl, 1)} nats in all."
    )
    if diagnostics.collapsed:
        answer = f"No, posterior collapse: {told} Latents without information look motion-free."
        return Check(question, "bad", answer)
    return Check(question, "good", f"Yes: {told}")

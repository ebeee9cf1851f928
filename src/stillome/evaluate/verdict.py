"""The verdict on an adjustment in plain words: what was checked, what came out, what to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stillome.cohort.confound_coding import in_words
from stillome.evaluate.fidelity import FidelityReport
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.words import number, percent, read_r2
from stillome.methods.diagnostics import LatentDiagnostics

State = Literal["good", "caution", "bad", "unknown"]
STATE_WORDS: dict[State, str] = {
    "good": "passed",
    "caution": "with care",
    "bad": "failed",
    "unknown": "cannot be told",
}

# Leakage is small where the R² is below this, or below a tenth of that of the raw connectomes.
_SMALL_R2, _SMALL_PART = 0.05, 0.1
_FEW_SUBJECTS = 60


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a verdict is based on; None is what was not measured.

    Attributes
    ----------
    method : str
        Name of the method in running text.
    n_subjects : int
        Of the cohort.
    raw, adjusted, latents : LeakageCertificate or None
        Of the connectomes before and after, and of z, in the subjects of the fit.
    unseen_adjusted, unseen_latents : LeakageCertificate or None
        The same in subjects who were held out of the fit.
    n_unseen : int
        How many these are.
    fidelity : FidelityReport
    diagnostics : LatentDiagnostics or None
    others : sequence of str
        What was removed besides motion (site, scanner).
    notes : sequence of str
        Sentences to be said with the verdict.
    """

    method: str
    n_subjects: int
    raw: LeakageCertificate | None
    adjusted: LeakageCertificate | None
    latents: LeakageCertificate | None
    fidelity: FidelityReport
    unseen_adjusted: LeakageCertificate | None = None
    unseen_latents: LeakageCertificate | None = None
    n_unseen: int = 0
    diagnostics: LatentDiagnostics | None = None
    others: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def removed(self) -> str:
        """What was removed: "motion", or "motion or site"."""
        return in_words(self.others)


@dataclass(frozen=True)
class Check:
    """One question, and its answer."""

    question: str
    state: State
    answer: str


@dataclass(frozen=True)
class Verdict:
    """The worst state of all checks, a headline, the checks, and notes to the reader."""

    state: State
    headline: str
    advice: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the verdict as plain text: the headline, one line per check, one per note."""
        checks = [f"{STATE_WORDS[c.state]}: {c.question} {c.answer}" for c in self.checks]
        return [f"{self.headline}. {self.advice}", *checks, *self.notes]


_WORDS: dict[State, tuple[str, str]] = {
    "good": (
        "Motion was removed, and differences between subjects were kept",
        "The connectomes adjusted by {method}, and its latents, can be used as they are.",
    ),
    "caution": (
        "Usable, with care",
        "Read the points marked “with care” before using the connectomes adjusted by {method}.",
    ),
    "bad": (
        "Not convincing: do not use these results as they are",
        "At least one check failed; the connectomes adjusted by {method} should not be analysed "
        "yet.",
    ),
    "unknown": (
        "Cannot be told with these subjects",
        "There are too few subjects to find out whether motion is left in the connectomes "
        "adjusted by {method}.",
    ),
}


def judge(evidence: Evidence) -> Verdict:
    """Judge an adjustment by its certificates, by what was kept, and by the use of the latent.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Verdict
        ``good`` only where nothing failed and nothing calls for care.
    """
    checks = [
        _motion_was_there(evidence),
        _removed(evidence, evidence.adjusted, "the adjusted connectomes"),
        _removed(evidence, evidence.latents, "the latents z"),
        _unseen(evidence),
        _kept(evidence.fidelity),
        _latent_used(evidence.diagnostics),
        _enough(evidence.n_subjects),
    ]
    known = tuple(check for check in checks if check is not None)
    states = {check.state for check in known}
    order: tuple[State, ...] = ("bad", "unknown", "caution", "good")
    state = next(one for one in order if one in states)
    headline, advice = _WORDS[state]
    advice = advice.format(method=evidence.method)
    return Verdict(state, headline, advice, known, tuple(evidence.notes))


def _motion_was_there(evidence: Evidence) -> Check | None:
    raw, removed = evidence.raw, evidence.removed
    if raw is None:
        return None
    question = f"Did {removed} affect the raw connectomes?"
    if raw.passed:
        answer = f"No probe reads {removed} from the raw connectomes: there was little to remove."
        return Check(question, "caution", answer)
    return Check(
        question,
        "good",
        f"Yes: probes predict {removed} of subjects they were not trained on from the raw "
        f"connectomes (R² {read_r2(raw.worst_r2)}).",
    )


def _removed(evidence: Evidence, found: LeakageCertificate | None, name: str) -> Check | None:
    if found is None:
        return None
    verb = "Are" if evidence.others else "Is"
    question = f"{verb} {in_words(evidence.others, 'and')} gone from {name}?"
    if found.passed:
        return Check(
            question,
            "good",
            f"Yes: none of {len(found.table)} probes beats permuted {evidence.removed} (worst: "
            f"{found.worst}, R² {read_r2(found.worst_r2)}).",
        )
    state, text = _what_is_left(found, evidence)
    return Check(question, state, f"{text} {_advice(state)}")


def _what_is_left(found: LeakageCertificate, evidence: Evidence) -> tuple[State, str]:
    shown = found.table.loc[found.clearest]
    left = float(np.nanmax([shown["r2"], found.worst_r2]))
    before = evidence.raw.worst_r2 if evidence.raw is not None else float("nan")
    small = left <= _SMALL_R2 or left <= _SMALL_PART * before
    reads = "reads" if found.n_reading == 1 else "read"
    text = (
        f"{'Almost' if small else 'No'}: {found.n_reading} of {len(found.table)} probes {reads} "
        f"{evidence.removed} (clearest: {found.clearest}, R² {read_r2(shown['r2'])}; worst R² "
        f"{read_r2(left)}" + (f", raw {read_r2(before)})." if np.isfinite(before) else ").")
    )
    return ("caution" if small else "bad"), text


def _advice(state: State) -> str:
    if state == "caution":
        return "What is left is small; keep motion as a covariate in group analyses."
    return "Check the motion measure and the flagged subjects, or try another method."


def _unseen(evidence: Evidence) -> Check | None:
    both = {
        "adjusted connectomes": evidence.unseen_adjusted,
        "latents": evidence.unseen_latents,
    }
    found = {name: one for name, one in both.items() if one is not None}
    if not found:
        return None
    question = "Does this hold for subjects who were not in the fit?"
    failed = {name: one for name, one in found.items() if not one.passed}
    if not failed:
        worst = max(one.worst_r2 for one in found.values())
        return Check(
            question,
            "good",
            f"Yes: fitted without {evidence.n_unseen} subjects and applied to them, no probe "
            f"reads {evidence.removed} (worst R² {read_r2(worst)}).",
        )
    name, one = next(iter(failed.items()))
    _, text = _what_is_left(one, evidence)
    return Check(
        question,
        "caution",
        f"{text} That is from the {name} of {evidence.n_unseen} held-out subjects: fit the model "
        "to the subjects you want to adjust, or to more subjects.",
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


def _enough(n_subjects: int) -> Check | None:
    if n_subjects >= _FEW_SUBJECTS:
        return None
    return Check(
        "Were there enough subjects?",
        "caution",
        f"{n_subjects} subjects: probes detect strong leakage of motion only; weak leakage is "
        "missed.",
    )

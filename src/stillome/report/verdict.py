"""The verdict in plain words: what was checked, what came out, and what to do about it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from stillome.report.certificates import Certificate, certificate
from stillome.report.results import Results
from stillome.report.words import number, read_r2, share

State = Literal["good", "caution", "bad"]

# A probe that reads less than this, or less than a tenth of what it read before, is a remainder.
_SMALL_R2, _SMALL_PART = 0.05, 0.1
_FEW_SUBJECTS = 60
_COLLAPSE_NATS = 1.0


@dataclass(frozen=True)
class Check:
    """One question, and how it was answered."""

    question: str
    state: State
    answer: str


@dataclass(frozen=True)
class Verdict:
    """The worst state of all checks, a headline, and the checks themselves."""

    state: State
    headline: str
    advice: str
    checks: tuple[Check, ...]


_WORDS: dict[State, tuple[str, str]] = {
    "good": (
        "Motion was removed, and the people are still there",
        "The adjusted connectomes and the latents can be used as they are.",
    ),
    "caution": (
        "Usable, with care",
        "Read the points marked with care below before using the adjusted connectomes.",
    ),
    "bad": (
        "Not convincing: do not use these results as they are",
        "At least one point below failed; the adjusted connectomes should not be analysed yet.",
    ),
}


def judge(results: Results) -> Verdict:
    """Judge a run by its certificates, by what was kept, and by whether the latent is in use.

    Parameters
    ----------
    results : Results

    Returns
    -------
    Verdict
        ``good`` only where nothing failed and nothing calls for care.
    """
    raw = certificate(results, "cohort", "raw", "connectomes")
    checks = [
        _motion_was_there(raw, results.removed),
        _removed(results, "connectomes", "the adjusted connectomes", raw),
        _removed(results, "z", "the latents z", raw),
        _unseen(results, raw),
        _kept(results),
        _latent_used(results),
        _enough(results),
    ]
    known = tuple(check for check in checks if check is not None)
    states = {check.state for check in known}
    state: State = "bad" if "bad" in states else "good" if states == {"good"} else "caution"
    headline, advice = _WORDS[state]
    return Verdict(state, headline, advice, known)


def _motion_was_there(raw: Certificate | None, removed: str) -> Check | None:
    if raw is None:
        return None
    question = f"Did {removed} mark the scans?"
    if raw.passed:
        return Check(
            question,
            "caution",
            f"No probe reads {removed} from the connectomes as scanned: there was little to "
            "remove.",
        )
    return Check(
        question,
        "good",
        f"Yes: a probe that never saw a subject reads that subject's {removed} from the "
        f"connectome as scanned (R² {read_r2(raw.worst_r2)}).",
    )


def _removed(results: Results, features: str, name: str, raw: Certificate | None) -> Check | None:
    found = certificate(results, "cohort", results.method, features)
    if found is None:
        return None
    question = f"{_gone(results)} from {name}?"
    if found.passed:
        return Check(
            question,
            "good",
            f"Yes: none of {len(found.table)} probes beats permuted {results.removed} (worst: "
            f"{found.worst}, R² {read_r2(found.worst_r2)}).",
        )
    state, text = _what_is_left(found, raw, results.removed)
    return Check(question, state, f"{text} {_advice(state)}")


def _gone(results: Results) -> str:
    return f"{'Are' if results.others else 'Is'} {results.sought} gone"


def _what_is_left(found: Certificate, raw: Certificate | None, removed: str) -> tuple[State, str]:
    shown = found.table.loc[found.clearest]
    left = float(np.nanmax([shown["r2"], found.worst_r2]))
    before = raw.worst_r2 if raw is not None else float("nan")
    small = left <= _SMALL_R2 or left <= _SMALL_PART * before
    reads = "probe reads" if found.n_reading == 1 else "probes read"
    text = (
        f"{'Almost' if small else 'No'}: {found.n_reading} of {len(found.table)} {reads} {removed} "
        f"(clearest: {found.clearest}, R² {read_r2(shown['r2'])}; worst R² {read_r2(left)}"
        + (f", as scanned {read_r2(before)})." if np.isfinite(before) else ").")
    )
    return ("caution" if small else "bad"), text


def _advice(state: State) -> str:
    if state == "caution":
        return "What is left is small; keep motion as a covariate in group analyses."
    return "Check the motion measure and the flagged subjects, or try another method."


def _unseen(results: Results, raw: Certificate | None) -> Check | None:
    both = [
        certificate(results, "unseen", results.method, features)
        for features in ("connectomes", "z")
    ]
    found = [one for one in both if one is not None]
    if not found:
        return None
    question = "Does it hold for people the model has not seen?"
    failed = [one for one in found if not one.passed]
    if not failed:
        worst = max(one.worst_r2 for one in found)
        return Check(
            question,
            "good",
            f"Yes: fitted without {found[0].n_subjects} subjects and applied to them, no probe "
            f"reads {results.removed} (worst R² {read_r2(worst)}).",
        )
    names = {"connectomes": "adjusted connectomes", "z": "latents"}
    _, text = _what_is_left(failed[0], raw, results.removed)
    return Check(
        question,
        "caution",
        f"{text} That is from the {names[failed[0].features]} of {failed[0].n_subjects} held-out "
        "subjects: fit the model to the people you want to adjust, or to more people.",
    )


def _kept(results: Results) -> Check | None:
    rows = results.fidelity[results.fidelity["method"] == results.method]
    if rows.empty:
        return None
    row = rows.iloc[0]
    question = "Are they still the same people?"
    if np.isfinite(row["r2"]):
        found, r2 = float(row["identification"]), float(row["r2"])
        good, poor = found >= 0.9 and r2 >= 0.5, found < 0.5 or r2 < 0
        text = (
            f"{share(found)} of the adjusted connectomes are nearest to the same person's true "
            f"motion-free one; agreement with the truth R² {number(r2)}."
        )
    else:
        ratio, means = float(row["variance_ratio"]), float(row.get("edge_means_r2", np.nan))
        good, poor = 0.5 <= ratio <= 2 and means >= 0.8, ratio < 0.2 or means < 0.3
        text = (
            f"differences between people are {number(ratio)} times those of people who hardly "
            f"moved (1 is ideal, 0 is one network for all); edge means agree by R² {number(means)}."
        )
    state: State = "good" if good else "bad" if poor else "caution"
    start = {"good": "Yes: ", "caution": "Partly: ", "bad": "No: "}[state]
    return Check(question, state, start + text)


def _latent_used(results: Results) -> Check | None:
    kl = results.diagnostics.get("kl_per_unit")
    if not kl:
        return None
    active, total = int(results.diagnostics.get("active_units", 0)), float(np.sum(kl))
    question = "Does the latent say anything about the person?"
    told = f"{active} of {len(kl)} units are in use, {number(total, 1)} nats in all."
    if active == 0 or total < _COLLAPSE_NATS:
        return Check(
            question, "bad", f"No, it has collapsed: {told} An empty latent looks free of motion."
        )
    return Check(question, "good", f"Yes: {told}")


def _enough(results: Results) -> Check | None:
    n = results.cohort.n_subjects
    if n >= _FEW_SUBJECTS:
        return None
    return Check(
        "Were there enough subjects?",
        "caution",
        f"{n} subjects: probes find large remainders of motion only; small ones go unnoticed.",
    )

"""The check of a verdict that asks whether leakage would have been noticed."""

import numpy as np

from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.leakage.power import POWER, Power
from stillome.evaluate.verdict_evidence import Check, Evidence, State
from stillome.evaluate.words import number, percent

# Limits of the smallest leakage that is detected: up to the first, a certificate that passes is
# trusted; above the second, it says nothing. A third of the motion effect on connectomes is about a
# tenth of its variance, which is where leakage that is found is called small (`verdict_leakage`);
# where motion explains two thirds or more of the variance in a direction of the connectomes, as in
# our simulations, a tenth of that is about a fifth in z. In simulated cohorts
# (benchmarks/cross_fitting.py) connectomes reach the first limit with about 400 subjects and the
# second with 100; z of 20 dimensions with about 300 and 100.
OF_EFFECT = (1 / 3, 0.7)
OF_Z = (0.2, 0.5)
_ORDER: tuple[State, ...] = ("good", "caution", "unknown")


def power_check(evidence: Evidence) -> Check | None:
    """Ask whether leakage would have been detected with these subjects."""
    judged = [
        (evidence.unseen_adjusted, evidence.power, OF_EFFECT),
        (evidence.unseen_latents, evidence.latent_power, OF_Z),
    ]
    states = [
        _state(found, power, limits)
        for found, power, limits in judged
        if found is not None and power is not None
    ]
    if not states:
        return None
    worst = max(states, key=_ORDER.index)
    question = f"Would {evidence.removed} have been noticed in these subjects?"
    told = power_told(evidence.power, evidence.latent_power, evidence.removed)
    start = {"good": "Yes.", "caution": "Only if much is left.", "unknown": "No."}[worst]
    if any(found is not None and not found.passed for found, _, _ in judged):
        start = "It was."
    end = "" if worst == "good" else " More subjects are needed to be sure."
    return Check(question, worst, f"{start} {told}{end}")


def power_told(power: Power | None, latent_power: Power | None, removed: str = "motion") -> str:
    """Say which leakage is detected, in the connectomes and in z; "" where neither is known.

    Examples
    --------
    >>> power_told(Power(0.28, 0.04), Power(0.09, 0.03))  # doctest: +NORMALIZE_WHITESPACE
    'In 80 % of cohorts like this one, ridge regression detects motion if at least 28 % of its
    effect on the connectomes is left (R² 0.04), or if z holds at least 9 % of its variance (R²
    0.03).'
    """
    asked = [
        (
            power,
            "at least {} of its effect on the connectomes is left",
            "all of its effect is left",
        ),
        (latent_power, "z holds at least {} of its variance", "z holds nearly all of its variance"),
    ]
    enough = [
        f"{text.format(percent(one.share))} (R² {number(one.r2)})"
        for one, text, _ in asked
        if one is not None and not np.isnan(one.share)
    ]
    never = [
        f"{text} (R² {number(one.r2)})"
        for one, _, text in asked
        if one is not None and np.isnan(one.share)
    ]
    told = []
    if enough:
        told.append(
            f"In {percent(POWER)} of cohorts like this one, ridge regression detects {removed} if "
            f"{', or if '.join(enough)}."
        )
    if never:
        told.append(
            f"Ridge regression does not reliably detect {removed} even if "
            f"{', or if '.join(never)}: finding nothing says nothing."
        )
    return " ".join(told)


def _state(found: LeakageCertificate, power: Power, limits: tuple[float, float]) -> State:
    if not found.passed or power.share <= limits[0]:
        return "good"
    return "caution" if power.share <= limits[1] else "unknown"

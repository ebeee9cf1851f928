"""The same claims from runs with several seeds, as one: figures with intervals over seeds."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stillome.studies.judged import fulfilled, interval_over_seeds
from stillome.studies.study import (
    AS_PUBLISHED,
    FAILS,
    GATE,
    HOLDS,
    INV_FA,
    MODEL,
    NO_VERDICT,
    OF_GATE,
    ONLY_INV_FA,
    UNTESTABLE,
    Claim,
    Verdict,
    verdict,
)

WORST_LAST = (HOLDS, ONLY_INV_FA, FAILS, UNTESTABLE, NO_VERDICT)
CELLS = ("as_published", "converged", "gate", "gate_converged", "inv_fa")
PROSE = ("tested", "why")
_NUMBER = r"[−+-]?\d+(?:\.\d+)?"
# Not what is set, as in "c = 0.5".
_FIGURE = re.compile(rf"(?<![\w.])(?<!= )({_NUMBER})(?: \[({_NUMBER}), ({_NUMBER})\])?(?![\w.]*\w)")
_PASSED = re.compile(r"(?<=, )(passes|fails \(p = [^)]*\))")
_TOLD = "\0"
# How the brackets of one seed were made; those of several are intervals over seeds.
_BRACKETS = re.compile(r" \[(?:95 %|min, max)[^\]]*\]")


def over_seeds(runs: Sequence[Sequence[Claim]], *, simulated: bool = True) -> list[Claim]:
    """Join the claims of the same study with several seeds.

    Parameters
    ----------
    runs : sequence of sequences of Claim
        One for each seed, the same claims in the same order.
    simulated : bool, default=True
        Whether each seed simulated other subjects. If so, verdicts are given by the intervals over
        seeds. Otherwise seeds differ in the fit only, and the worst verdict of all seeds counts.
    """
    if len(runs) == 1:
        return list(runs[0])
    return [_joined(same, simulated=simulated) for same in zip(*runs, strict=True)]


def _joined(same: Sequence[Claim], *, simulated: bool) -> Claim:
    verdicts = [claim.verdict for claim in same]
    worst = max(verdicts, key=WORST_LAST.index)
    found = (_verdict(same) or worst) if simulated else worst
    texts: dict[str, Any] = {
        field: over_seeds_in_words([getattr(claim, field) for claim in same]) for field in CELLS
    }
    texts |= {
        field: over_seeds_in_words([getattr(claim, field) for claim in same], plain=True)
        for field in PROSE
    }
    texts["tested"] = _BRACKETS.sub("", texts["tested"])
    if len(set(verdicts)) > 1:
        texts["why"] += f" By seed alone: {', '.join(verdicts)}."
    return replace(same[0], **texts, verdict=found)


def _verdict(same: Sequence[Claim]) -> Verdict | None:
    """Return the verdict by intervals over seeds; None if the claim has no figures for it."""
    undecided = any(claim.verdict in (UNTESTABLE, NO_VERDICT) for claim in same)
    if undecided or not all(claim.judged for claim in same):
        return None

    def holds(method: str) -> bool:
        figures = zip(*(claim.judged for claim in same), strict=True)
        return all(fulfilled(figure, method) for figure in figures)

    if same[0].about == OF_GATE:
        return HOLDS if holds(GATE) else FAILS
    if same[0].about == MODEL:
        return verdict(published=holds(AS_PUBLISHED), inv_fa=holds(INV_FA))
    return None


def over_seeds_in_words(texts: Sequence[str], *, plain: bool = False) -> str:
    """Join texts that differ in their numbers: a mean over seeds, and its interval.

    Parameters
    ----------
    texts : sequence of str
        One for each seed. Numbers that are the same in all stay as they are.
    plain : bool, default=False
        Whether numbers that had no interval get none.

    Examples
    --------
    >>> over_seeds_in_words(["0.50 [0.40, 0.60], passes", "0.54 [0.45, 0.65], passes"])
    '0.52 [0.27, 0.77], passes with every seed'
    >>> over_seeds_in_words(["z 0.1 at 0.5", "z 0.3 at 0.5"], plain=True)
    'z 0.2 at 0.5'
    """
    if len(set(texts)) == 1 and not _FIGURE.search(texts[0]):
        return texts[0]
    passed = [sum(found == "passes" for found in _PASSED.findall(text)) for text in texts]
    bare = [_PASSED.sub(_TOLD, text) for text in texts]
    if len({_FIGURE.sub("#", text) for text in bare}) > 1:
        # They differ in words; a sentence three times over would not be read.
        return f"{texts[0]} (Of the first seed.)" if plain else " · ".join(texts)
    found = iter(zip(*(_FIGURE.findall(text) for text in bare), strict=True))
    merged = _FIGURE.sub(lambda _: _figure(next(found), plain=plain), bare[0])
    return merged.replace(_TOLD, _passes(sum(passed), len(texts)))


def _figure(same: Sequence[tuple[str, str, str]], *, plain: bool) -> str:
    """Write one figure over seeds, with as many decimals as it had."""
    written = [value for value, _, _ in same]
    ranged = bool(same[0][1])
    if len(set(written)) == 1 and not ranged:
        return written[0]
    decimals = max(len(value.partition(".")[2]) for value in written)
    sign = "+" if any(value.startswith("+") for value in written) else ""
    values = [float(value.replace("−", "-")) for value in written]

    def told(value: float) -> str:
        rounded = round(value, decimals) + 0.0  # no −0.00
        return f"{rounded:{sign}.{decimals}f}".replace("-", "−")

    mean = told(float(np.mean(values)))
    if plain and not ranged:
        return mean
    low, high = map(told, interval_over_seeds(values))
    return f"{mean} [{low}, {high}]"


def _passes(passed: int, seeds: int) -> str:
    often = "every seed" if passed in (0, seeds) else f"{passed} of {seeds} seeds"
    return f"{'passes' if passed else 'fails'} with {often}"

"""What decides about a claim, as numbers: so that runs with several seeds can be judged together.

With one seed a study judges by intervals over subjects or folds. With several seeds, each of which
simulates other subjects, the interval is over seeds: Student's t, 95 %.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats


@dataclass(frozen=True)
class Judged:
    """A figure that must lie above (or below) a bound: its value for each method.

    Examples
    --------
    >>> fulfilled([below({"GATE": r}, 0.75) for r in (0.5, 0.52, 0.51)], "GATE")
    True
    >>> fulfilled([below({"GATE": r}, 0.75) for r in (0.5, 0.74, 0.6)], "GATE")
    False
    """

    values: Mapping[str, float]
    bound: float
    above: bool = True


def above(values: "Mapping[str, Any] | pd.Series[Any]", bound: float) -> Judged:
    """Return a figure that must be above a bound."""
    return Judged(_finite(values), float(bound))


def below(values: "Mapping[str, Any] | pd.Series[Any]", bound: float) -> Judged:
    """Return a figure that must be below a bound."""
    return Judged(_finite(values), float(bound), above=False)


def _finite(values: "Mapping[str, Any] | pd.Series[Any]") -> dict[str, float]:
    return {str(name): float(value) for name, value in values.items() if np.isfinite(value)}


def held(values: "Mapping[str, Any] | pd.Series[Any]") -> Judged:
    """Return a yes or no, which several seeds must answer by yes, every one."""
    return above({str(name): float(value) for name, value in values.items()}, 0.5)


def interval_over_seeds(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a mean over seeds, by Student's t.

    Examples
    --------
    >>> low, high = interval_over_seeds([0.5, 0.6, 0.7])
    >>> round(low, 2), round(high, 2)
    (0.35, 0.85)
    """
    found = np.asarray(values, dtype=float)
    half = stats.t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found))
    return float(found.mean() - half), float(found.mean() + half)


def fulfilled(same: Sequence[Judged], method: str) -> bool:
    """Whether the interval over seeds of one figure lies on the right side of its bound.

    Parameters
    ----------
    same : sequence of Judged
        The figure with every seed; at least two.
    method : str
        A figure that is missing or not a number does not fulfil anything.
    """
    bounds = [one.values.get(method, np.nan) - one.bound for one in same]
    low, high = interval_over_seeds(bounds)
    return bool(low > 0 if same[0].above else high < 0)


def to_text(judged: Sequence[Judged]) -> str:
    """Return figures as JSON, for a cell of a table."""
    return json.dumps([asdict(one) for one in judged])


def from_text(text: str) -> tuple[Judged, ...]:
    """Return the figures that `to_text` wrote; none of a table from before they were kept."""
    return tuple(Judged(**one) for one in json.loads(text)) if text else ()

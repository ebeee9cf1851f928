"""What was measured, from the producer's name for it and from the values."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.io.connectome_data import Holding

_BLOCK_VALUES = 2**20

# The order matters: `sift_invnodevol_radius2_count` is a weight, not a count.
_KINDS: tuple[tuple[str, str], ...] = (
    ("length", r"length|(?<![a-z])len(?![a-z])"),
    ("average", r"(?<![a-z])(mean_?(g?fa|md|ad|rd|qa|od)|g?fa|adc|icvf|isovf)(?![a-z])"),
    # Streamlines divided by the volume of the two regions, and fibre bundle capacity (SIFT2).
    ("weight", r"invnodevol|(?<![a-z])fbc(?![a-z])|fib(re|er)_?bundle_?capacity"),
    ("density", r"normali[sz]ed|(?<![a-z])ncount|densit|(?<![a-z])prob|proportion"),
    ("correlation", r"correl|pconn|(?<![a-z])r2z|functional"),
    ("weight", r"sift|weights?(?![a-z])"),
    # Only where nothing else was said: AD and MD may also be the names of groups and sites.
    ("average", r"(?<![a-z])(md|ad|rd|qa|od)(?![a-z])"),
    ("volume", r"(?<![a-z])vol(ume)?(?![a-z])"),
)
_LOOKS_LIKE = {
    "length": "lengths",
    "density": "normalised densities",
    "correlation": "correlations",
    "volume": "volumes",
}
ACCEPTED = frozenset({"count", "weight"})
AVERAGE = "average"
# Names that say that they are counts; other unknown names might be counts.
_COUNTING = re.compile(r"count|number|(?<![a-z])(n_?fib|nos(?![a-z]))")
_ENTITY = re.compile(r"(?<![a-z0-9])(?:sub|ses)-[a-z0-9]+", re.IGNORECASE)
_DEFAULT = "radius2_count"


class NotCountsError(FileError):
    """A matrix that is not counts (E5); `kind` is its kind of measure."""

    def __init__(self, sentence: str, kind: str) -> None:
        super().__init__(sentence)
        self.kind = kind


class SeveralMatricesError(FileError):
    """Several matrices fit (E6); `choices` names them."""

    def __init__(self, label: str, choices: Sequence[str]) -> None:
        listed = ", ".join(choices)
        super().__init__(
            f"{label} holds several matrices: [{listed}]. Choose atlas=... or measure=...."
        )
        self.choices = tuple(choices)


def kind_of(measure: str) -> str:
    """Return the kind of measure that a producer's name or a file's name stands for.

    Returns
    -------
    {"count", "weight", "length", "density", "correlation", "average", "volume"}
        "average" is an average along streamlines (FA, MD).

    Examples
    --------
    >>> kind_of("sub-A01_desc-desikan_meanlength.csv"), kind_of("radius2_count"), kind_of("sift2")
    ('length', 'count', 'weight')
    """
    words = _ENTITY.sub("", measure).lower()
    return next((kind for kind, pattern in _KINDS if re.search(pattern, words)), "count")


def choose(
    holdings: Sequence[Holding], label: str, *, atlas: str | None, measure: str | None
) -> Holding:
    """Choose one matrix of a file.

    Raises
    ------
    FileError
        If several fit (E6) or none.
    """
    found = [h for h in holdings if atlas is None or _same(h.atlas, atlas)]
    if measure is not None:
        exact = [h for h in found if _same(h.measure, measure)]
        named = exact or [h for h in found if kind_of(h.measure) == measure]
        # The user says what the only matrix of a file is.
        found = named or [_called(h, measure, label) for h in found if len(found) == 1]
        if len(found) == 1 and kind_of(found[0].measure) == AVERAGE:
            raise _average(label, found[0].measure)
    elif len(found) > 1:
        default = [h for h in found if _same(h.measure, _DEFAULT)]
        found = default or _by_kind(found)
    if len(found) == 1:
        return found[0]
    choices = [_described(h) for h in (found or holdings)]
    if not found:
        listed = ", ".join(choices)
        raise FileError(f"{label}: no matrix of that atlas or measure; it holds [{listed}].")
    raise SeveralMatricesError(label, choices)


def choice_note(holdings: Sequence[Holding], chosen: Holding, measure: str | None) -> list[str]:
    """Say which matrix was taken where a file holds several of the same atlas and none was named.

    Fibre lengths do not count: they are used beside the counts.
    """
    others = [
        h.measure
        for h in holdings
        if h is not chosen and h.atlas == chosen.atlas and kind_of(h.measure) != "length"
    ]
    if measure is not None or not others:
        return []
    listed = ", ".join(others)
    return [
        f"took {chosen.measure!r} as the fibre count, not [{listed}]; pass measure=... for another."
    ]


def check_name(measure: str, label: str) -> None:
    """Refuse a measure whose name is not that of counts (E5)."""
    kind = kind_of(measure)
    if kind == AVERAGE:
        raise _average(label, measure)
    if kind not in ACCEPTED:
        raise _not_counts(label, kind, f"it is called {measure!r}")


def check_values(matrices: NDArray[Any], labels: Sequence[str], measure: str = "count") -> None:
    """Refuse values that cannot be fibre counts, unless they are called weights (E5).

    Parameters
    ----------
    matrices : array of shape (k, V, V)
        A few subjects are enough; what their files are called is in `labels`.
    measure : str
        The producer's name. Weights may be of any size ≥ 0.
    """
    if kind_of(measure) == "weight":
        return
    for matrix, label in zip(matrices, labels, strict=True):
        parts = list(_values_off_diagonal(matrix))
        if all(whole for *_, whole in parts):
            continue
        lows, middles, highs, _ = zip(*parts, strict=True)
        low, middle, high = min(lows), float(np.median(middles)), max(highs)
        if low < 0 and max(-low, high) <= 1:
            raise _not_counts(label, "correlation", f"values from {low:.2g} to {high:.2g}")
        if low > 0 and high <= 1:
            raise _not_counts(label, "density", f"all values lie below {high:.2g}")
        if low >= 5 and middle >= 25 and high <= 350 and high <= 30 * low:
            reason = f"no whole numbers, all from {low:.0f} to {high:.0f} as in mm"
            raise _not_counts(label, "length", reason)


def _values_off_diagonal(matrix: NDArray[Any]) -> Iterator[tuple[float, float, float, bool]]:
    """Yield least, median and largest value that is not 0, and whether all are whole.

    Block by block of rows: the values of a large matrix would take several times its memory.
    """
    n_rows = max(1, _BLOCK_VALUES // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), n_rows):
        block = np.array(matrix[start : start + n_rows], dtype=np.float64)
        rows = np.arange(len(block))
        block[rows, start + rows] = 0
        values = block[np.isfinite(block) & (block != 0)]
        if len(values):
            whole = bool((values == np.rint(values)).all())
            yield float(values.min()), float(np.median(values)), float(values.max()), whole


def _by_kind(holdings: list[Holding]) -> list[Holding]:
    """Keep what is called a count, before unknown words, weights and anything else."""
    counts = [h for h in holdings if kind_of(h.measure) == "count"]
    called = [h for h in counts if _COUNTING.search(h.measure.lower())]
    weights = [h for h in holdings if kind_of(h.measure) == "weight"]
    return called or counts or weights or holdings


def _not_counts(label: str, kind: str, reason: str) -> NotCountsError:
    return NotCountsError(
        f"{label}: looks like {_LOOKS_LIKE[kind]}, not counts ({reason}). "
        "Pass measure=... to override.",
        kind,
    )


def _called(holding: Holding, measure: str, label: str) -> Holding:
    """Return a matrix under the name that the user gives to it.

    An average along streamlines does not become a count by another name; whole numbers are none.
    """
    if kind_of(holding.measure) == AVERAGE and kind_of(measure) != AVERAGE:
        values = np.asarray(holding.values[...], dtype=np.float64)
        if not (values == np.rint(values)).all():
            raise _average(label, holding.measure)
    return replace(holding, measure=measure)


def _average(label: str, measure: str) -> NotCountsError:
    return NotCountsError(
        f"{label}: {measure!r} is an average along streamlines; for an edge without streamlines it "
        "is undefined, not 0, so that it cannot be modelled as counts are. Give streamline counts "
        "or weights.",
        AVERAGE,
    )


def _same(left: str | None, right: str) -> bool:
    return left is not None and left.casefold() == right.casefold()


def _described(holding: Holding) -> str:
    return f"{holding.atlas}/{holding.measure}" if holding.atlas else holding.measure

"""Whether the size of fibre counts and weights can be: no unit or count that spoils a fit."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import InputError

# Above it, whole numbers lose their last digits in single precision, and motion is under-corrected.
_LARGEST_COUNT = 1e8
_SMALLEST_WEIGHT = 1e-100  # squares of weights must not be 0; very large ones are whole numbers
_FAR = 100.0  # times the median of all subjects; between scanners it is 10 at most
_FEWEST = 10  # with fewer subjects nobody can say what is usual


def is_whole(edges: NDArray[Any]) -> bool:
    """Whether these are fibre counts (whole numbers) rather than weights.

    Examples
    --------
    >>> is_whole(np.array([3.0, 0.0])), is_whole(np.array([0.4, 0.0]))
    (True, False)
    """
    return edges.dtype.kind in "iu" or bool((edges == np.floor(edges)).all())


class Magnitudes(NamedTuple):
    """How large the values of every subject are.

    Attributes
    ----------
    largest : array of float, shape (n,)
    usual : array of float, shape (n,)
        Geometric mean of the positive values of a subject who has weights, which a few damaged
        ones hardly change; NaN for counts and where all edges are empty.
    whole : bool
        Whether all values are whole numbers.
    """

    largest: NDArray[np.float64]
    usual: NDArray[np.float64]
    whole: bool

    @classmethod
    def of(cls, edges: "NDArray[Any] | Iterable[NDArray[Any]] | Magnitudes") -> "Magnitudes":
        """Look at edges (n, E), or at some subjects after the others."""
        if isinstance(edges, Magnitudes):
            return edges
        parts: Iterable[NDArray[Any]] = [edges] if isinstance(edges, np.ndarray) else edges
        found = [(part.max(axis=1), _usual(part), is_whole(part)) for part in parts]
        largest, usual, whole = zip(*found, strict=True)
        return cls(np.concatenate(largest, dtype=np.float64), np.concatenate(usual), all(whole))


def _usual(edges: NDArray[Any]) -> NDArray[np.float64]:
    if edges.dtype.kind in "iu":
        return np.full(len(edges), np.nan)
    there = edges > 0
    logs = np.log(edges, where=there, out=np.zeros(edges.shape))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.exp(logs.sum(axis=1) / there.sum(axis=1)))


def check_magnitude(edges: NDArray[Any] | Magnitudes, name: str = "X") -> None:
    """Refuse counts and weights (n, E) with which no method can compute.

    Raises
    ------
    InputError
        Naming the subject and its largest value.

    Examples
    --------
    >>> check_magnitude(np.array([[3, 2_000_000_000, 1]]))
    Traceback (most recent call last):
    ...
    stillome.exceptions.InputError: X: subject 0 has 2e+09 on an edge; a fibre count is below 1e+08. If these are weights, divide all of them by 1e+09.
    """  # noqa: E501
    largest, _, whole = Magnitudes.of(edges)
    subject = int(largest.argmax())
    at_most = float(largest[subject])
    said = f"{name}: subject {subject} has {at_most:.3g} on an edge; "
    if at_most >= _LARGEST_COUNT and whole:
        unit = 10.0 ** np.floor(np.log10(at_most))
        raise InputError(
            f"{said}a fibre count is below {_LARGEST_COUNT:.0e}. If these are weights, divide all "
            f"of them by {unit:.0e}."
        )
    if 0 < at_most < _SMALLEST_WEIGHT:
        raise InputError(f"{said}give weights in a unit in which they are near 1.")


def check_alike(edges: NDArray[Any] | Magnitudes, name: str = "X") -> None:
    """Refuse subjects (n, E) of a fit one of whom has an edge far above those of all others.

    One count of 10⁹ decides about the mean of its edge. Weights are compared with other weights of
    the same subject: motion, or a pipeline, may scale those of a whole subject.

    Raises
    ------
    InputError
        Naming the subject and its largest value.
    """
    largest, usual, whole = Magnitudes.of(edges)
    if len(largest) < _FEWEST:
        return
    height = largest if whole else np.nan_to_num(largest / usual)
    subject, middle = int(height.argmax()), float(np.median(height))
    if height[subject] > _FAR * middle > 0:
        unit = 1.0 if whole else usual[subject]
        raise InputError(
            f"{name}: subject {subject} has {largest[subject]:.3g} on an edge, where the largest "
            f"edge of a subject is {middle * unit:.3g} (median). Is it of another unit or damaged? "
            "Correct it or leave out the subject."
        )

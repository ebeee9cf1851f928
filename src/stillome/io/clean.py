"""From matrices as written to connectomes: symmetric, zero diagonal, no bad values.

Works in place on blocks of matrices that fit into the processor's cache, so that checking a stack
takes about as long as reading it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError, InputError

_BLOCK_BYTES = 2**20
_SYMMETRIZE = ("max", "mean", "upper", "lower")


# Positions of matrices in their stack.
Positions = Sequence[int] | NDArray[np.intp]


@dataclass
class Tally:
    """What cleaning found, summed over all blocks."""

    diagonal: float = 0.0
    total: float = 0.0
    triangles: dict[str, int] = field(default_factory=dict)
    empty_regions: dict[int, list[int]] = field(default_factory=dict)

    @property
    def triangle(self) -> str:
        """How most matrices were stored: symmetric, upper, lower or symmetrised."""
        return max(self.triangles, key=lambda name: self.triangles[name], default="symmetric")

    @property
    def diagonal_fraction(self) -> float:
        """The sum of the diagonal as a fraction of a triangle with its diagonal."""
        whole = self.diagonal + self.total
        return self.diagonal / whole if whole > 0 else 0.0

    def add(self, other: "Tally") -> None:
        """Add what was found in other matrices, further on in the stack."""
        self.diagonal += other.diagonal
        self.total += other.total
        for form, count in other.triangles.items():
            self.triangles[form] = self.triangles.get(form, 0) + count
        for region, positions in other.empty_regions.items():
            self.empty_regions.setdefault(region, []).extend(positions)


class NotSquareError(FileError):
    """Rows and columns differ in number (E1)."""


@dataclass(frozen=True)
class Cleaner:
    """How matrices are cleaned, and their names in messages.

    Parameters
    ----------
    label_of : callable
        From a position in the stack to the name of that matrix in messages.
    regions : sequence of str or None
        Names for messages.
    symmetrize : {"max", "mean", "upper", "lower"} or None
        What to do with matrices that are neither symmetric nor triangular; None refuses them.
    missing_is_zero : bool
        Whether NaN means "no edge", as it does for lengths.
    """

    label_of: Callable[[int], str]
    regions: Sequence[str] | None = None
    symmetrize: str | None = None
    missing_is_zero: bool = False

    def __post_init__(self) -> None:
        if self.symmetrize is not None and self.symmetrize not in _SYMMETRIZE:
            raise InputError(
                f"symmetrize={self.symmetrize!r}; expected one of {', '.join(_SYMMETRIZE)}."
            )

    def dtype_of(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the dtype of cleaned matrices; the mean of whole numbers may be a half."""
        halves = self.symmetrize == "mean" and dtype.kind != "f"
        return np.dtype(np.float64) if halves else dtype

    def clean(
        self, matrices: NDArray[Any], tally: Tally, *, positions: Positions | None = None
    ) -> None:
        """Clean matrices (k, V, V) in place, block by block; add to `tally`.

        Parameters
        ----------
        matrices : array of shape (k, V, V)
        tally : Tally
        positions : sequence or array of int, optional
            Position of each in the whole stack; by default 0 to k - 1.

        Raises
        ------
        FileError
            E3 or E4, naming the matrix.
        """
        places: Positions = range(len(matrices)) if positions is None else positions
        for first, block in blocks_of(matrices):
            self._clean_block(block, tally, places[first : first + len(block)])

    def _clean_block(self, block: NDArray[Any], tally: Tally, places: Positions) -> None:
        self._empty_diagonal(block, tally)
        if block.dtype.kind == "f" and self.missing_is_zero:
            np.nan_to_num(block, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
        if not (block.min() >= 0 and block.max() < np.inf):
            self._refuse_values(block, places)
        if np.array_equal(block, np.swapaxes(block, 1, 2)):
            tally.triangles["symmetric"] = tally.triangles.get("symmetric", 0) + len(block)
        else:
            for place, matrix in zip(places, block, strict=True):
                form = self._mirror(matrix, int(place))
                tally.triangles[form] = tally.triangles.get(form, 0) + 1
        degrees = _degrees(block)
        tally.total += float(degrees.sum(dtype=np.float64)) / 2
        if not degrees.all():
            for offset, region in np.argwhere(degrees == 0):
                tally.empty_regions.setdefault(int(region), []).append(int(places[offset]))

    def _empty_diagonal(self, block: NDArray[Any], tally: Tally) -> None:
        diagonal = np.einsum("nii->ni", block)  # a view, so that it can be written to
        if not diagonal.any():
            return
        values = diagonal.astype(np.float64)
        tally.diagonal += float(np.abs(values[np.isfinite(values)]).sum())
        diagonal[...] = 0

    def _mirror(self, matrix: NDArray[Any], position: int) -> str:
        """Make one matrix symmetric in place; return how it was stored."""
        if not matrix.any():
            return "symmetric"  # as it is called in a block of symmetric matrices
        if not np.tril(matrix, -1).any():
            matrix += np.triu(matrix, 1).T
            return "upper"
        if not np.triu(matrix, 1).any():
            matrix += np.tril(matrix, -1).T
            return "lower"
        if np.allclose(matrix, matrix.T, atol=1e-8 * float(matrix.max())):
            matrix[...] = _mirrored(np.triu(matrix, 1))
            return "symmetric"
        if self.symmetrize is None:
            raise self._asymmetric(matrix, position)
        matrix[...] = _symmetrized(matrix, self.symmetrize)
        return "symmetrised"

    def _asymmetric(self, matrix: NDArray[Any], position: int) -> FileError:
        gap = np.abs(matrix.astype(np.float64) - matrix.T)
        row, column = np.unravel_index(int(gap.argmax()), gap.shape)
        names = (str(row), str(column))
        if self.regions is not None:
            names = (self.regions[int(row)], self.regions[int(column)])
        return FileError(
            f"{self.label_of(position)}: neither symmetric nor triangular "
            f"(max |A−Aᵀ|={gap.max():g} at {'/'.join(names)}). "
            "Use symmetrize='max', 'mean' or 'upper'."
        )

    def _refuse_values(self, block: NDArray[Any], places: Positions) -> None:
        bad = ~(np.isfinite(block) & (block >= 0))
        if not bad.any():
            return
        offset, row, column = (int(i) for i in np.argwhere(bad)[0])
        what = "infinite" if np.isinf(block[offset, row, column]) else "negative or NaN"
        raise FileError(
            f"{self.label_of(int(places[offset]))}: {what} at ({row},{column}); "
            "fibre counts must be ≥ 0."
        )


def as_numbers(values: Any, label: str) -> NDArray[Any]:
    """Return an array of real numbers in the machine's own byte order.

    Raises
    ------
    FileError
        If the array holds anything else.
    """
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    check_dtype(array.dtype, label)
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def check_dtype(dtype: np.dtype[Any], label: str) -> None:
    """Refuse arrays that cannot be counts: text, complex numbers, objects (E7)."""
    if dtype.hasobject:
        raise pickled(label)
    if dtype.kind not in "biuf":
        raise FileError(f"{label}: holds {dtype}, expected real numbers. Re-save the counts.")


def pickled(label: str) -> FileError:
    """Return the error for pickled Python objects (E7)."""
    return FileError(
        f"{label} contains pickled Python objects, which can run code. Re-save as .npz."
    )


def check_square(shape: tuple[int, ...], label: str) -> None:
    """Refuse a matrix that is not square (E1), or too small to be a network."""
    rows, columns = shape[-2:]
    if rows != columns:
        raise NotSquareError(f"{label}: matrix is {rows}×{columns}, expected square.")
    if rows < 2:
        raise FileError(f"{label}: {rows} region(s); a network needs at least two.")


def blocks_of(matrices: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Iterate over a stack in blocks that fit into the cache: (first position, view)."""
    size = max(1, _BLOCK_BYTES // max(1, matrices[:1].nbytes))
    for start in range(0, len(matrices), size):
        yield start, matrices[start : start + size]


def _degrees(block: NDArray[Any]) -> NDArray[Any]:
    """Return the sum over each row (k, V) of matrices ≥ 0; where it is 0, there is no fibre."""
    if block.dtype.kind != "f":
        return np.asarray(block.sum(axis=1, dtype=np.float64))
    # One product with ones is several times faster than any reduction over an axis.
    size = block.shape[1]
    with np.errstate(over="ignore"):
        degrees = block.reshape(-1, size) @ np.ones(size, dtype=block.dtype)
    return np.asarray(degrees.reshape(-1, size))


def _mirrored(upper: NDArray[Any]) -> NDArray[Any]:
    return upper + upper.T


def _symmetrized(matrix: NDArray[Any], how: str) -> NDArray[Any]:
    if how == "max":
        return np.maximum(matrix, matrix.T)
    if how == "mean":
        return matrix / 2 + matrix.T / 2
    triangle = np.triu(matrix, 1) if how == "upper" else np.tril(matrix, -1)
    return _mirrored(triangle)

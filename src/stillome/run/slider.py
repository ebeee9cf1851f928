"""Connectomes at several references, for the slider of the report: the record on disk."""

import os
import zipfile
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.persistence import written_aside

_ARRAYS = ("references", "keys", "n_groups", "matrices", "observed", "observed_motion")


@dataclass(frozen=True, eq=False)
class Slider:
    """Connectomes of groups and of some subjects, adjusted to several references.

    Attributes
    ----------
    references : array of shape (L,)
        Values of the first confound, in its unit.
    keys : tuple of str
        S labels: those of groups first, then ids of subjects.
    n_groups : int
        How many of them are groups.
    matrices : array of shape (S, L, V, V)
    observed : array of shape (S, V, V)
        As scanned; the mean for a group.
    observed_motion : array of shape (S,)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> ones = np.ones((1, 2, 3, 3), dtype=np.float32)
    >>> slider = Slider(np.array([0.0, 0.5]), ("all",), 1, ones, ones[:, 0], np.array([0.3]))
    >>> path = Path(tempfile.mkdtemp(), "slider.npz")
    >>> slider.save(path)
    >>> Slider.load(path, n_regions=3).matrices.shape
    (1, 2, 3, 3)
    """

    references: NDArray[np.float64]
    keys: tuple[str, ...]
    n_groups: int
    matrices: NDArray[np.float32] = field(repr=False)
    observed: NDArray[np.float32] = field(repr=False)
    observed_motion: NDArray[np.float64] = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.npz`, whole or not at all."""
        arrays = {name: np.asarray(getattr(self, name)) for name in _ARRAYS}
        with written_aside(path, overwrite=True) as aside:
            np.savez(aside, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], n_regions: int) -> "Slider":
        """Read what `save` wrote.

        Raises
        ------
        FileError
            If it is damaged, or of other regions.
        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in _ARRAYS}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise FileError(f"{path}: cannot be read ({error}).") from error
        expected = (len(arrays["keys"]), len(arrays["references"]), n_regions, n_regions)
        if arrays["matrices"].shape != expected:
            raise FileError(f"{path}: shape {arrays['matrices'].shape}; expected {expected}.")
        keys = tuple(str(key) for key in arrays.pop("keys"))
        n_groups = int(arrays.pop("n_groups"))
        return cls(keys=keys, n_groups=n_groups, **arrays)

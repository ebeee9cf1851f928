"""Arrays that stay where they are: stores and files that are read in slices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError, StillomeError


def is_sliced(values: Any) -> bool:
    """Whether this is an array in a store (zarr, HDF5, Dask) that is read in slices.

    A memory map is an array of numpy, and read in slices anyway.

    Examples
    --------
    >>> is_sliced(np.zeros((2, 3))), is_sliced([[1, 2, 3]])
    (False, False)
    """
    named = all(hasattr(values, name) for name in ("shape", "dtype", "chunks", "__getitem__"))
    return named and not isinstance(values, np.ndarray)


def read_slice(array: Any, rows: slice, name: str) -> NDArray[Any]:
    """Return some subjects of an array, whatever holds it.

    Raises
    ------
    FileError
        If they cannot be read.
    """
    try:
        return np.asarray(array[rows])
    except StillomeError:  # says by itself what is wrong
        raise
    except Exception as error:  # whatever the library of a store raises
        said = str(error).strip().split("\n")[0] or type(error).__name__
        last = min(rows.stop, array.shape[0]) - 1
        raise FileError(
            f"{name}: subjects {rows.start} to {last} cannot be read ({said}). Is the file or "
            "store damaged, or gone? Check it, then run again."
        ) from error

"""Radians or degrees: files do not say which, and they differ by a factor of 57."""

import numpy as np
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.exceptions import InputError

# A head cannot turn by 0.5 rad (29°) in a head coil: such numbers are degrees.
_LARGEST_ROTATION_RAD = 0.5


class RotationUnitError(InputError):
    """Angles that look like degrees, without a stated unit (E11)."""


def rotations_to_radians(
    angles: ArrayLike, *, unit: str | None = None, name: str = "motion"
) -> Floats:
    """Return angles in radians, or raise an error if they look like degrees.

    Parameters
    ----------
    angles : array-like
    unit : {"rad", "deg"}, optional
        The unit they are in. By default radians, unless they are too large for a head (E11).
    name : str, default="motion"
        The file, for the message.

    Examples
    --------
    >>> rotations_to_radians([180.0], unit="deg")
    array([3.14159265])
    >>> rotations_to_radians([2.1], name="run.par")
    Traceback (most recent call last):
    ...
    stillome.io.motion.rotation_units.RotationUnitError: run.par: rotations up to 2.1; looks like
    degrees. Pass rotation_unit=....
    """
    if unit not in (None, "rad", "deg"):
        raise InputError(f"rotation_unit={unit!r}; expected 'rad' or 'deg'.")
    array = np.asarray(angles, dtype=np.float64)
    if unit == "deg":
        return np.asarray(np.deg2rad(array), dtype=np.float64)
    largest = np.abs(array[~np.isnan(array)]).max(initial=0.0)
    if unit is None and largest > _LARGEST_ROTATION_RAD:
        raise RotationUnitError(
            f"{name}: rotations up to {largest:.3g}; looks like degrees. Pass rotation_unit=...."
        )
    return array

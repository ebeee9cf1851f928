"""The reference as users give it, as one value per confound."""

import numpy as np
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.exceptions import InputError


def reference_level(reference: ArrayLike | None, n_confounds: int) -> Floats:
    """Return the reference in the users' units, shape (C,); 0 where none is given.

    Raises
    ------
    InputError
        If it is not one finite number per confound.

    Examples
    --------
    >>> reference_level(0.3, 1).tolist(), reference_level(None, 2).tolist()
    ([0.3], [0.0, 0.0])
    """
    if reference is None:
        return np.zeros(n_confounds)
    try:
        values = np.atleast_1d(np.asarray(reference, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"reference: {reference!r} is not a number or a list of them.") from error
    if values.shape != (n_confounds,) or not np.isfinite(values).all():
        raise InputError(
            f"reference: {reference!r}; expected {n_confounds} finite value(s), one for each "
            "confound, in its own units."
        )
    return values

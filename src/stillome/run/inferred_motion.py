"""Motion that was not measured: what a model inferred from connectomes, and how sure it is."""

import warnings
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.confound_coding import ConfoundCoding
from stillome.cohort.stored_matrices import some_matrices
from stillome.exceptions import StillomeWarning

INFERRED = "inferred_motion.tsv"


@runtime_checkable
class InfersMotion(Protocol):
    """A method that infers motion from connectomes."""

    def infer_confounds(self, X: Any) -> Any:
        """Return means (n, C) and standard deviations (n, C)."""


def inferred_motion(
    model: Any,
    coding: ConfoundCoding,
    subject_ids: Sequence[str],
    connectomes: NDArray[Any],
    confounds: Floats | None,
) -> pd.DataFrame:
    """Return the confounds that a model inferred, one row for each that is not known.

    Parameters
    ----------
    model : ConnectomeMethod
        Fitted. Of one that infers nothing the table is empty.
    coding : ConfoundCoding
        Names of its confounds.
    subject_ids : sequence of str
    connectomes : array of shape (n, V, V)
        Regions in the order of the model.
    confounds : array of shape (n, C), or None
        NaN where unknown; None if nothing is known.

    Returns
    -------
    pandas.DataFrame
        ``participant_id``, ``column``, ``value`` and its standard deviation ``sd``.
    """
    n_subjects, names = len(subject_ids), coding.names
    known = np.full((n_subjects, len(names)), np.nan) if confounds is None else confounds
    rows, columns = np.nonzero(np.isnan(known))
    if not len(rows) or not isinstance(model, InfersMotion):
        return pd.DataFrame(columns=["participant_id", "column", "value", "sd"])
    concerned = np.unique(rows)
    mean, sd = model.infer_confounds(some_matrices(connectomes, concerned))
    places = np.searchsorted(concerned, rows)
    return pd.DataFrame(
        {
            "participant_id": [subject_ids[int(i)] for i in rows],
            "column": [names[int(i)] for i in columns],
            "value": mean[places, columns],
            "sd": sd[places, columns],
        }
    )


def warn_of_inferred(table: pd.DataFrame, model: Any, coding: ConfoundCoding) -> None:
    """Say of whom motion was inferred, and how sure it is; nothing where all was known.

    Parameters
    ----------
    table : pandas.DataFrame
        What `inferred_motion` returned.
    model : ConnectomeMethod
    coding : ConfoundCoding
    """
    for name in dict.fromkeys(table["column"]):
        of_one = table[table["column"] == name]
        first, n = of_one.iloc[0], len(of_one)
        spread = float(model.confound_distribution_.spread[coding.names.index(name)])
        whose = f"subject {first.participant_id!r}" if n == 1 else f"{n} subjects"
        example = "" if n == 1 else f", e.g. of {first.participant_id!r}"
        warnings.warn(
            f"{name} of {whose} was not measured; it is inferred from the connectome{example}: "
            f"{first.value:.3g} ± {first.sd:.2g} (standard deviation; {spread:.2g} between the "
            "subjects of the fit).",
            StillomeWarning,
            stacklevel=2,
        )

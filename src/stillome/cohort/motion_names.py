"""Names under which tools and studies write head motion, and what each of them measures.

Names are compared without regard to case and separators: ``Mean FD``, ``mean_fd`` and ``meanFD``
are one name.
"""

import re
from typing import NamedTuple


class MotionMeasure(NamedTuple):
    """A measure of motion.

    Attributes
    ----------
    meaning : str
        In words.
    names : tuple of str
        What columns of it are called, the most specific name first.
    fields : tuple of int
        Fields of UK Biobank that hold it.
    """

    meaning: str
    names: tuple[str, ...]
    fields: tuple[int, ...] = ()


# By the name that stillome gives to a measure; units are at the end of these names.
MOTION_NAMES: dict[str, MotionMeasure] = {
    "rms_mm": MotionMeasure(
        "mean displacement relative to the previous volume",
        (
            *("rms_mm", "mean_rel_rms", "rel_rms_mean", "mean_relative_rms", "relative_rms_mean"),
            *("rel_rms", "rms_rel", "relative_rms", "Movement_RelativeRMS_mean"),
            *("Movement_RelativeRMS", "eddy_avg_rel_mot", "avg_rel_mot", "eddy_rel_mot"),
            *("qc_mot_rel", "eddy_qc_mot_rel", "mot_rel", "rel_mot", "mean_rel_motion"),
            *("mean_relative_motion", "relative_motion", "mean_rms", "rms_mean", "rms"),
        ),
        (24453,),
    ),
    "fd_mm": MotionMeasure(
        "mean framewise displacement",
        (
            *("fd_mm", "mean_fd", "fd_mean", "mean_framewise_displacement"),
            *("framewise_displacement_mean", "framewise_displacement", "avg_fd", "fd_avg"),
            *("dmri_dti_meanmotion", "dmri_meanmotion", "mr_y_qc__mot__dmri__mot_mean"),
            *("mean_motion", "meanmotion", "fd"),
        ),
    ),
    "translation_mm": MotionMeasure(
        "mean translation",
        (
            *("translation_mm", "mean_translation", "dmri_dti_meantrans", "dmri_meantrans"),
            "mr_y_qc__mot__dmri__trans_mean",
        ),
    ),
    "rotation_rad": MotionMeasure("mean rotation", ("rotation_rad", "mean_rotation_rad")),
    "rms_restricted_mm": MotionMeasure(
        "mean displacement, without translation along phase encoding",
        ("rms_restricted_mm", "mean_restricted_rms", "restricted_rms"),
    ),
    "rms_absolute_mm": MotionMeasure(
        "mean displacement relative to the reference volume",
        (
            *("rms_absolute_mm", "mean_abs_rms", "abs_rms_mean", "mean_absolute_rms"),
            *("absolute_rms_mean", "abs_rms", "rms_abs", "absolute_rms"),
            *("Movement_AbsoluteRMS_mean", "Movement_AbsoluteRMS", "eddy_avg_abs_mot"),
            *("avg_abs_mot", "eddy_abs_mot", "qc_mot_abs", "eddy_qc_mot_abs", "mot_abs"),
            *("abs_mot", "mean_abs_motion", "mean_absolute_motion", "absolute_motion"),
        ),
        (24450,),
    ),
    "outliers_percent": MotionMeasure(
        "slices that eddy replaced, in percent", ("outliers_percent", "qc_outliers_tot")
    ),
    "n_outlier_slices": MotionMeasure(
        "slices that eddy replaced", ("n_outlier_slices", "num_outlier_slices"), (25746,)
    ),
}
# p24453_i2, 24453-2.0, f.24453.2.0 and x24453_2_0 are one field of UK Biobank.
_FIELD = re.compile(r"^(?:p|x|f[._])?(\d{5})(?:[-._]i?\d+(?:[-._]a?\d+)?)?$", re.IGNORECASE)
# A head cannot move further, or less, on average over a scan.
_LARGEST = {"mm": 20.0, "rad": 0.5, "percent": 100.0}
_SMALLEST = {"mm": 1e-3}
_COULD_BE = {
    "mm": "They may be micrometres (divide by 1000) or a number of volumes (no measure of motion)",
    "rad": "They may be degrees (multiply by π/180)",
    "percent": "They may be a number of slices",
}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


_MEASURE_OF = {
    _plain(name): measure for measure, known in MOTION_NAMES.items() for name in known.names
}
_MEASURE_OF_FIELD = {
    field: measure for measure, known in MOTION_NAMES.items() for field in known.fields
}


def measure_of(column: str) -> str | None:
    """Return the measure of motion that a column's name stands for; None if it is no usual name.

    Examples
    --------
    >>> measure_of("Mean_Rel_RMS"), measure_of("p24453_i2"), measure_of("age")
    ('rms_mm', 'rms_mm', None)
    """
    field = _FIELD.match(column)
    if field is not None:
        return _MEASURE_OF_FIELD.get(int(field[1]))
    return _MEASURE_OF.get(_plain(column))


def rank_of(column: str) -> int:
    """Return how specific the name of a measure is, 0 being the most specific."""
    measure = measure_of(column)
    names = MOTION_NAMES[measure].names if measure else ()
    return next((i for i, n in enumerate(names) if _plain(n) == _plain(column)), len(names))


def unit_trouble(column: str, median: float) -> str | None:
    """Say why numbers cannot be in the unit of their measure; None if they can.

    Parameters
    ----------
    column : str
        A usual name; of others, the unit is not known.
    median : float
        Over subjects.

    Examples
    --------
    >>> print(unit_trouble("mean_fd", 300.0))
    'mean_fd' has a median of 300, and no head moves by 300 mm on average. They may be micrometres
    (divide by 1000) or a number of volumes (no measure of motion).
    >>> unit_trouble("mean_fd", 0.3)
    """
    measure = measure_of(column)
    unit = None if measure is None else measure.rsplit("_", 1)[-1]
    if unit in _LARGEST and median > _LARGEST[unit]:
        what = {"mm": "moves", "rad": "turns"}.get(unit)
        said = f"no head {what} by {median:.4g} {unit} on average" if what else "the most is 100 %"
        return f"{column!r} has a median of {median:.4g}, and {said}. {_COULD_BE[unit]}."
    if unit in _SMALLEST and 0 < median < _SMALLEST[unit]:
        return (
            f"{column!r} has a median of {median:.2g}, and no head moves by less than 0.001 mm on "
            "average. They may be metres (multiply by 1000)."
        )
    return None

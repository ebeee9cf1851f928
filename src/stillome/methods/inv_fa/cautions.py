"""Warnings about a result: designs with too little information, motion outside the data."""

import warnings

import numpy as np

from stillome.arrays import Floats
from stillome.exceptions import StillomeWarning
from stillome.methods.inv_fa.tuning import TUNING


def warn_if_not_separable(covariates: Floats, motion: Floats) -> None:
    """Warn when covariates to keep (n, Q) explain nearly all of a confound (n, C)."""
    design = np.column_stack([np.ones(len(covariates)), covariates])
    fitted = design @ np.linalg.lstsq(design, motion, rcond=None)[0]
    explained = fitted.var(axis=0) / motion.var(axis=0)
    if explained.max() > TUNING.not_separable:
        warnings.warn(
            f"covariates_to_keep explain {explained.max():.0%} of confound "
            f"{int(explained.argmax())}: the effects of biology and of motion can hardly be "
            "separated in these data. Read adjusted connectomes with care.",
            StillomeWarning,
            stacklevel=3,
        )


def warn_if_unlike_training(motion: Floats, low: Floats, high: Floats, spread: Floats) -> None:
    """Warn when confounds (n, C) of new subjects lie far outside the training range."""
    gap = np.nan_to_num(np.maximum(low - motion, motion - high) / spread)  # NaN is unknown
    far = (gap > TUNING.far_subject).any(axis=1)
    if far.any():
        row, column = np.unravel_index(int(gap.argmax()), gap.shape)
        warnings.warn(
            f"confounds: {int(far.sum())} of {len(motion)} subjects lie far outside the training "
            f"range {low[column]:.3g} to {high[column]:.3g} of confound {column} (row {row} has "
            f"{motion[row, column]:.3g}); the model extrapolates. Are the units the same?",
            StillomeWarning,
            stacklevel=4,
        )


def warn_if_far(level: Floats, low: Floats, high: Floats, spread: Floats) -> None:
    """Warn when a reference (C,) lies far outside the training range."""
    gap = np.maximum(low - level, level - high) / spread
    worst = int(gap.argmax())
    if gap[worst] > TUNING.far_reference:
        warnings.warn(
            f"reference={level[worst]:g} lies {gap[worst]:.2g} standard deviations outside "
            f"the training range {low[worst]:.3g} to {high[worst]:.3g} of confound {worst}: "
            "the model extrapolates. Pass reference=... to stay near what it has seen.",
            StillomeWarning,
            stacklevel=3,
        )

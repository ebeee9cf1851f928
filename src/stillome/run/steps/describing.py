"""Describe what motion did to the connectomes, before anything is removed."""

import pandas as pd

from stillome.cohort.cohort import Cohort
from stillome.evaluate.motion_effects import describe_motion_effects
from stillome.run.effect_tables import effects_to_tables
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers

N_GROUPS = 10


def effects_step(folder: RunFolder, workers: Workers) -> None:
    """Write fibres by motion group, the edges that differ most, and each edge's QC–SC."""
    folder.write_tables("motion_effects", describe_known(folder, folder.cohort))


def describe_known(folder: RunFolder, cohort: Cohort) -> dict[str, pd.DataFrame]:
    """Describe the motion effects in connectomes of the subjects whose confounds are known.

    Parameters
    ----------
    folder : RunFolder
    cohort : Cohort
        The cohort of the run, with raw or with adjusted connectomes.
    """
    known = cohort.select(folder.known)
    n_groups = min(N_GROUPS, known.n_subjects // 2)
    effects = describe_motion_effects(known, folder.measure, n_groups=n_groups)
    return effects_to_tables(effects, known.subject_ids)

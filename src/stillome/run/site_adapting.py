"""Let a fitted model learn a site that training never saw."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from stillome.cohort.reordered_matrices import reordered
from stillome.exceptions import InputError
from stillome.methods.fitted import FittedModel
from stillome.methods.inv_fa.new_site import SiteEffect
from stillome.run.study_files import StudyData, StudyFiles, read_study


def adapt_to_site(
    fitted: FittedModel, files: StudyFiles, site: str, *, column: str = "site"
) -> tuple[FittedModel, SiteEffect, StudyData]:
    """Return a model that knows one more site, what was found, and what was read.

    Parameters
    ----------
    fitted : FittedModel
        Of inv-fa or inv-vae.
    files : StudyFiles
        Scans of the new site only, at least 10 people, with their motion. Traits are needed if the
        model removes further columns of them, or knows traits.
    site : str
        What the new site is called in later tables.
    column : str, default="site"
        The column of sites; a new one if the model was fitted at one site.

    Raises
    ------
    InputError
        If the method cannot learn a site, there are too few people, or the site is known.
    """
    model = fitted.model
    learn: Any = getattr(model, "adapt", None)
    if learn is None:
        raise InputError(
            f"This {type(model).__name__} cannot learn a new site; inv-fa and inv-vae with its "
            "usual settings can. Fit anew with its people."
        )
    coding = fitted.coding.with_level(column, site)
    others = [name for name in fitted.coding.others if name != column]
    wanted = [*others, *fitted.traits] if files.traits else others
    study = read_study(files, wanted, measures=fitted.coding.motion)
    fitted.warn_of_other_measure(study.data.measure)
    cohort = study.cohort
    known = cohort.traits
    if column in fitted.coding.levels:
        known = known.assign(**{column: fitted.coding.levels[column][0]})
    confounds = fitted.coding.encode(cohort.motion, known).to_numpy()
    order = fitted.order_of(list(cohort.regions["name"]))
    groups = cohort.groups()
    adapted = learn(
        reordered(cohort.connectomes, order),
        _traits(fitted, known),
        confounds=confounds,
        groups=groups,
    )
    return replace(fitted, model=adapted, coding=coding), adapted.site_effect_, study


def _traits(fitted: FittedModel, known: pd.DataFrame) -> "np.ndarray[Any, Any] | None":
    if not fitted.traits or any(name not in known for name in fitted.traits):
        return None
    return known[list(fitted.traits)].to_numpy(dtype=np.float64, na_value=np.nan)

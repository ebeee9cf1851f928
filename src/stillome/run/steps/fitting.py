"""Fit the method to everybody, and write what it learned."""

import inspect
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.exceptions import InputError
from stillome.io.write import write_described_table
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.fitted import FittedModel, save_fitted
from stillome.methods.storage import Storable
from stillome.run.folder import Work
from stillome.run.method_parameters import choose_weight


def fit_method(
    work: Work, name: str, subjects: NDArray[np.intp] | None = None, *, traits: bool = False
) -> ConnectomeMethod:
    """Fit one method to the cohort, or to some of its subjects.

    Parameters
    ----------
    work : Work
    name : str
        A name in `METHODS`.
    subjects : array of positions, optional
    traits : bool, default=False
        Whether the traits are learned as well.

    Raises
    ------
    InputError
        If covariates should be kept and the run's own method has no way to.
    """
    chosen = np.arange(work.cohort.n_subjects) if subjects is None else subjects
    method = work.new_method(name)
    more: dict[str, Any] = {}
    if work.kept is not None:
        if "covariates_to_keep" in inspect.signature(method.fit).parameters:
            more["covariates_to_keep"] = work.kept[chosen]
        elif name == work.settings.method:
            raise InputError(
                f"The method {name!r} has no way to keep covariates; leave out keep=..."
            )
    y = None
    if traits and work.settings.trait:
        y = work.cohort.traits[list(work.settings.trait)].to_numpy(np.float64, na_value=np.nan)
        y = y[chosen]
    X = work.cohort.connectomes[chosen]
    groups = None if work.groups is None else work.groups[chosen]
    more["confounds"] = work.confounds[chosen]
    method, frontier = choose_weight(method, X, y, groups=groups, seed=work.settings.seed, **more)
    if frontier is not None:
        work.write_table("frontier.tsv", frontier)
    with work.coding.naming([work.cohort.subject_ids[i] for i in chosen]):
        return method.fit(X, y, **more)


def fit_step(work: Work) -> None:
    """Fit, and write the model, its diagnostics and everybody's latents."""
    cohort, settings = work.cohort, work.settings
    model = fit_method(work, settings.method, traits=True)
    if not isinstance(model, Storable):
        raise InputError(f"The method {settings.method!r} cannot be stored; choose another.")
    for name in ("frontier", "history"):
        table = getattr(model, f"{name}_", None)
        if isinstance(table, pd.DataFrame):
            work.write_table(f"{name}.tsv", table)
    diagnostics = getattr(model, "diagnostics_", None)
    if diagnostics is not None:
        kl = diagnostics.kl_per_dimension
        content = {
            "active_units": int(diagnostics.active_units),
            "n_components": len(kl),
            "kl_per_unit": [float(value) for value in kl],
        }
        work.write_json("diagnostics.json", content)
    fitted = FittedModel(
        model,
        work.coding,
        traits=settings.trait,
        kept=settings.keep,
        regions=tuple(cohort.regions["name"]),
        measure=work.source["measure"],
    )
    save_fitted(fitted, work.out / "model", overwrite=True)
    # From the stored model, so that a run that is continued here gives the same bits.
    latents = work.model.transform(cohort.connectomes, confounds=work.confounds)
    names = [f"z_{i + 1}" for i in range(latents.shape[1])]
    write_described_table(
        work.out / "latents.tsv",
        pd.DataFrame(latents, index=pd.Index(cohort.subject_ids), columns=names),
        description=f"Representation of every subject by {settings.method}, without motion; "
        "run.json says what it was made from.",
        random_state=settings.seed,
        overwrite=True,
    )

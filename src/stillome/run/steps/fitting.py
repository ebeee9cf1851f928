"""Fit the method to all subjects, and write the model."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.stored_matrices import some_matrices
from stillome.exceptions import InputError
from stillome.io.write import write_described_table
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.fitted import FittedModel, save_fitted
from stillome.methods.storage import Storable
from stillome.run.folder import RunFolder
from stillome.run.inferred_motion import inferred_motion, warn_of_inferred
from stillome.run.method_parameters import AUTO, WEIGHT, choose_weight, new_method
from stillome.run.parallel import Workers


def fit_step(folder: RunFolder, workers: Workers) -> None:
    """Fit, and write the model, its diagnostics and the latents of all subjects."""
    cohort, settings = folder.cohort, folder.settings
    method = _with_weight(folder, method_of_run(folder, settings.method))
    model = fit_to(folder, method, traits=True)
    if not isinstance(model, Storable):
        raise InputError(f"The method {settings.method!r} cannot be stored; choose another.")
    _write_learning(folder, model)
    inferred = inferred_motion(
        model, folder.coding, cohort.subject_ids, cohort.connectomes, folder.confounds
    )
    if len(inferred):
        folder.write_table("inferred", inferred)
        warn_of_inferred(inferred, model, folder.coding)
    fitted = FittedModel(
        model,
        folder.coding,
        traits=settings.trait,
        keeping=folder.keeping,
        regions=tuple(cohort.regions["name"]),
        measure=folder.source["measure"],
    )
    save_fitted(fitted, folder.place("model"), overwrite=True)
    folder.forget("fitted")
    # From the stored model, so that a run that is continued here gives the same bits.
    latents = folder.model.transform(cohort.connectomes, confounds=folder.confounds)
    names = [f"z_{i + 1}" for i in range(latents.shape[1])]
    write_described_table(
        folder.place("latents"),
        pd.DataFrame(latents, index=pd.Index(cohort.subject_ids), columns=names),
        description=f"Representation of every subject by {settings.method}, without motion; "
        "run.json says what it was made from.",
        random_state=settings.seed,
        overwrite=True,
    )


def method_of_run(folder: RunFolder, name: str) -> ConnectomeMethod:
    """Return an unfitted method with the parameters of this run.

    Where the run chose its own invariance weight, every fit after the first has that weight.

    Parameters
    ----------
    folder : RunFolder
    name : str
        A name in `METHODS`.

    Raises
    ------
    InputError
        If the method does not have a parameter that was asked for.
    """
    settings = folder.settings
    parameters = dict(settings.parameters) if name == settings.method else {}
    if parameters.get(WEIGHT) == AUTO and folder.has("model"):
        parameters[WEIGHT] = folder.model.get_params()[WEIGHT]
    return new_method(name, parameters, seed=settings.seed, lengths=folder.cohort.lengths)


def fit_to(
    folder: RunFolder,
    method: ConnectomeMethod,
    subjects: NDArray[np.intp] | None = None,
    *,
    traits: bool = False,
    keep: bool = True,
) -> ConnectomeMethod:
    """Fit one method to the cohort, or to some of its subjects; what is to be kept is kept.

    Parameters
    ----------
    folder : RunFolder
    method : ConnectomeMethod
    subjects : array of positions, optional
    traits : bool, default=False
        Whether the traits are learned as well.
    keep : bool, default=True
        Whether the covariates to keep are kept.
    """
    chosen = np.arange(folder.cohort.n_subjects) if subjects is None else subjects
    more: dict[str, Any] = {}
    if folder.kept is not None and keep:
        more["covariates_to_keep"] = folder.kept[chosen]
    if folder.groups is not None:
        more["groups"] = folder.groups[chosen]
    y = _traits(folder, chosen) if traits else None
    X = some_matrices(folder.cohort.connectomes, chosen)
    with folder.coding.naming([folder.cohort.subject_ids[i] for i in chosen]):
        return method.fit(X, y, confounds=folder.confounds[chosen], **more)


def _traits(folder: RunFolder, subjects: NDArray[np.intp]) -> NDArray[np.float64] | None:
    if not folder.settings.trait:
        return None
    table = folder.cohort.traits[list(folder.settings.trait)]
    return table.to_numpy(np.float64, na_value=np.nan)[subjects]


def _with_weight(folder: RunFolder, method: ConnectomeMethod) -> ConnectomeMethod:
    """Find the weight that "auto" stands for, and write what every weight gives."""
    known = folder.known
    chosen = choose_weight(
        method,
        some_matrices(folder.cohort.connectomes, known),
        _traits(folder, known),
        confounds=folder.confounds[known],
        covariates_to_keep=None if folder.kept is None else folder.kept[known],
        groups=None if folder.groups is None else folder.groups[known],
        seed=folder.settings.seed,
    )
    if chosen.frontier is not None:
        folder.write_table("frontier", chosen.frontier)
    return chosen.method


def _write_learning(folder: RunFolder, model: ConnectomeMethod) -> None:
    """Write the course of a training, and how much of the latent is in use, where known."""
    history = getattr(model, "history_", None)
    if isinstance(history, pd.DataFrame):
        folder.write_table("history", history)
    diagnostics = getattr(model, "diagnostics_", None)
    if diagnostics is not None:
        kl = diagnostics.kl_per_dimension
        content = {
            "active_units": int(diagnostics.active_units),
            "n_components": len(kl),
            "kl_per_unit": [float(value) for value in kl],
        }
        folder.write_json("diagnostics", content)

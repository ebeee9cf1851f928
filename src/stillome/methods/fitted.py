"""A fitted model together with the names of what it was fitted to, for use later and elsewhere.

A model knows its confounds, traits and regions by position only. `save_fitted` keeps their names
in the same folder (``"inputs"`` in ``model.json``), and what `load_fitted` answers finds them again
in other tables: motion columns and sites by name, regions by label whatever their order.
"""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.confound_coding import ConfoundCoding
from stillome.exceptions import FileError, InputError, StillomeWarning
from stillome.io.region_names import canonical
from stillome.methods.storage import Storable, read_model, rebuilt, write_model

_NAMES = ("traits", "kept", "regions")


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model that knows what its confounds, traits and regions are called.

    Attributes
    ----------
    model : Storable
        The model itself: ``transform``, ``adjust``, ``predict``.
    coding : ConfoundCoding
        Columns of motion and what else was removed, in the order of the model's confounds.
    traits : tuple of str
        In the order of its predictions; empty if it was fitted without.
    kept : tuple of str
        Columns that were kept although they go with motion (age, sex).
    regions : tuple of str
        In the order of its connectomes; empty if they had no names.
    measure : str
        What its connectomes measure, in the producer's word; empty if unknown.
    """

    model: Storable
    coding: ConfoundCoding = field(default_factory=ConfoundCoding)
    traits: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    measure: str = ""

    @property
    def confounds(self) -> tuple[str, ...]:
        """What the model's confounds are called, in their order."""
        return self.coding.names

    def confounds_of(
        self, motion: pd.DataFrame | None, traits: pd.DataFrame | None = None
    ) -> NDArray[np.float64] | None:
        """Return the model's confounds (n, C) of subjects, by name; None if nothing is known.

        Parameters
        ----------
        motion : pandas.DataFrame or None
            One row per subject; further columns do no harm. NaN is unknown.
        traits : pandas.DataFrame, optional
            With the sites and the like that the model was fitted with.

        Raises
        ------
        ConfoundsError
            If a column that the model was fitted with is missing or holds no numbers, or a site
            is none that the model knows.
        """
        if (motion is None and traits is None) or not self.confounds:
            return None
        return self.coding.encode(motion, traits).to_numpy()

    def order_of(self, regions: Sequence[str]) -> NDArray[np.intp]:
        """Return where in `regions` each region of the model stands, shape (V,).

        ``connectomes[:, order][:, :, order]`` is then in the model's order. Regions without
        names (``region-001``, ...) are taken to stand in the model's order.

        Raises
        ------
        InputError
            If these are other regions than those the model was fitted to.
        """
        names, expected = list(regions), self.model.n_regions_
        if len(names) != expected:
            raise InputError(
                f"connectomes: {len(names)} regions; the model was fitted to {expected}. "
                "Give connectomes of the same atlas."
            )
        wanted = list(self.regions)
        if not wanted or names == wanted or _numbered(names) or _numbered(wanted):
            return np.arange(expected)
        places = {name: i for i, name in enumerate(names)}
        if set(places) != set(wanted):
            places = {canonical(name): i for i, name in enumerate(names)}
            wanted = [canonical(name) for name in wanted]
        if set(places) != set(wanted):
            lacking = next(
                name for name, key in zip(self.regions, wanted, strict=True) if key not in places
            )
            raise InputError(
                f"connectomes: no region {lacking!r}, to which the model was fitted (they have "
                f"{names[0]!r}, ...). Give connectomes of the same atlas."
            )
        return np.array([places[name] for name in wanted], dtype=np.intp)

    def warn_of_other_measure(self, measure: str) -> None:
        """Say so when new connectomes measure something else than those of the fit."""
        if self.measure and measure and measure != self.measure:
            warnings.warn(
                f"The model was fitted to {self.measure!r}, these connectomes hold {measure!r}; "
                "what it answers holds for the former only.",
                StillomeWarning,
                stacklevel=2,
            )


def save_fitted(
    fitted: FittedModel, path: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write a fitted model and the names of what it was fitted to into one folder.

    `Storable.load` and `load_model` read the same folder, without the names.

    Parameters
    ----------
    fitted : FittedModel
    path : path-like
        Appears whole or not at all.
    overwrite : bool, default=False
        Whether an earlier model may be replaced.

    Raises
    ------
    FileError
        If something stands there that may not be replaced, or it cannot be written.
    InputError
        If the names are not as many as the model has confounds or regions.

    Examples
    --------
    >>> import tempfile
    >>> from stillome.methods import make_method
    >>> rng = np.random.default_rng(0)
    >>> X, motion = rng.poisson(9, size=(20, 6)), pd.DataFrame({"rms_mm": rng.random(20)})
    >>> model = make_method("edgewise", n_components=2).fit(X, confounds=motion)
    >>> place = Path(tempfile.mkdtemp()) / "model"
    >>> _ = save_fitted(FittedModel(model, ConfoundCoding(("rms_mm",))), place)
    >>> load_fitted(place).confounds_of(motion.assign(age=10)).shape
    (20, 1)
    """
    model = fitted.model
    if len(fitted.confounds) != model.n_confounds_:
        raise InputError(
            f"confounds: {len(fitted.confounds)} names for {model.n_confounds_} confounds of the "
            "model. Name each."
        )
    if fitted.regions and len(fitted.regions) != model.n_regions_:
        raise InputError(
            f"regions: {len(fitted.regions)} names for {model.n_regions_} regions of the model. "
            "Name each."
        )
    inputs: dict[str, Any] = {"confounds": list(fitted.confounds), "measure": fitted.measure}
    inputs |= {name: list(getattr(fitted, name)) for name in _NAMES}
    if fitted.coding.others:  # else the names say all, as they did in earlier versions
        inputs["coding"] = fitted.coding.to_json()
    write_model(
        path,
        model.stored()._replace(inputs=inputs),
        training_hash=getattr(model, "training_hash_", None),
        overwrite=overwrite,
    )
    return Path(path)


def load_fitted(path: str | os.PathLike[str]) -> FittedModel:
    """Read what `save_fitted` wrote; never unpickles.

    Raises
    ------
    FileError
        If the folder is missing, damaged, foreign, of a later version, or holds a model whose
        confounds have no names (one written by `Storable.save` alone).
    """
    stored = read_model(path)
    model = rebuilt(stored, path)
    names = {name: stored.inputs.get(name, []) for name in ("confounds", *_NAMES)}
    measure = stored.inputs.get("measure", "")
    plain = all(
        isinstance(value, list) and all(isinstance(word, str) for word in value)
        for value in names.values()
    )
    if not plain or not isinstance(measure, str):
        raise FileError(f"{path}: damaged, the names of what it was fitted to cannot be read.")
    confounds = names.pop("confounds")
    if len(confounds) != model.n_confounds_:
        raise FileError(
            f"{path}: does not say what its {model.n_confounds_} confounds are called. "
            "Save it with `stillome fit` or save_fitted."
        )
    coding = ConfoundCoding(tuple(confounds))
    if "coding" in stored.inputs:
        coding = _read_coding(stored.inputs["coding"], confounds, path)
    return FittedModel(model, coding, **{k: tuple(v) for k, v in names.items()}, measure=measure)


def _read_coding(
    content: Any, confounds: Sequence[str], path: str | os.PathLike[str]
) -> ConfoundCoding:
    try:
        coding = ConfoundCoding.from_json(content)
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    if list(coding.names) != list(confounds):
        raise FileError(f"{path}: damaged, its confounds are not those of their coding.")
    return coding


def _numbered(names: Sequence[str]) -> bool:
    """Whether these are the names that regions get which have none."""
    return all(name == f"region-{i + 1:03d}" for i, name in enumerate(names))

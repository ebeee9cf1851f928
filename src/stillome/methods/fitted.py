"""A fitted model together with the names of its confounds, traits and regions.

A model knows its confounds, traits and regions by position only. `save_fitted` stores their names
in the same folder (``"inputs"`` in ``model.json``). The model that `load_fitted` returns finds them
in other tables: motion columns and sites by name, regions by label in any order.
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

_NAMES = ("traits", "regions")


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model with the names of its confounds, traits and regions.

    Attributes
    ----------
    model : Storable
        The model itself: ``transform``, ``adjust``, ``predict``.
    coding : ConfoundCoding
        Columns of motion and other confounds, in the order of the model's confounds.
    traits : tuple of str
        In the order of its predictions; empty if it was fitted without.
    keeping : ConfoundCoding
        How the covariates to keep (age, sex) were coded.
    regions : tuple of str
        In the order of its connectomes; empty if they had no names.
    measure : str
        What the connectomes measure, in the word of the software that wrote them; empty if
        unknown.
    """

    model: Storable
    coding: ConfoundCoding = field(default_factory=ConfoundCoding)
    traits: tuple[str, ...] = ()
    keeping: ConfoundCoding = field(default_factory=ConfoundCoding)
    regions: tuple[str, ...] = ()
    measure: str = ""

    @property
    def confounds(self) -> tuple[str, ...]:
        """The names of the model's confounds, in their order."""
        return self.coding.names

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are correlated with motion and were not removed with it (age, sex)."""
        return self.keeping.others

    def confounds_of(
        self, motion: pd.DataFrame | None, traits: pd.DataFrame | None = None
    ) -> NDArray[np.float64] | None:
        """Return the model's confounds (n, C) of subjects, by name; None if nothing is known.

        Parameters
        ----------
        motion : pandas.DataFrame or None
            One row per subject; further columns are ignored. NaN is unknown.
        traits : pandas.DataFrame, optional
            With the sites and other confounds of the model.

        Raises
        ------
        ConfoundsError
            If a column of the model is missing or does not contain numbers, or a site is not one
            of the model and the method does not infer what is unknown.
        """
        if (motion is None and traits is None) or not self.confounds:
            return None
        # A method that infers what is not known goes on without the site.
        infers = hasattr(self.model, "infer_confounds")
        return self.coding.encode(motion, traits, unknown_levels=infers).to_numpy()

    def order_of(self, regions: Sequence[str]) -> NDArray[np.intp]:
        """Return the position in `regions` of each region of the model, shape (V,).

        ``connectomes[:, order][:, :, order]`` is then in the model's order. Regions without
        names (``region-001``, ...) are assumed to be in the model's order.

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
        """Warn if new connectomes measure something else than those of the fit."""
        if self.measure and measure and measure != self.measure:
            warnings.warn(
                f"The model was fitted to {self.measure!r}, these connectomes hold {measure!r}; "
                "its results are valid for the former only.",
                StillomeWarning,
                stacklevel=2,
            )


def save_fitted(
    fitted: FittedModel, path: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write a fitted model and the names of its confounds, traits and regions to one folder.

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
        If `path` exists and may not be replaced, or cannot be written.
    InputError
        If the number of names is not that of the model's confounds or regions.

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
    inputs: dict[str, Any] = {"coding": fitted.coding.to_json(), "measure": fitted.measure}
    inputs["keeping"] = fitted.keeping.to_json()
    inputs |= {name: list(getattr(fitted, name)) for name in _NAMES}
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
    names = {name: stored.inputs.get(name, []) for name in _NAMES}
    measure = stored.inputs.get("measure", "")
    plain = all(
        isinstance(value, list) and all(isinstance(word, str) for word in value)
        for value in names.values()
    )
    if not plain or not isinstance(measure, str):
        raise FileError(f"{path}: damaged, the names of its traits or regions cannot be read.")
    coding, keeping = (
        _read_coding(stored.inputs.get(name, ConfoundCoding().to_json()), path)
        for name in ("coding", "keeping")
    )
    if len(coding.names) != model.n_confounds_:
        raise FileError(
            f"{path}: does not say what its {model.n_confounds_} confounds are called. "
            "Save it with `stillome fit` or save_fitted."
        )
    known = {name: tuple(words) for name, words in names.items()}
    return FittedModel(model, coding, **known, keeping=keeping, measure=measure)


def _read_coding(content: Any, path: str | os.PathLike[str]) -> ConfoundCoding:
    try:
        return ConfoundCoding.from_json(content)
    except FileError as error:
        raise FileError(f"{path}: {error}") from error


def _numbered(names: Sequence[str]) -> bool:
    """Whether these are the default names of regions without names."""
    return all(name == f"region-{i + 1:03d}" for i, name in enumerate(names))

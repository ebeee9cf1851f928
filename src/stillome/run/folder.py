"""The folder of a run, and what its steps read from it: one record handed from step to step."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.cohort import Cohort
from stillome.cohort.confound_choice import Removed
from stillome.cohort.confound_coding import ConfoundCoding, in_words
from stillome.cohort.reference import resolve_reference
from stillome.cohort.validation import as_floats
from stillome.exceptions import FileError
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.fitted import FittedModel, load_fitted
from stillome.persistence import read_array, read_json, write_json, write_table, written_aside
from stillome.run.method_parameters import AUTO, WEIGHT, new_method
from stillome.run.settings import RunSettings, from_json

FORMAT, FORMAT_VERSION = "stillome-run", 1
HEADER = "run.json"

Progress = Callable[[int, int], None]


def say_nothing(done: int, total: int) -> None:
    """Be the progress of whoever shows none."""


@dataclass(frozen=True, eq=False)
class Work:
    """A run under way. What a step needs is read from the folder, so that it may start there.

    Attributes
    ----------
    out : pathlib.Path
        The run folder.
    settings : RunSettings
        With the confounds that were found.
    n_jobs : int
        Fits and probes at a time.
    progress : callable
        Called by the longer steps with (parts done, parts in all).
    """

    out: Path
    settings: RunSettings
    n_jobs: int = 1
    progress: Progress = say_nothing

    def __getstate__(self) -> dict[str, Any]:
        # Workers read what they need from the folder, rather than being sent all of it; they may
        # have been started elsewhere.
        alone = {"n_jobs": 1, "progress": say_nothing}
        return {"out": self.out.absolute(), "settings": self.settings, **alone}

    @cached_property
    def cohort(self) -> Cohort:
        """The subjects that have everything."""
        return Cohort.load(self.out / "work" / "cohort")

    @cached_property
    def source(self) -> dict[str, Any]:
        """Where the connectomes came from."""
        return dict(read_header(self.out)["source"])

    @cached_property
    def coding(self) -> ConfoundCoding:
        """How motion, and sites or the like, become confounds."""
        removed = Removed(self.settings.confounds, self.settings.other_confounds)
        return removed.coding(self.cohort.motion, self.cohort.traits)

    @cached_property
    def confounds(self) -> NDArray[np.float64]:
        """What is removed, shape (n, C), motion first, NaN where unknown."""
        return self.coding.encode(self.cohort.motion, self.cohort.traits).to_numpy()

    @property
    def motion(self) -> NDArray[np.float64]:
        """The confounds that are motion, shape (n, M)."""
        return self.confounds[:, : len(self.settings.confounds)]

    @property
    def removed(self) -> str:
        """What is removed, in words: "motion", or "motion or site"."""
        return in_words(self.settings.other_confounds)

    @cached_property
    def known(self) -> NDArray[np.intp]:
        """Positions of the subjects whose confounds are known: only they can be probed."""
        return np.flatnonzero(np.isfinite(self.confounds).all(axis=1))

    @cached_property
    def kept(self) -> NDArray[np.float64] | None:
        """Covariates that must not be removed with motion, shape (n, Q)."""
        if not self.settings.keep:
            return None
        return as_floats(self.cohort.traits[list(self.settings.keep)], "traits to keep")

    @cached_property
    def groups(self) -> NDArray[Any] | None:
        """Family or site of every subject, as text."""
        if self.settings.group is None:
            return None
        return self.cohort.traits[self.settings.group].astype(str).to_numpy(dtype=object)

    @cached_property
    def reference(self) -> NDArray[np.float64]:
        """The confounds adjusted to, shape (C,)."""
        return np.array(resolve_reference(self.coding, self.settings.reference))

    @cached_property
    def truth(self) -> NDArray[Any] | None:
        """Motion-free connectomes (n, V, V), where known."""
        place = self.out / "work" / "truth.npy"
        return read_array(place) if place.exists() else None

    @cached_property
    def fitted(self) -> FittedModel:
        """The fitted model, with the names of what it was fitted to."""
        return load_fitted(self.out / "model")

    @property
    def model(self) -> ConnectomeMethod:
        """The fitted model itself."""
        return self.fitted.model

    @cached_property
    def adjusted(self) -> NDArray[Any]:
        """Connectomes at the reference, shape (n, V, V)."""
        return read_array(self.out / "work" / "adjusted.npy")

    @cached_property
    def latents(self) -> NDArray[np.float64]:
        """The representation, shape (n, K)."""
        table = pd.read_csv(self.out / "latents.tsv", sep="\t", dtype={"participant_id": str})
        # The default parser may miss the last bit of a number.
        text = table.drop(columns="participant_id").astype(str).to_numpy(dtype=object)
        return text.astype(np.float64)

    def new_method(self, name: str) -> ConnectomeMethod:
        """Return an unfitted method, set as this run wants it."""
        parameters = dict(self.settings.parameters) if name == self.settings.method else {}
        if parameters.get(WEIGHT) == AUTO and (self.out / "model").exists():
            parameters[WEIGHT] = self.model.get_params()[WEIGHT]  # found by the fit
        return new_method(name, parameters, seed=self.settings.seed, lengths=self.cohort.lengths)

    def write_table(self, name: str, table: pd.DataFrame) -> None:
        """Write a table into the folder, whole or not at all."""
        with written_aside(self.out / name, overwrite=True) as aside:
            write_table(aside, table)

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """Write a JSON file into the folder, whole or not at all."""
        with written_aside(self.out / name, overwrite=True) as aside:
            write_json(aside, content)

    def write_array(self, name: str, array: NDArray[Any]) -> None:
        """Write a `.npy` array into the folder, whole or not at all."""
        with written_aside(self.out / name, overwrite=True) as aside, aside.open("wb") as file:
            np.save(file, array, allow_pickle=False)

    def write_tables(self, name: str, tables: dict[str, pd.DataFrame]) -> None:
        """Write a folder of tables into the folder, whole or not at all."""
        first = f"{next(iter(tables))}.tsv"
        with written_aside(self.out / name, overwrite=True, marker=first) as aside:
            aside.mkdir()
            for table_name, table in tables.items():
                write_table(aside / f"{table_name}.tsv", table)


def read_header(out: str | os.PathLike[str]) -> dict[str, Any]:
    """Read ``run.json`` of a run folder.

    Raises
    ------
    FileError
        If the folder is not that of a run, or of another version.
    """
    place = Path(out) / HEADER
    if not place.is_file():
        raise FileError(f"{out}: no results of `stillome run` ({HEADER} is missing).")
    header = read_json(place)
    if header.get("format") != FORMAT or not isinstance(header.get("settings"), dict):
        raise FileError(f"{out}: {HEADER} is not that of a stillome run.")
    if header.get("version") != FORMAT_VERSION:
        raise FileError(
            f"{out}: run format {header.get('version')}; this version reads {FORMAT_VERSION}. "
            "Update stillome."
        )
    return header


def open_run(
    out: str | os.PathLike[str], *, n_jobs: int = 1, progress: Progress | None = None
) -> Work:
    """Return what the steps of an earlier run left in its folder.

    Raises
    ------
    FileError
        If the folder is not that of a run.
    """
    settings = from_json(read_header(out)["settings"])
    return Work(Path(out), settings, n_jobs, progress or say_nothing)

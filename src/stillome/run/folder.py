"""`RunFolder`: everything a run has left in its folder, for its steps and for its report."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.evaluate.graph_motion import GRAPH_COLUMNS
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.leakage.power import Power
from stillome.evaluate.motion_effects import MotionEffects
from stillome.exceptions import FileError, StillomeError
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.diagnostics import LatentDiagnostics
from stillome.methods.fitted import FittedModel, load_fitted
from stillome.run.effect_tables import EFFECT_TABLES, effects_from_tables
from stillome.run.run_certificates import (
    CERTIFICATE_COLUMNS,
    FOUND,
    RunCertificate,
    certificates_of_table,
)
from stillome.run.run_cohort import RunCohort
from stillome.run.run_files import ID
from stillome.run.run_tables import Columns
from stillome.run.slider import Slider

_COMPARED = {
    "folds": Columns(text=("method", "trait"), numbers=("r",)),
    "summary": Columns(
        text=("method", "trait", "status"),
        numbers=("n_subjects", "r_mean", "r_low", "r_high", "r_sd", "r_min", "r_max"),
    ),
    "tests": Columns(text=("method", "trait", "against"), numbers=("difference", "p_holm")),
}
_LISTED = ("fibres_raw", "fibres_adjusted", "change_percent", "zeros_raw", "zeros_adjusted")


class Baseline(NamedTuple):
    """What another method makes of the subjects whose confounds are known."""

    latents: Floats  # (n_known, K)
    adjusted: NDArray[Any]  # (n_known, V, V)


class RunFolder(RunCohort):
    """The folder of a run; nothing is read before it is asked for, and everything once.

    What a run did not look for is None: `truth`, `baselines`, `frontier`, `history`,
    `diagnostics`, `leakage_by_keeping`, `comparison`, `predictions`, `slider`.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    FileError
        Where a file is read that is missing, damaged, or belongs to another cohort.

    Examples
    --------
    `run_pipeline` shows what is read from a run. The folder alone knows the names of its files:

    >>> import tempfile
    >>> folder = RunFolder(tempfile.mkdtemp())
    >>> folder.place("report").name, folder.has("diagnostics")
    ('report.html', False)
    """

    def __getstate__(self) -> dict[str, Any]:
        # Workers read what they need from the folder, rather than being sent all of it; they may
        # have been started elsewhere.
        return {"path": self.path.absolute()}

    def check(self) -> None:
        """Read everything that the report needs; refuse a run that is not finished.

        Raises
        ------
        FileError
        """
        for name, member in [*vars(RunCohort).items(), *vars(RunFolder).items()]:
            # A model may need minutes to load, and the report does not use it.
            if isinstance(member, cached_property) and name != "fitted":
                getattr(self, name)

    @cached_property
    def motion_effects(self) -> MotionEffects:
        """What motion did to the raw connectomes of the `known` subjects."""
        return self._effects("motion_effects")

    @cached_property
    def effects_left(self) -> MotionEffects:
        """The same of their adjusted connectomes."""
        return self._effects("effects_left")

    @cached_property
    def fitted(self) -> FittedModel:
        """The fitted model, with the names of what it was fitted to."""
        return load_fitted(self.place("model"))

    @property
    def model(self) -> ConnectomeMethod:
        """The fitted model itself."""
        return self.fitted.model

    @cached_property
    def latents(self) -> Floats:
        """The representation, shape (n, K)."""
        return self._of_subjects("latents").drop(columns=ID).to_numpy(dtype=np.float64)

    @cached_property
    def frontier(self) -> pd.DataFrame | None:
        """Leakage and fit by weight, where the weight was chosen."""
        return self._if_there("frontier")

    @cached_property
    def history(self) -> pd.DataFrame | None:
        """Losses by epoch, of a network."""
        return self._if_there("history")

    @cached_property
    def diagnostics(self) -> LatentDiagnostics | None:
        """Information in every latent dimension, where the method measures it."""
        if not self.has("diagnostics"):
            return None
        content = self.read_json("diagnostics")
        try:
            kl = np.array(content["kl_per_unit"], dtype=np.float64)
            return LatentDiagnostics(kl, int(content["active_units"]))
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(
                f"{self.place('diagnostics')}: damaged. {self.again('diagnostics')}"
            ) from error

    @cached_property
    def adjusted(self) -> NDArray[Any]:
        """Connectomes at the reference, shape (n, V, V)."""
        return self._matrices("adjusted")

    def baseline(self, name: str) -> Baseline:
        """Return what a baseline made of the `known` subjects."""
        shape = (len(self.known), *self.cohort.connectomes.shape[1:])
        adjusted = self.read_matrices("baselines", shape, f"{name}/adjusted.npy")
        latents = self.read_matrices("baselines", shape[:1], f"{name}/latents.npy")
        return Baseline(latents, adjusted)

    @cached_property
    def certificates(self) -> tuple[RunCertificate, ...]:
        """What probes read of motion, before and after."""
        level = self.certificate_notes["level"]
        table = self.read_table("certificates", CERTIFICATE_COLUMNS)
        return certificates_of_table(table, level)

    @cached_property
    def certificate_notes(self) -> dict[str, Any]:
        """Level, permutations, parts and repeats of cross-fitting, power, notes to the reader."""
        notes = self.read_json("certificate_notes")
        kinds = {"level": float, "n_permutations": int, "parts": int, "repeats": int}
        kinds |= {"power": dict, "notes": list}
        if any(not isinstance(notes.get(n), kind) for n, kind in kinds.items()):
            again = self.again("certificate_notes")
            raise FileError(f"{self.place('certificate_notes')}: damaged. {again}")
        return notes

    def power(self, features: str) -> Power | None:
        """Return the smallest leakage that would have been detected in unseen subjects.

        Parameters
        ----------
        features : {"connectomes", "z"}
        """
        found = self.certificate_notes["power"].get(features)
        if found is None:
            return None
        values = [found.get(name) for name in Power._fields]
        return Power(*(float("nan") if one is None else float(one) for one in values))

    @cached_property
    def graph_motion(self) -> pd.DataFrame:
        """Rank correlations of graph measures with motion: ``use``, ``method``, ``measure``."""
        columns = Columns(text=("use", "method", "measure"), numbers=GRAPH_COLUMNS)
        return self.read_table("graph_motion", columns)

    @cached_property
    def leakage_by_keeping(self) -> dict[bool, LeakageCertificate] | None:
        """Leakage in unseen subjects with (True) and without keeping covariates."""
        if not self.has("keeping"):
            return None
        columns = Columns(text=("probe",), numbers=FOUND, yes_no=("kept",))
        table, level = self.read_table("keeping", columns), self.certificate_notes["level"]
        return {
            kept: LeakageCertificate(table[table["kept"] == kept].set_index("probe"), level)
            for kept in (True, False)
        }

    @cached_property
    def graph_measures(self) -> pd.DataFrame:
        """Graph measures of every subject, before and after."""
        return self._of_subjects("graph_measures")

    @cached_property
    def fidelity(self) -> pd.DataFrame:
        """What adjusting kept; one row per method, the run's own first."""
        has = Columns(text=("method",), numbers=("r2", "identification", "variance_ratio"))
        return self.read_table("fidelity", has)

    @cached_property
    def comparison(self) -> dict[str, pd.DataFrame] | None:
        """Trait prediction: ``folds``, ``summary`` and ``tests``."""
        return self._tables("comparison", _COMPARED) if self.has("comparison") else None

    @cached_property
    def predictions(self) -> pd.DataFrame | None:
        """Traits of every subject, predicted by models fitted to others."""
        return self._if_there("predictions", Columns(text=(ID, "trait")))

    @cached_property
    def slider(self) -> Slider | None:
        """Connectomes at several references."""
        if not self.has("slider"):
            return None
        try:
            return Slider.load(self.place("slider"), self.cohort.n_regions)
        except FileError as error:
            raise FileError(f"{error} {self.again('slider')}") from error

    @cached_property
    def subjects(self) -> pd.DataFrame:
        """One row per subject: motion, fibres before and after, flags."""
        return self._of_subjects("subjects", Columns(text=(ID, "flags"), numbers=_LISTED))

    def _matrices(self, key: str) -> NDArray[Any]:
        return self.read_matrices(key, self.cohort.connectomes.shape)

    def _if_there(self, key: str, columns: Columns = Columns()) -> pd.DataFrame | None:  # noqa: B008
        return self.read_table(key, columns) if self.has(key) else None

    def _of_subjects(self, key: str, columns: Columns | None = None) -> pd.DataFrame:
        table = self.read_table(key, columns or Columns(text=(ID,)))
        if list(table[ID]) != list(self.cohort.subject_ids):
            raise FileError(
                f"{self.place(key)}: other subjects than in work/cohort. {self.again(key)}"
            )
        return table

    def _tables(self, key: str, parts: dict[str, Columns]) -> dict[str, pd.DataFrame]:
        return {name: self.read_table(key, columns, name) for name, columns in parts.items()}

    def _effects(self, key: str) -> MotionEffects:
        tables = self._tables(key, EFFECT_TABLES)
        try:
            return effects_from_tables(tables, self.cohort.regions, self.measure)
        except StillomeError as error:
            raise FileError(f"{self.place(key)}/{error} {self.again(key)}") from error

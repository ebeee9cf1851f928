"""What a run was asked to do, and the cohort that it read."""

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.confound_choice import Removed
from stillome.cohort.confound_coding import ConfoundCoding, in_words
from stillome.cohort.kept_covariates import kept_covariates
from stillome.cohort.reference import resolve_reference
from stillome.cohort.stored_matrices import matrix_parts
from stillome.exceptions import FileError
from stillome.run.run_files import FILES, FORMAT, FORMAT_VERSION, ID, RunFiles
from stillome.run.run_tables import Columns
from stillome.run.settings import RunSettings, from_json


class RunCohort(RunFiles):
    """Settings and cohort of a run, and what follows from them for every step."""

    @cached_property
    def header(self) -> dict[str, Any]:
        """``run.json``: command, settings, provenance, source."""
        name = FILES["header"].name
        if not self.place("header").is_file():
            raise FileError(f"{self.path}: no results of `stillome run` ({name} is missing).")
        header = self.read_json("header")
        if header.get("format") != FORMAT:
            raise FileError(f"{self.path}: {name} is not that of a stillome run.")
        if header.get("version") != FORMAT_VERSION:
            raise FileError(
                f"{self.path}: run format {header.get('version')}; this version reads "
                f"{FORMAT_VERSION}. Update stillome."
            )
        if not all(isinstance(header.get(part), dict) for part in ("settings", "source")):
            raise FileError(f"{self.path}: {name} is damaged. {self.again('header')}")
        return header

    @cached_property
    def settings(self) -> RunSettings:
        """What was asked for, with the confounds that were found."""
        settings = from_json(self.header["settings"])
        if not settings.confounds:
            raise FileError(f"{self.path}: run.json names no confounds; it is damaged.")
        return settings

    @property
    def source(self) -> dict[str, Any]:
        """Where the connectomes came from."""
        return dict(self.header["source"])

    @property
    def method(self) -> str:
        """Name of the method whose connectomes were written."""
        return self.settings.method

    @cached_property
    def dropped(self) -> pd.DataFrame:
        """Subjects that could not be used, and why."""
        return self.read_table("dropped", Columns(text=(ID, "reason")))

    @cached_property
    def cohort(self) -> Cohort:
        """The subjects that have everything; their connectomes stay on disk until they are used."""
        cohort = Cohort.load(self.place("cohort"), memory_map=True)
        for names, table, where in (
            (self.settings.confounds, cohort.motion, "motion"),
            (self.settings.other_confounds, cohort.traits, "traits"),
        ):
            missing = [name for name in names if name not in table]
            if missing:
                raise FileError(f"{self.path}: work/cohort has no {where} column {missing[0]!r}.")
        return cohort

    @cached_property
    def truth(self) -> NDArray[Any] | None:
        """Motion-free connectomes (n, V, V), where known."""
        if not self.has("truth"):
            return None
        return self.read_matrices("truth", self.cohort.connectomes.shape)

    @cached_property
    def whole_counts(self) -> bool:
        """Whether connectomes hold whole numbers of streamlines, not weights."""
        parts = matrix_parts(self.cohort.connectomes)
        return all(bool((part == np.round(part)).all()) for _, part in parts)

    @cached_property
    def coding(self) -> ConfoundCoding:
        """How motion, and sites or the like, become confounds."""
        removed = Removed(self.settings.confounds, self.settings.other_confounds)
        return removed.coding(self.cohort.motion, self.cohort.traits)

    @cached_property
    def confounds(self) -> Floats:
        """What is removed, shape (n, C), motion first, NaN where unknown."""
        return self.coding.encode(self.cohort.motion, self.cohort.traits).to_numpy()

    @property
    def motion(self) -> Floats:
        """The confounds that are motion, shape (n, M)."""
        return self.confounds[:, : len(self.settings.confounds)]

    @property
    def measure(self) -> str:
        """The first motion column, by which subjects are grouped and the slider moves."""
        return self.settings.confounds[0]

    @cached_property
    def known(self) -> NDArray[np.intp]:
        """Positions of the subjects whose confounds are known: only they are probed and drawn."""
        return np.flatnonzero(np.isfinite(self.confounds).all(axis=1))

    @cached_property
    def kept(self) -> Floats | None:
        """Covariates that must not be removed with motion, shape (n, Q)."""
        if not self.settings.keep:
            return None
        return kept_covariates(self.cohort.traits, self.settings.keep).values

    @property
    def keeping(self) -> ConfoundCoding:
        """How the covariates to keep become numbers."""
        return kept_covariates(self.cohort.traits, self.settings.keep).coding

    @cached_property
    def groups(self) -> NDArray[Any] | None:
        """Families, and people with several scans, as methods take them; None without."""
        return self.cohort.groups(self.settings.group)

    @cached_property
    def reference(self) -> Floats:
        """The confounds adjusted to, shape (C,)."""
        return np.array(resolve_reference(self.coding, self.settings.reference))

    @property
    def reference_said(self) -> dict[str, str]:
        """What every column was adjusted to, in words: ``{"rms_mm": "0", "site": "A"}``."""
        return self.coding.said(self.reference)

    @property
    def removed(self) -> str:
        """What is removed, in words: "motion", or "motion or site"."""
        return in_words(self.settings.other_confounds)

    @property
    def sought(self) -> str:
        """What probes look for: "motion", or "motion and site"."""
        return in_words(self.settings.other_confounds, "and")

"""A cohort: who was scanned, their connectomes, how they moved, and what else is known of them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.edges import matrices_to_edges
from stillome.exceptions import FileError, InputError
from stillome.persistence import read_json, write_json, written_aside
from stillome.validation import check_connectomes

FORMAT = "stillome-cohort"
FORMAT_VERSION = 1


class MotionGroups(NamedTuple):
    """Subjects who moved least and most, as positions in the cohort, with the two cut-offs."""

    small: NDArray[np.intp]
    large: NDArray[np.intp]
    low_cutoff: float
    high_cutoff: float


@dataclass(frozen=True, eq=False)
class Cohort:
    """Connectomes with everything that belongs to the same subjects, in one order.

    Parameters
    ----------
    subject_ids : sequence of str
        Unique; '001' stays '001'.
    connectomes : array of shape (n, V, V)
        Fibre counts; may be memory-mapped.
    motion : pandas.DataFrame, optional
        One row per subject, units in the column names (``rms_mm``, ``rotation_rad``).
    traits : pandas.DataFrame, optional
        One row per subject; NaN is missing.
    regions : pandas.DataFrame, optional
        One row per region with at least ``name``; ``hemisphere``, ``lobe``, ``x``, ``y``, ``z``
        (mm, MNI) where known.
    lengths : array of shape (V, V), optional
        Mean fibre length between regions in mm.

    Examples
    --------
    >>> counts = np.array([[[0, 5], [5, 0]], [[0, 3], [3, 0]]])
    >>> cohort = Cohort(["A", "B"], counts, motion=pd.DataFrame({"rms_mm": [0.2, 0.9]}))
    >>> cohort.n_subjects, cohort.n_regions
    (2, 2)
    >>> cohort.select(["B"]).motion["rms_mm"].tolist()
    [0.9]
    """

    subject_ids: Sequence[str]
    connectomes: NDArray[Any]
    motion: pd.DataFrame = field(default_factory=pd.DataFrame)
    traits: pd.DataFrame = field(default_factory=pd.DataFrame)
    regions: pd.DataFrame = field(default_factory=pd.DataFrame)
    lengths: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        ids = _check_ids(self.subject_ids)
        regions = self.regions
        if len(regions) and "name" not in regions:
            raise InputError("regions: no column 'name'. Name the regions.")
        names = [str(name) for name in regions["name"]] if len(regions) else None
        connectomes = check_connectomes(self.connectomes, subject_ids=ids, regions=names)
        if connectomes.ndim != 3:
            raise InputError("connectomes: a cohort holds matrices (n, V, V), not edge vectors.")
        n_regions = connectomes.shape[1]
        if not len(regions):
            regions = pd.DataFrame({"name": [f"region-{i + 1:03d}" for i in range(n_regions)]})
        values = {
            "subject_ids": ids,
            "connectomes": connectomes,
            "motion": _aligned(self.motion, ids, "motion"),
            "traits": _aligned(self.traits, ids, "traits"),
            "regions": regions.reset_index(drop=True),
            "lengths": _check_lengths(self.lengths, n_regions),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def n_subjects(self) -> int:
        """Number of subjects, n."""
        return len(self.subject_ids)

    @property
    def n_regions(self) -> int:
        """Number of regions, V."""
        return int(self.connectomes.shape[1])

    @property
    def edges(self) -> NDArray[Any]:
        """Upper triangles, shape (n, V(V-1)/2)."""
        return matrices_to_edges(self.connectomes, check=False)

    def __repr__(self) -> str:
        return (
            f"Cohort({self.n_subjects} subjects, {self.n_regions} regions, "
            f"motion: {list(self.motion.columns)}, traits: {list(self.traits.columns)})"
        )

    def select(self, subjects: ArrayLike) -> "Cohort":
        """Return the cohort of some subjects only, in the order asked for.

        Parameters
        ----------
        subjects : sequence of ids, of positions, or a boolean mask of length n
        """
        positions = self._positions(np.asarray(subjects))
        return replace(
            self,
            subject_ids=[self.subject_ids[i] for i in positions],
            connectomes=self.connectomes[positions],
            motion=self.motion.iloc[positions],
            traits=self.traits.iloc[positions],
        )

    def split(
        self, *, test_size: float = 0.3, random_state: int | None = 0
    ) -> tuple["Cohort", "Cohort"]:
        """Divide the subjects at random into a training and a test cohort."""
        n_test = round(self.n_subjects * test_size) if 0 < test_size < 1 else 0
        if not 0 < n_test < self.n_subjects:
            raise InputError(
                f"test_size={test_size} of {self.n_subjects} subjects leaves one side empty."
            )
        order = np.random.default_rng(random_state).permutation(self.n_subjects)
        return self.select(np.sort(order[n_test:])), self.select(np.sort(order[:n_test]))

    def motion_groups(self, column: str, *, quantile: float = 0.1) -> MotionGroups:
        """Find the subjects at both ends of one motion measure (Section 2.2 of the paper).

        Parameters
        ----------
        column : str
            A column of `motion`; subjects without a value belong to neither group.
        quantile : float, default=0.1
            Share of subjects in each group: 0.05 for ABCD, 0.1 for HCP in the paper.
        """
        if column not in self.motion:
            raise InputError(
                f"motion has no column {column!r}; it has {list(self.motion.columns)}."
            )
        if not 0 < quantile <= 0.5:
            raise InputError(f"quantile={quantile}; expected a share above 0 and at most 0.5.")
        values = self.motion[column].to_numpy(dtype=float)
        if not np.isfinite(values).any():
            raise InputError(f"motion: column {column!r} holds no value for any subject.")
        low, high = np.nanquantile(values, [quantile, 1 - quantile])
        if low == high:
            raise InputError(
                f"motion: column {column!r} is {low:g} in both groups; nothing differs."
            )
        return MotionGroups(
            small=np.flatnonzero(values <= low),
            large=np.flatnonzero(values >= high),
            low_cutoff=float(low),
            high_cutoff=float(high),
        )

    def edge_means(self, subjects: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the mean matrix (V, V) over all subjects, or over some."""
        chosen = slice(None) if subjects is None else self._positions(np.asarray(subjects))
        return np.asarray(self.connectomes[chosen].mean(axis=0), dtype=np.float64)

    def group_difference(self, column: str, *, quantile: float = 0.1) -> NDArray[np.float64]:
        """Return the mean matrix of the large-motion group minus that of the small (Fig. 2B)."""
        groups = self.motion_groups(column, quantile=quantile)
        return self.edge_means(groups.large) - self.edge_means(groups.small)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the cohort to a folder: `cohort.json`, `.npy` arrays and `.tsv` tables.

        The folder holds ``cohort.json`` (format, version, sizes), ``connectomes.npy`` (n, V, V),
        ``lengths.npy`` (V, V; where known), ``regions.tsv``, ``motion.tsv`` and ``traits.tsv``;
        the latter two start with a column ``participant_id``; ``n/a`` is missing.
        """
        with written_aside(folder, overwrite=overwrite) as aside:
            aside.mkdir()
            np.save(aside / "connectomes.npy", self.connectomes, allow_pickle=False)
            if self.lengths is not None:
                np.save(aside / "lengths.npy", self.lengths, allow_pickle=False)
            for name in ("motion", "traits"):
                table: pd.DataFrame = getattr(self, name)
                table.to_csv(
                    aside / f"{name}.tsv", sep="\t", na_rep="n/a", index_label="participant_id"
                )
            self.regions.to_csv(aside / "regions.tsv", sep="\t", na_rep="n/a", index=False)
            header = {
                "format": FORMAT,
                "version": FORMAT_VERSION,
                "n_subjects": self.n_subjects,
                "n_regions": self.n_regions,
            }
            write_json(aside / "cohort.json", header)
        return Path(folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, memory_map: bool = False) -> "Cohort":
        """Read a cohort that `save` wrote.

        Parameters
        ----------
        folder : path-like
        memory_map : bool, default=False
            Whether connectomes stay on disk and are read where they are used.

        Raises
        ------
        FileError
            If the folder is missing, damaged, foreign, or from a later version.
        """
        folder = Path(folder)
        header = read_json(folder / "cohort.json")
        if header.get("format") != FORMAT:
            raise FileError(f"{folder}: not a saved stillome cohort (cohort.json says otherwise).")
        if header.get("version") != FORMAT_VERSION:
            raise FileError(
                f"{folder}: cohort format {header.get('version')}; this version reads "
                f"{FORMAT_VERSION}. Update stillome."
            )
        motion = _read_table(folder / "motion.tsv", "participant_id")
        lengths = folder / "lengths.npy"
        try:
            return cls(
                subject_ids=list(motion.index),
                connectomes=_read_array(folder / "connectomes.npy", memory_map=memory_map),
                motion=motion,
                traits=_read_table(folder / "traits.tsv", "participant_id"),
                regions=_read_table(folder / "regions.tsv", None),
                lengths=_read_array(lengths, memory_map=False) if lengths.exists() else None,
            )
        except InputError as error:
            raise FileError(f"{folder}: {error}") from error

    def _positions(self, subjects: NDArray[Any]) -> NDArray[np.intp]:
        if subjects.ndim != 1:
            raise InputError(f"subjects: shape {subjects.shape}; expected a list.")
        if subjects.dtype.kind == "b":
            if len(subjects) != self.n_subjects:
                raise InputError(
                    f"subjects: mask of {len(subjects)} for {self.n_subjects} subjects."
                )
            positions = np.flatnonzero(subjects)
        elif subjects.dtype.kind in "iu":
            positions = subjects.astype(np.intp)
            if len(positions) and not (
                -self.n_subjects <= positions.min() and positions.max() < self.n_subjects
            ):
                raise InputError(f"subjects: a position lies outside 0…{self.n_subjects - 1}.")
        else:
            places = {subject: i for i, subject in enumerate(self.subject_ids)}
            unknown = [str(s) for s in subjects if str(s) not in places]
            if unknown:
                raise InputError(f"subjects: no subject {unknown[0]!r} in this cohort.")
            positions = np.array([places[str(s)] for s in subjects], dtype=np.intp)
        if not len(positions):
            raise InputError("subjects: none selected.")
        return positions


def _check_ids(subject_ids: Sequence[str]) -> tuple[str, ...]:
    ids = tuple(subject_ids)
    for subject in ids:
        if not isinstance(subject, str) or not subject.strip():
            raise InputError(f"subject_ids: {subject!r}; expected text that is not empty.")
        if any(mark in subject for mark in "\t\n\r"):
            raise InputError(f"subject_ids: {subject!r} holds a tab or line break; rename it.")
    if len(set(ids)) != len(ids):
        twice = next(s for i, s in enumerate(ids) if s in ids[:i])
        raise InputError(f"subject_ids: {twice!r} occurs more than once. Keep one scan of each.")
    return ids


def _aligned(table: pd.DataFrame, ids: tuple[str, ...], name: str) -> pd.DataFrame:
    """Give a table the subject ids as its index, checking the ones it may already have."""
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"{name}: a {type(table).__name__}; expected a pandas DataFrame.")
    index = pd.Index(ids, name="participant_id", dtype=object)
    if table.shape[1] == 0 and len(table) != len(ids):
        return pd.DataFrame(index=index)
    if len(table) != len(ids):
        raise InputError(f"{name}: {len(table)} rows for {len(ids)} subjects.")
    carries_ids = all(isinstance(label, str) for label in table.index)
    if carries_ids and tuple(table.index) != ids:
        raise InputError(f"{name}: its index is not the subject ids in the same order.")
    return table.set_axis(index, axis=0)


def _check_lengths(lengths: ArrayLike | None, n_regions: int) -> NDArray[np.float64] | None:
    if lengths is None:
        return None
    try:
        array = np.asarray(lengths, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"lengths: cannot be read as numbers ({error}).") from error
    if array.shape != (n_regions, n_regions):
        raise InputError(f"lengths: shape {array.shape}; expected ({n_regions}, {n_regions}).")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InputError("lengths: negative or not finite; expected mm, 0 where unknown.")
    return array


def _read_array(path: Path, *, memory_map: bool) -> NDArray[Any]:
    try:
        return np.asanyarray(
            np.load(path, mmap_mode="r" if memory_map else None, allow_pickle=False)
        )
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"{path}: cannot be read as an array ({error}).") from error


def _read_table(path: Path, index: str | None) -> pd.DataFrame:
    text = {index: str} if index else {"name": str}
    try:
        table = pd.read_csv(
            path, sep="\t", dtype=text, keep_default_na=False, na_values={}, encoding="utf-8"
        )
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise FileError(f"{path}: cannot be read as a table ({error}).") from error
    if index is not None:
        if index not in table:
            raise FileError(f"{path}: no column {index!r}.")
        table = table.set_index(index)
    return table.apply(_numeric_where_possible)


def _numeric_where_possible(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if column.dtype != object and not pd.api.types.is_string_dtype(column):
        return column
    missing = column == "n/a"
    try:
        return pd.to_numeric(column.mask(missing))
    except (ValueError, TypeError):
        return column.mask(missing)

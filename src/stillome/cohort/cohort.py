"""A cohort: subjects with their connectomes, head motion, traits, regions and fibre lengths."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.confound_choice import choose_removed
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.groups import group_levels, held_out
from stillome.cohort.motion_groups import MotionGroups, motion_groups
from stillome.cohort.scan_ids import nested_groups, person_of, session_in
from stillome.cohort.stored_matrices import (
    in_its_file,
    mean_matrix,
    save_matrices,
    some_matrices,
)
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation import (
    aligned_table,
    check_connectomes,
    check_lengths,
    check_random_state,
    check_share,
    check_subject_ids,
    check_table,
    subject_positions,
)
from stillome.cohort.validation.sliced import is_sliced
from stillome.exceptions import FileError, InputError
from stillome.persistence import (
    column_dtypes,
    read_array,
    read_json,
    read_table,
    write_json,
    write_table,
    written_aside,
)

FORMAT = "stillome-cohort"
FORMAT_VERSION = 1
HEADER = "cohort.json"


@dataclass(frozen=True, eq=False)
class Cohort:
    """Connectomes with everything that belongs to the same subjects, in one order.

    Parameters
    ----------
    subject_ids : sequence of str
        Unique; '001' stays '001'. Of people with several scans, ``<person>_ses-<session>``.
    connectomes : array of shape (n, V, V)
        Fibre counts; may be memory-mapped, or stay in a store that is sliced (zarr, HDF5, Dask).
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
        ids = check_subject_ids(self.subject_ids)
        regions = check_table(self.regions, "regions")
        if len(regions) and "name" not in regions:
            raise InputError("regions: no column 'name'. Name the regions.")
        names = [str(name) for name in regions["name"]] if len(regions) else None
        connectomes = check_connectomes(
            self.connectomes, subject_ids=ids, regions=names, in_slices=True
        )
        if connectomes.ndim != 3:
            raise InputError("connectomes: a cohort holds matrices (n, V, V), not edge vectors.")
        n_regions = connectomes.shape[1]
        names = names or [f"region-{i + 1:03d}" for i in range(n_regions)]
        values = {
            "subject_ids": ids,
            "connectomes": connectomes,
            "motion": aligned_table(self.motion, ids, "motion"),
            "traits": aligned_table(self.traits, ids, "traits"),
            "regions": regions.reset_index(drop=True).assign(name=names),
            "lengths": check_lengths(self.lengths, n_regions),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def n_subjects(self) -> int:
        """Number of subjects, n."""
        return len(self.subject_ids)

    @property
    def people(self) -> list[str]:
        """The person of every scan: the id without ``_ses-<session>``."""
        return [person_of(scan) for scan in self.subject_ids]

    @property
    def session_ids(self) -> list[str | None]:
        """The session of every scan; None where the id has none."""
        return [session_in(scan) for scan in self.subject_ids]

    def groups(self, column: str | None = None) -> NDArray[Any] | None:
        """Return who belongs together: what methods and certificates take as ``groups``.

        Parameters
        ----------
        column : str, optional
            Of `traits` or `motion`: families, for instance. Scans of a person are together anyway.

        Returns
        -------
        array of shape (n,) or (n, 3), or None
            See `group_levels`. None where everybody is alone.
        """
        families = None
        if column is not None:
            there = next((t for t in (self.traits, self.motion) if column in t), None)
            if there is None:
                raise InputError(f"groups: no column {column!r} among the traits or motion.")
            families = there[column].to_numpy(dtype=object)
        return nested_groups(families, self.subject_ids)

    @property
    def n_regions(self) -> int:
        """Number of regions, V."""
        return int(self.connectomes.shape[1])

    @property
    def X(self) -> Any:  # noqa: N802
        """Edge vectors, the upper triangles row by row: what methods are fitted to."""
        return self.edges

    def confounds(self, *names: str) -> pd.DataFrame:
        """Return what is to be removed, as numbers: what methods take as ``confounds``.

        Parameters
        ----------
        *names : str
            Columns of `motion` and `traits`; text (a site) becomes one column per level but the
            most frequent. Without names, the usual measure of motion that is there. With names of
            `traits` only, that measure as well.

        Returns
        -------
        pandas.DataFrame of shape (n, C)
            Indexed by subject id; NaN is unknown.

        Raises
        ------
        ConfoundsError
            If a column is not there, does not vary, or no column has a usual name.

        Examples
        --------
        >>> counts = np.array([[[0, 5], [5, 0]], [[0, 3], [3, 0]]])
        >>> motion = pd.DataFrame({"rms_mm": [0.2, 0.9], "rotation_rad": [0.01, 0.02]})
        >>> cohort = Cohort(["A", "B"], counts, motion=motion)
        >>> cohort.X.shape, cohort.confounds("rotation_rad")["rotation_rad"].tolist()
        ((2, 1), [0.01, 0.02])
        """
        removed = choose_removed(self.motion, self.traits, names)
        return removed.coding(self.motion, self.traits).encode(self.motion, self.traits)

    @property
    def edges(self) -> Any:
        """Upper triangles, shape (n, V(V-1)/2); read in slices where connectomes are in a store."""
        if is_sliced(self.connectomes):
            return SubjectRows(self.connectomes)
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
        positions = subject_positions(subjects, self.subject_ids)
        return replace(
            self,
            subject_ids=[self.subject_ids[i] for i in positions],
            connectomes=some_matrices(self.connectomes, positions),
            motion=self.motion.iloc[positions],
            traits=self.traits.iloc[positions],
        )

    def split(
        self, *, test_size: float = 0.3, random_state: int | np.random.Generator | None = 0
    ) -> tuple["Cohort", "Cohort"]:
        """Divide the subjects at random into a training and a test cohort; people stay whole.

        Parameters
        ----------
        test_size : float, default=0.3
            Share of subjects in the test cohort.
        random_state : int, optional
            The same seed divides in the same way.
        """
        n_test = round(self.n_subjects * check_share(test_size, "test_size"))
        if not 0 < n_test < self.n_subjects:
            raise InputError(
                f"test_size={test_size} of {self.n_subjects} subjects leaves one side empty."
            )
        order = check_random_state(random_state).permutation(self.n_subjects)
        groups = self.groups()
        levels = None if groups is None else group_levels(groups, self.n_subjects)
        train, test = held_out(order, n_test, levels)
        return self.select(train), self.select(test)

    def motion_groups(self, column: str, *, quantile: float = 0.1) -> MotionGroups:
        """Find the subjects at both ends of one motion measure (Section 2.2 of the paper).

        Parameters
        ----------
        column : str
            A column of `motion`; subjects without a value belong to neither group.
        quantile : float, default=0.1
            Share of subjects in each group: 0.05 for ABCD, 0.1 for HCP in the paper.
        """
        return motion_groups(self.motion, column, quantile)

    def edge_means(self, subjects: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the mean matrix (V, V) over all subjects, or over some."""
        chosen = slice(None) if subjects is None else subject_positions(subjects, self.subject_ids)
        if not is_sliced(self.connectomes):
            return np.asarray(self.connectomes[chosen].mean(axis=0, dtype=np.float64))
        return mean_matrix(self.connectomes, np.arange(self.n_subjects)[chosen])

    def group_difference(self, column: str, *, quantile: float = 0.1) -> NDArray[np.float64]:
        """Return the mean matrix of the large-motion group minus that of the small (Fig. 2B)."""
        groups = self.motion_groups(column, quantile=quantile)
        return self.edge_means(groups.large) - self.edge_means(groups.small)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the cohort to a folder: `cohort.json`, `.npy` arrays and `.tsv` tables.

        The folder holds ``cohort.json`` (format, version, sizes, what each column holds),
        ``connectomes.npy`` (n, V, V), ``lengths.npy`` (V, V; where known), ``regions.tsv``,
        ``motion.tsv`` and ``traits.tsv``; the latter two start with a column ``participant_id``;
        ``n/a`` is missing. With `overwrite`, only an earlier cohort (or nothing) is replaced.

        Raises
        ------
        FileError
            If something stands there that may not be replaced, or it cannot be written.
        """
        tables = {"motion": self.motion, "traits": self.traits, "regions": self.regions}
        with written_aside(folder, overwrite=overwrite, marker=HEADER) as aside:
            aside.mkdir()
            save_matrices(aside / "connectomes.npy", self.connectomes)
            if self.lengths is not None:
                np.save(aside / "lengths.npy", self.lengths, allow_pickle=False)
            for name, table in tables.items():
                write_table(aside / f"{name}.tsv", table, index=name != "regions")
            header = {
                "format": FORMAT,
                "version": FORMAT_VERSION,
                "n_subjects": self.n_subjects,
                "n_regions": self.n_regions,
                "columns": {name: column_dtypes(table) for name, table in tables.items()},
            }
            write_json(aside / HEADER, header)
        return Path(folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, memory_map: bool = False) -> "Cohort":
        """Read a cohort that `save` wrote.

        Parameters
        ----------
        folder : path-like
        memory_map : bool, default=False
            Whether connectomes stay on disk and are read where they are used; of more than 512 MiB
            only slices are read (`StoredMatrices`).

        Raises
        ------
        FileError
            If the folder is missing, damaged, foreign, or from a later version.
        """
        folder = Path(folder)
        columns = _read_header(folder)
        try:
            tables = {
                name: read_table(
                    folder / f"{name}.tsv",
                    dtypes=columns[name],
                    index=None if name == "regions" else "participant_id",
                )
                for name in ("motion", "traits", "regions")
            }
            matrices, lengths = folder / "connectomes.npy", folder / "lengths.npy"
            return cls(
                subject_ids=list(tables["motion"].index),
                connectomes=in_its_file(read_array(matrices, memory_map=memory_map)),
                lengths=read_array(lengths) if lengths.exists() else None,
                **tables,
            )
        except InputError as error:
            raise FileError(f"{folder}: {error}") from error


def _read_header(folder: Path) -> dict[str, dict[str, str]]:
    """Return what the columns of each table hold."""
    header = read_json(folder / HEADER)
    if header.get("format") != FORMAT:
        raise FileError(f"{folder}: not a saved stillome cohort ({HEADER} says otherwise).")
    if header.get("version") != FORMAT_VERSION:
        raise FileError(
            f"{folder}: cohort format {header.get('version')}; this version reads "
            f"{FORMAT_VERSION}. Update stillome."
        )
    columns = header.get("columns")
    tables = ("motion", "traits", "regions")
    if not isinstance(columns, dict) or not all(isinstance(columns.get(t), dict) for t in tables):
        raise FileError(f"{folder}: {HEADER} does not say what the columns hold; it is damaged.")
    return columns

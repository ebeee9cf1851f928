"""What was read: the record that users get, and the parts of it that readers return."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from stillome.arrays import Floats


@dataclass(frozen=True, eq=False)
class Holding:
    """One matrix, or one stack of matrices, as a file holds it, before any check.

    Attributes
    ----------
    values : array of shape (V, V) or (n, V, V)
        As written; anything that has a `shape`, a `dtype` and slices like an array.
    measure : str
        The file's name for the measure (``radius2_count``, ``mean_length``).
    atlas : str or None
    regions : tuple of str or None
        Names of the rows, where the file gives them.
    subject_ids : tuple of str or None
        For a stack: whose matrices they are, where the file says so.
    axis : int or None
        For a stack: the axis of `values` that runs over subjects; None if it has to be found.
    edges : bool
        Whether `values` are (n, E) edge vectors.
    edge_order : {"upper", "lower"} or None
        Their order, row by row, where the file states it.
    partial : bool
        Whether regions without any edge may be left out, as edge lists do.
    background : bool
        Whether row and column 0 are the background, not a region.
    """

    values: Any
    measure: str = "count"
    atlas: str | None = None
    regions: tuple[str, ...] | None = None
    subject_ids: tuple[str, ...] | None = None
    axis: int | None = 0
    edges: bool = False
    edge_order: str | None = None
    partial: bool = False
    background: bool = False


@dataclass(frozen=True, eq=False)
class Contents:
    """Everything one file holds, and who wrote it.

    Attributes
    ----------
    producer : str
        A key of `stillome.io.recognise.FORMATS`.
    holdings : tuple of Holding
    notes : tuple of str
        Remarks on how the file was read.
    """

    producer: str
    holdings: tuple[Holding, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where connectomes came from, as needed to write others in the same format.

    Attributes
    ----------
    producer : str
        A key of `stillome.io.recognise.FORMATS`.
    files : tuple of str
        One per subject, or a single one for a stack.
    atlas : str or None
    triangle : str
        ``"symmetric"``, ``"upper"`` or ``"lower"``: how the matrices were stored.
    """

    producer: str
    files: tuple[str, ...]
    atlas: str | None = None
    triangle: str = "symmetric"


@dataclass(frozen=True, eq=False)
class ConnectomeData:
    r"""Connectomes of several subjects, cleaned and in one order of regions.

    Attributes
    ----------
    subject_ids : tuple of str
        Normalised and unique.
    connectomes : array of shape (n, V, V), or LazyStack of that shape
        Symmetric, zero diagonal, in the units of `measure`.
    regions : pandas.DataFrame
        One row per region with ``name``, and whatever else is known.
    measure : str
        The producer's name for the measure.
    lengths : array of shape (V, V) or None
        Mean fibre length over the subjects in mm, 0 where no fibre was found.
    source : Source
    notes : tuple of str
        How the files were read: triangles mirrored, diagonals set to 0.
    warnings : tuple of str
        What affects results: regions without a fibre, rows left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from stillome.io import read_connectomes
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "sub-01_connectome.csv").write_text("0,5\n0,0\n")
    >>> data = read_connectomes(folder)
    >>> data.subject_ids, data.source.producer, data.measure
    (('01',), 'MRtrix3', 'count')
    """

    subject_ids: tuple[str, ...]
    connectomes: Any
    regions: pd.DataFrame
    measure: str
    source: Source
    lengths: Floats | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def n_subjects(self) -> int:
        """Number of subjects, n."""
        return len(self.subject_ids)

    @property
    def n_regions(self) -> int:
        """Number of regions, V."""
        return int(self.connectomes.shape[1])

    def __repr__(self) -> str:
        return (
            f"ConnectomeData({self.n_subjects} subjects, {self.n_regions} regions, "
            f"{self.measure}, from {self.source.producer})"
        )

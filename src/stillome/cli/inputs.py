"""What the verbs read: connectomes, motion and traits of the same subjects, joined by id."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stillome.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from stillome.cohort.cohort import Cohort
    from stillome.io.connectome_data import ConnectomeData
    from stillome.methods.fitted import FittedModel


@dataclass(frozen=True)
class Files:
    """Which files to read, and how; the fields are the options of the verbs."""

    connectomes: Sequence[str]
    motion: Sequence[str] | None = None
    traits: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    confounds: Sequence[str] = ()
    labels: str | None = None
    lengths: str | None = None
    atlas: str | None = None
    measure: str | None = None
    symmetrize: str | None = None
    session: str | None = None
    subjects: Path | None = None
    dropped: Path | None = None
    overwrite: bool = False


@dataclass(frozen=True, eq=False)
class Tables:
    """Motion and traits by subject id, each None if none was named, and their files."""

    motion: "pd.DataFrame | None"
    traits: "pd.DataFrame | None"
    files: tuple[str, ...]

    def of(self, subject_ids: Sequence[str]) -> "Tables":
        """Return the rows of some subjects; whoever was not asked for is not left out."""
        wanted = set(subject_ids)

        def rows(table: "pd.DataFrame | None") -> "pd.DataFrame | None":
            known = None if table is None else table[table.index.isin(wanted)]
            # Without any of them the whole table says best which ids it has.
            return table if known is None or known.empty else known

        return replace(self, motion=rows(self.motion), traits=rows(self.traits))


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything that was read, of the subjects that have all of it.

    Attributes
    ----------
    data : ConnectomeData
        The record of the connectomes, for writers that keep their format.
    cohort : Cohort
    files : tuple of str
        Everything it was read from.
    """

    data: "ConnectomeData"
    cohort: "Cohort"
    files: tuple[str, ...]

    @property
    def index(self) -> "pd.Index[str]":
        """The ids, as the index of a table."""
        import pandas as pd

        return pd.Index(self.data.subject_ids, name="participant_id", dtype=object)


def read_subjects(files: Files) -> Inputs:
    """Read what the options name.

    Raises
    ------
    FileError, InputError
        One sentence that says what is wrong, where, and what to do.
    """
    from stillome.io.cohorts import read_cohort
    from stillome.io.connectomes import read_connectomes, select_subjects

    data = read_connectomes(
        one_or_many(files.connectomes),
        atlas=files.atlas,
        measure=files.measure,
        labels=files.labels,
        symmetrize=files.symmetrize,
        session=files.session,
        subjects=files.subjects,
    )
    tables = read_tables(files)
    if files.subjects is not None:
        tables = tables.of(data.subject_ids)
    cohort = read_cohort(
        data,
        motion=tables.motion,
        traits=tables.traits,
        labels=files.labels,
        lengths=files.lengths,
        dropped=files.dropped,
        overwrite=files.overwrite,
    )
    return Inputs(
        select_subjects(data, cohort.subject_ids),
        cohort,
        tuple(dict.fromkeys([*data.source.files, *tables.files])),
    )


def read_tables(files: Files) -> Tables:
    """Read motion and traits alone, of everybody who is in them."""
    from stillome.io.motion.summary import read_motion
    from stillome.io.tables.phenotypes import read_traits
    from stillome.run.removed import not_motion

    if files.columns and not files.traits:
        raise InputError(f"{files.columns[0]!r} is in no table. Name the table with --traits.")
    motion = read_motion(list(files.motion), session=files.session) if files.motion else None
    traits = None
    if files.traits:
        columns = None
        if files.columns:
            columns = list(dict.fromkeys([*files.columns, *not_motion(motion, files.confounds)]))
        traits = read_traits(files.traits, columns=columns, session=files.session)
    read: list[str] = [] if motion is None else list(motion.attrs["files"])
    if traits is not None:
        source = traits.attrs["source"]  # of one table its name, of several a list
        read += [source] if isinstance(source, str) else list(source)
    return Tables(motion, traits, tuple(read))


def read_new_subjects(fitted: "FittedModel", files: Files) -> Inputs:
    """Read subjects for a fitted model; its regions are found by name, in whatever order.

    The cohort comes in the model's order of regions, `data` stays as it was read.
    """
    others = fitted.coding.others if files.motion or files.traits else ()
    read = read_subjects(replace(files, traits=files.traits if others else None, columns=others))
    fitted.warn_of_other_measure(read.data.measure)
    order = fitted.order_of(list(read.cohort.regions["name"]))
    cohort = replace(
        read.cohort,
        connectomes=reordered(read.cohort.connectomes, order),
        regions=read.cohort.regions.iloc[order],
        lengths=None if read.cohort.lengths is None else reordered(read.cohort.lengths, order),
    )
    return replace(read, cohort=cohort)


def confounds_of(fitted: "FittedModel", read: Inputs) -> "NDArray[np.float64] | None":
    """Return the confounds of new subjects under the names of the fit; None if not given."""
    motion, traits = (
        table if len(table.columns) else None for table in (read.cohort.motion, read.cohort.traits)
    )
    return fitted.confounds_of(motion, traits)


def reordered(matrices: "NDArray[Any]", order: "NDArray[np.intp]") -> "NDArray[Any]":
    """Return matrices (..., V, V) with rows and columns in another order.

    Examples
    --------
    >>> import numpy as np
    >>> reordered(np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]]), np.array([2, 1, 0])).tolist()
    [[0, 3, 2], [3, 0, 1], [2, 1, 0]]
    """
    return matrices[..., order, :][..., order]


def numbers(table: "pd.DataFrame", names: Sequence[str], what: str) -> "NDArray[np.float64]":
    """Return columns as numbers (n, T), naming the column that cannot be used.

    Raises
    ------
    InputError
        If a column holds text, no value at all, or the same for everybody.
    """
    import numpy as np
    import pandas as pd

    if len(table) < 2:
        raise InputError(f"{len(table)} subject has everything asked for; at least 2 are needed.")
    for name in names:
        column = table[name]
        if not pd.api.types.is_numeric_dtype(column):
            raise InputError(f"{what} {name!r} holds text. Code it as numbers first.")
        if column.isna().all():
            raise InputError(
                f"{what} {name!r} is missing for all {len(column)} subjects. Choose another."
            )
        if column.nunique() < 2:
            raise InputError(f"{what} {name!r} is the same for everybody. Leave it out.")
    return table[list(names)].to_numpy(dtype=np.float64, na_value=np.nan)


def one_or_many(paths: Sequence[str]) -> str | list[str]:
    """Return a single path by itself: a folder is searched, a list is taken as it is."""
    return paths[0] if len(paths) == 1 else list(paths)

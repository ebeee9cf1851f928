"""What `stillome certify` reads: features, and what probes look for in them."""

import warnings
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from stillome.exceptions import InputError, StillomeWarning

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from stillome.cohort.confound_choice import Removed
    from stillome.run.study_files import StudyFiles
    from stillome.run.subject_tables import SubjectTables


class Kind(StrEnum):
    """What is certified."""

    auto = "auto"
    features = "features"
    connectomes = "connectomes"


class Found(NamedTuple):
    """Features as they were read: whose they are, and from which files."""

    subject_ids: tuple[str, ...]
    features: "NDArray[Any]"  # (n, p), or (n, V, V) for counts
    kind: Literal["features", "counts"]
    files: tuple[str, ...]


class Sought(NamedTuple):
    """What the probes look for in features, of the subjects that have everything."""

    subject_ids: list[str]
    confounds: "NDArray[np.float64]"  # (n, C)
    nuisance: "NDArray[np.float64] | None"  # (n, Q)
    groups: "NDArray[Any] | None"  # (n,)


def read_features(place: str, kind: Kind, files: "StudyFiles") -> Found:
    """Read a table of features, or connectomes."""
    import numpy as np

    from stillome.io.tables.phenotypes import read_table
    from stillome.run.study_files import read_matrices

    if kind is Kind.features or (kind is Kind.auto and is_feature_table(place)):
        values = read_table(place, session=files.session)
        if files.subjects:
            missing = next((one for one in files.subjects if one not in values.index), None)
            if missing is not None:
                raise InputError(f"{place}: no row of {missing!r}. Leave it out of subjects=...")
            values = values.loc[list(files.subjects)]
        matrix = values.to_numpy(dtype=np.float64, na_value=np.nan) if _numeric(values) else None
        if matrix is None:
            raise InputError(f"{place}: a column of it holds text; features must be numbers.")
        return Found(tuple(values.index), matrix, "features", (place,))
    data = read_matrices(files, [place])
    return Found(data.subject_ids, np.asarray(data.connectomes), "counts", data.source.files)


def is_feature_table(place: str) -> bool:
    """Whether this is a table with one row per subject whose columns are not edges."""
    from stillome.io.formats import wide_tables
    from stillome.io.formats.text_matrix import first_cells
    from stillome.io.guarded_files import open_item
    from stillome.io.subject_ids import ID_COLUMNS

    if not Path(place).is_file():
        return False
    item = open_item(place)
    head = item.head()
    cells = first_cells(head)
    named = bool(cells) and cells[0].lower() in ID_COLUMNS
    return named and not wide_tables.recognises(item, head)


def look_for(
    subject_ids: Sequence[str],
    tables: "SubjectTables",
    removed: "Removed",
    nuisance: Sequence[str],
    group: str | None,
) -> Sought:
    """Return confounds, nuisance and groups of the subjects whose confounds are all known.

    Raises
    ------
    InputError
        If the confounds of nobody are known, or a column cannot be used.
    """
    from stillome.cohort.scan_ids import nested_groups
    from stillome.cohort.validation import check_columns

    assert tables.motion is not None
    known = tables.motion.loc[list(subject_ids), list(removed.motion)].notna().all(axis=1)
    if tables.traits is not None:
        known &= tables.traits.loc[list(subject_ids), list(removed.others)].notna().all(axis=1)
    ids = [subject for subject in subject_ids if known[subject]]
    if not ids:
        names = " and ".join([*removed.motion, *removed.others])
        raise InputError(f"Nobody has {names}. Choose others with confounds=...")
    if len(ids) < len(subject_ids):
        warnings.warn(
            f"{len(subject_ids) - len(ids)} of {len(subject_ids)} subjects are left out: not all "
            "of their confounds are known.",
            StillomeWarning,
            stacklevel=2,
        )
    motion = tables.motion.loc[ids]
    traits = None if tables.traits is None else tables.traits.loc[ids]
    coding = removed.coding(motion, traits)
    return Sought(
        ids,
        check_columns(coding.encode(motion, traits), coding.names, "confound"),
        check_columns(traits, nuisance, "nuisance") if traits is not None and nuisance else None,
        nested_groups(
            traits[group].to_numpy(dtype=object) if traits is not None and group else None, ids
        ),
    )


def features_of(found: Found, subject_ids: Sequence[str]) -> "NDArray[Any]":
    """Return the features of these subjects, in their order.

    Raises
    ------
    InputError
        If one of them has no features.
    """
    import numpy as np

    places = {subject: i for i, subject in enumerate(found.subject_ids)}
    missing = next((subject for subject in subject_ids if subject not in places), None)
    if missing is not None:
        raise InputError(f"against=...: no connectome of {missing!r}. Give those of all subjects.")
    return found.features[np.array([places[subject] for subject in subject_ids])]


def _numeric(values: "pd.DataFrame") -> bool:
    return values.shape[1] == values.select_dtypes("number").shape[1] > 0

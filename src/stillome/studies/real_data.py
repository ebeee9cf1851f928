"""Cohorts for the studies: HCP and ABCD for whoever holds them, simulated stand-ins for the rest.

A folder of real data holds what docs/real-data.md lists:

- HCP: ``unrestricted*.csv`` (and ``restricted*.csv``, where families are asked for);
  ``connectomes`` (a folder, or one stack such as ``connectomes.mat``, in any format that stillome
  reads); eddy's logs, and the transforms of FLIRT between b = 0 frames, in folders of any name.
- ABCD: the tables of traits and of motion (``.txt``, ``.csv`` or ``.tsv``; releases 4 to 6),
  ``connectomes``, and transforms as above.

Translation and rotation come from FLIRT only. A subject without FLIRT stays in the studies of head
motion. Of several events the baseline is taken. ``regions.tsv`` names the regions; without it they
must be the 68 of Desikan and Killiany in FreeSurfer's order, or be named in the files.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome import Cohort, simulate_cohort
from stillome.cohort.scan_ids import has_sessions
from stillome.exceptions import FileError
from stillome.io import ConnectomeData, read_connectomes, read_traits
from stillome.io.cohorts import join_subjects, without_fibres
from stillome.io.connectomes import select_subjects
from stillome.io.motion.abcd import abcd_release, read_abcd_motion
from stillome.io.tables.delimited import read_cells
from stillome.simulate import load_desikan_killiany
from stillome.simulate.realistic import motion_free_rates
from stillome.studies.measured_motion import BASELINE_SESSIONS, measured_motion
from stillome.studies.study import (
    Options,
)
from stillome.studies.study_cohort import ABCD, ALSO_SHOWN, HCP, QUANTILE, TRAITS, StudyCohort

BASELINES = ("baseline_year_1_arm_1", "ses-00A", "00A")
_SIZES = {HCP: (1065, 100), ABCD: (1000, 100)}  # full, quick


def study_cohorts(options: Options) -> list[StudyCohort]:
    """Return the real cohort of a folder, or stand-ins shaped like HCP and, unless quick, ABCD."""
    if options.data is not None:
        return [load_cohort(options.data, group=options.group)]
    names = (HCP,) if options.quick else (HCP, ABCD)
    return [stand_in(name, _SIZES[name][options.quick], options.seed) for name in names]


def stand_in(name: str, n_subjects: int, seed: int) -> StudyCohort:
    """Simulate a cohort with the motion of HCP or ABCD; streamlines are lost to motion.

    Its traits have the names of the paper's, so that figures show the same ones; they are draws.
    """
    named = [*TRAITS[name][0], *ALSO_SHOWN[name]]
    simulated = simulate_cohort(
        n_subjects, "thinning", n_traits=len(named), motion=name.lower(), random_state=seed
    )
    cohort = replace(simulated.cohort, traits=simulated.cohort.traits.set_axis(named, axis=1))
    return StudyCohort(
        *(f"simulated {name}", cohort, "rms_mm", QUANTILE[name], simulated.X_free),
        rates=motion_free_rates(simulated),
    )


def load_cohort(data: Path, *, group: str | None = None) -> StudyCohort:
    """Read HCP or ABCD, whichever a folder holds.

    Parameters
    ----------
    data : pathlib.Path
    group : str, optional
        The column of a table that says who belongs together (families).

    Raises
    ------
    StillomeError
        One sentence that says what is missing, and where it is expected.
    """
    folder = Path(data)
    if not folder.is_dir():
        raise FileError(f"{folder}: no such folder. Give the one that holds HCP or ABCD data.")
    stacks = sorted(folder.glob("connectomes*"))
    if not stacks:
        raise FileError(f"{folder}: no connectomes. Put them into {folder / 'connectomes'}.")
    name, tables = _tables(folder, stacks)
    headers = {path: _event(path) for path in tables}
    traits = _traits(folder, name, headers)
    data_read = _connectomes(stacks[0], folder / "regions.tsv")
    measured = measured_motion(folder, data_read.subject_ids, skip=stacks[0])
    motion = _motion(folder, measured, headers)
    head = next((column for column in ("rms_mm", "fd_mm") if column in motion), None)
    if head is None:
        raise FileError(f"{folder}: no head motion (eddy_movement_rms, or ABCD's dmri_meanmotion).")
    join = join_subjects(
        data_read.subject_ids, motion[[head]], traits, empty=without_fibres(data_read)
    )
    if not join.kept:
        raise FileError(f"{folder}: no subject has connectome, {head} and traits.")
    kept = select_subjects(data_read, join.kept)
    cohort = Cohort(
        subject_ids=kept.subject_ids,
        connectomes=np.asanyarray(kept.connectomes),
        motion=motion.reindex(join.kept),
        traits=traits.loc[join.kept],
        regions=kept.regions,
        lengths=kept.lengths,
    )
    return StudyCohort(
        *(name, cohort, head, QUANTILE[name]),
        inputs=tuple(map(str, [stacks[0], *tables])),
        families=None if group is None else _families(folder, group, headers, join.kept),
        dropped=join.dropped.groupby("reason")["participant_id"].apply(list).to_dict(),
    )


def _tables(folder: Path, connectomes: list[Path]) -> tuple[str, list[Path]]:
    """Return HCP or ABCD, and the tables of traits and motion."""
    there = [path for path in folder.iterdir() if path.suffix in (".csv", ".tsv", ".txt")]
    there = [path for path in there if path.stem != "regions" and path not in connectomes]
    hcp = [path for path in there if "restricted" in path.name.lower()]
    if any(path.name.lower().startswith("unrestricted") for path in hcp):
        return HCP, sorted(hcp)
    if not there:
        raise FileError(f"{folder}: neither HCP's unrestricted*.csv nor a table of ABCD in it.")
    return ABCD, sorted(there)


def _event(path: Path) -> tuple[set[str], str | None]:
    """Return the columns of a table, and the baseline where it has several events."""
    cells = read_cells(path)[0]
    events = {value for column in ("eventname", "session_id") for value in cells.get(column, ())}
    return set(cells.columns), next((event for event in BASELINES if event in events), None)


def _traits(
    folder: Path, name: str, headers: dict[Path, tuple[set[str], str | None]]
) -> pd.DataFrame:
    there = set().union(*(columns for columns, _ in headers.values()))
    wanted = next((names for names in TRAITS[name] if there & set(names.values())), TRAITS[name][0])
    missing = sorted(set(wanted.values()) - there)
    if missing:
        raise FileError(f"{folder}: no table has the column {missing[0]!r} of the paper's traits.")
    known = {t: column for t, column in ALSO_SHOWN[name].items() if column in there}
    parts = []
    for path, (columns, event) in headers.items():
        chosen = {column: t for t, column in (wanted | known).items() if column in columns}
        if chosen:
            table = read_traits(path, columns=list(chosen), session=event)
            parts.append(table.rename(columns=chosen))
    return pd.concat(parts, axis=1)


def _motion(
    folder: Path, measured: pd.DataFrame, headers: dict[Path, tuple[set[str], str | None]]
) -> pd.DataFrame:
    tables = [(path, e) for path, (columns, e) in headers.items() if abcd_release(list(columns))]
    # Translation and rotation of ABCD's tables are head motion, not what is left after eddy.
    parts = [
        read_abcd_motion(path, session=event, rotation_unit="deg")[["fd_mm"]]
        for path, event in tables
    ]
    if len(measured):
        # What was measured on the images themselves comes before what a table says of them.
        parts.insert(0, measured)
    if not parts:
        raise FileError(f"{folder}: neither eddy's logs nor a table of ABCD with motion in it.")
    joined = pd.concat(parts, axis=1)
    return joined.loc[:, ~joined.columns.duplicated()].dropna(axis=1, how="all")


def _families(
    folder: Path,
    group: str,
    headers: dict[Path, tuple[set[str], str | None]],
    subjects: list[str],
) -> NDArray[Any]:
    """Return the family of each subject; who has none is a family alone."""
    for path, (columns, event) in headers.items():
        if group in columns:
            table = read_traits(path, columns=[group], session=event)[group].reindex(subjects)
            return np.where(table.isna(), subjects, table.astype(str))
    raise FileError(f"{folder}: no table has the column {group!r} of families.")


def _connectomes(path: Path, named: Path) -> ConnectomeData:
    labels = named if named.exists() else None
    data = read_connectomes(path, labels=labels)
    if has_sessions(data.subject_ids):
        data = read_connectomes(path, labels=labels, session=BASELINE_SESSIONS[0])
    if labels is not None:
        return data
    unnamed = data.n_regions == 68 and data.regions["name"].iloc[0] == "region-001"
    return replace(data, regions=load_desikan_killiany()) if unnamed else data

"""Cohorts for the studies: HCP and ABCD for whoever holds them, simulated stand-ins for the rest.

A folder of real data holds

- HCP: ``unrestricted*.csv``; ``connectomes`` (a folder, or one stack such as ``connectomes.mat``,
  in any format that stillome reads); eddy's logs, as ``<id>/T1w/Diffusion/eddylogs/*`` or in any
  folder that names the subject; the transforms of FLIRT between b = 0 frames, where residual
  misalignment is to be studied.
- ABCD: the tables of traits and of motion (``.txt``, ``.csv`` or ``.tsv``; releases 4 to 6),
  ``connectomes``, and transforms as above. Without them translation and rotation are the means
  over frames that the study's own tables report.

Of several events the baseline is taken. ``regions.tsv`` names the regions; without it they must
be the 68 of Desikan and Killiany in FreeSurfer's order, or be named in the files.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from stillome import Cohort, read_cohort, simulate_cohort
from stillome.exceptions import FileError
from stillome.io import ConnectomeData, read_connectomes, read_motion, read_traits
from stillome.io.motion.abcd import abcd_release
from stillome.io.tables.delimited import read_cells
from stillome.simulate import load_desikan_killiany

HCP, ABCD = "HCP", "ABCD"
# The paper's five traits by column name; ABCD's names changed with release 6.
TRAITS: dict[str, tuple[dict[str, str], ...]] = {
    HCP: (
        {
            "picture vocabulary": "PicVocab_AgeAdj",
            "pattern completion": "ProcSpeed_AgeAdj",
            "picture sequence": "PicSeq_AgeAdj",
            "list sorting": "ListSort_AgeAdj",
            "fluid intelligence": "PMAT24_A_CR",
        },
    ),
    ABCD: (
        {
            "picture vocabulary": "nihtbx_picvocab_agecorrected",
            "oral reading": "nihtbx_reading_agecorrected",
            "fluid composite": "nihtbx_fluidcomp_agecorrected",
            "crystallized composite": "nihtbx_cryst_agecorrected",
            "total composite": "nihtbx_totalcomp_agecorrected",
        },
        {
            "picture vocabulary": "nc_y_nihtb__picvcb__agecor_score",
            "oral reading": "nc_y_nihtb__readr__agecor_score",
            "fluid composite": "nc_y_nihtb__comp__fluid__agecorr_score",
            "crystallized composite": "nc_y_nihtb__comp__cryst__agecorr_score",
            "total composite": "nc_y_nihtb__comp__tot__agecor_score",
        },
    ),
}
# Figure 7 shows two more traits of HCP.
ALSO_SHOWN = {HCP: {"oral reading": "ReadEng_AgeAdj", "card sorting": "CardSort_AgeAdj"}, ABCD: {}}
QUANTILE = {HCP: 0.1, ABCD: 0.05}  # share of subjects in each motion group, Section 2.2
RESIDUAL = ("translation_mm", "rotation_rad")
BASELINES = ("baseline_year_1_arm_1", "ses-00A", "00A")
_SIZES = {HCP: (1065, 100), ABCD: (1000, 100)}  # full, quick


@dataclass(frozen=True, eq=False)
class StudyCohort:
    """A cohort with what the studies must know of it.

    Attributes
    ----------
    name : str
        "HCP" or "ABCD", "simulated HCP" or "simulated ABCD".
    cohort : Cohort
        Traits have the paper's names.
    head_motion : str
        The column of head motion.
    quantile : float
        Share of subjects in the large and in the small motion group.
    motion_free : array of shape (n, E), or None
        The truth, where simulated.
    inputs : tuple of str
    """

    name: str
    cohort: Cohort
    head_motion: str
    quantile: float
    motion_free: NDArray[Any] | None = None
    inputs: tuple[str, ...] = ()

    @property
    def residual(self) -> tuple[str, ...]:
        """The columns of translation and rotation, as far as they are known."""
        return tuple(name for name in RESIDUAL if name in self.cohort.motion)


def study_cohorts(data: Path | None, seed: int, *, quick: bool) -> list[StudyCohort]:
    """Return the real cohort of a folder, or stand-ins shaped like HCP and, unless quick, ABCD."""
    if data is not None:
        return [load_cohort(data)]
    names = (HCP,) if quick else (HCP, ABCD)
    return [stand_in(name, _SIZES[name][quick], seed) for name in names]


def stand_in(name: str, n_subjects: int, seed: int) -> StudyCohort:
    """Simulate a cohort with the motion of HCP or ABCD; streamlines are lost to motion."""
    simulated = simulate_cohort(n_subjects, "thinning", motion=name.lower(), random_state=seed)
    return StudyCohort(
        f"simulated {name}", simulated.cohort, "rms_mm", QUANTILE[name], simulated.X_free
    )


def load_cohort(data: Path) -> StudyCohort:
    """Read HCP or ABCD, whichever a folder holds.

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
    hcp = sorted(folder.glob("unrestricted*.csv"))
    tables = hcp or [path for end in ("txt", "csv", "tsv") for path in folder.glob(f"*.{end}")]
    tables = sorted(path for path in tables if path.stem != "regions")
    if not tables:
        raise FileError(f"{folder}: neither HCP's unrestricted*.csv nor a table of ABCD in it.")
    name = HCP if hcp else ABCD
    headers = {path: _event(path) for path in tables}
    traits = _traits(folder, name, headers)
    motion = _motion(folder, stacks[0], headers)
    head = next((column for column in ("rms_mm", "fd_mm") if column in motion), None)
    if head is None:
        raise FileError(f"{folder}: no head motion (eddy_movement_rms, or ABCD's dmri_meanmotion).")
    cohort = read_cohort(
        _connectomes(stacks[0], folder / "regions.tsv"), motion=motion.dropna(), traits=traits
    )
    inputs = tuple(map(str, [stacks[0], *tables]))
    return StudyCohort(name, cohort, head, QUANTILE[name], None, inputs)


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
    folder: Path, connectomes: Path, headers: dict[Path, tuple[set[str], str | None]]
) -> pd.DataFrame:
    tables = [(path, e) for path, (columns, e) in headers.items() if abcd_release(list(columns))]
    # ABCD's pipeline reports degrees, whether or not a table says so.
    parts = [read_motion(path, session=event, rotation_unit="deg") for path, event in tables]
    folders = [p for p in folder.iterdir() if p.is_dir() and p != connectomes]
    if folders:
        # What was measured on the images themselves comes before what a table says of them.
        parts.insert(0, read_motion(sorted(folders)))
    if not parts:
        raise FileError(f"{folder}: neither eddy's logs nor a table of ABCD with motion in it.")
    joined = pd.concat(parts, axis=1)
    return joined.loc[:, ~joined.columns.duplicated()].dropna(axis=1, how="all")


def _connectomes(path: Path, named: Path) -> ConnectomeData:
    if named.exists():
        return read_connectomes(path, labels=named)
    data = read_connectomes(path)
    unnamed = data.n_regions == 68 and data.regions["name"].iloc[0] == "region-001"
    return replace(data, regions=load_desikan_killiany()) if unnamed else data

"""Motion effects as tables of a run folder, and back."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.motion_groups import MotionGroups
from stillome.evaluate.motion_effects import QCSC, MotionEffects, edge_table
from stillome.exceptions import FileError
from stillome.run.run_files import ID
from stillome.run.run_tables import Columns

EFFECT_TABLES = {
    "fibre_totals": Columns(
        numbers=("group", "n_subjects", "motion_median", "fibres_mean", "fibres_se")
    ),
    "changed_edges": Columns(
        text=("region_a", "region_b"),
        numbers=("length_mm", "small_mean", "large_mean", "difference", "change"),
    ),
    "qcsc": Columns(
        text=("region_a", "region_b"),
        numbers=("length_mm", "correlation", "p_value", "difference"),
    ),
    "groups": Columns(text=(ID, "group"), numbers=("motion", "cutoff")),
}
_SMALL, _BETWEEN, _LARGE = "small", "between", "large"


def effects_to_tables(
    effects: MotionEffects, subject_ids: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Return everything that a description of motion effects holds.

    Parameters
    ----------
    effects : MotionEffects
    subject_ids : sequence of str
        Of the subjects who were described.

    Returns
    -------
    dict of pandas.DataFrame
        ``fibre_totals`` and ``changed_edges`` as in `MotionEffects`, ``qcsc`` as by `edge_table`,
        and ``groups``: of every subject ``motion``, ``group`` (small, between or large motion) and
        the ``cutoff`` of that group.
    """
    groups = effects.groups
    table = pd.DataFrame({ID: list(subject_ids), "motion": effects.motion})
    table = table.assign(group=_BETWEEN, cutoff=np.nan)
    table.loc[groups.small, ["group", "cutoff"]] = [_SMALL, groups.low_cutoff]
    table.loc[groups.large, ["group", "cutoff"]] = [_LARGE, groups.high_cutoff]
    return {
        "fibre_totals": effects.totals,
        "changed_edges": effects.changed_edges,
        "qcsc": edge_table(effects),
        "groups": table,
    }


def effects_from_tables(
    tables: Mapping[str, pd.DataFrame], regions: pd.DataFrame, column: str
) -> MotionEffects:
    """Return the motion effects that `effects_to_tables` turned into tables.

    Parameters
    ----------
    tables : mapping of str to pandas.DataFrame
    regions : pandas.DataFrame
        One row per region.
    column : str
        The motion measure.

    Raises
    ------
    FileError
        If the tables belong to another cohort.
    """
    edges, subjects = tables["qcsc"], tables["groups"]
    if len(edges) != len(regions) * (len(regions) - 1) // 2:
        raise FileError(f"qcsc.tsv: {len(edges)} edges; expected those of {len(regions)} regions.")
    small, large = (np.flatnonzero(subjects["group"] == name) for name in (_SMALL, _LARGE))
    if not len(small) or not len(large):
        raise FileError("groups.tsv: no subject in the group with small or with large motion.")
    cutoffs = subjects["cutoff"].to_numpy()
    lengths = edges["length_mm"].to_numpy()
    return MotionEffects(
        column=column,
        motion=subjects["motion"].to_numpy(),
        regions=regions,
        groups=MotionGroups(small, large, float(cutoffs[small[0]]), float(cutoffs[large[0]])),
        totals=tables["fibre_totals"].astype({"group": int, "n_subjects": int}),
        difference=edges_to_matrices(edges["difference"].to_numpy()),
        changed_edges=tables["changed_edges"],
        qcsc=QCSC(
            edges["correlation"].to_numpy(),
            edges["p_value"].to_numpy(),
            None if np.isnan(lengths).all() else lengths,
        ),
    )

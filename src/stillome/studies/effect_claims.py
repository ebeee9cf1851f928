"""What the paper claims about the effects of motion, before any adjustment."""

from typing import Any

import numpy as np

from stillome.studies.intervals import bootstrap, with_interval
from stillome.studies.study import (
    DATA,
    FAILS,
    HOLDS,
    NO_VERDICT,
    NOT_TESTED,
    UNTESTABLE,
    Claim,
)
from stillome.studies.study_cohort import RESIDUAL, StudyCohort


def loss_claim(row: dict[str, Any]) -> Claim:
    """Test the loss of fibres with one measure of motion."""
    residual = row["measure"] in RESIDUAL
    section = "Appendix G, Figure A2" if residual else "Section 2.2, Figure 2"
    lost = with_interval(row["fibres_lost"], (row["fibres_lost_low"], row["fibres_lost_high"]))
    holds = row["fibres_lost_low"] > 0 and row["edges_with_motion"] > 0.05
    return Claim(
        f"People with much motion ({row['measure']}) have fewer fibres, in many connections.",
        section,
        f"{row['cohort']}, {row['subjects']} subjects: share of fibres lost between the outer "
        f"groups, observed connectomes: {lost}",
        *(NOT_TESTED,) * 3,
        verdict=UNTESTABLE if row["simulated"] else HOLDS if holds else FAILS,
        about=DATA,
        why=f"{row['edges_with_motion']:.0%} of the edges are associated with motion, "
        f"{row['edges_lower']:.0%} are lower in those who moved much."
        + (" This was put into the simulation." if row["simulated"] else ""),
    )


def no_flirt_claim(study: StudyCohort, section: str) -> Claim:
    """Say that nothing is said of residual misalignment."""
    return Claim(
        "What the paper says of residual misalignment.",
        section,
        f"{study.name}: not tested",
        *(NOT_TESTED,) * 3,
        verdict=NO_VERDICT,
        about=DATA,
        why="There are no transforms of FLIRT between b = 0 frames (docs/real-data.md says how to "
        "make them). What eddy estimates is head motion, not what is left after it.",
    )


def misalignment_claim(study: StudyCohort, seed: int) -> Claim:
    """Test whether head motion and residual misalignment are correlated."""
    table = study.cohort.motion[[study.head_motion, *study.residual]].to_numpy(dtype=float)

    def largest(rows: Any) -> float:
        return float(np.abs(np.corrcoef(table[rows].T)[0, 1:]).max())

    value = largest(np.arange(len(table)))
    interval = bootstrap(largest, len(table), seed)
    why = "In the paper's data it was low."
    if study.motion_free is not None:
        why += " In the simulation translation and rotation follow head motion, so that nothing is "
        why += "tested."
    return Claim(
        "Residual misalignment correlates little with head motion.",
        "Appendix G, Figure A3",
        f"{study.name}: largest |r| with head motion {with_interval(value, interval)}",
        *(NOT_TESTED,) * 3,
        verdict=UNTESTABLE if study.simulated else HOLDS if interval[1] < 0.5 else FAILS,
        about=DATA,
        why=why,
    )

"""What the paper claims about connectomes adjusted for motion, compared with the measures."""

import pandas as pd

from stillome.studies.applied import OBSERVED, TRUTH, figures_of, shown
from stillome.studies.study import (
    AS_PUBLISHED,
    FAILS,
    GATE,
    HOLDS,
    INV_FA,
    NOT_TESTED,
    QUICK_NOTE,
    Claim,
    Options,
    Verdict,
    verdict,
)
from stillome.studies.study_cohort import StudyCohort


def claims_of(
    study: StudyCohort, columns: tuple[str, ...], table: pd.DataFrame, options: Options
) -> list[Claim]:
    """Return the claims for one cohort and one set of confounds."""
    found = table.set_index("method")
    head = columns == (study.head_motion,)
    figure = "Section 5.1, Figure 4" if head else "Appendix G, Figures A4 and A5"
    on = f"{study.name}, {table['subjects'].iloc[0]} subjects, {' and '.join(columns)}; "
    on += f"{QUICK_NOTE}; " if options.quick else ""
    known = study.motion_free is not None
    claims = [_gate(table, columns, figure, on)]
    claims += [_difference(table, column, figure, on, known=known) for column in columns]
    claims.append(
        Claim(
            "Invariant embeddings carry no information about motion.",
            figure,
            on + "worst cross-fitted R² of any probe that reads motion from z",
            **figures_of(table, "leakage_z"),
            verdict=_verdict(found["leakage_z_passes"]),
            why="Motion moves the overall scale, which an encoder that never sees c keeps; the gap "
            "in two principal components may close while a probe still reads it.",
        )
    )
    if "leakage_adjusted" in found:
        claims.append(
            Claim(
                "Motion cannot be read from the adjusted connectomes.",
                figure,
                on + "worst cross-fitted R² of any probe that reads motion from A*; observed "
                f"{found.loc[OBSERVED, 'leakage_adjusted']:.2f}",
                **figures_of(table, "leakage_adjusted"),
                verdict=_verdict(found["leakage_adjusted_passes"]),
                why="A* as published is decoded from a z that carries information about motion.",
            )
        )
    return [*claims, _person(table, figure, on, known=known)]


def _gate(table: pd.DataFrame, columns: tuple[str, ...], figure: str, on: str) -> Claim:
    found = table.set_index("method")
    return Claim(
        "GATE's embeddings and reconstructions keep the artefacts of motion.",
        figure,
        on + "worst cross-fitted R² of any probe that reads motion from z",
        NOT_TESTED,
        shown(table, GATE, "leakage_z"),
        NOT_TESTED,
        verdict=FAILS if found.loc[GATE, "leakage_z_passes"] else HOLDS,
        why=f"GATE is not given {' and '.join(columns)}; group difference of its reconstructions "
        f"{shown(table, GATE, f'difference_{columns[0]}')} of the observed one.",
    )


def _difference(table: pd.DataFrame, column: str, figure: str, on: str, *, known: bool) -> Claim:
    ratio = table.set_index("method")[f"difference_{column}"]
    reached = f" (motion-free truth {ratio[TRUTH]:.2f})" if known else ""
    return Claim(
        f"Differences between groups of large and small {column} shrink after adjustment.",
        figure,
        on + "‖large − small‖ after / before" + reached,
        **figures_of(table, f"difference_{column}"),
        verdict=_verdict(ratio < 0.75),
        why="Judged by a fall below 0.75; people differ by chance as well, so that a difference "
        "below the truth's own means that differences between people were removed, not motion.",
    )


def _person(table: pd.DataFrame, figure: str, on: str, *, known: bool) -> Claim:
    found = table.set_index("method")
    kept, named = found["fidelity"], found["identified"]
    target = "the same people's motion-free networks" if known else "the observed networks"
    rates = ", ".join(f"{name} {named[name]:.2f}" for name in (AS_PUBLISHED, GATE, INV_FA))
    return Claim(
        "The adjusted connectome is still that person's connectome.",
        figure.replace("Section 5.1, ", "Section 5.1 (implied), "),
        on + f"R² of A* against {target}; observed {kept[OBSERVED]:.2f}",
        **figures_of(table, "fidelity"),
        verdict=_verdict(kept > 0.5),
        why=f"Share of people whose nearest network is their own: {rates}.",
    )


def _verdict(holds: "pd.Series[bool]") -> Verdict:
    return verdict(published=bool(holds[AS_PUBLISHED]), inv_fa=bool(holds[INV_FA]))

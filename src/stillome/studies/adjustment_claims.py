"""What the paper claims about connectomes adjusted for motion, compared with the measures."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from stillome.cohort.edges import edge_indices
from stillome.cohort.motion_groups import MotionGroups
from stillome.evaluate import fidelity_r2
from stillome.studies.applied import (
    OBSERVED,
    TRUTH,
    Applied,
    Array,
    figures_of,
    person_figures,
    shown,
)
from stillome.studies.intervals import jackknife, with_interval
from stillome.studies.judged import above, below, held
from stillome.studies.study import (
    AS_PUBLISHED,
    FAILS,
    GATE,
    HOLDS,
    INV_FA,
    NO_VERDICT,
    NOT_TESTED,
    OF_GATE,
    QUICK_NOTE,
    UNTESTABLE,
    Claim,
    Options,
    Verdict,
    in_columns,
    verdict,
)
from stillome.studies.study_cohort import StudyCohort

SHRUNK = 0.75  # of the group difference
ALIKE = 0.9
LARGE_CHANGE = 100  # fibres: what the paper's figure of corrections shows
PERSON = "The adjusted connectome is still that person's connectome."


def claims_of(
    study: StudyCohort,
    columns: tuple[str, ...],
    applied: Mapping[str, Applied],
    table: pd.DataFrame,
    options: Options,
) -> list[Claim]:
    """Return the claims for one cohort and one set of confounds."""
    best = None
    if study.motion_free is not None and study.rates is not None:
        best = fidelity_r2(study.rates, study.motion_free)
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
            judged=(held(found["leakage_z_passes"].dropna()),),
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
                judged=(held(found["leakage_adjusted_passes"].dropna()),),
                why="A* as published is decoded from a z that carries information about motion.",
            )
        )
    claims.append(_person(table, figure, on, known=known, best=best))
    claims.append(resemblance_claim(study.cohort.edges, applied, figure, on))
    claims += filter(None, [cingulate_claim(study, applied, figure, on) if head else None])
    groups = study.cohort.motion_groups(columns[0], quantile=study.quantile)
    scale = figure + ", correction-scale figure"
    return [*claims, correction_claim(study.cohort.edges, applied, groups, scale, on)]


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
        judged=(held({GATE: not found.loc[GATE, "leakage_z_passes"]}),),
        about=OF_GATE,
        why=f"GATE is not given {' and '.join(columns)}; group difference of its reconstructions "
        f"{shown(table, GATE, f'difference_{columns[0]}')} of the observed one.",
    )


def _difference(table: pd.DataFrame, column: str, figure: str, on: str, *, known: bool) -> Claim:
    by_method = table.set_index("method")
    ratio, highest = (by_method[f"difference_{column}{end}"] for end in ("", "_high"))
    reached = f" (motion-free truth {ratio[TRUTH]:.2f})" if known else ""
    return Claim(
        f"Differences between groups of large and small {column} shrink after adjustment.",
        figure,
        on + "‖large − small‖ after / before" + reached,
        **figures_of(table, f"difference_{column}"),
        verdict=_verdict(highest < SHRUNK),
        judged=(below(ratio, SHRUNK),),
        why=f"Judged by an interval below {SHRUNK}; people differ by chance as well, so that a "
        "difference below the truth's own means that differences between people were removed, not "
        "motion.",
    )


def _person(table: pd.DataFrame, figure: str, on: str, *, known: bool, best: float | None) -> Claim:
    """Judge whether A* is the person: its share of the best possible decoder, and who is found."""
    found = table.set_index("method")
    named = found["identified"]
    if not known or best is None:
        return Claim(
            PERSON,
            figure,
            on + "R² of A* against the observed networks, with their motion, and share of people "
            "nearest to their own",
            **person_figures(table),
            verdict=NO_VERDICT,
            why="Without the truth A* can only be compared with the observed networks, by which "
            "changing nothing would be best (1.00).",
        )
    share = found["fidelity_low"] / best
    kept = (share > 0.5) & (found["identified_low"] > 0.5)
    return Claim(
        PERSON,
        figure,
        on + "R² of A* against the same people's motion-free networks, as a share of the best "
        f"possible decoder's {best:.2f} (observed {found['fidelity'][OBSERVED] / best:.2f}), and "
        "share of people nearest to their own",
        **person_figures(table, best),
        verdict=_verdict(kept),
        judged=(above(found["fidelity"] / best, 0.5), above(named, 0.5)),
        why="Judged by more than half of what the generator's own motion-free rate reaches, the "
        "best that any decoder can, and by more than half of the people identified. A share above "
        "1 is of a method that keeps the person's own counts and decodes nothing.",
    )


def resemblance_claim(X: Array, applied: Mapping[str, Applied], figure: str, on: str) -> Claim:
    """Test whether mean adjusted networks look like mean observed ones."""

    def alike(found: Applied, kept: Any) -> float:
        means = X[kept].mean(axis=0), found.adjusted[kept].mean(axis=0)
        return float(np.corrcoef(*means)[0, 1])

    found = {m: jackknife(partial(alike, a), len(X), 0) for m, a in applied.items()}
    holds = {m: low > ALIKE for m, (_, (low, _)) in found.items()}
    return Claim(
        "Means of adjusted networks resemble those of observed ones.",
        figure,
        on + "r of edge means, adjusted and observed [95 %, jackknife over subjects]",
        **in_columns({m: with_interval(r, bounds) for m, (r, bounds) in found.items()}),
        verdict=verdict(published=holds[AS_PUBLISHED], inv_fa=holds[INV_FA]),
        judged=(above({m: r for m, (r, _) in found.items()}, ALIKE),),
        why=f"Judged by an interval of r above {ALIKE}. Any method that rebuilds the mean network "
        "fulfils it.",
    )


def cingulate_claim(
    study: StudyCohort, applied: Mapping[str, Applied], figure: str, on: str
) -> Claim | None:
    """Test whether edges at the cingulate gain more fibres than others; None without its name."""
    cingulate = study.cohort.regions["name"].str.contains("cingulate", case=False).to_numpy()
    if not cingulate.any() or cingulate.all():
        return None
    rows, columns = edge_indices(len(cingulate))
    there, X = cingulate[rows] | cingulate[columns], study.cohort.edges

    def more(found: Applied, kept: Any) -> float:
        gain = found.adjusted[kept].mean(axis=0) - X[kept].mean(axis=0)
        return float(gain[there].mean() - gain[~there].mean())

    found = {m: jackknife(partial(more, a), len(X), 0) for m, a in applied.items()}
    above = {m: low > 0 for m, (_, (low, _)) in found.items()}
    judged = verdict(published=above[AS_PUBLISHED], inv_fa=above[INV_FA])
    return Claim(
        "Connections of the cingulate are the most affected by motion.",
        figure.replace("Figure 4", "Figure 5"),
        on + "mean gain of edges at the cingulate less that of the others, in fibres",
        **in_columns({m: with_interval(value, bounds) for m, (value, bounds) in found.items()}),
        verdict=UNTESTABLE if study.simulated else judged,
        why="The motion effect of every edge was put into the simulation."
        if study.simulated
        else "Judged by an interval above 0.",
    )


def correction_claim(
    X: Array, applied: Mapping[str, Applied], groups: MotionGroups, figure: str, on: str
) -> Claim:
    """Test whether those who moved little are corrected little, by the paper's cut."""
    small, large = groups.small, groups.large

    def share(found: Applied, members: Array) -> float:
        change = np.abs(found.adjusted[members].mean(axis=0) - X[members].mean(axis=0))
        return float((change > LARGE_CHANGE).mean())

    def excess(found: Applied, kept: Any) -> float:
        return share(found, np.intersect1d(large, kept)) - 2 * share(
            found, np.intersect1d(small, kept)
        )

    more = {m: jackknife(partial(excess, a), len(X), 0) for m, a in applied.items()}
    holds = {m: low > 0 for m, (_, (low, _)) in more.items()}
    shares = {
        m: f"{share(a, small):.3f}, {share(a, large):.3f}; {with_interval(*more[m])}"
        for m, a in applied.items()
    }
    return Claim(
        "Corrections are small for those who moved little and large for those who moved much.",
        figure,
        on + f"share of edges whose mean changes by more than {LARGE_CHANGE} fibres, in the small "
        "and in the large motion group; the second less twice the first [95 %, jackknife]",
        **in_columns(shares),
        verdict=verdict(published=holds[AS_PUBLISHED], inv_fa=holds[INV_FA]),
        judged=(above({m: value for m, (value, _) in more.items()}, 0.0),),
        why="Judged by an interval above 0: more than twice as many edges. The cut at 100 fibres "
        "is that of the paper's figure.",
    )


def _verdict(holds: "pd.Series[bool]") -> Verdict:
    return verdict(published=bool(holds[AS_PUBLISHED]), inv_fa=bool(holds[INV_FA]))

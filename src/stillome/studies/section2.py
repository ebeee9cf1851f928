"""Study motion_effects, Section 2.2 and Appendix G: effects of motion before any adjustment.

Figure 2: how much people moved, the mean difference between those who moved most and least, and
its 15 largest edges around a circle. Figure A2: the same for residual translation and rotation.
Figure A3: correlations of head motion, translation and rotation. Groups are the outer 10 % in HCP
and 5 % in ABCD. ``measures.tsv`` adds what the figures do not show: how many edges are associated
with motion (Spearman, false discovery rate 5 %), fibres lost, and the same under permuted motion.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from stillome.evaluate import MotionEffects, describe_motion_effects
from stillome.plot import (
    plot_changed_edges,
    plot_edge_differences,
    plot_motion_histogram,
    plot_motion_measures,
)
from stillome.plot.labels import measure_label
from stillome.studies.cohort_claims import cohort_claims
from stillome.studies.effect_claims import loss_claim, misalignment_claim, no_flirt_claim
from stillome.studies.intervals import jackknife
from stillome.studies.real_data import study_cohorts
from stillome.studies.study import (
    Claim,
    Options,
    Outcome,
    edge_table,
)
from stillome.studies.study_cohort import StudyCohort, dropped_of

N_EDGES = 15


def run(options: Options) -> Outcome:
    figures: dict[str, Figure] = {}
    numbers: dict[str, pd.DataFrame] = {}
    claims: list[Claim] = []
    rows = []
    cohorts = study_cohorts(options)
    for study in cohorts:
        options.step(f"Describing {study.name}")
        differences = {}
        for number, column in _measures(study).items():
            part = study if column == study.head_motion else study.with_residual()
            effects = describe_motion_effects(
                part.cohort, column, quantile=study.quantile, n_edges=N_EDGES
            )
            rows.append(_row(part, effects, options.seed))
            differences[column] = effects.difference
            name = f"{number}_{_slug(study)}_{column}"
            figures |= _draw(name, effects)
            numbers[f"{name}_motion"] = _people(effects)
            numbers[f"{name}_changed_edges"] = effects.changed_edges
        figures |= _differences(study, differences)
        numbers[f"edge_differences_{_slug(study)}"] = edge_table(differences, study.cohort.regions)
        if study.residual:
            together = study.with_residual().cohort.motion[[study.head_motion, *study.residual]]
            figures[f"figureA3_{_slug(study)}"] = plot_motion_measures(together)
            numbers[f"figureA3_{_slug(study)}"] = together.corr().reset_index(names="measure")
            claims.append(misalignment_claim(study.with_residual(), options.seed))
        else:
            claims.append(no_flirt_claim(study, "Appendix G, Figures A2 and A3"))
    numbers["measures"] = pd.DataFrame(rows)
    claims += cohort_claims(cohorts, options.seed)
    inputs = [path for study in cohorts for path in study.inputs]
    return Outcome(
        *(figures, numbers, [*map(loss_claim, rows), *claims], inputs),
        dropped=dropped_of(cohorts),
    )


def _slug(study: StudyCohort) -> str:
    return study.name.replace(" ", "_").lower()


def _measures(study: StudyCohort) -> dict[str, str]:
    numbers = ("figure2", "figureA2a", "figureA2b")
    return dict(zip(numbers, (study.head_motion, *study.residual), strict=False))


def _draw(name: str, effects: MotionEffects) -> dict[str, Figure]:
    difference, regions = effects.difference, effects.regions
    label = "large-motion group − small-motion group (fibres)"
    return {
        f"{name}_motion": plot_motion_histogram(
            effects.motion, effects.groups, measure=effects.column
        ),
        f"{name}_circle": plot_changed_edges(difference, regions, n_edges=N_EDGES, label=label),
    }


def _differences(study: StudyCohort, differences: dict[str, Any]) -> dict[str, Figure]:
    regions, slug = study.cohort.regions, _slug(study)
    head = plot_edge_differences(differences[study.head_motion], regions)
    figures = {f"figure2_{slug}_difference": head}
    if study.residual:
        panels = {measure_label(column): differences[column] for column in study.residual}
        figures[f"figureA2_{slug}_difference"] = plot_edge_differences(panels, regions)
    return figures


def _people(effects: MotionEffects) -> pd.DataFrame:
    group = np.full(len(effects.motion), "between", dtype=object)
    group[effects.groups.small], group[effects.groups.large] = "small", "large"
    return pd.DataFrame({effects.column: effects.motion, "group": group})


def _row(study: StudyCohort, effects: MotionEffects, seed: int) -> dict[str, Any]:
    totals = study.cohort.edges.sum(axis=1, dtype=float)
    small, large = effects.groups.small, effects.groups.large

    def lost(kept: Any) -> float:
        means = [totals[np.intersect1d(part, kept)].mean() for part in (large, small)]
        return float(1 - means[0] / means[1])

    value, (low, high) = jackknife(lost, len(totals), seed)
    shuffled = np.random.default_rng(seed).permutation(len(totals))[: len(small) + len(large)]
    edges = study.cohort.edges
    by_chance = edges[shuffled[: len(large)]].mean(axis=0) - edges[shuffled[len(large) :]].mean(0)
    changed = effects.difference[np.triu_indices(len(effects.difference), 1)]
    return {
        "cohort": study.name,
        "simulated": study.simulated,
        "measure": effects.column,
        "subjects": len(totals),
        "low_cutoff": effects.groups.low_cutoff,
        "high_cutoff": effects.groups.high_cutoff,
        "fibres_lost": value,
        "fibres_lost_low": low,
        "fibres_lost_high": high,
        "edges_with_motion": effects.qcsc.share_significant,
        "edges_lower": float(np.mean(changed < 0)),
        "difference_norm": float(np.linalg.norm(changed)),
        "difference_norm_by_chance": float(np.linalg.norm(by_chance)),
    }

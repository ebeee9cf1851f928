"""Section 6: networks, motion and traits drawn together from a fitted model, for others to use.

Each model is fitted to one half of a cohort and compared with the other, held-out half. The
training half itself, compared in the same way, shows how well any model could do.

- resemblance: R² of edge means and variances, gaps of the distributions of degree and strength.
- motion and traits: correlation over edges of the slopes on motion, and on each trait.
- transfer: inv-FA, fitted to the synthetic cohort, predicts traits of the held-out half, and
  adjusts it.
- disclosure: whether training subjects can be distinguished from others, by the distance to the
  nearest synthetic subject, and by their similarity to the synthetic mean.

Traits are residualised on motion; GATE has no model of motion and simulates none.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.evaluate import (
    cohort_resemblance,
    disclosure_report,
    edge_slopes,
    probe_scores,
    residualised_traits,
)
from stillome.evaluate.prediction.statistics import pearson_r
from stillome.plot import plot_edge_means
from stillome.studies import study
from stillome.studies.intervals import bootstrap
from stillome.studies.real_data import load_cohort, stand_in
from stillome.studies.release_claims import TRAINING_HALF, claims, draw_edges
from stillome.studies.study import (
    INV_FA,
    Options,
    Outcome,
)
from stillome.studies.study_cohort import HCP, dropped_of


class Half(NamedTuple):
    """Subjects with all that a release would hold; motion (n, C) or None, traits (n, T)."""

    edges: NDArray[Any]
    motion: NDArray[np.float64] | None
    traits: NDArray[np.float64]


def run(options: Options) -> Outcome:
    given = (
        load_cohort(options.data, group=options.group)
        if options.data is not None
        else stand_in(HCP, options.size(1065, 120), options.seed)
    )
    learn, judge = halves(given, options.seed)
    drawn: dict[str, list[Half]] = {TRAINING_HALF: [learn]}
    rows: list[dict[str, Any]] = []
    for name, model in study.methods(options, lengths=given.cohort.lengths).items():
        options.step(f"Simulating subjects by {name}")
        fitted = study.fit_quietly(model, learn.edges, y=learn.traits, confounds=learn.motion)
        drawn[name] = [
            draw(fitted, len(learn.edges), options.seed + i) for i in range(options.size(5, 2))
        ]
    for name, cohorts in drawn.items():
        options.step(f"Measuring {name}")
        rows += [{"method": name, "draw": i} | resemblance(c, judge) for i, c in enumerate(cohorts)]
        rows[-len(cohorts)] |= transfer(cohorts[0], judge, given.cohort.lengths, options)
        if name != TRAINING_HALF:
            rows[-len(cohorts)] |= disclosure(cohorts[0], learn, judge, options.seed)
    table = pd.DataFrame(rows)
    first = {name: cohorts[0] for name, cohorts in drawn.items()}
    scatter, edges = draw_edges(first, judge)
    means = {name: c.edges.mean(axis=0) for name, c in ({"real": judge} | first).items()}
    figures = {
        "edge_means": plot_edge_means(
            {name: edges_to_matrices(m[None])[0] for name, m in means.items()},
            given.cohort.regions,
        ),
        "edges": scatter,
    }
    notes = [study.QUICK_NOTE] if options.quick else []
    numbers = {"measures": table, "edges": edges}
    found = claims(table, given.name)
    return Outcome(figures, numbers, found, given.inputs, notes, dropped_of([given]))


def halves(given: Any, seed: int) -> tuple[Half, Half]:
    cohort = given.cohort
    families = np.arange(cohort.n_subjects) if given.families is None else given.families
    names, members = np.unique(families, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(names))
    in_first = np.isin(members, order[: len(names) // 2])
    learn, judge = np.flatnonzero(in_first), np.flatnonzero(~in_first)
    motion = cohort.motion[[given.head_motion]].to_numpy(dtype=np.float64)
    traits = cohort.traits.select_dtypes("number").to_numpy(dtype=np.float64)
    residuals = residualised_traits(traits, motion, learn)
    first, second = (Half(cohort.edges[r], motion[r], residuals[r]) for r in (learn, judge))
    return first, second


def draw(model: Any, n_subjects: int, seed: int) -> Half:
    found = model.sample(n_subjects, random_state=seed)
    return Half(matrices_to_edges(found.connectomes, check=False), found.confounds, found.traits)


def resemblance(found: Half, judge: Half) -> dict[str, float]:
    measures = dict(vars(cohort_resemblance(found.edges, judge.edges)))
    if found.motion is not None and judge.motion is not None:
        drawn = edge_slopes(found.edges, found.motion[:, 0])
        real = edge_slopes(judge.edges, judge.motion[:, 0])
        measures["motion_slopes_r"] = pearson_r(real, drawn)
        measures["motion_slopes_size"] = float(drawn.mean() / real.mean())
    pairs = zip(found.traits.T, judge.traits.T, strict=True)
    agreement = [
        pearson_r(edge_slopes(judge.edges, b), edge_slopes(found.edges, a)) for a, b in pairs
    ]
    return measures | {"trait_slopes_r": float(np.mean(agreement))}


def transfer(found: Half, judge: Half, lengths: Any, options: Options) -> dict[str, float]:
    """Fit inv-FA to a cohort, and use it on the held-out half of the real one."""
    if found.motion is None or judge.motion is None:
        return {}
    model = study.methods(options, lengths=lengths)[INV_FA]
    study.fit_quietly(model, found.edges, y=found.traits, confounds=found.motion)
    predicted = model.predict(judge.edges, confounds=judge.motion)

    def mean_r(rows: NDArray[np.intp]) -> float:
        pairs = zip(judge.traits[rows].T, predicted[rows].T, strict=True)
        return float(np.mean([pearson_r(y, p) for y, p in pairs]))

    low, high = bootstrap(mean_r, len(predicted), options.seed)
    z = model.transform(judge.edges, confounds=judge.motion)
    # Motion that every cohort holds; 0 can lie far outside a small one.
    usual = np.median(judge.motion, axis=0)
    adjusted = model.adjust(judge.edges, confounds=judge.motion, reference=usual)
    return {
        "transfer_r": mean_r(np.arange(len(predicted))),
        "transfer_r_low": low,
        "transfer_r_high": high,
        # A z that is the same for everybody carries no information at all.
        "leakage_z": max(probe_scores(z, judge.motion).values()) if np.ptp(z) else np.nan,
        "leakage_adjusted": max(probe_scores(adjusted, judge.motion, kind="counts").values()),
    }


def disclosure(found: Half, learn: Half, judge: Half, seed: int) -> dict[str, float]:
    report = disclosure_report(found.edges, learn.edges, judge.edges, random_state=seed)
    attacks = {
        f"{attack}_{part}": value
        for attack in ("nearest", "mean")
        for part, value in getattr(report, attack)._asdict().items()
    }
    ratio, nearer = report.distance_ratio, report.share_nearer
    return {"distance_ratio": ratio, "share_nearer": nearer} | attacks

"""Section 6: networks, motion and traits drawn together from a fitted model, for others to use.

Each model learns from one half of a cohort and is judged against the other half, which it never
saw; the learning half itself, judged in the same way, shows how well anything could do.

- resemblance: R² of edge means and variances, gaps of the distributions of degree and strength.
- motion and traits: correlation over edges of the slopes on motion, and on each trait.
- transfer: our model, fitted to the synthetic cohort, predicts traits of the other half, and
  adjusts it.
- disclosure: whether those who were learned from can be told from the others, by the distance to
  the nearest synthetic subject, and by their share in the synthetic mean.

Traits are residuals on motion; GATE knows no motion and draws none.
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
from stillome.studies.real_data import HCP, load_cohort, stand_in
from stillome.studies.release_claims import LEARNED_FROM, claims, draw_edges
from stillome.studies.study import OURS, Options, Outcome


class Half(NamedTuple):
    """Subjects with all that a release would hold; motion (n, C) or None, traits (n, T)."""

    edges: NDArray[Any]
    motion: NDArray[np.float64] | None
    traits: NDArray[np.float64]


def run(options: Options) -> Outcome:
    given = (
        load_cohort(options.data)
        if options.data is not None
        else stand_in(HCP, options.size(1065, 120), options.seed)
    )
    learn, judge = halves(given, options.seed)
    drawn, rows = {LEARNED_FROM: [learn]}, []
    for name, model in study.methods(options, lengths=given.cohort.lengths).items():
        options.step(f"Drawing subjects from {name}")
        study.fit_quietly(model, learn.edges, y=learn.traits, confounds=learn.motion)
        drawn[name] = [
            draw(model, len(learn.edges), options.seed + i) for i in range(options.size(5, 2))
        ]
    for name, cohorts in drawn.items():
        options.step(f"Judging {name}")
        rows += [{"method": name, "draw": i} | resemblance(c, judge) for i, c in enumerate(cohorts)]
        rows[-len(cohorts)] |= transfer(cohorts[0], judge, given.cohort.lengths, options)
        if name != LEARNED_FROM:
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
    return Outcome(figures, numbers, claims(table, given.name), given.inputs, notes)


def halves(given: Any, seed: int) -> tuple[Half, Half]:
    cohort = given.cohort
    order = np.random.default_rng(seed).permutation(cohort.n_subjects)
    learn = np.sort(order[: cohort.n_subjects // 2])
    judge = np.sort(order[cohort.n_subjects // 2 :])
    motion = cohort.motion[[given.head_motion]].to_numpy(dtype=np.float64)
    traits = cohort.traits.select_dtypes("number").to_numpy(dtype=np.float64)
    residuals = residualised_traits(traits, motion, learn)
    return tuple(Half(cohort.edges[r], motion[r], residuals[r]) for r in (learn, judge))


def draw(model: Any, n_subjects: int, seed: int) -> Half:
    found = model.sample(n_subjects, random_state=seed)
    return Half(matrices_to_edges(found.connectomes, check=False), found.confounds, found.traits)


def resemblance(found: Half, judge: Half) -> dict[str, float]:
    measures = dict(vars(cohort_resemblance(found.edges, judge.edges)))
    if found.motion is not None:
        ours, real = (edge_slopes(h.edges, h.motion[:, 0]) for h in (found, judge))
        measures["motion_slopes_r"] = pearson_r(real, ours)
        measures["motion_slopes_size"] = float(ours.mean() / real.mean())
    pairs = zip(found.traits.T, judge.traits.T, strict=True)
    agreement = [
        pearson_r(edge_slopes(judge.edges, b), edge_slopes(found.edges, a)) for a, b in pairs
    ]
    return measures | {"trait_slopes_r": float(np.mean(agreement))}


def transfer(found: Half, judge: Half, lengths: Any, options: Options) -> dict[str, float]:
    """Fit ours to a cohort, and use it on the half of the real one that nobody learned from."""
    if found.motion is None:
        return {}
    model = study.methods(options, lengths=lengths)[OURS]
    study.fit_quietly(model, found.edges, y=found.traits, confounds=found.motion)
    predicted = model.predict(judge.edges, confounds=judge.motion)

    def mean_r(rows: NDArray[np.intp]) -> float:
        pairs = zip(judge.traits[rows].T, predicted[rows].T, strict=True)
        return float(np.mean([pearson_r(y, p) for y, p in pairs]))

    low, high = study.bootstrap(mean_r, len(predicted), options.seed)
    z = model.transform(judge.edges, confounds=judge.motion)
    # Motion that every cohort holds; 0 can lie far outside a small one.
    usual = np.median(judge.motion, axis=0)
    adjusted = model.adjust(judge.edges, confounds=judge.motion, reference=usual)
    return {
        "transfer_r": mean_r(np.arange(len(predicted))),
        "transfer_r_low": low,
        "transfer_r_high": high,
        # What is the same for everybody says nothing of motion, nor of anything else.
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

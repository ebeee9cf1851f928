"""Figures 6 and 7, A7 and A8: traits predicted from connectomes, and traits seen in z.

Prediction: five folds, all methods; each trait is residualised on motion, with coefficients of the
training part (Figure 6; A7 for residual translation and rotation). Embeddings: the 100 subjects
with the lowest and the 100 with the highest scores in the first three components of z (Figure 7,
A8), with the distance of both groups in standard deviations and its permutation p. Models for these
are fitted without traits: a z that was fitted to a trait would separate its ends in any case.

Full runs take 1,065 simulated subjects of HCP (500 for residual misalignment) and 500 of ABCD, or
all real ones.
"""

import itertools
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from stillome.evaluate import (
    ComparisonResult,
    compare_methods,
    residualised_traits,
    trait_separation,
)
from stillome.methods import METHODS, make_method
from stillome.plot import plot_trait_components, plot_trait_prediction
from stillome.plot.component_plane import Projection
from stillome.studies import study
from stillome.studies.effect_claims import no_flirt_claim
from stillome.studies.real_data import load_cohort, stand_in
from stillome.studies.study import (
    Claim,
    Options,
    Outcome,
)
from stillome.studies.study_cohort import ABCD, HCP, StudyCohort, dropped_of
from stillome.studies.trait_claims import prediction_claims, separation_claims

PLACES = {
    "head": ("Section 5.2, Figure 6", "Section 5.2, Figure 7"),
    "residual": ("Appendix G, Figure A7", "Appendix G, Figure A8"),
    "head_abcd": ("Section 5.2, Figure 6", "Section 5.2, Figure 7"),
}
Latents = dict[str, NDArray[Any]]


def run(options: Options) -> Outcome:
    figures: dict[str, Figure] = {}
    numbers: dict[str, pd.DataFrame] = {}
    claims: list[Claim] = []
    inputs: tuple[str, ...] = ()
    dropped: dict[str, list[str]] = {}
    for part, (cohort, columns) in parts(options).items():
        options.step(f"Predicting traits, {part} motion")
        result = predict(cohort, columns, options)
        figures[f"{part}_prediction"] = plot_trait_prediction(result.summary)
        for title in ("folds", "summary", "tests"):
            numbers[f"{part}_{title}"] = getattr(result, title).drop(
                columns="seconds", errors="ignore"
            )
        options.step(f"Separating the ends of traits, {part} motion")
        latents, traits = embed(cohort, columns, options)
        numbers[f"{part}_separation"] = table = separations(latents, traits, options.seed)
        numbers[f"{part}_components"] = components(latents, traits)
        for name in cohort.drawn[: options.size(3, 1)]:
            title = f"{part}_components_{name.replace(' ', '_')}"
            figures[title] = plot_trait_components(latents, traits[name], trait_name=name)
        claims += prediction_claims(result, cohort, PLACES[part][0])
        claims += separation_claims(
            *(table, latents, traits, options.size(200, 40), options.seed),
            *(cohort.name, PLACES[part][1]),
        )
        inputs = cohort.inputs
        dropped |= dropped_of([cohort])
        if options.data is not None and not cohort.residual:
            claims.append(no_flirt_claim(cohort, "Appendix G, Figures A7 and A8"))
    notes = [study.QUICK_NOTE] if options.quick else []
    return Outcome(figures, numbers, claims, inputs, notes, dropped)


def parts(options: Options) -> dict[str, tuple[StudyCohort, list[str]]]:
    if options.data is not None:
        real = load_cohort(options.data, group=options.group)
        found = {"head": (real, [real.head_motion])}
        return found | (
            {"residual": (real.with_residual(), list(real.residual))} if real.residual else {}
        )
    large = stand_in(HCP, options.size(1065, 90), options.seed)
    small = stand_in(HCP, options.size(500, 60), options.seed + 1)
    found = {"head": (large, [large.head_motion]), "residual": (small, list(small.residual))}
    if not options.quick:
        abcd = stand_in(ABCD, 500, options.seed)
        found["head_abcd"] = (abcd, [abcd.head_motion])
    return found


def predict(cohort: StudyCohort, columns: list[str], options: Options) -> ComparisonResult:
    size = min(68, cohort.cohort.n_subjects // 3)
    known = study.methods(options, lengths=cohort.cohort.lengths, n_components=size)
    others = [name for name in METHODS if name not in ("inv-fa", "inv-vae", "gate")]
    known |= {name: make_method(name, n_components=size) for name in others}
    return compare_methods(
        cohort.cohort,
        known,
        traits=cohort.predicted,
        confounds=columns,
        groups=cohort.families,
        probe=False,
        n_jobs=options.size(2, 1),
        random_state=options.seed,
    )


def embed(
    cohort: StudyCohort, columns: list[str], options: Options
) -> tuple[Latents, pd.DataFrame]:
    """Return z by method, and the traits residualised on motion."""
    X, motion = cohort.cohort.edges, cohort.cohort.motion[columns].to_numpy(dtype=np.float64)
    latents = {}
    for name, model in study.methods(options, lengths=cohort.cohort.lengths).items():
        fitted = study.fit_quietly(model, X, confounds=motion, groups=cohort.families)
        latents[name] = fitted.transform(X, confounds=motion)
    values = cohort.cohort.traits.select_dtypes("number")
    left = residualised_traits(values.to_numpy(np.float64), motion, np.arange(len(X)))
    return latents, pd.DataFrame(left, columns=values.columns)


def components(latents: Latents, traits: pd.DataFrame) -> pd.DataFrame:
    """Return the scores that the figures show, with the traits; one row per subject."""
    scores = {
        f"{method}, PC{k}": column
        for method, z in latents.items()
        for k, column in enumerate(Projection.of(z, 3).scores(z).T, start=1)
    }
    return traits.assign(**scores)


def separations(latents: Latents, traits: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Measure how far the ends of each trait are apart, in the shown components and all of z."""
    rows = []
    for (method, z), (trait, y) in itertools.product(latents.items(), traits.items()):
        most = min(z.shape[1], len(z) // 3)  # more would leave nothing to compare with
        shown = trait_separation(z, y, random_state=seed)._asdict()
        whole = trait_separation(z, y, n_components=most, random_state=seed).p_value
        rows.append({"method": method, "trait": trait, **shown, "p_value_all": whole})
    table = pd.DataFrame(rows)
    by_method = table.groupby("method", sort=False)
    return table.assign(
        p_fdr=by_method["p_value"].transform(false_discovery_control),
        p_fdr_all=by_method["p_value_all"].transform(false_discovery_control),
    )

"""What the study of traits says about the paper's claims."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.decomposition import PCA

from stillome.evaluate import ComparisonResult, trait_separation
from stillome.studies import study
from stillome.studies.intervals import with_interval
from stillome.studies.judged import Judged, above, held
from stillome.studies.study import (
    ALL_COLUMNS,
    AS_PUBLISHED,
    FAILS,
    GATE,
    HOLDS,
    INV_FA,
    UNTESTABLE,
    Claim,
    Verdict,
    in_columns,
)
from stillome.studies.study_cohort import StudyCohort

SHOWN = (AS_PUBLISHED, GATE, INV_FA)  # in every run
LINEAR = ["combat", "sog", "pca-regression"]  # the paper's other competitors
COMPARABLE = 0.02  # in r


def prediction_claims(result: ComparisonResult, cohort: StudyCohort, section: str) -> list[Claim]:
    """Return the claims about predicted traits; a verdict needs the interval over folds."""
    r = result.summary.pivot(index="trait", columns="method", values="r_mean")
    folds = result.folds.groupby(["method", "fold"])["r"].mean().unstack()
    columns = [m for m in ALL_COLUMNS if m in r]
    shown = in_columns(
        {m: with_interval(r[m].mean(), (folds.loc[m].min(), folds.loc[m].max())) for m in columns}
    )
    tested = f"{cohort.name}, {len(folds.columns)} folds: r, mean over {len(r)} traits "
    tested += "[min, max of folds]"
    best = r[LINEAR].max(axis=1)
    wins = {m: int((r[m] > best).sum()) for m in SHOWN}
    ahead = {m: _surely_above(folds.loc[m], folds.loc[LINEAR].max(), 0.0) for m in SHOWN}
    near = {m: int((r[m] >= r[GATE] - COMPARABLE).sum()) for m in SHOWN}
    as_good = {m: _surely_above(folds.loc[m], folds.loc[GATE], -COMPARABLE) for m in SHOWN}
    linear = ", ".join(f"{m} {r[m].mean():.2f}" for m in [*LINEAR, "edgewise"])
    better = f"Best of ComBat, SOG and LR-PCA beaten for {wins[AS_PUBLISHED]} by {AS_PUBLISHED}, "
    half = len(r) / 2

    def judged(holds: Callable[[str], bool]) -> Verdict:
        return study.verdict(published=holds(AS_PUBLISHED), inv_fa=holds(INV_FA))

    return [
        Claim(
            "inv-VAE predicts every trait better than LR-PCA, ComBat and SOG.",
            section,
            tested,
            **shown,
            verdict=judged(lambda m: wins[m] == len(r) and ahead[m]),
            judged=(held({m: n == len(r) for m, n in wins.items()}), _gain(folds, LINEAR)),
            why=f"{better}{wins[INV_FA]} by {INV_FA}, of {len(r)} traits ({linear}); the interval "
            "of the mean difference over folds must be above 0 too.",
        ),
        Claim(
            "inv-VAE predicts most traits at least as well as GATE.",
            section,
            tested,
            **shown,
            verdict=judged(lambda m: near[m] > half and as_good[m]),
            judged=(above(near, half), _gain(folds, [GATE], -COMPARABLE)),
            why=f"Not more than {COMPARABLE} below GATE for {near[AS_PUBLISHED]} of {len(r)} "
            f"traits by {AS_PUBLISHED}, {near[INV_FA]} by {INV_FA}.",
        ),
        _improvement_claim(r, folds, section, tested),
        _sog_claim(r, cohort, section),
        _nonlinear_claim(r, folds, section, tested),
    ]


def _surely_above(first: "pd.Series[float]", second: "pd.Series[float]", margin: float) -> bool:
    """Whether the 95 % interval of the mean difference over folds lies above a margin."""
    difference = (first - second).to_numpy()
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    low = difference.mean() - stats.t.ppf(0.975, len(difference) - 1) * error
    return bool(low > margin)


def _gain(folds: pd.DataFrame, others: list[str], bound: float = 0.0) -> Judged:
    """Return by how much the mean r exceeds the best of others, for each of our columns."""
    there = [m for m in ALL_COLUMNS if m in folds.index]
    return above((folds.loc[there] - folds.loc[others].max()).mean(axis=1), bound)


def _improvement_claim(r: pd.DataFrame, folds: pd.DataFrame, section: str, tested: str) -> Claim:
    gains = {m: r[m] / r["raw"].clip(lower=0.01) - 1 for m in ALL_COLUMNS if m in r}
    many = {m: int((gain >= 0.05).sum()) for m, gain in gains.items()}
    sure = {m: _surely_above(folds.loc[m], folds.loc["raw"], 0.0) for m in gains}
    holds = {m: many[m] > len(r) / 2 and sure[m] for m in gains}
    return Claim(
        "Motion-invariant representations improve the prediction of many traits by 5 to 25 %.",
        f"Section 1; {section}",
        tested.split(":", maxsplit=1)[0] + ": change of r against the connectomes as "
        "scanned, smallest to largest over traits",
        **in_columns({m: f"{g.min():+.0%} to {g.max():+.0%}" for m, g in gains.items()}),
        verdict=study.verdict(published=holds[AS_PUBLISHED], inv_fa=holds[INV_FA]),
        judged=(above(many, len(r) / 2), _gain(folds, ["raw"])),
        why="Judged by 5 % or more for most traits, with an interval over folds above 0; traits: "
        + ", ".join(f"{m} {n}" for m, n in many.items()) + f" of {len(r)}.",
    )  # fmt: skip


def _sog_claim(r: pd.DataFrame, cohort: StudyCohort, section: str) -> Claim:
    named = [trait for trait in ("oral reading", "fluid intelligence") if trait in r.index]
    gaps = {m: (r.loc[named, "sog"] - r.loc[named, m]).abs() for m in ALL_COLUMNS if m in r}
    near = all((gaps[m] <= COMPARABLE).all() for m in (AS_PUBLISHED, GATE))
    return Claim(
        "SOG predicts oral reading and fluid intelligence about as well as GATE and inv-VAE.",
        section,
        f"{cohort.name}: largest difference of r from SOG's, over {' and '.join(named)}",
        **in_columns({m: f"{gap.max():.2f}" for m, gap in gaps.items()}),
        verdict=UNTESTABLE if cohort.simulated else HOLDS if near else FAILS,
        why=f"Judged by differences up to {COMPARABLE}."
        + (" Simulated traits have only the names of real ones." if cohort.simulated else ""),
    )


def _nonlinear_claim(r: pd.DataFrame, folds: pd.DataFrame, section: str, tested: str) -> Claim:
    """ComBat with a smooth effect of motion is ComBat without its linearity."""
    there = [m for m in ALL_COLUMNS if m in r]
    over = {m: _surely_above(folds.loc[m], folds.loc["combat"], 0.0) for m in there}
    smooth = _surely_above(folds.loc["combat-gam"], folds.loc["combat"], 0.0)
    return Claim(
        "inv-VAE does better than ComBat because the effect of motion is not linear.",
        f"Section 1; {section}",
        tested.split(":", maxsplit=1)[0] + ": mean r less ComBat's",
        **in_columns({m: f"{r[m].mean() - r['combat'].mean():+.2f}" for m in there}),
        verdict=study.verdict(
            published=over[AS_PUBLISHED] and smooth, inv_fa=over[INV_FA] and smooth
        ),
        judged=(
            _gain(folds, ["combat"]),
            above(dict.fromkeys(over, (folds.loc["combat-gam"] - folds.loc["combat"]).mean()), 0.0),
        ),
        why="Holds if a method is surely better than ComBat, and ComBat with splines of motion "
        f"(ComBat-GAM, {r['combat-gam'].mean() - r['combat'].mean():+.2f}) is so as well.",
    )


def separation_claims(
    table: pd.DataFrame,
    latents: dict[str, NDArray[Any]],
    traits: pd.DataFrame,
    draws: int,
    seed: int,
    name: str,
    section: str,
) -> list[Claim]:
    distances = _resampled_distances(latents, traits, draws, seed)
    means = table.groupby("method")["distance"].mean()
    limits = distances.quantile([0.025, 0.975])
    there = [m for m in ALL_COLUMNS if m in limits]
    found = in_columns({m: with_interval(means[m], tuple(limits[m])) for m in there})
    wider = distances.sub(distances[GATE], axis=0).quantile([0.025, 0.975])
    apart = (table["p_fdr"] <= 0.05).groupby(table["method"]).sum()
    tested = f"{name}: distance in sd, mean over traits [95 %, bootstrap over subjects]"
    half = len(traits.columns) / 2
    counted = ", ".join(f"{m} {apart[m]}" for m in SHOWN)
    in_all = (table["p_fdr_all"] <= 0.05).groupby(table["method"]).sum()
    whole = ", ".join(f"{m} {in_all[m]}" for m in SHOWN)
    spans = {
        m: "[{:+.2f}, {:+.2f}]".format(*wider[m]).replace("-", "−") for m in (AS_PUBLISHED, INV_FA)
    }
    return [
        Claim(
            "Subjects at both ends of a trait are separated in the first three components of z.",
            section,
            tested,
            **found,
            verdict=study.verdict(
                published=apart[AS_PUBLISHED] > half, inv_fa=apart[INV_FA] > half
            ),
            judged=(above(apart, half),),
            why=f"Traits with separated ends, of {len(traits.columns)} (permutation p, false "
            f"discovery rate 5 %): {counted}; in all of z: {whole}.",
        ),
        Claim(
            "They are further apart in the invariant z than in GATE's.",
            section,
            tested,
            **found,
            verdict=study.verdict(
                published=wider[AS_PUBLISHED].iloc[0] > 0, inv_fa=wider[INV_FA].iloc[0] > 0
            ),
            judged=(above(means - means[GATE], 0.0),),
            why=f"Distance less GATE's: {spans[AS_PUBLISHED]} {AS_PUBLISHED}, "
            f"{spans[INV_FA]} {INV_FA}.",
        ),
    ]


def _resampled_distances(
    latents: dict[str, NDArray[Any]], traits: pd.DataFrame, draws: int, seed: int
) -> pd.DataFrame:
    """Return the mean distance over traits, a column per method and a row per resample."""
    # Distances are the same in any coordinates, so that components need to be found only once.
    shown = {m: PCA(3, random_state=0).fit_transform(z) for m, z in latents.items()}
    values, rng = traits.to_numpy(), np.random.default_rng(seed)
    rows = [rng.integers(len(values), size=len(values)) for _ in range(draws)]
    return pd.DataFrame(
        {
            m: [
                np.mean([trait_separation(z[r], y, n_permutations=1).distance for y in values[r].T])
                for r in rows
            ]
            for m, z in shown.items()
        }
    )

"""What the study of traits says about the paper's claims."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from stillome.evaluate import ComparisonResult, trait_separation
from stillome.studies import study
from stillome.studies.study import AS_PUBLISHED, GATE, INV_FA, Claim, in_columns, with_interval

SHOWN = (AS_PUBLISHED, GATE, INV_FA)
LINEAR = ["combat", "sog", "pca-regression"]  # the paper's other competitors
COMPARABLE = 0.02  # in r


def prediction_claims(result: ComparisonResult, name: str, section: str) -> list[Claim]:
    r = result.summary.pivot(index="trait", columns="method", values="r_mean")
    folds = result.folds.groupby(["method", "fold"])["r"].mean().unstack()
    shown = {m: with_interval(r[m].mean(), (folds.loc[m].min(), folds.loc[m].max())) for m in SHOWN}
    tested = f"{name}, {len(folds.columns)} folds: r, mean over {len(r)} traits [min, max of folds]"
    best = r[LINEAR].max(axis=1)
    wins = {m: int((r[m] > best).sum()) for m in SHOWN}
    near = {m: int((r[m] >= r[GATE] - COMPARABLE).sum()) for m in SHOWN}
    linear = ", ".join(f"{m} {r[m].mean():.2f}" for m in [*LINEAR, "edgewise"])
    better = f"Best of ComBat, SOG and LR-PCA beaten for {wins[AS_PUBLISHED]} by {AS_PUBLISHED}, "
    return [
        Claim(
            "inv-VAE predicts every trait better than LR-PCA, ComBat and SOG.",
            section,
            tested,
            **in_columns(shown),
            verdict=study.verdict(
                published=wins[AS_PUBLISHED] == len(r), inv_fa=wins[INV_FA] == len(r)
            ),
            why=f"{better}{wins[INV_FA]} by {INV_FA}, of {len(r)} traits ({linear}).",
        ),
        Claim(
            "inv-VAE predicts most traits at least as well as GATE.",
            section,
            tested,
            **in_columns(shown),
            verdict=study.verdict(
                published=near[AS_PUBLISHED] > len(r) / 2, inv_fa=near[INV_FA] > len(r) / 2
            ),
            why=f"Not more than {COMPARABLE} below GATE for {near[AS_PUBLISHED]} of {len(r)} "
            f"traits by {AS_PUBLISHED}, {near[INV_FA]} by {INV_FA}.",
        ),
    ]


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
    found = in_columns({m: with_interval(means[m], tuple(limits[m])) for m in SHOWN})
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

"""The same results with something missing, or with other sizes."""

from dataclasses import replace

import numpy as np
import pandas as pd

from stillome.cohort.cohort import Cohort
from stillome.report import Slider


def with_regions(results, kept, *, lengths=True):
    """Keep some regions only, with or without the lengths of their connections."""
    slider = results.slider
    cohort = results.cohort
    return replace(
        results,
        cohort=replace(
            cohort,
            connectomes=cohort.connectomes[:, kept][:, :, kept],
            regions=cohort.regions.iloc[kept].reset_index(drop=True),
            lengths=cohort.lengths[np.ix_(kept, kept)] if lengths else None,
        ),
        adjusted=results.adjusted[:, kept][:, :, kept],
        truth=results.truth[:, kept][:, :, kept],
        slider=replace(
            slider,
            matrices=slider.matrices[:, :, kept][:, :, :, kept],
            observed=slider.observed[:, kept][:, :, kept],
        ),
    )


def with_region_columns(results, columns):
    """Know less about the regions."""
    regions = results.cohort.regions[columns]
    return replace(results, cohort=replace(results.cohort, regions=regions))


def bare(results):
    """Know nothing but counts and one motion measure: what the smallest study has."""
    cohort = replace(
        results.cohort,
        motion=results.cohort.motion[[results.confound]],
        traits=pd.DataFrame(),
        regions=pd.DataFrame(),
        lengths=None,
    )
    fidelity = results.fidelity.copy()
    fidelity[["r2", "subject_correlation", "identification"]] = np.nan
    only = ["participant_id", results.confound, "fibres_raw", "fibres_adjusted", "change_percent"]
    return replace(
        results,
        cohort=cohort,
        truth=None,
        fidelity=fidelity,
        subjects=results.subjects[[*only, "flags"]].assign(flags=""),
        diagnostics={},
        comparison={},
        predictions=None,
        dropped=results.dropped.iloc[:0],
        run=results.run | {"simulated": False, "source": {}},
    )


def as_weights(results):
    """Weights, such as those of SIFT2, instead of counts."""
    scale = 0.0173
    slider = results.slider
    return replace(
        results,
        cohort=replace(results.cohort, connectomes=results.cohort.connectomes * scale),
        adjusted=results.adjusted * scale,
        truth=None,
        slider=replace(slider, matrices=slider.matrices * scale, observed=slider.observed * scale),
        whole_counts=False,
    )


def with_many_regions(results, n_regions=400, seed=0):
    """Grow to a fine atlas: counts that motion thins, in the same people."""
    rng = np.random.default_rng(seed)
    motion = results.cohort.motion[results.confound].to_numpy()
    rates = np.triu(rng.gamma(0.3, 20, (n_regions, n_regions)), 1)
    rates += rates.T
    counts = np.array([np.triu(rng.poisson(rates * np.exp(-m)), 1) for m in motion])
    counts += np.swapaxes(counts, 1, 2)
    regions = pd.DataFrame({"name": [f"parcel {i}" for i in range(n_regions)]}).assign(
        hemisphere=np.repeat(["L", "R"], [n_regions // 2, n_regions - n_regions // 2]),
        lobe=rng.choice(["frontal", "network-7", "parietal"], n_regions),
        **dict(zip("xyz", rng.uniform(-60, 60, (3, n_regions)).round(1), strict=True)),
    )
    old = results.slider
    levels = rates * np.exp(-old.references)[:, None, None]
    cohort = Cohort(results.cohort.subject_ids, counts, results.cohort.motion, regions=regions)
    return replace(
        results,
        cohort=cohort,
        adjusted=counts,
        truth=None,
        slider=Slider(
            references=old.references,
            keys=old.keys,
            matrices=np.broadcast_to(levels, (len(old.keys), *levels.shape)).astype(np.float32),
            observed=np.broadcast_to(counts[0], (len(old.keys), *rates.shape)).astype(np.float32),
            observed_motion=old.observed_motion,
        ),
    )


def with_many_subjects(results, n_subjects=5000):
    """Repeat the rows of the table of subjects."""
    table = pd.concat([results.subjects] * (n_subjects // len(results.subjects) + 1))
    table = table.head(n_subjects).assign(participant_id=[f"s{i:05d}" for i in range(n_subjects)])
    return replace(results, subjects=table.reset_index(drop=True))

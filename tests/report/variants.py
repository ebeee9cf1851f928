"""The same run with something missing, or with other sizes."""

from dataclasses import replace

import numpy as np
import pandas as pd

from stillome.cohort.cohort import Cohort
from stillome.run import RunFolder, Slider
from stillome.run.effect_tables import effects_from_tables
from stillome.run.run_files import FILES
from stillome.run.steps.describing import describe_known


def changed(folder, **values):
    """Return the run as if these values had been read from its files.

    What follows from them is computed anew, the motion effects included.
    """
    twin = RunFolder(folder.path)
    of_files = {name: value for name, value in vars(folder).items() if name in FILES}
    vars(twin).update(of_files | {"settings": folder.settings} | values)
    if "cohort" in values or "adjusted" in values:
        for name, connectomes in (
            ("motion_effects", twin.cohort.connectomes),
            ("effects_left", twin.adjusted),
        ):
            cohort = replace(twin.cohort, connectomes=connectomes)
            tables = describe_known(twin, cohort)
            vars(twin)[name] = effects_from_tables(tables, cohort.regions, twin.measure)
    return twin


def with_regions(folder, kept, *, lengths=True):
    """Keep some regions only, with or without the lengths of their connections."""
    slider = folder.slider
    cohort = folder.cohort
    return changed(
        folder,
        cohort=replace(
            cohort,
            connectomes=cohort.connectomes[:, kept][:, :, kept],
            regions=cohort.regions.iloc[kept].reset_index(drop=True),
            lengths=cohort.lengths[np.ix_(kept, kept)] if lengths else None,
        ),
        adjusted=folder.adjusted[:, kept][:, :, kept],
        truth=folder.truth[:, kept][:, :, kept],
        slider=replace(
            slider,
            matrices=slider.matrices[:, :, kept][:, :, :, kept],
            observed=slider.observed[:, kept][:, :, kept],
        ),
    )


def with_region_columns(folder, columns):
    """Know less about the regions."""
    regions = folder.cohort.regions[columns]
    return changed(folder, cohort=replace(folder.cohort, regions=regions))


def bare(folder):
    """Know nothing but counts and one motion measure: what the smallest study has."""
    cohort = replace(
        folder.cohort,
        motion=folder.cohort.motion[[folder.measure]],
        traits=pd.DataFrame(),
        regions=pd.DataFrame(),
        lengths=None,
    )
    fidelity = folder.fidelity.copy()
    fidelity[["r2", "subject_correlation", "identification"]] = np.nan
    return changed(
        folder,
        cohort=cohort,
        truth=None,
        fidelity=fidelity,
        subjects=folder.subjects.assign(flags=""),
        diagnostics=None,
        comparison=None,
        predictions=None,
        dropped=folder.dropped.iloc[:0],
        header=folder.header | {"simulated": False, "source": {}},
    )


def as_weights(folder):
    """Weights, such as those of SIFT2, instead of counts."""
    scale = 0.0173
    slider = folder.slider
    return changed(
        folder,
        cohort=replace(folder.cohort, connectomes=folder.cohort.connectomes * scale),
        adjusted=folder.adjusted * scale,
        truth=None,
        slider=replace(slider, matrices=slider.matrices * scale, observed=slider.observed * scale),
    )


def with_many_regions(folder, n_regions=400, seed=0):
    """Grow to a fine atlas: counts that motion thins, in the same people."""
    rng = np.random.default_rng(seed)
    motion = folder.cohort.motion[folder.measure].to_numpy()
    rates = np.triu(rng.gamma(0.3, 20, (n_regions, n_regions)), 1)
    rates += rates.T
    counts = np.array([np.triu(rng.poisson(rates * np.exp(-m)), 1) for m in motion])
    counts += np.swapaxes(counts, 1, 2)
    regions = pd.DataFrame({"name": [f"parcel {i}" for i in range(n_regions)]}).assign(
        hemisphere=np.repeat(["L", "R"], [n_regions // 2, n_regions - n_regions // 2]),
        lobe=rng.choice(["frontal", "network-7", "parietal"], n_regions),
        **dict(zip("xyz", rng.uniform(-60, 60, (3, n_regions)).round(1), strict=True)),
    )
    old = folder.slider
    levels = rates * np.exp(-old.references)[:, None, None]
    cohort = Cohort(folder.cohort.subject_ids, counts, folder.cohort.motion, regions=regions)
    return changed(
        folder,
        cohort=cohort,
        adjusted=counts,
        truth=None,
        slider=Slider(
            references=old.references,
            keys=old.keys,
            n_groups=old.n_groups,
            matrices=np.broadcast_to(levels, (len(old.keys), *levels.shape)).astype(np.float32),
            observed=np.broadcast_to(counts[0], (len(old.keys), *rates.shape)).astype(np.float32),
            observed_motion=old.observed_motion,
        ),
    )


def with_many_subjects(folder, n_subjects=5000):
    """Repeat the rows of the table of subjects."""
    table = pd.concat([folder.subjects] * (n_subjects // len(folder.subjects) + 1))
    table = table.head(n_subjects).assign(participant_id=[f"s{i:05d}" for i in range(n_subjects)])
    return changed(folder, subjects=table.reset_index(drop=True))

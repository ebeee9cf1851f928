"""Small runs with real results, for the tests of the report."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd

from stillome.cohort.cohort import Cohort
from stillome.io.write_cohort import write_cohort
from stillome.pipeline import run_pipeline
from stillome.run import RunFolder, RunSettings

HOSTILE_ID = "<script>alert('x')</script>"


def small_cohort(simulated, n_regions):
    """Keep the first regions of both hemispheres of a simulated cohort, and of its truth."""
    cohort, half = simulated.cohort, n_regions // 2
    kept = np.r_[0:half, 34 : 34 + n_regions - half]
    part = replace(
        cohort,
        connectomes=cohort.connectomes[:, kept][:, :, kept],
        regions=cohort.regions.iloc[kept].reset_index(drop=True),
        lengths=cohort.lengths[np.ix_(kept, kept)],
    )
    return part, simulated.motion_free[:, kept][:, :, kept]


def run_small(place, simulated, n_regions=20, **settings):
    """Run everything but the report on a part of a simulated cohort, into `place`/run."""
    cohort, truth = small_cohort(simulated, n_regions)
    files = write_cohort(place / "study", cohort, motion_free=truth)
    chosen = {
        "connectomes": (os.fspath(files.connectomes),),
        "motion": (os.fspath(files.motion),),
        "traits": (os.fspath(files.participants),),
        "trait": tuple(cohort.traits.columns),
        "confounds": ("rms_mm",),
        "labels": os.fspath(files.regions),
        "lengths": os.fspath(files.lengths),
        "truth": (os.fspath(files.truth),),
        "repeats": 1,
    }
    return run_pipeline(RunSettings(**(chosen | settings)), place / "run", report=False)


def make_eventful(run):
    """Give the last subject an id that tries to be a program, which no file name can be.

    Two subjects are also listed as dropped, and some are flagged.
    """
    folder = RunFolder(run)
    dropped = {"participant_id": ["sub-9001", "sub-9002"], "reason": ["no motion", "no connectome"]}
    folder.write_table("dropped", pd.DataFrame(dropped))
    cohort, slider = folder.cohort, folder.slider
    *others, last = cohort.subject_ids
    ids = [*others, HOSTILE_ID]
    Cohort(
        ids,
        np.array(cohort.connectomes),
        motion=cohort.motion.set_axis(ids),
        traits=cohort.traits.set_axis(ids),
        regions=cohort.regions,
        lengths=cohort.lengths,
    ).save(folder.place("cohort"), overwrite=True)
    keys = tuple(HOSTILE_ID if key == last else key for key in slider.keys)
    if HOSTILE_ID not in keys:
        keys = (*keys[:-1], HOSTILE_ID)
    replace(slider, keys=keys).save(folder.place("slider"))
    for path in run.rglob("*.tsv"):
        if "adjusted" not in path.relative_to(run).parts:
            text = path.read_text("utf-8").replace(f"{last}\t", f"{HOSTILE_ID}\t")
            path.write_text(text, "utf-8")
    subjects = RunFolder(run).subjects
    moved = subjects["rms_mm"] > subjects["rms_mm"].quantile(0.9)
    subjects["flags"] = np.where(moved, "moved much", "")
    subjects.loc[0, "flags"] = "moved much;few fibres"
    folder.write_table("subjects", subjects)

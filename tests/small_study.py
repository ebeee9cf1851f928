"""A study in files, small enough to run everything on in seconds."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from moving_people import MovingPeople, V
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.io.write_cohort import write_cohort
from stillome.run import RunSettings


def small_cohort(n: int = 64, seed: int = 0) -> Cohort:
    """People of whom motion takes fibres, with traits, families and empty columns."""
    people = MovingPeople(n, seed)
    traits = pd.DataFrame(people.traits, columns=["reading", "memory"])
    traits["age"] = np.random.default_rng(seed).uniform(8, 12, n)
    traits["family"] = [f"F{i // 2}" for i in range(n)]
    traits["empty"] = np.nan
    traits["same"] = 1.0
    traits["sex"] = ["f", "m"] * (n // 2) + ["f"] * (n % 2)
    regions = pd.DataFrame({"name": [f"region {i}" for i in range(V)]})
    return Cohort(
        [f"sub-{i:03d}" for i in range(n)],
        edges_to_matrices(people.X),
        motion=pd.DataFrame({"rms_mm": people.motion, "rotation_rad": people.rotation}),
        traits=traits,
        regions=regions,
    )


def write_study(folder: Path, n: int = 64, seed: int = 0, **settings: Any) -> RunSettings:
    """Write the cohort to files and return how to run everything on it."""
    files = write_cohort(folder, small_cohort(n, seed))
    chosen = {
        "connectomes": (os.fspath(files.connectomes),),
        "motion": (os.fspath(files.motion),),
        "traits": (os.fspath(files.participants),),
        "trait": ("reading", "memory"),
        "confounds": ("rms_mm",),
        "labels": os.fspath(files.regions),
        "repeats": 1,
    }
    return RunSettings(**(chosen | settings))


def write_derivatives(folder: Path, n: int = 30) -> tuple[Path, Path]:
    """Write what QSIRecon and eddy leave; return the folders of connectomes and of motion."""
    cohort = small_cohort(n)
    files = write_cohort(folder / "all", cohort, form="relmat")
    connectomes, eddy = folder / "qsirecon", folder / "eddy"
    files.connectomes.rename(connectomes)
    assert files.participants is not None
    files.participants.rename(connectomes / "participants.tsv")
    for subject, moved in zip(cohort.subject_ids, cohort.motion["rms_mm"], strict=True):
        (eddy / subject).mkdir(parents=True)
        rows = "\n".join(f"0  {moved}" for _ in range(4))
        (eddy / subject / f"{subject}_dwi.eddy_movement_rms").write_text(rows + "\n")
    return connectomes, eddy


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its relative name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

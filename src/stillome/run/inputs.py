"""First step: read everything, judge whether a run can be made of it, and keep it in one place."""

import os
import warnings
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.cohort import Cohort
from stillome.exceptions import InputError, StillomeWarning
from stillome.io.cohorts import join_subjects, read_cohort
from stillome.io.connectome_data import ConnectomeData, Source
from stillome.io.connectomes import read_connectomes, select_subjects
from stillome.io.motion.motion_table import write_motion
from stillome.io.motion.summary import read_motion
from stillome.io.tables.phenotypes import read_traits
from stillome.io.write import provenance, write_dataset_description
from stillome.persistence import written_aside
from stillome.run.cohort_checks import check_cohort
from stillome.run.folder import RunFolder
from stillome.run.removed import choose_removed, not_motion
from stillome.run.run_files import FORMAT, FORMAT_VERSION
from stillome.run.settings import RunSettings, command_line, to_json


class Inputs(NamedTuple):
    """Everything that was read, of the subjects that have all of it."""

    settings: RunSettings  # with the confounds that were found
    data: ConnectomeData
    cohort: Cohort
    motion: pd.DataFrame  # of everybody, as `read_motion` answered
    dropped: pd.DataFrame
    truth: NDArray[Any] | None


def read_inputs(settings: RunSettings) -> Inputs:
    """Read connectomes, motion and traits, and judge whether a run can be made of them.

    Raises
    ------
    FileError, InputError
        One sentence that says what is wrong, where, and what to do.
    """
    data = read_connectomes(
        _one_or_many(settings.connectomes),
        atlas=settings.atlas,
        measure=settings.measure,
        labels=settings.labels,
        symmetrize=settings.symmetrize,
        session=settings.session,
        subjects=settings.subjects or None,
    )
    motion = read_motion(settings.motion, session=settings.session)
    columns = [*settings.trait, *settings.keep]
    columns += [settings.group] if settings.group and settings.group not in columns else []
    asked = (*settings.confounds, *settings.other_confounds)
    columns += not_motion(motion, asked)
    traits = None
    if settings.traits and columns:
        traits = read_traits(settings.traits, columns=columns, session=settings.session)
    if settings.subjects:
        # Whoever was not asked for is not missing.
        motion = motion[motion.index.isin(data.subject_ids)]
        traits = None if traits is None else traits[traits.index.isin(data.subject_ids)]
    dropped = join_subjects(data.subject_ids, motion, traits).dropped
    with warnings.catch_warnings():
        # It would say how to list those who were left out, which is done here.
        warnings.simplefilter("ignore", StillomeWarning)
        cohort = read_cohort(
            data, motion=motion, traits=traits, lengths=settings.lengths, labels=settings.labels
        )
    if len(dropped):
        reasons = dropped["reason"].value_counts().items()
        said = ", ".join(f"{count} with {reason}" for reason, count in reasons)
        warnings.warn(
            f"{len(dropped)} subjects were left out ({said}); dropped.tsv lists them. "
            f"{cohort.n_subjects} are kept.",
            StillomeWarning,
            stacklevel=2,
        )
    removed = choose_removed(cohort.motion, cohort.traits, asked)
    settings = replace(settings, confounds=removed.motion, other_confounds=removed.others)
    check_cohort(cohort, settings)
    return Inputs(
        settings,
        select_subjects(data, cohort.subject_ids),
        cohort,
        motion,
        dropped,
        _read_truth(settings, cohort),
    )


def write_inputs(inputs: Inputs, out: Path) -> None:
    """Write what was read into the run folder: ``run.json`` first, the cohort last."""
    settings, source = inputs.settings, inputs.data.source
    folder = RunFolder(out)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "stillome": version("stillome"),
        "command": command_line(settings, out),
        "settings": to_json(settings),
        "provenance": provenance(inputs=_files(inputs), random_state=settings.seed),
        "source": {**asdict(source), "measure": inputs.data.measure, "notes": inputs.data.notes},
        "simulated": inputs.truth is not None,
    }
    folder.write_json("header", header)
    with written_aside(folder.place("description"), overwrite=True) as aside:
        write_dataset_description(aside.parent, "stillome: connectomes without head motion")
    folder.write_table("dropped", inputs.dropped)
    motion = folder.place("motion_table")
    write_motion(inputs.motion, motion, version=version("stillome"), overwrite=True)
    if inputs.truth is not None:
        folder.write_array("truth", inputs.truth)
    inputs.cohort.save(folder.place("cohort"), overwrite=True)


def source_data(folder: RunFolder) -> ConnectomeData:
    """Return the record of what was read, for writers that keep its format."""
    source, cohort = folder.source, folder.cohort
    return ConnectomeData(
        subject_ids=tuple(cohort.subject_ids),
        connectomes=cohort.connectomes,
        regions=cohort.regions,
        measure=source["measure"],
        source=Source(
            source["producer"], tuple(source["files"]), source["atlas"], source["triangle"]
        ),
        lengths=cohort.lengths,
    )


def _read_truth(settings: RunSettings, cohort: Cohort) -> NDArray[Any] | None:
    if not settings.truth:
        return None
    truth = read_connectomes(_one_or_many(settings.truth), labels=settings.labels)
    known = select_subjects(truth, cohort.subject_ids)
    if known.n_regions != cohort.n_regions:
        raise InputError(
            f"truth: {known.n_regions} regions; the connectomes have {cohort.n_regions}."
        )
    return np.asarray(known.connectomes)


def _files(inputs: Inputs) -> list[str]:
    tables = (*inputs.settings.traits, *inputs.motion.attrs.get("files", []))
    return list(dict.fromkeys([*inputs.data.source.files, *map(os.fspath, tables)]))


def _one_or_many(paths: tuple[str, ...]) -> str | tuple[str, ...]:
    # One folder is searched; what is listed one by one is taken as it is.
    return paths[0] if len(paths) == 1 else paths

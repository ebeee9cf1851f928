"""First step of a run: read its files, judge whether a run can be made of them, and keep them."""

import shutil
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.cohort import Cohort
from stillome.cohort.confound_choice import choose_removed
from stillome.cohort.validation.sliced import is_sliced
from stillome.exceptions import FileError
from stillome.io.cohorts import MotionNeeded
from stillome.io.connectome_data import ConnectomeData, Source
from stillome.io.motion.motion_table import write_motion
from stillome.io.write import hash_of, provenance, write_dataset_description
from stillome.methods.registry import make_method
from stillome.persistence import written_aside
from stillome.run.cohort_checks import check_cohort
from stillome.run.folder import RunFolder
from stillome.run.inferred_motion import InfersMotion
from stillome.run.method_parameters import check_parameters
from stillome.run.run_files import FORMAT, FORMAT_VERSION
from stillome.run.settings import RunSettings, command_line, to_json
from stillome.run.study_files import read_study, read_truth


class Inputs(NamedTuple):
    """Everything that was read, of the subjects that have all of it."""

    settings: RunSettings  # with the confounds that were found
    data: ConnectomeData
    cohort: Cohort
    motion: pd.DataFrame  # of everybody, as `read_motion` answered
    dropped: pd.DataFrame
    files: tuple[str, ...]
    truth: NDArray[Any] | None


def read_inputs(settings: RunSettings) -> Inputs:
    """Read connectomes, motion and traits, and judge whether a run can be made of them.

    Raises
    ------
    FileError, InputError
        One sentence that says what is wrong, where, and what to do.
    """
    check_parameters(settings.method, settings.parameters)
    for name in settings.baselines:
        check_parameters(name, {})
    asked = (*settings.confounds, *settings.other_confounds)
    columns = [*settings.trait, *settings.keep, *([settings.group] if settings.group else [])]
    # Who has a row of motion without a value stays: a method that infers motion adjusts them too.
    infers = isinstance(make_method(settings.method), InfersMotion)
    needed: MotionNeeded = "row" if infers else "value"
    read = read_study(
        settings,
        columns,
        asked,
        motion_needed=needed,
        distinct=True,
        group=settings.group,
        listed="dropped.tsv",
    )
    cohort = read.cohort
    removed = choose_removed(cohort.motion, cohort.traits, asked)
    settings = replace(settings, confounds=removed.motion, other_confounds=removed.others)
    check_cohort(cohort, settings)
    assert read.motion is not None  # the settings insist on it
    truth = read_truth(settings.truth, cohort, settings.labels)
    return Inputs(settings, read.data, cohort, read.motion, read.dropped, read.files, truth)


def write_inputs(inputs: Inputs, out: Path) -> None:
    """Write what was read into the run folder: ``run.json`` first, the cohort last."""
    settings, source = inputs.settings, inputs.data.source
    folder = RunFolder(out)
    told = provenance(inputs=inputs.files, random_state=settings.seed)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "stillome": version("stillome"),
        "command": command_line(settings, out),
        "settings": to_json(settings),
        "provenance": told,
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
    if is_sliced(inputs.cohort.connectomes):
        _check_unchanged(folder, told["Inputs"])


def _check_unchanged(folder: RunFolder, hashes: dict[str, str]) -> None:
    """Refuse a store that was changed while it was copied in slices; the copy may be of both."""
    for path, digest in hashes.items():
        if hash_of(path) != digest:
            shutil.rmtree(folder.place("cohort"), ignore_errors=True)
            raise FileError(
                f"{path} was changed while it was read. Run again when nothing writes to it."
            )


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

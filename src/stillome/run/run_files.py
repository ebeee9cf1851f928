"""Every file of a run folder: its name, what it holds, and which step writes it."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.stored_matrices import in_its_file
from stillome.exceptions import FileError
from stillome.persistence import read_array, read_json, write_json, write_table, written_aside
from stillome.run.inferred_motion import INFERRED
from stillome.run.run_tables import Columns, read_run_table

FORMAT, FORMAT_VERSION = "stillome-run", 1
ID = "participant_id"

READING = "Reading"
DESCRIBING = "Describing motion"
FITTING = "Fitting"
ADJUSTING = "Adjusting"
BASELINES = "Fitting baselines"
CERTIFYING = "Certifying"
FIDELITY = "Measuring fidelity"
PREDICTING = "Predicting traits"
SLIDING = "Moving the reference"
LISTING = "Listing subjects"
REPORTING = "Writing the report"


class RunFile(NamedTuple):
    """One file, or one folder, of a run."""

    name: str  # inside the run folder
    step: str  # that writes it
    holds: str


# In the order in which they are written: the last file of a step says that the step is done.
FILES = {
    "header": RunFile("run.json", READING, "command, settings, provenance, source"),
    "description": RunFile("dataset_description.json", READING, "what BIDS asks of a derivative"),
    "dropped": RunFile("dropped.tsv", READING, "subjects that could not be used, and why"),
    "motion_table": RunFile("motion.tsv", READING, "motion of every subject, all measures"),
    "motion_sidecar": RunFile("motion.json", READING, "what the columns of motion.tsv are"),
    "truth": RunFile("work/truth.npy", READING, "motion-free connectomes, of a simulation"),
    "cohort": RunFile("work/cohort", READING, "connectomes, motion and traits as analysed"),
    "motion_effects": RunFile("motion_effects", DESCRIBING, "what motion did to raw connectomes"),
    "frontier": RunFile("frontier.tsv", FITTING, "leakage and fit by invariance_weight='auto'"),
    "history": RunFile("history.tsv", FITTING, "losses by epoch, of a network"),
    "diagnostics": RunFile("diagnostics.json", FITTING, "information in every latent dimension"),
    "inferred": RunFile(INFERRED, FITTING, "motion that was not measured, as inferred"),
    "model": RunFile("model", FITTING, "the fitted model"),
    "latents": RunFile("latents.tsv", FITTING, "representation of every subject"),
    "latents_sidecar": RunFile("latents.json", FITTING, "how latents.tsv was made"),
    "adjusted": RunFile("work/adjusted.npy", ADJUSTING, "connectomes at the reference"),
    "connectomes": RunFile("adjusted", ADJUSTING, "the same, in files for the user"),
    "baselines": RunFile("work/baselines", BASELINES, "what every baseline made of the subjects"),
    "certificates": RunFile("certificates.tsv", CERTIFYING, "every probe of every certificate"),
    "graph_motion": RunFile("graph_motion.tsv", CERTIFYING, "graph measures against motion"),
    "keeping": RunFile("keeping.tsv", CERTIFYING, "probes with and without covariates to keep"),
    "certificate_notes": RunFile("certificates.json", CERTIFYING, "level, power, notes"),
    "graph_measures": RunFile("graph_measures.tsv", FIDELITY, "graph measures before and after"),
    "effects_left": RunFile("motion_effects_adjusted", FIDELITY, "motion effects after adjusting"),
    "fidelity": RunFile("fidelity.tsv", FIDELITY, "what adjusting kept, by method"),
    "comparison": RunFile("comparison", PREDICTING, "trait prediction by method and fold"),
    "predictions": RunFile("predictions.tsv", PREDICTING, "traits predicted for every subject"),
    "predictions_sidecar": RunFile("predictions.json", PREDICTING, "how these were made"),
    "slider": RunFile("work/slider.npz", SLIDING, "connectomes at several references"),
    "subjects": RunFile("subjects.tsv", LISTING, "one row per subject, with flags"),
    "figures": RunFile("figures", REPORTING, "figures as PNG and PDF, with their captions"),
    "report": RunFile("report.html", REPORTING, "the report"),
}


def last_of(step: str) -> RunFile:
    """Return the file that a step writes last.

    Examples
    --------
    >>> last_of("Certifying").name
    'certificates.json'
    """
    return [file for file in FILES.values() if file.step == step][-1]


class RunFiles:
    """Files of one run folder by their keys in `FILES`: where they are, reading and writing.

    A damaged or missing file is answered with one sentence that says how to make it again.

    Parameters
    ----------
    path : path-like
        The run folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def place(self, key: str) -> Path:
        """Return where a file is, or will be."""
        return self.path / FILES[key].name

    def has(self, key: str) -> bool:
        """Whether the file is there."""
        return self.place(key).exists()

    def done(self, step: str) -> bool:
        """Whether a step has written its last file."""
        return (self.path / last_of(step).name).exists()

    def read_json(self, key: str) -> dict[str, Any]:
        """Read a JSON file."""
        try:
            return read_json(self.place(key))
        except FileError as error:
            raise FileError(f"{error} {self.again(key)}") from error

    def read_table(self, key: str, columns: Columns, inside: str = "") -> pd.DataFrame:
        """Read a table, or the table of the name `inside` where `key` is a folder of tables."""
        path = self.place(key) / f"{inside}.tsv" if inside else self.place(key)
        try:
            return read_run_table(path, columns)
        except FileError as error:
            raise FileError(f"{error} {self.again(key)}") from error

    def read_matrices(self, key: str, shape: tuple[int, ...], inside: str = "") -> Any:
        """Map an array that begins with this shape; it stays on disk until it is used.

        Of a large one, only slices are read.
        """
        path = self.place(key) / inside if inside else self.place(key)
        try:
            array = read_array(path, memory_map=True)
        except FileError as error:
            raise FileError(f"{error} {self.again(key)}") from error
        if array.shape[: len(shape)] != shape:
            raise FileError(f"{path}: shape {array.shape}; expected {shape}. {self.again(key)}")
        return in_its_file(array)

    def again(self, key: str) -> str:
        """Say how a damaged file is made again."""
        last = last_of(FILES[key].step).name
        if FILES[key].step == READING:
            return "Run into a new folder."
        return f"Remove {last} from the folder and continue the run."

    def write_table(self, key: str, table: pd.DataFrame) -> None:
        """Write a table, whole or not at all."""
        with written_aside(self.place(key), overwrite=True) as aside:
            write_table(aside, table)
        self.forget(key)

    def write_json(self, key: str, content: dict[str, Any]) -> None:
        """Write a JSON file, whole or not at all."""
        with written_aside(self.place(key), overwrite=True) as aside:
            write_json(aside, content)
        self.forget(key)

    def write_array(self, key: str, array: NDArray[Any]) -> None:
        """Write a `.npy` array, whole or not at all."""
        with written_aside(self.place(key), overwrite=True) as aside, aside.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        self.forget(key)

    def write_tables(self, key: str, tables: dict[str, pd.DataFrame]) -> None:
        """Write a folder of tables, whole or not at all."""
        first = f"{next(iter(tables))}.tsv"
        with written_aside(self.place(key), overwrite=True, marker=first) as aside:
            aside.mkdir()
            for name, table in tables.items():
                write_table(aside / f"{name}.tsv", table)
        self.forget(key)

    def forget(self, key: str) -> None:
        """Read a file again when it is next asked for, since it has been written."""
        vars(self).pop(key, None)

"""Everything a finished run left in its folder, as one record."""

import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.cohort import Cohort
from stillome.cohort.confound_coding import ConfoundCoding, in_words
from stillome.cohort.reference import resolve_reference
from stillome.exceptions import FileError
from stillome.persistence import read_array, read_json
from stillome.report.run_tables import ID, read_run_table

FORMAT, FORMAT_VERSION = "stillome-run", 1
_SLIDER = ("references", "keys", "matrices", "observed", "observed_motion")
_PROBES = ("n_subjects", "r2", "p_value", "p_holm", "null_95")
_COUNTED = ("fibres_raw", "fibres_adjusted", "change_percent")
_COMPARED = {
    "folds": {"text": ("method", "trait"), "numbers": ("r",)},
    "summary": {"text": ("method", "trait", "status"), "numbers": ("r_mean", "r_sd")},
    "tests": {"text": ("method", "trait", "against"), "numbers": ("difference", "p_holm")},
}


@dataclass(frozen=True, eq=False)
class Slider:
    """Connectomes of groups and of some subjects, adjusted to several levels of motion.

    Attributes
    ----------
    references : array of shape (L,)
        Levels of the first confound, in its unit.
    keys : tuple of str
        S groups and subject ids.
    matrices : array of shape (S, L, V, V)
    observed : array of shape (S, V, V)
        As scanned; the mean for a group.
    observed_motion : array of shape (S,)
    """

    references: NDArray[np.float64]
    keys: tuple[str, ...]
    matrices: NDArray[np.float32] = field(repr=False)
    observed: NDArray[np.float32] = field(repr=False)
    observed_motion: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Results:
    """What a run found; None (or an empty table) is what it did not look for.

    Attributes
    ----------
    folder : pathlib.Path
    run : dict
        ``run.json``: command, settings, provenance, source, simulated.
    cohort : Cohort
        What was analysed; its connectomes stay on disk.
    adjusted, truth : arrays of shape (n, V, V)
        At the reference; without motion, where known.
    dropped, subjects, latents, certificates, fidelity, graph_measures : pandas.DataFrame
        The tables of the same names.
    certificate_notes, diagnostics : dict
    slider : Slider or None
    frontier, history, predictions : pandas.DataFrame or None
    comparison : dict of pandas.DataFrame
        ``folds``, ``summary`` and ``tests``; empty without traits.
    whole_counts : bool
        Whether connectomes hold whole numbers of streamlines, not weights.
    """

    folder: Path
    run: dict[str, Any]
    cohort: Cohort
    adjusted: NDArray[Any] = field(repr=False)
    truth: NDArray[Any] | None = field(repr=False)
    dropped: pd.DataFrame
    subjects: pd.DataFrame
    latents: pd.DataFrame
    certificates: pd.DataFrame
    certificate_notes: dict[str, Any]
    fidelity: pd.DataFrame
    graph_measures: pd.DataFrame
    slider: Slider | None
    frontier: pd.DataFrame | None
    history: pd.DataFrame | None
    diagnostics: dict[str, Any]
    comparison: dict[str, pd.DataFrame]
    predictions: pd.DataFrame | None
    whole_counts: bool

    @property
    def settings(self) -> dict[str, Any]:
        """What was asked for."""
        return dict(self.run["settings"])

    @property
    def method(self) -> str:
        """Name of the method whose connectomes were written."""
        return str(self.settings["method"])

    @property
    def baselines(self) -> list[str]:
        """Names of the methods it was compared with."""
        return [str(name) for name in self.settings.get("baselines") or []]

    @property
    def others(self) -> list[str]:
        """Columns that were removed with motion: site, scanner."""
        return [str(name) for name in self.settings.get("other_confounds") or []]

    @property
    def others_said(self) -> list[str]:
        """The same with what was adjusted to: "site (adjusted to A)"."""
        levels = self._levels()
        return [f"{name} (adjusted to {levels[name]})" for name in self.others]

    @property
    def reference(self) -> list[str]:
        """The motion adjusted to, in words; one for each measure, or 0 for all."""
        given = self.settings.get("reference") or []
        if any(isinstance(one, str) for one in given):
            levels = self._levels()
            return [levels[name] for name in self.settings["confounds"]]
        return [f"{float(level):g}" for level in given]

    def _levels(self) -> dict[str, str]:
        """Say what every confound was adjusted to."""
        motion = self.cohort.motion[self.settings["confounds"]]
        coding = ConfoundCoding.fit(motion, self.cohort.traits[self.others])
        return coding.said(resolve_reference(coding, self.settings.get("reference") or [0.0]))

    @property
    def removed(self) -> str:
        """What was removed, in words: "motion", or "motion or site"."""
        return in_words(self.others)

    @property
    def sought(self) -> str:
        """What probes look for: "motion", or "motion and site"."""
        return in_words(self.others, "and")

    @property
    def confound(self) -> str:
        """The first motion column, the one that groups and slider go by."""
        return str(self.settings["confounds"][0])


def read_results(run_folder: str | os.PathLike[str]) -> Results:
    """Read what `stillome run` left in a folder.

    Parameters
    ----------
    run_folder : path-like

    Returns
    -------
    Results

    Raises
    ------
    FileError
        If a file is missing, damaged, or belongs to another cohort.
    """
    folder = Path(run_folder)
    run = _read_run(folder)
    cohort = Cohort.load(folder / "work" / "cohort", memory_map=True)
    truth = folder / "work" / "truth.npy"
    diagnostics = folder / "diagnostics.json"
    results = Results(
        folder=folder,
        run=run,
        cohort=cohort,
        adjusted=_read_matrices(folder / "work" / "adjusted.npy", cohort),
        truth=_read_matrices(truth, cohort) if truth.exists() else None,
        **_read_tables(folder),
        certificate_notes=read_json(folder / "certificates.json"),
        slider=_read_slider(folder / "work" / "slider.npz", cohort.n_regions),
        diagnostics=read_json(diagnostics) if diagnostics.exists() else {},
        comparison=_read_comparison(folder / "comparison"),
        whole_counts=all(bool((one == np.round(one)).all()) for one in cohort.connectomes),
    )
    for name in ("subjects", "latents", "graph_measures"):
        if list(getattr(results, name)[ID]) != list(cohort.subject_ids):
            raise FileError(
                f"{folder / name}.tsv: other subjects than in work/cohort. Run into a new folder."
            )
    missing = [name for name in results.others if name not in cohort.traits]
    if missing:
        raise FileError(f"{folder}: work/cohort has no column {missing[0]!r} among its traits.")
    if results.confound not in cohort.motion:
        raise FileError(f"{folder}: work/cohort has no motion column {results.confound!r}.")
    return results


def _read_run(folder: Path) -> dict[str, Any]:
    if not (folder / "run.json").is_file():
        raise FileError(f"{folder}: no results of `stillome run` (run.json is missing).")
    run = read_json(folder / "run.json")
    if run.get("format") != FORMAT:
        raise FileError(f"{folder}: run.json is not that of a stillome run.")
    if run.get("version") != FORMAT_VERSION:
        raise FileError(
            f"{folder}: run format {run.get('version')}; this version reads {FORMAT_VERSION}. "
            "Update stillome."
        )
    settings = run.get("settings")
    settings = settings if isinstance(settings, dict) else {}
    confounds = settings.get("confounds")
    if (
        not isinstance(settings.get("method"), str)
        or not isinstance(confounds, list)
        or not confounds
    ):
        raise FileError(f"{folder}: run.json does not say method and confounds; it is damaged.")
    return run


def _read_tables(folder: Path) -> dict[str, Any]:
    read = read_run_table
    return {
        "dropped": read(folder / "dropped.tsv", text=(ID, "reason")),
        "subjects": read(folder / "subjects.tsv", text=(ID, "flags"), numbers=_COUNTED),
        "latents": read(folder / "latents.tsv", text=(ID,)),
        "certificates": read(
            folder / "certificates.tsv",
            text=("use", "method", "features", "probe"),
            numbers=_PROBES,
            yes_no=("passed",),
        ),
        "fidelity": read(
            folder / "fidelity.tsv", text=("method",), numbers=("r2", "variance_ratio")
        ),
        "graph_measures": read(folder / "graph_measures.tsv", text=(ID,)),
        "frontier": _if_there(folder / "frontier.tsv"),
        "history": _if_there(folder / "history.tsv"),
        "predictions": _if_there(folder / "predictions.tsv", text=(ID, "trait")),
    }


def _if_there(path: Path, text: tuple[str, ...] = ()) -> pd.DataFrame | None:
    return read_run_table(path, text=text) if path.exists() else None


def _read_comparison(folder: Path) -> dict[str, pd.DataFrame]:
    if not folder.exists():
        return {}
    return {name: read_run_table(folder / f"{name}.tsv", **has) for name, has in _COMPARED.items()}


def _read_matrices(path: Path, cohort: Cohort) -> NDArray[Any]:
    array = read_array(path, memory_map=True)
    if array.shape != cohort.connectomes.shape:
        raise FileError(
            f"{path}: shape {array.shape}; the cohort has {cohort.connectomes.shape}. "
            "Run into a new folder."
        )
    return array


def _read_slider(path: Path, n_regions: int) -> Slider | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in _SLIDER}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(f"{path}: cannot be read ({error}). Run that step again.") from error
    n_keys, n_levels = len(arrays["keys"]), len(arrays["references"])
    if arrays["matrices"].shape != (n_keys, n_levels, n_regions, n_regions):
        raise FileError(f"{path}: {arrays['matrices'].shape} does not fit the cohort; run again.")
    keys = tuple(str(key) for key in arrays.pop("keys"))
    return Slider(keys=keys, **arrays)

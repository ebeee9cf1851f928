"""Writing results: connectomes in their own format or as BIDS, tables with sidecars."""

import hashlib
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.scan_ids import person_of, session_in
from stillome.cohort.validation import check_connectomes
from stillome.cohort.validation.sliced import is_sliced
from stillome.exceptions import FileError, InputError
from stillome.io.connectome_data import ConnectomeData, Holding
from stillome.io.edge_store import write_edge_store
from stillome.io.formats.bids_relmat import relmat_json
from stillome.io.formats.bids_relmat import write as write_relmat
from stillome.io.formats.mrtrix import LABELLED, PRODUCER, UK_BIOBANK
from stillome.io.formats.text_layout import layout_of
from stillome.io.formats.text_matrix import write_text_matrix
from stillome.io.guarded_files import existing_path
from stillome.io.recognise import WRITERS
from stillome.io.subject_ids import normalise_id
from stillome.persistence import check_replaceable, write_json, write_table, written_aside

DESCRIPTION = "dataset_description.json"
_PACKAGES = ("stillome", "numpy", "pandas", "scipy", "scikit-learn", "torch", "h5py")
_TEXTS = frozenset({PRODUCER, UK_BIOBANK, LABELLED})
_STACKS = frozenset(
    {"NumPy .npz", "HDF5 stack", "netCDF stack", "zarr stack", "MAT stack", "MAT 7.3 stack"}
    | {"wide table"}
)


def write_connectomes(
    folder: str | os.PathLike[str],
    data: ConnectomeData,
    connectomes: ArrayLike | None = None,
    *,
    form: str = "same",
    random_state: int | None = None,
    description: str = "motion-adjusted fibre counts",
    overwrite: bool = False,
) -> Path:
    r"""Write connectomes to a folder, in the format that came in or as BIDS relationship matrices.

    Parameters
    ----------
    folder : path-like
        A derivative dataset; gets ``dataset_description.json``.
    data : ConnectomeData
        What was read: ids, regions and the source whose format and names are kept.
    connectomes : array of shape (n, V, V) or (n, V(V-1)/2), optional
        What to write for these subjects, in their order; by default what was read.
    form : {"same", "relmat"}
        ``"same"`` keeps format, triangle, file names, separators and the layout of numbers;
        ``"relmat"`` writes
        ``sub-<id>/dwi/sub-<id>_meas-<measure>_relmat.dense.tsv`` with a JSON each, which has the
        hash of the file that this subject came from.
    random_state : int, optional
        The seed they were made with, for the sidecar.
    description : str
        What they are, for the sidecar.
    overwrite : bool, default=False
        Whether an earlier result may be replaced.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    FileError, InputError
        If the folder exists already, the sizes do not fit, or that format cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from stillome.io import read_connectomes
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "sub-01_connectome.csv").write_text("0,5\n5,0\n")
    >>> data = read_connectomes(folder)
    >>> out = write_connectomes(folder / "adjusted", data, [[[0, 6], [6, 0]]])
    >>> (out / "sub-01_connectome.csv").read_text().split()
    ['0,6', '6,0']
    """
    if form not in ("same", "relmat"):
        raise InputError(f"form={form!r}; expected 'same' or 'relmat'.")
    # A large cohort from one file becomes a store of edge vectors, whatever the file was.
    stays = is_sliced(connectomes) and form == "same" and len(data.source.files) == 1
    if form == "same" and not stays and data.source.producer not in WRITERS:
        raise FileError(f"{data.source.producer}: cannot be written; choose the form 'relmat'.")
    for subject in data.subject_ids:
        normalise_id(subject)  # refuses ids that would lead to another folder
    matrices = _matrices(data, connectomes)
    # run.json has the hash of the file that a run has copied, which need not be there any more.
    told = provenance(inputs=() if stays else data.source.files, random_state=random_state)
    with written_aside(folder, overwrite=overwrite, marker=DESCRIPTION) as aside:
        aside.mkdir()
        write_dataset_description(aside, f"stillome: {description}")
        if form == "relmat":
            _write_relmats(aside, data, matrices, {"Description": description, **told})
        else:
            if stays:
                place = (aside / Path(data.source.files[0]).name).with_suffix(".zarr")
                write_edge_store(place, replace(data, connectomes=matrices))
            else:
                _write_same(aside, data, matrices)
            content = {"Description": description, "Units": data.measure, **told}
            write_json(aside / "connectomes.json", content)
    return Path(folder)


def write_described_table(
    path: str | os.PathLike[str],
    table: pd.DataFrame,
    *,
    description: str,
    units: Mapping[str, str] | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
    random_state: int | None = None,
    overwrite: bool = False,
) -> Path:
    """Write latents, motion or predictions as TSV with a JSON sidecar.

    Parameters
    ----------
    path : path-like
        Ends in ``.tsv``; the sidecar ends in ``.json``.
    table : pandas.DataFrame
        Indexed by subject id; NaN becomes ``n/a``.
    description : str
        What the table holds.
    units : mapping of str to str, optional
        Units by column; others are told from names such as ``rms_mm``.
    inputs : iterable of path-like
        The files it was made from; their SHA-256 goes into the sidecar.
    random_state : int, optional
        The seed it was made with.
    overwrite : bool, default=False
        Whether earlier files may be replaced.

    Returns
    -------
    pathlib.Path
        The sidecar.

    Examples
    --------
    >>> import tempfile
    >>> latents = pd.DataFrame({"z_1": [0.5]}, index=["A01"])
    >>> place = Path(tempfile.mkdtemp(), "latents.tsv")
    >>> write_described_table(place, latents, description="latents", random_state=0).name
    'latents.json'
    >>> print(place.read_text())
    participant_id	z_1
    A01	0.5
    <BLANKLINE>
    """
    path = Path(path)
    if path.suffix != ".tsv":
        raise InputError(f"{path}: tables are written as .tsv. Give it a name that says so.")
    sidecar = path.with_suffix(".json")
    check_replaceable(path, overwrite=overwrite)
    check_replaceable(sidecar, overwrite=overwrite)
    known = {str(name): unit_of(str(name)) for name in table.columns} | dict(units or {})
    content = {
        "Description": description,
        **{name: {"Units": unit} for name, unit in known.items()},
        **provenance(inputs=inputs, random_state=random_state),
    }
    with written_aside(path, overwrite=overwrite) as aside:
        write_table(aside, table.rename_axis("participant_id"), index=True)
    with written_aside(sidecar, overwrite=overwrite) as aside:
        write_json(aside, content)
    return sidecar


def write_dataset_description(folder: Path, name: str) -> None:
    """Write ``dataset_description.json`` of a BIDS derivative into a folder."""
    content = {
        "Name": name,
        "BIDSVersion": "1.10.0",
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "stillome", "Version": version("stillome")}],
    }
    write_json(folder / DESCRIPTION, content)


def provenance(
    *, inputs: Iterable[str | os.PathLike[str]] = (), random_state: int | None = None
) -> dict[str, Any]:
    """Return what a sidecar says about how a result was made: seed, versions, input hashes."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "Seed": random_state,
        "Versions": versions,
        "Inputs": {os.fspath(path): hash_of(path) for path in inputs},
    }


def hash_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, or of all files of a folder in the order of their names.

    For a member of an archive, the archive's.
    """
    place = Path(path)
    if not place.exists():
        place = next((parent for parent in place.parents if parent.is_file()), place)
    checked = existing_path(place)
    try:
        if checked.is_file():
            with checked.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        digest = hashlib.sha256()
        for file in sorted(p for p in checked.rglob("*") if p.is_file()):
            digest.update(str(file.relative_to(checked)).encode())
            digest.update(file.read_bytes())
        return digest.hexdigest()
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error}).") from error


def _matrices(data: ConnectomeData, connectomes: ArrayLike | None) -> NDArray[Any]:
    if connectomes is None:
        return np.asarray(data.connectomes)
    array = check_connectomes(connectomes, subject_ids=data.subject_ids, in_slices=True)
    if is_sliced(array) and array.ndim == 3 and array.shape[1] == data.n_regions:
        return array  # of a large cohort: written subject by subject
    matrices = edges_to_matrices(array) if array.ndim == 2 else array.copy()
    if matrices.shape[1] != data.n_regions:
        raise InputError(
            f"connectomes: {matrices.shape[1]} regions; those read have {data.n_regions}."
        )
    np.einsum("nii->ni", matrices)[...] = 0
    return matrices


def _write_relmats(
    folder: Path, data: ConnectomeData, matrices: NDArray[Any], told: dict[str, Any]
) -> None:
    measure = "".join(c for c in data.measure.title() if c.isalnum()) or "Count"
    names = tuple(data.regions["name"])
    files, hashes = data.source.files, told["Inputs"]
    one_each = len(files) == len(data.subject_ids)
    for i, (subject, matrix) in enumerate(zip(data.subject_ids, matrices, strict=True)):
        own = {files[i]: hashes[files[i]]} if one_each else hashes
        name = f"sub-{subject}_meas-{measure[0].lower()}{measure[1:]}_relmat"
        place = folder / bids_folder(subject) / "dwi"
        place.mkdir(parents=True)
        holding = Holding(matrix, measure=data.measure, regions=names)
        write_relmat(place / f"{name}.dense.tsv", holding)
        write_json(place / f"{name}.json", relmat_json(holding, **told | {"Inputs": own}))


def _write_same(folder: Path, data: ConnectomeData, matrices: NDArray[Any]) -> None:
    writer = WRITERS[data.source.producer]
    stored = {"upper": np.triu, "lower": np.tril}.get(data.source.triangle, np.asarray)
    names = tuple(data.regions["name"])
    files = data.source.files
    common: dict[str, Any] = {
        "measure": data.measure,
        "atlas": data.source.atlas,
        "regions": names,
    }
    if data.source.producer in _STACKS or len(set(files)) < len(files) or matrices.ndim != 3:
        place = folder / Path(files[0]).name
        writer(place, Holding(stored(matrices), subject_ids=data.subject_ids, **common))
        return
    if len(files) != len(matrices):  # a bare .npy holds everybody without saying who
        writer(folder / Path(files[0]).name, Holding(stored(matrices), **common))
        return
    for file, relative, matrix in zip(files, _relative(files), matrices, strict=True):
        place = folder / relative
        place.parent.mkdir(parents=True, exist_ok=True)
        layout = layout_of(Path(file)) if data.source.producer in _TEXTS else None
        if layout is None:
            writer(place, Holding(stored(matrix), **common))
            continue
        heading = names if data.source.producer == LABELLED else None
        write_text_matrix(
            place, stored(matrix), names=heading, mark=layout.mark, written=layout.written
        )


def _relative(files: Sequence[str]) -> list[Path]:
    """Keep the folders in which the files differ."""
    parents = {str(Path(file).parent) for file in files}
    root = os.path.commonpath(list(parents))
    return [Path(file).relative_to(root) for file in files]


def bids_folder(scan: str) -> Path:
    """Return the folder of a subject in a BIDS data set, or of one session.

    Examples
    --------
    >>> bids_folder("A01").as_posix(), bids_folder("A01_ses-2").as_posix()
    ('sub-A01', 'sub-A01/ses-2')
    """
    session = session_in(scan)
    return Path(f"sub-{person_of(scan)}", *([] if session is None else [f"ses-{session}"]))


def unit_of(name: str) -> str:
    """Return the unit at the end of a column's name, or ``n/a``.

    Examples
    --------
    >>> unit_of("rms_mm"), unit_of("outliers_percent"), unit_of("age")
    ('mm', '%', 'n/a')
    """
    units = {"mm": "mm", "rad": "rad", "percent": "%", "slices": "count"}
    return units.get(name.rsplit("_", 1)[-1], "n/a")

"""A fitted model as a folder, `model.json` beside `arrays.safetensors`; nothing is unpickled."""

import hashlib
import os
from abc import abstractmethod
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as dump_arrays

from stillome.cohort.subject_rows import AnyRows, SubjectRows
from stillome.exceptions import FileError, StillomeError
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.header_values import (
    CHECKSUM,
    checksum,
    described,
    is_plain,
    library_versions,
    plain,
)
from stillome.methods.registry import METHODS
from stillome.persistence import read_json, write_json, written_aside

FORMAT = "stillome-model"
FORMAT_VERSION = 3
HEADER = "model.json"
ARRAYS = "arrays.safetensors"
_PARAMETER = "parameter."


class ModelState(NamedTuple):
    """The learned part of a fitted model: plain values for JSON, and arrays."""

    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class StoredModel(NamedTuple):
    """The content of a model folder: class, parameters, learned state, names of the inputs."""

    class_name: str
    parameters: dict[str, Any]
    state: ModelState
    inputs: dict[str, Any] = {}  # noqa: RUF012 - never changed; see `save_fitted`


class Storable(ConnectomeMethod):
    """A method that can be stored: ``save`` and ``load``.

    A class implements `_get_state`, which returns what it learned, and `_set_state`, its inverse.
    Constructor parameters are stored through ``get_params``, and `training_hash_` in the header.
    """

    @abstractmethod
    def _get_state(self) -> ModelState:
        """Return what `fit` learned."""

    @abstractmethod
    def _set_state(self, state: ModelState) -> None:
        """Restore what `_get_state` returned; the parameters are set already."""

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the fitted model to a folder.

        Parameters
        ----------
        path : path-like
            Gets ``model.json`` (format, version, class, parameters, library versions, hash of the
            training data) and ``arrays.safetensors``. It is written completely or not at all.
        overwrite : bool, default=False
            Whether an existing model folder may be replaced.

        Raises
        ------
        FileError
            If `path` exists and may not be replaced, or cannot be written.
        NotFittedError
            If the model is not fitted.
        """
        write_model(
            path,
            self.stored(),
            training_hash=getattr(self, "training_hash_", None),
            overwrite=overwrite,
        )
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote; its results have the same bits.

        Raises
        ------
        FileError
            If the folder is missing, damaged, foreign, of another class or a later version.
        """
        stored = read_model(path)
        if stored.class_name != cls.__name__:
            raise FileError(
                f"{path}: holds a {stored.class_name}, not a {cls.__name__}. "
                f"Read it with {stored.class_name}.load."
            )
        return cls.from_stored(stored, path)

    @classmethod
    def from_stored(cls, stored: StoredModel, path: str | os.PathLike[str]) -> Self:
        """Rebuild a model from what `read_model` read at `path`, which the message names."""
        try:
            model = cls(**stored.parameters)
            model._set_state(stored.state)
        # A header edited by hand can break a model in as many ways as there are types in it.
        except (
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
            IndexError,
            RuntimeError,
            StillomeError,
        ) as error:
            raise FileError(f"{path}: damaged, the model does not fit together ({error}).") from (
                error
            )
        return model

    def stored(self) -> StoredModel:
        """Return what `save` writes of this fitted model."""
        self._check_fitted()
        return StoredModel(type(self).__name__, self.get_params(deep=False), self._get_state())


def load_model(path: str | os.PathLike[str]) -> Storable:
    """Read a saved model of any class; its results have the same bits as before.

    The class is looked up by name in `METHODS`, so that a folder from elsewhere cannot name code
    to be run.

    Parameters
    ----------
    path : path-like
        What `Storable.save` or `save_fitted` wrote.

    Raises
    ------
    FileError
        If the folder is missing, damaged, foreign, or of a later version.

    Examples
    --------
    >>> import tempfile
    >>> from stillome.methods.linear.edgewise import EdgewiseRegression
    >>> rng = np.random.default_rng(0)
    >>> X, motion = rng.poisson(9, size=(20, 6)), rng.random(20)
    >>> model = EdgewiseRegression(n_components=2).fit(X, confounds=motion)
    >>> loaded = load_model(model.save(Path(tempfile.mkdtemp()) / "model"))
    >>> bool((loaded.transform(X, confounds=motion) == model.transform(X, confounds=motion)).all())
    True
    """
    return rebuilt(read_model(path), path)


def rebuilt(stored: StoredModel, path: str | os.PathLike[str]) -> Storable:
    """Return the model that `read_model` read at `path`, an object of its own class."""
    method = METHODS.class_named(stored.class_name)
    if method is None or not issubclass(method, Storable):
        raise FileError(
            f"{path}: holds a {stored.class_name}, which this version does not know. "
            "Update stillome."
        )
    return method.from_stored(stored, path)


def write_model(
    path: str | os.PathLike[str],
    model: StoredModel,
    *,
    training_hash: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write a model folder.

    Array parameters are stored with the arrays. A parameter that is neither plain nor an array (a
    callback, a generator) is not stored: the loaded model has its default.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "model"
    >>> state = ModelState({"n_regions": 2}, {"mean": np.array([1.5])})
    >>> write_model(folder, StoredModel("Mean", {"rank": 3}, state))
    >>> read_model(folder).state.arrays["mean"].tolist()
    [1.5]
    """
    arrays = {name: np.asarray(values, order="C") for name, values in model.state.arrays.items()}
    parameters: dict[str, Any] = {}
    for name, value in model.parameters.items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "iufb":
            arrays[_PARAMETER + name] = np.asarray(value, order="C")
        elif is_plain(value):
            parameters[name] = plain(value)
    payload = dump_arrays(arrays)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "class": model.class_name,
        "parameters": parameters,
        "state": plain(model.state.values),
        "inputs": plain(model.inputs),
        "training_sha256": training_hash,
        "arrays_sha256": hashlib.sha256(payload).hexdigest(),
        "arrays": {name: described(values) for name, values in arrays.items()},
        "libraries": library_versions(),
    }
    header[CHECKSUM] = checksum(header)
    with written_aside(path, overwrite=overwrite, marker=HEADER) as aside:
        aside.mkdir()
        write_json(aside / HEADER, header)
        (aside / ARRAYS).write_bytes(payload)


def read_model(path: str | os.PathLike[str]) -> StoredModel:
    """Read a model folder of any class.

    Raises
    ------
    FileError
        If the folder is missing, damaged, foreign, or of a later version.
    """
    folder = Path(path)
    if not (folder / HEADER).is_file():
        raise FileError(f"{folder}: not a saved stillome model (no {HEADER} in it).")
    header = read_json(folder / HEADER)
    if header.get("format") != FORMAT:
        raise FileError(f"{folder}: not a saved stillome model ({HEADER} says otherwise).")
    if header.get("version") != FORMAT_VERSION:
        raise FileError(
            f"{folder}: model format {header.get('version')}; this version reads "
            f"{FORMAT_VERSION}. Update stillome, or fit the model again."
        )
    if header.get(CHECKSUM) != checksum(header):
        raise FileError(
            f"{folder}: damaged, {HEADER} was changed after the model was saved. Copy it again."
        )
    arrays = _read_arrays(folder / ARRAYS, header.get("arrays_sha256"))
    if {name: described(values) for name, values in arrays.items()} != header.get("arrays"):
        raise FileError(f"{folder}: damaged, {ARRAYS} holds other arrays than {HEADER} says.")
    parameters, values = header.get("parameters"), header.get("state")
    inputs = header.get("inputs", {})
    if (
        not isinstance(parameters, dict)
        or not isinstance(values, dict)
        or not isinstance(inputs, dict)
    ):
        raise FileError(f"{folder}: damaged, {HEADER} lacks the parameters or the state.")
    for name in [name for name in arrays if name.startswith(_PARAMETER)]:
        parameters[name.removeprefix(_PARAMETER)] = arrays.pop(name)
    return StoredModel(str(header.get("class")), parameters, ModelState(values, arrays), inputs)


def training_hash(edges: AnyRows) -> str:
    """Return the SHA-256 of the training connectomes, the same for integers and floats.

    Examples
    --------
    >>> training_hash(np.array([[1, 2, 3]])) == training_hash(np.array([[1.0, 2.0, 3.0]]))
    True
    """
    return SubjectRows.of(edges).sha256()


def check_unchanged(edges: AnyRows, known: str) -> None:
    """Refuse connectomes in a file or store whose `training_hash` is no longer the known one."""
    rows = SubjectRows.of(edges)
    if not rows.is_in_memory and rows.sha256() != known:
        raise FileError(
            "X: changed while it was being read, and there is no model. Fit again when nothing "
            "writes to it."
        )


def _read_arrays(path: Path, expected: object) -> dict[str, NDArray[Any]]:
    try:
        payload = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if hashlib.sha256(payload).hexdigest() != expected:
        raise FileError(f"{path}: damaged, its checksum is not the one in {HEADER}. Copy it again.")
    try:
        return dict(load_arrays(payload))
    except SafetensorError as error:
        raise FileError(f"{path}: cannot be read as safetensors ({error}).") from error

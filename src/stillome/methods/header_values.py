"""Values of the header of a saved model: plain values, and the versions of libraries."""

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHECKSUM = "header_sha256"
_LIBRARIES = ("stillome", "numpy", "scipy", "scikit-learn", "torch", "safetensors")


def checksum(header: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all other entries of a header.

    Examples
    --------
    >>> checksum({"a": 1, CHECKSUM: "0"}) == checksum({"a": 1}) != checksum({"a": 2})
    True
    """
    others = {name: value for name, value in header.items() if name != CHECKSUM}
    text = json.dumps(others, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def described(values: NDArray[Any]) -> list[Any]:
    """Return dtype and shape of an array, and whether all of it is finite.

    Examples
    --------
    >>> described(np.array([1.0, np.nan]))
    ['<f8', [2], False]
    """
    return [values.dtype.str, list(values.shape), bool(np.isfinite(values).all())]


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries a fitted model depends on."""
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "unknown"
    return versions


def is_plain(value: object) -> bool:
    """Whether `plain` can convert a value to JSON."""
    if isinstance(value, Mapping):
        return all(isinstance(k, str) and is_plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(is_plain(item) for item in value)
    return value is None or isinstance(value, str | bool | int | float | np.generic | os.PathLike)


def plain(value: Any) -> Any:
    """Convert a value to the types of JSON.

    Examples
    --------
    >>> plain({"sizes": (1, np.int64(2))})
    {'sizes': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return os.fspath(value) if isinstance(value, os.PathLike) else value

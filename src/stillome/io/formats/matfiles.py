"""MAT files of every version, and the table of producers that write them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats import connectome_mapper, dsi_studio, psc, qsirecon
from stillome.io.formats.mat4 import is_mat4, load_mat4
from stillome.io.formats.mat5 import load_mat5
from stillome.io.formats.mat73 import is_mat73, load_mat73, write_mat73
from stillome.io.guarded_files import Item
from stillome.io.lazy_stack import STORAGE_ERRORS
from stillome.io.stacks import holdings_from

PRODUCER = "MAT stack"
PRODUCER_73 = "MAT 7.3 stack"

# Each checks the names of the variables and returns None if another tool wrote them.
_PRODUCERS: tuple[Callable[[dict[str, Any], Item], Contents | None], ...] = (
    qsirecon.from_mat,
    dsi_studio.from_mat,
    connectome_mapper.from_mat,
    psc.from_mat,
)


def recognises(item: Item, head: bytes) -> bool:
    """Whether this is a MAT file by its content. FLIRT writes text under this suffix."""
    if is_mat73(head) or _is_mat5(head):
        return True
    return item.name.endswith(".mat") and is_mat4(head)


def read(item: Item) -> Contents:
    """Read a MAT file with the producer that recognises its variables."""
    variables = load_mat(item)
    for producer in _PRODUCERS:
        contents = producer(variables, item)
        if contents is not None:
            return contents
    if any(name.startswith("AffineTransform") for name in variables):
        raise FileError(
            f"{item.label}: an ANTs transform, not a connectome. Give it to read_motion."
        )
    try:
        holdings = holdings_from(variables, item.label)
    except STORAGE_ERRORS as error:
        raise FileError(f"{item.label}: damaged MAT file ({error}). Save it again.") from error
    return Contents(PRODUCER_73 if is_mat73(item.head()) else PRODUCER, holdings)


def load_mat(item: Item) -> dict[str, Any]:
    """Read the variables of a MAT file of version 4, 5 or 7.3, without running anything in it.

    Raises
    ------
    FileError
        If the file is damaged, too large, or no MAT file.
    """
    head = item.head()
    if is_mat73(head):
        return load_mat73(item)
    if _is_mat5(head):
        return load_mat5(item.data(), item.label)
    if is_mat4(head):
        return load_mat4(item.data(), item.label)
    raise FileError(f"{item.label}: not a MAT file. Check what wrote it.")


def write(path: Path, holding: Holding) -> None:
    """Write a stack (n, V, V) as MATLAB users expect it: (V, V, n), with cells of names."""
    variables: dict[str, Any] = {"connectomes": np.moveaxis(np.asarray(holding.values), 0, 2)}
    for name, texts in (("subject_ids", holding.subject_ids), ("regions", holding.regions)):
        if texts is not None:
            variables[name] = np.array(texts, dtype=object)
    scipy.io.savemat(path, variables, do_compression=True)


def write_73(path: Path, holding: Holding) -> None:
    """Write a stack (n, V, V) as (V, V, n) in MATLAB's 7.3 layout."""
    variables: dict[str, Any] = {"connectomes": np.moveaxis(np.asarray(holding.values), 0, 2)}
    for name, texts in (("subject_ids", holding.subject_ids), ("regions", holding.regions)):
        if texts is not None:
            variables[name] = list(texts)
    write_mat73(path, variables)


def _is_mat5(head: bytes) -> bool:
    return len(head) >= 128 and head[126:128] in (b"IM", b"MI") and not is_mat73(head)

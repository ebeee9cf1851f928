"""Write aside, then rename: nothing a user made is overwritten or half-written.

Arrays are `.npy` (never pickled), tables are TSV with ``n/a`` for missing, headers are JSON.
"""

import contextlib
import json
import os
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.exceptions import FileError, InputError
from stillome.locks import PREFIX, holder_beside, swap
from stillome.spreadsheets import with_formulas, without_formulas

MISSING = "n/a"


@contextlib.contextmanager
def written_aside(
    path: str | os.PathLike[str], *, overwrite: bool = False, marker: str | None = None
) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` when the block succeeds.

    What is written to the temporary path may be a file or a folder. When the block raises, or the
    process dies in it, `path` is as it was before.

    Parameters
    ----------
    path : path-like
        Where the result should stand in the end.
    overwrite : bool, default=False
        Whether something that already stands there may be replaced.
    marker : str, optional
        For folders: the file by which an earlier result is recognised (``cohort.json``). A folder
        that is neither empty nor holds it is never replaced, whatever `overwrite` is: it holds
        other data of the user.

    Yields
    ------
    pathlib.Path
        A path in the same folder that does not exist yet.

    Raises
    ------
    FileError
        If `path` exists and may not be replaced, or the folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with written_aside(f"{folder}/answer.txt") as aside:
    ...     _ = aside.write_text("42")
    >>> Path(folder, "answer.txt").read_text()
    '42'
    """
    target = Path(path)
    try:
        # Links are followed, so that the data is replaced and not the link to it.
        target = target.resolve()
        check_replaceable(target, overwrite=overwrite, marker=marker)
        target.parent.mkdir(parents=True, exist_ok=True)
        holding = holder_beside(target)
        holder = holding.__enter__()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(
            f"{target}: cannot be written ({reason}). Choose a folder you may write to."
        ) from error
    try:
        aside = holder / target.name
        yield aside
        check_replaceable(target, overwrite=overwrite, marker=marker)
        swap(aside, target, holder)
    except OSError as error:
        raise FileError(f"{target}: could not be written ({error.strerror or error}).") from error
    finally:
        holding.__exit__(None, None, None)


def is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing but what a process had written aside and was killed."""
    return all(entry.name.startswith(PREFIX) for entry in folder.iterdir())


def check_replaceable(
    path: str | os.PathLike[str], *, overwrite: bool = False, marker: str | None = None
) -> None:
    """Refuse a place where `written_aside` would not write, before any work is done.

    Raises
    ------
    FileError
        If something stands there that may not be replaced.
    """
    target = Path(path)
    try:
        if not target.exists():
            return
        if not overwrite:
            raise FileError(
                f"{target} exists already. Choose another name, or pass overwrite=True."
            )
        if marker is not None and target.is_file():
            raise FileError(f"{target} is a file; results need a folder. Choose another name.")
        earlier = target.is_file() or (marker is not None and (target / marker).is_file())
        if not earlier and not is_empty(target):
            raise FileError(
                f"{target} is a folder that holds other things; it is not replaced. "
                "Choose another name."
            )
    except (OSError, ValueError) as error:
        raise FileError(f"{target}: cannot be read ({error}).") from error


def write_json(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write `content` as indented JSON with a final newline."""
    Path(path).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    FileError
        If the file is missing, unreadable, or holds something other than an object.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"{path}: cannot be read as JSON ({error}).") from error
    if not isinstance(content, dict):
        raise FileError(f"{path}: holds a {type(content).__name__}, expected a JSON object.")
    return content


def read_array(path: str | os.PathLike[str], *, memory_map: bool = False) -> NDArray[Any]:
    """Read one `.npy` array, or map it so that it stays on disk; nothing is ever unpickled.

    Raises
    ------
    FileError
        If the file is missing or is no whole `.npy` array of plain values.
    """
    path = Path(path)
    try:
        if memory_map:
            return np.lib.format.open_memmap(path, mode="r")
        with path.open("rb") as file:
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    # What NumPy raises for a damaged header depends on which byte is damaged.
    except (
        OSError,
        ValueError,
        EOFError,
        SyntaxError,
        TypeError,
        OverflowError,
        MemoryError,
        RecursionError,
        tokenize.TokenError,
    ) as error:
        raise FileError(f"{path}: cannot be read as a .npy array ({error}).") from error


def write_table(path: str | os.PathLike[str], table: pd.DataFrame, *, index: bool = False) -> None:
    """Write a table as TSV in UTF-8; missing values are ``n/a``, floats keep every bit.

    Text that a spreadsheet would run has an apostrophe in front; see `spreadsheets`.
    """
    without_formulas(table).to_csv(path, sep="\t", na_rep=MISSING, index=index, lineterminator="\n")


def read_table(
    path: str | os.PathLike[str], *, dtypes: dict[str, str], index: str | None = None
) -> pd.DataFrame:
    """Read a table that `write_table` wrote.

    Parameters
    ----------
    path : path-like
    dtypes : dict
        The dtype of every column as `column_dtypes` gave it; they say what ``001`` is.
    index : str, optional
        The column that is the index; it stays text, whatever it looks like.

    Raises
    ------
    FileError
        If the file is missing or is not that table.
    """
    try:
        text = pd.read_csv(
            path, sep="\t", dtype=str, keep_default_na=False, na_values=[], encoding="utf-8"
        )
        text = with_formulas(text)
        if index is not None:
            text = text.set_index(index)
        if list(text.columns) != list(dtypes):
            raise FileError(f"{path}: columns {list(text.columns)}; expected {list(dtypes)}.")
        return pd.DataFrame(
            {name: _restored(text[name], dtype) for name, dtype in dtypes.items()},
            index=text.index,
        )
    except (OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise FileError(f"{path}: cannot be read as the saved table ({error}).") from error


def column_dtypes(table: pd.DataFrame) -> dict[str, str]:
    """Return what each column holds, in the words that `read_table` understands.

    Raises
    ------
    InputError
        If a column holds neither numbers, nor booleans, nor text.
    """
    return {name: _dtype_name(table[name]) for name in table.columns}


def _dtype_name(column: "pd.Series[Any]") -> str:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return str(column.dtype)
    known = column.dropna()
    if known.map(lambda value: isinstance(value, str)).all():
        return "text"
    if pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c":
        return "float64"
    raise InputError(
        f"column {column.name!r} holds {column.dtype} values that are neither numbers nor text. "
        "Convert it first."
    )


def _restored(column: "pd.Series[Any]", dtype: str) -> "pd.Series[Any]":
    if dtype == "text":
        return column.mask(column == MISSING)
    if dtype == "bool":
        return column.map({"True": True, "False": False}).astype(bool)
    kind = np.dtype(dtype)
    if kind.kind not in "iuf":
        raise ValueError(f"no column of {dtype} was ever written")
    values = column.mask(column == MISSING, "nan") if kind.kind == "f" else column
    # NumPy's own parser reads the shortest decimal back to the same bits.
    return pd.Series(values.to_numpy(dtype=object).astype(kind), index=column.index)

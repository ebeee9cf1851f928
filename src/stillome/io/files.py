"""Opening files that others wrote: guarded against what is missing, huge, or not text."""

import os
import zlib
from pathlib import Path

from stillome.exceptions import FileError

DEFAULT_LIMIT = 512 * 2**20
_GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: str | os.PathLike[str], *, limit: int = DEFAULT_LIMIT) -> bytes:
    """Return the content of a file, unpacked if it is gzipped.

    Parameters
    ----------
    path : path-like
    limit : int
        The largest size in bytes, before and after unpacking.

    Raises
    ------
    FileError
        If the file is missing, a folder, empty, damaged, or larger than `limit`.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise FileError(f"{path}: a folder where a file was expected. Give the file itself.")
        if path.exists() and not path.is_file():
            raise FileError(f"{path}: not a regular file. Give a file.")
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be read ({reason}). Check the path.") from error
    if content.startswith(_GZIP_MAGIC) and len(content) <= limit:
        content = _gunzip(content, path, limit)
    if len(content) > limit:
        raise FileError(f"{path}: larger than {limit} bytes; this is not what it should be.")
    if not content:
        raise FileError(f"{path}: the file is empty. Write it again.")
    return content


def read_text(path: str | os.PathLike[str], *, limit: int = DEFAULT_LIMIT) -> str:
    """Return the content of a UTF-8 text file, without a byte-order mark.

    Raises
    ------
    FileError
        As `read_bytes`, or if the content is not UTF-8 text.
    """
    content = read_bytes(path, limit=limit)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path}: not UTF-8 text (byte {error.start}). Save it as UTF-8."
        ) from error
    if "\0" in text:
        raise FileError(f"{path}: holds null bytes; a binary file where text was expected.")
    return text


def _gunzip(content: bytes, path: Path, limit: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(content, limit + 1)
    except zlib.error as error:
        raise FileError(f"{path}: damaged gzip file ({error}). Copy it again.") from error
    if len(unpacked) <= limit and not unpacker.eof:
        raise FileError(f"{path}: gzip file ends too early. Copy it again.")
    return unpacked

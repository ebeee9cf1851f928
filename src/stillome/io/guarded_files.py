"""Safe opening of files: limited sizes, archives checked before unpacking, strict decoding.

Every reader gets its bytes from here, so that a missing file, a folder, a device, a truncated
archive or one that unpacks to gigabytes gives the same error message everywhere.
"""

import gzip
import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from stillome.exceptions import FileError
from stillome.io.free_memory import check_fits

# Larger than any connectome file that is read in one piece; stacks are opened lazily.
MAX_BYTES = 512 * 2**20
MAX_MEMBERS = 100_000
HEAD_BYTES = 4096
# A gigabyte of zeros packs 1000:1; real text and matrices of this size do not.
_BOMB_BYTES = 32 * 2**20
_BOMB_RATIO = 300
BLOCK = 2**20
_GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"


@dataclass(frozen=True)
class Item:
    """One file to be read: on disk, or a member of an archive.

    Attributes
    ----------
    label : str
        Its name in messages.
    path : pathlib.Path
        The file on disk; for a member, the archive with the member's name behind it.
    payload : bytes or None
        The content, if it is not a file of its own on disk.
    """

    label: str
    path: Path
    payload: bytes | None = None

    @property
    def name(self) -> str:
        """The file's name in lower case, without a final ``.gz``."""
        return self.path.name.lower().removesuffix(".gz")

    def head(self) -> bytes:
        """Return the first bytes, unpacked if the file is gzipped."""
        if self.payload is not None:
            return self.payload[:HEAD_BYTES]
        raw = _first_bytes(self.path)
        return _unzipped(raw, self.path, limit=HEAD_BYTES, partial=True) if _is_gzip(raw) else raw

    def data(self) -> bytes:
        """Return the whole content, unpacked if the file is gzipped; at most `MAX_BYTES`."""
        return self.payload if self.payload is not None else read_bytes(self.path)

    def text(self) -> str:
        """Return the content as text; it must be UTF-8."""
        return decoded(self.data(), self.label)

    @property
    def on_disk(self) -> bool:
        """Whether the content is an uncompressed file on disk, so that it can be opened lazily."""
        return self.payload is None and not _is_gzip(_first_bytes(self.path, 2))


def open_item(path: str | os.PathLike[str]) -> Item:
    """Return the file at `path`, after making sure that it is one.

    Links are followed (DataLad keeps every file behind one); what they lead to must be a file.

    Raises
    ------
    FileError
        If nothing is there, or a folder, a device, or a link that leads nowhere.
    """
    checked = existing_path(path)
    if checked.is_dir():
        raise FileError(f"{checked}: a folder, expected a file. Name a file in it.")
    return Item(str(checked), checked)


def existing_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` if a file or folder is there."""
    try:
        checked = Path(path)
        mode = checked.stat().st_mode
    except FileNotFoundError as error:
        if checked.is_symlink():
            raise FileError(
                f"{checked}: a link to a missing file. Fetch it first (datalad get)."
            ) from error
        raise FileError(f"{checked}: no such file or folder. Check the path.") from error
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"{path!r}: cannot be opened ({error}). Check the path.") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileError(f"{checked}: neither a file nor a folder. Give the file itself.")
    return checked


def refuse_locked_folder(error: OSError) -> None:
    """Refuse a folder that `os.walk` cannot read, whose subjects would be missing unnoticed."""
    raise FileError(
        f"{error.filename}: cannot be read ({error.strerror}). Ask for permission to read it."
    ) from error


def read_bytes(path: Path, *, limit: int = MAX_BYTES, raw: bool = False) -> bytes:
    """Read a file whole, unpacking gzip unless `raw`; refuse more than `limit` bytes.

    Raises
    ------
    FileError
        If the file cannot be read, is damaged, or is too large.
    """
    try:
        size = path.stat().st_size
        if size > limit:
            raise FileError(_too_large(path, limit))
        check_fits(size, str(path))
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error}).") from error
    return _unzipped(data, path, limit=limit) if _is_gzip(data) and not raw else data


def decoded(data: bytes, label: str) -> str:
    """Decode UTF-8 text, with or without a byte-order mark.

    Raises
    ------
    FileError
        If the bytes are not UTF-8, or hold zero bytes as no text does.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{label}: not UTF-8 text (byte {error.start}). Re-save it as UTF-8."
        ) from error
    if "\x00" in text:
        raise FileError(f"{label}: holds zero bytes, so it is not text. Re-save it as UTF-8.")
    return text


def archive_members(item: Item) -> Iterator[Item]:
    """Unpack a zip archive in memory, member by member, with checks.

    Raises
    ------
    FileError
        If the archive is damaged, encrypted or too large, or a member's name leads outside.
    """
    data = item.data()
    for info, archive in _checked_members(item, data):
        try:
            with archive.open(info) as member:
                payload = member.read(info.file_size + 1)
        except _ZIP_ERRORS as error:
            raise FileError(f"{item.label}: damaged archive ({error}). Make it again.") from error
        if len(payload) != info.file_size:
            raise FileError(f"{item.label}: damaged archive ({info.filename} has another size).")
        yield Item(f"{item.label}/{info.filename}", item.path / info.filename, payload)


def member_names(item: Item) -> list[str]:
    """List the files in a zip archive, after the same checks as `archive_members`."""
    return [info.filename for info, _ in _checked_members(item, item.data())]


def parse_xml(data: bytes, label: str) -> ElementTree.Element:
    """Parse XML that defines no entities of its own.

    Raises
    ------
    FileError
        If the XML is damaged or defines entities.
    """
    refuse_entities(data, label)
    try:
        return ElementTree.fromstring(data)  # noqa: S314 - entities are refused above
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise FileError(f"{label}: damaged XML ({error}). Write the file again.") from error


def refuse_entities(data: bytes, label: str) -> None:
    """Refuse XML that defines entities of its own: a few lines of them expand to gigabytes."""
    if b"<!ENTITY" in data.upper():
        raise FileError(f"{label}: XML with entities of its own, which is not read. Re-save it.")


_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    RuntimeError,  # encrypted members
    NotImplementedError,  # compression methods zipfile does not know
    ValueError,
    OverflowError,
    IndexError,  # from names that are not there
    struct.error,
)


def _checked_members(item: Item, data: bytes) -> Iterator[tuple[zipfile.ZipInfo, zipfile.ZipFile]]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = archive.infolist()
    except _ZIP_ERRORS as error:
        raise FileError(f"{item.label}: damaged archive ({error}). Make it again.") from error
    if len(members) > MAX_MEMBERS:
        raise FileError(f"{item.label}: {len(members)} files in one archive. Unpack it first.")
    names = {info.filename for info in members}
    if len(names) < len(members):
        twice = next(name for name in names if sum(i.filename == name for i in members) > 1)
        raise FileError(f"{item.label}: holds {twice!r} twice. Make the archive again.")
    total = sum(info.file_size for info in members)
    if total > MAX_BYTES or is_bomb(len(data), total):
        raise FileError(_too_large(item.path, MAX_BYTES))
    check_fits(total, item.label)
    with archive:
        for info in members:
            _check_member(item, info)
            if not info.is_dir():
                yield info, archive


def _check_member(item: Item, info: zipfile.ZipInfo) -> None:
    parts = PurePosixPath(info.filename.replace("\\", "/"))
    outside = parts.is_absolute() or ".." in parts.parts or ":" in info.filename or not parts.name
    if outside or stat.S_ISLNK(info.external_attr >> 16):
        raise FileError(
            f"{item.label}: member {info.filename!r} leads outside the archive. Do not use it."
        )


def _unzipped(raw: bytes, path: Path, *, limit: int, partial: bool = False) -> bytes:
    """Unpack gzip members one after the other, with a limit on their total size."""
    blocks: list[bytes] = []
    size = 0
    try:
        source = io.BytesIO(raw)
        with gzip.GzipFile(fileobj=source) as stream:
            while block := stream.read(min(BLOCK, limit + 1 - size if partial else BLOCK)):
                blocks.append(block)
                size += len(block)
                if partial and size >= limit:
                    break
                if size > limit or is_bomb(source.tell(), size):
                    raise FileError(_too_large(path, limit))
                check_fits(2 * size, str(path))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        if not (partial and isinstance(error, EOFError)):
            raise FileError(f"{path}: damaged gzip file ({error}). Make it again.") from error
    return b"".join(blocks)


def _first_bytes(path: Path, count: int = HEAD_BYTES) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(count)
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error}).") from error


def _is_gzip(raw: bytes) -> bool:
    return raw.startswith(_GZIP_MAGIC)


def is_bomb(packed: int, unpacked: int) -> bool:
    """Whether data unpack to so much that the file must be hostile."""
    return unpacked > _BOMB_BYTES and unpacked > _BOMB_RATIO * packed


def _too_large(path: Path, limit: int) -> str:
    return (
        f"{path}: more than {limit // 2**20} MiB in one piece, or compressed more than 300-fold. "
        "Save large stacks as HDF5, zarr or .npy, which are read in parts."
    )

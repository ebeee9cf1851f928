"""zarr stores of both versions: every codec, misleading metadata, chunks that fill the memory."""

import bz2
import gzip
import json
import sys
import zlib
from pathlib import Path

import numcodecs
import numpy as np
import pytest
import zarr

from connectome_files import COUNTS, SAMPLES, TRUTH
from stillome.exceptions import FileError
from stillome.io.connectome_data import Holding
from stillome.io.connectomes import read_connectomes
from stillome.io.formats import zarr_store

ZEROS = bytes(2**26)
BOMBS = {
    "gzip": (numcodecs.GZip(), gzip.compress(ZEROS, 1)),
    "zlib": (numcodecs.Zlib(), zlib.compress(ZEROS, 1)),
    "bz2": (numcodecs.BZ2(), bz2.compress(ZEROS)),
    "zstd": (numcodecs.Zstd(), bytes(numcodecs.Zstd().encode(ZEROS))),
    "blosc": (numcodecs.Blosc(), bytes(numcodecs.Blosc().encode(ZEROS))),
    "lz4": (numcodecs.LZ4(), bytes(numcodecs.LZ4().encode(ZEROS))),
    "none": (None, ZEROS),
    "second member": (numcodecs.GZip(), gzip.compress(COUNTS.tobytes()) + gzip.compress(ZEROS, 1)),
    "second stream": (numcodecs.BZ2(), bz2.compress(COUNTS.tobytes()) + bz2.compress(ZEROS)),
}


def store_of(folder: Path, codec: object, chunk: bytes | None = None) -> Path:
    """Make a store of one chunk, and put other bytes in its place."""
    group = zarr.open_group(str(folder / "x.zarr"), mode="w", zarr_format=2)
    stack = group.create_array(
        "connectomes", shape=(4, 6, 6), dtype="f8", chunks=(4, 6, 6), compressors=codec
    )
    stack[...] = COUNTS
    numbers = group.create_array("subject_ids", shape=(4,), dtype="i4")
    numbers[...] = [1, 2, 3, 4]
    if chunk is not None:
        (folder / "x.zarr" / "connectomes" / "0.0.0").write_bytes(chunk)
    return folder / "x.zarr"


@pytest.mark.parametrize("name", BOMBS)
def test_chunks_of_another_size_are_refused_unopened(name: str, tmp_path: Path) -> None:
    store = store_of(tmp_path, *BOMBS[name])
    with pytest.raises(FileError, match=r"zarr chunk of \d+ bytes, expected|damaged zarr chunk"):
        read_connectomes(store)


def test_the_package_alone_unpacks_them(tmp_path: Path) -> None:
    """Why chunks are checked: 64 MiB for an array of 1 kB, and nothing would stop more."""
    array = zarr.open_group(str(store_of(tmp_path, *BOMBS["zstd"])), mode="r")["connectomes"]
    with pytest.raises(ValueError, match=f"array of size {len(ZEROS) // 8} into shape"):
        array[...]


def test_without_the_package_one_sentence_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(tmp_path, None)
    monkeypatch.delitem(sys.modules, "stillome.io.formats.zarr_arrays", raising=False)
    monkeypatch.setitem(sys.modules, "zarr", None)
    for act in (
        lambda: read_connectomes(store),
        lambda: zarr_store.write(tmp_path / "y.zarr", Holding(COUNTS)),
    ):
        with pytest.raises(FileError, match=r"pip install 'stillome\[zarr\]'"):
            act()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("codec", ["blosc", "zstd", "gzip", "lz4", "bz2", "crc32c", None])
@pytest.mark.parametrize("dtype", ["<f8", ">i4", "u2"])
def test_zarr_pieces_are_those_of_zarr(
    version: int, codec: str | None, dtype: str, tmp_path: Path
) -> None:
    compressors = _compressors(version, codec)
    group = zarr.open_group(str(tmp_path / "x.zarr"), mode="w", zarr_format=version)
    stack = group.create_array(
        "connectomes", shape=(4, 6, 6), dtype=dtype, chunks=(3, 6, 4), compressors=compressors
    )
    stack[...] = TRUTH.astype(dtype)
    numbers = group.create_array("subject_ids", shape=(4,), dtype="i4")
    numbers[...] = [1, 2, 3, 4]
    data = read_connectomes(tmp_path / "x.zarr", lazy=True)
    np.testing.assert_array_equal(data.connectomes[1:3], TRUTH[1:3])
    np.testing.assert_array_equal(np.asarray(data.connectomes), TRUTH)


def _compressors(version: int, codec: str | None) -> object:
    if codec is None:
        return None
    if version == 2:
        table = {"blosc": numcodecs.Blosc, "zstd": numcodecs.Zstd, "gzip": numcodecs.GZip}
        table |= {"lz4": numcodecs.LZ4, "bz2": numcodecs.BZ2, "crc32c": numcodecs.Zlib}
        return table[codec]()
    codecs = zarr.codecs
    simple = {"blosc": codecs.BloscCodec, "zstd": codecs.ZstdCodec, "gzip": codecs.GzipCodec}
    return simple[codec]() if codec in simple else (codecs.ZstdCodec(), codecs.Crc32cCodec())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"filters": [{"id": "pickle"}], "dtype": "|O"}, "contains pickled Python objects"),
        ({"dtype": "|O"}, "contains pickled Python objects"),
        ({"compressor": {"id": "own"}}, "codec 'own' is not read"),
        ({"shape": [4, 6, -6]}, "metadata that cannot be read"),
        ({"chunks": [10**9, 10**9, 6]}, "more than 512 MiB"),
        ({"shape": "many"}, "metadata that cannot be read"),
        ({"shape": [8, 10**6, 10**6], "chunks": [1, 1, 1]}, "too many small chunks"),
        ({"compressor": "zstd"}, "damaged zarr metadata"),
    ],
)
def test_zarr_metadata_are_judged_first(change: dict, sentence: str, tmp_path: Path) -> None:
    store = SAMPLES["zarr_stack"].make(tmp_path)
    path = store / "connectomes" / ".zarray"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(FileError, match=sentence):
        read_connectomes(store)


def test_a_list_of_ids_in_too_many_pieces_is_refused(tmp_path: Path) -> None:
    store = store_of(tmp_path, None)
    path = store / "subject_ids" / ".zarray"
    metadata = json.loads(path.read_text()) | {"shape": [2**47], "chunks": [1]}
    path.write_text(json.dumps(metadata))
    with pytest.raises(FileError, match="too many small chunks"):
        read_connectomes(store)


@pytest.mark.parametrize("version", [2, 3])
def test_texts_of_variable_length_are_read(version: int, tmp_path: Path) -> None:
    store = SAMPLES["zarr_stack" if version == 2 else "zarr3_stack"].make(tmp_path)
    group = zarr.open_group(str(store), mode="a")
    del group["subject_ids"]
    names = group.create_array("subject_ids", shape=(4,), dtype="str")
    names[...] = np.array(["ä", "b" * 40, "c", "d"], dtype=object)
    assert read_connectomes(store).subject_ids == ("ä", "b" * 40, "c", "d")

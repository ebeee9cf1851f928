"""Crafted files: each is refused with one sentence, or read as what it says."""

import shutil
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from stillome.exceptions import StillomeError
from stillome.io.connectome_data import Holding
from stillome.io.connectomes import read_connectomes
from stillome.io.formats import wide_tables

COUNTS = np.triu(np.random.default_rng(0).poisson(9, (3, 6, 6)), 1)
COUNTS = COUNTS + COUNTS.transpose(0, 2, 1)
IDS = ["a", "b", "c"]


@pytest.mark.parametrize("subject", ["../evil", "a/b", "..", ".", "a\\b", "/etc", "sub-../x"])
def test_ids_that_lead_to_another_folder_are_refused(subject, tmp_path):
    table, stack = tmp_path / "wide.csv", tmp_path / "stack.npz"
    table.write_text(f'subject_id,a__b,a__c,b__c\n"{subject}",1,2,3\nok,1,2,3\n')
    np.savez(stack, connectomes=COUNTS[:2], subject_ids=np.array([subject, "ok"]))
    for path in (table, stack):
        with pytest.raises(StillomeError, match="would lead to another folder"):
            read_connectomes(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_twice_in_an_archive_is_refused(tmp_path):
    path = tmp_path / "tvb.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights.txt", "0 1\n1 0")
        archive.writestr("weights.txt", "0 9\n9 0")
    with pytest.raises(StillomeError, match=r"'weights.txt' twice"):
        read_connectomes(path)


def test_a_boolean_in_a_shape_is_refused(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (True, 2, 2), }".ljust(117) + b"\n"
    path = tmp_path / "stack.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(32))
    with pytest.raises(StillomeError, match=r"damaged \.npy header"):
        read_connectomes(path)


def a_store(folder: Path) -> tuple[Path, Path]:
    """Return a zarr store with checksums, and one of its chunks."""
    group = zarr.open_group(str(folder / "stack.zarr"), mode="w", zarr_format=3)
    codecs = [zarr.codecs.Crc32cCodec()]
    array = group.create_array(
        "connectomes", shape=COUNTS.shape, dtype="i4", chunks=(1, 6, 6), compressors=codecs
    )
    array[...] = COUNTS
    chunk = next(p for p in (folder / "stack.zarr").rglob("*") if p.is_file() and p.name == "0")
    return folder / "stack.zarr", chunk


def test_checksums_of_zarr_chunks_are_checked(tmp_path):
    store, chunk = a_store(tmp_path)
    assert (read_connectomes(store, subjects=IDS).connectomes == COUNTS).all()
    content = bytearray(chunk.read_bytes())
    content[4] ^= 200
    chunk.write_bytes(bytes(content))
    with pytest.raises(StillomeError, match="checksum"):
        np.asarray(read_connectomes(store, subjects=IDS).connectomes)


def test_a_chunk_that_is_a_link_out_of_the_store_is_refused(tmp_path):
    store, chunk = a_store(tmp_path)
    shutil.move(chunk, tmp_path / "elsewhere")
    chunk.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StillomeError, match="leads outside the zarr store"):
        np.asarray(read_connectomes(store, subjects=IDS).connectomes)


@pytest.mark.parametrize("separator", ["../", "/../../", "//", "..", "."])
def test_separators_of_zarr_chunks_do_not_lead_elsewhere(separator, tmp_path):
    store, _ = a_store(tmp_path)
    file = store / "connectomes" / "zarr.json"
    file.write_text(file.read_text().replace('"separator": "/"', f'"separator": "{separator}"'))
    with pytest.raises(StillomeError, match=r"separator|none of its chunks"):
        read_connectomes(store, subjects=IDS)


@pytest.mark.parametrize("text", ["9" * 5000, "1e400", "0x10", "1_000"])
def test_numbers_that_no_tool_writes_are_refused(text, tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text(f"0 {text}\n{text} 0\n")
    with pytest.raises(StillomeError):
        read_connectomes(path)


def test_a_file_may_not_claim_much_more_than_it_stores(tmp_path):
    edges, lengths = tmp_path / "edges.h5", tmp_path / "lengths.h5"
    with h5py.File(edges, "w") as file:
        shape = (100, 30_000 * 29_999 // 2)
        file.create_dataset("connectomes", shape=shape, dtype="f8", chunks=(1, 10_000))
    with h5py.File(lengths, "w") as file:
        file["connectomes"] = COUNTS
        file["subject_ids"] = np.array([b"a", b"b", b"c"])
        file.create_dataset("lengths", shape=(900_000, 900_000), dtype="f8", chunks=(100, 100))
    with pytest.raises(StillomeError, match="claims more than 300 times what is stored"):
        read_connectomes(edges)
    assert read_connectomes(lengths).lengths is None


def test_wide_tables_keep_names_with_commas_and_quotes(tmp_path):
    path = tmp_path / "wide.csv"
    names = ("a, left", 'b "inner"', "c")
    wide_tables.write(path, Holding(COUNTS[:2, :3, :3], regions=names, subject_ids=("a", "b")))
    data = read_connectomes(path)
    assert tuple(data.regions["name"]) == names
    assert (np.asarray(data.connectomes) == COUNTS[:2, :3, :3]).all()

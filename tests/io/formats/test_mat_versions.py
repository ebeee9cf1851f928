"""MAT files of version 4, 5 and 7.3, written by SciPy and h5py."""

import io
import struct
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stillome.exceptions import FileError
from stillome.io.formats.mat4 import load_mat4
from stillome.io.formats.mat5 import load_mat5
from stillome.io.formats.matfiles import load_mat
from stillome.io.guarded_files import Item, open_item

NUMBERS = hnp.arrays(
    st.sampled_from(["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]),
    hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=5),
)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=9)


@settings(max_examples=60, deadline=None)
@given(values=NUMBERS, packed=st.booleans())
def test_numbers_of_version_5_are_those_of_scipy(values: np.ndarray, packed: bool) -> None:
    stream = io.BytesIO()
    scipy.io.savemat(stream, {"a": values, "b": values[:1]}, do_compression=packed)
    found = load_mat5(stream.getvalue(), "x.mat")
    np.testing.assert_array_equal(found["a"], values)
    np.testing.assert_array_equal(found["b"], values[:1])
    assert found["a"].dtype == values.dtype


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=5))
def test_cells_of_text_are_read_in_order(texts: list[str]) -> None:
    stream = io.BytesIO()
    cells = np.empty(len(texts), dtype=object)
    cells[:] = texts
    scipy.io.savemat(stream, {"names": cells})
    found = load_mat5(stream.getvalue(), "x.mat")["names"]
    assert ["".join(rows) for rows in found] == texts


def test_structs_sparse_matrices_and_logicals() -> None:
    stream = io.BytesIO()
    sparse = scipy.sparse.random(7, 5, density=0.3, random_state=0, format="csc")
    content = {
        "sc": {"counts": np.eye(3), "inner": {"name": "deep"}},
        "sparse": sparse,
        "flags": np.array([[True, False]]),
        "rows": np.array(["one", "two"]),
        "complex": np.ones((2, 2)) * 1j,
    }
    scipy.io.savemat(stream, content)
    found = load_mat5(stream.getvalue(), "x.mat")
    np.testing.assert_array_equal(found["sc"]["counts"], np.eye(3))
    assert found["sc"]["inner"]["name"] == ["deep"]
    np.testing.assert_array_equal(found["sparse"], sparse.toarray())
    np.testing.assert_array_equal(found["flags"], [[True, False]])
    assert found["rows"] == ["one", "two"]
    assert "complex" not in found


@settings(max_examples=40, deadline=None)
@given(
    values=hnp.arrays(
        st.sampled_from(["f8", "f4", "i4", "i2", "u2", "u1"]),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6),
    )
)
def test_version_4_keeps_numbers_and_text(values: np.ndarray) -> None:
    stream = io.BytesIO()
    scipy.io.savemat(stream, {"connectivity": values, "who": "me"}, format="4")
    found = load_mat4(stream.getvalue(), "x.mat")
    np.testing.assert_array_equal(found["connectivity"], values)
    assert found["connectivity"].dtype == values.dtype
    assert found["who"] == ["me"]


def version_4(code: int, rows: int, columns: int, imaginary: int, data: bytes) -> bytes:
    return struct.pack("<5i", code, rows, columns, imaginary, 2) + b"x\0" + data


def test_complex_and_sparse_matrices_of_version_4_are_left_out() -> None:
    number = np.array([7.0]).tobytes()
    sparse = np.array([1.0, 10**9, 1, 10**9, 5, 0]).tobytes()  # one entry of a huge matrix
    plain = version_4(0, 1, 1, 0, number).replace(b"x\0", b"y\0")
    data = version_4(0, 1, 1, 1, number * 2) + plain + version_4(2, 2, 3, 0, sparse)
    assert {name: value.tolist() for name, value in load_mat4(data, "x.mat").items()} == {
        "y": [[7.0]]
    }


@pytest.mark.parametrize(
    "data",
    [
        version_4(0, -1000, 1, 0, b""),
        version_4(0, 2**31 - 1, 2**31 - 1, 0, b""),
        version_4(0, 2, 2, 0, bytes(31)),
        version_4(60, 1, 1, 0, bytes(8)),
        version_4(4000, 1, 1, 0, bytes(8)),
        version_4(2, 1, 1, 0, bytes(8)),
    ],
    ids=["negative", "huge", "cut off", "storage", "Cray", "sparse"],
)
def test_version_4_that_scipy_cannot_read_is_one_sentence(data: bytes) -> None:
    with pytest.raises(FileError, match="damaged MAT file"):
        load_mat4(data, "x.mat")


def test_big_endian_files_are_read() -> None:
    header = struct.pack(">5i", 1000, 2, 2, 0, 2) + b"a\0"
    data = header + np.array([[1.0, 2], [3, 4]]).astype(">f8").tobytes(order="F")
    np.testing.assert_array_equal(load_mat4(data, "x.mat")["a"], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("place", "word"),
    [(132, 2**31 - 1), (132, 2**32 - 1), (164, 2**31 - 1), (160, 10**9), (184, 2**30)],
)
def test_sizes_beyond_the_file_are_refused_before_anything_is_made(place: int, word: int) -> None:
    stream = io.BytesIO()
    cells = np.empty(3, dtype=object)
    cells[:] = ["a", "b", "c"]
    scipy.io.savemat(stream, {"names": cells})
    data = bytearray(stream.getvalue())
    data[place : place + 4] = struct.pack("<I", word)
    with pytest.raises(FileError, match="damaged MAT file"):
        load_mat5(bytes(data), "x.mat")


def test_version_7_3_structs_and_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["sc/number_of_fibers"] = np.arange(6.0).reshape(2, 3)
        empty = file.create_dataset("none", data=np.array([0, 0], dtype="u8"))
        empty.attrs["MATLAB_class"] = np.bytes_("cell")
        empty.attrs["MATLAB_empty"] = 1
        text = file.create_dataset("who", data=np.array([[109], [101]], dtype="u2"))
        text.attrs["MATLAB_class"] = np.bytes_("char")
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    found = load_mat(open_item(path))
    np.testing.assert_array_equal(found["sc"]["number_of_fibers"], np.arange(6).reshape(2, 3).T)
    assert found["none"] == []
    assert found["who"] == ["me"]


def test_what_is_no_mat_file_is_refused() -> None:
    with pytest.raises(FileError, match="not a MAT file"):
        load_mat(Item("x.mat", Path("x.mat"), b"1 0 0 0\n0 1 0 0\n"))

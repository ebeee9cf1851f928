"""Why MAT 5, GIFTI and texts in HDF5 are parsed here: what the libraries do with the same files.

Each attack is shown on the library alone, in a process of its own, and then on our reader. When a
library survives, its test fails and the parser can go.
"""

import base64
import io
import signal
import struct
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import h5py
import nibabel
import numpy as np
import pytest
import scipy.io

from connectome_files import COUNTS, IDS
from stillome.exceptions import FileError
from stillome.io.connectomes import read_connectomes
from stillome.io.formats.mat5 import load_mat5


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program that may use three seconds of the processor."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (3, 3))\n"
    command = [sys.executable, "-c", limit + textwrap.dedent(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def mat_with_wrong_type(code: int) -> bytes:
    """A matrix of doubles whose numbers are said to be of another type; one byte is changed."""
    stream = io.BytesIO()
    scipy.io.savemat(stream, {"cm": np.eye(3)})
    data = bytearray(stream.getvalue())
    data[data.rindex(struct.pack("<II", 9, 72))] = code
    return bytes(data)


@pytest.mark.parametrize("code", [8, 40])
def test_one_byte_of_a_mat_file_crashes_scipy(code: int, tmp_path: Path) -> None:
    """The type is an index into a table in C, which SciPy does not check."""
    path = tmp_path / "x.mat"
    path.write_bytes(mat_with_wrong_type(code))
    answer = run("import sys, scipy.io; scipy.io.loadmat(sys.argv[1])", path)
    assert answer.returncode in (-signal.SIGSEGV, -signal.SIGBUS)
    with pytest.raises(FileError, match=f"numbers of unknown type {code}"):
        load_mat5(path.read_bytes(), "x.mat")


def test_a_heap_of_texts_keeps_hdf5_busy_for_ever(tmp_path: Path) -> None:
    """The first text claims 2**64 - 16 bytes: with its header, the next one starts at itself."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["connectomes"] = COUNTS
        file.create_dataset("subject_ids", data=list(IDS), dtype=h5py.string_dtype())
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, data.index(b"GCOL") + 24, 2**64 - 16)
    path.write_bytes(data)
    answer = run("import sys, h5py; h5py.File(sys.argv[1])['subject_ids'][...]", path)
    assert answer.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    with pytest.raises(FileError, match="damaged texts"):
        read_connectomes(path)


def gifti(path: Path, encoding: str, data: str = "", more: str = "") -> Path:
    path.write_text(
        '<GIFTI Version="1.0" NumberOfDataArrays="1"><DataArray Intent="NIFTI_INTENT_NONE" '
        'DataType="NIFTI_TYPE_UINT8" ArrayIndexingOrder="RowMajorOrder" Dimensionality="2" '
        f'Dim0="6" Dim1="6" Encoding="{encoding}" Endian="LittleEndian" {more}>'
        f"<Data>{data}</Data></DataArray></GIFTI>"
    )
    return path


def test_nibabel_unpacks_gifti_to_any_size(tmp_path: Path) -> None:
    """64 MiB for a matrix of 36 bytes: nibabel compares the sizes only afterwards."""
    packed = base64.b64encode(zlib.compress(bytes(2**26))).decode()
    path = gifti(tmp_path / "sub-01.shape.gii", "GZipBase64Binary", packed)
    with pytest.raises(ValueError, match=f"array of size {2**26} into shape"):
        nibabel.load(path)
    with pytest.raises(FileError, match="GIFTI array is cut off or too long"):
        read_connectomes(path)


def test_nibabel_opens_other_files_from_gifti(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_bytes(bytes(range(36)))
    named = f'ExternalFileName="{secret}" ExternalFileOffset="0"'
    path = gifti(tmp_path / "sub-01.shape.gii", "ExternalFileBinary", more=named)
    np.testing.assert_array_equal(nibabel.load(path).darrays[0].data.ravel(), np.arange(36))
    with pytest.raises(FileError, match="'ExternalFileBinary' is not read"):
        read_connectomes(path)

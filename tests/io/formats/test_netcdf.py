"""netCDF headers made to mislead, and what SciPy's reader alone makes of them."""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from connectome_files import COUNTS, IDS, SAMPLES, TRUTH
from stillome.exceptions import FileError
from stillome.io.connectomes import read_connectomes


def with_attribute(path: Path, name: str) -> Path:
    with scipy.io.netcdf_file(path, "w") as file:
        setattr(file, "x" * len(name), "y")
    path.write_bytes(path.read_bytes().replace(b"x" * len(name), name.encode()))
    return path


@pytest.mark.parametrize("name", ["fp", "close", "variables", "_dims", "mode"])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_attributes_cannot_replace_the_reader(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=f"damaged netCDF file \\(an attribute '{name}'\\)"):
        read_connectomes(with_attribute(tmp_path / "x.nc", name))


def test_scipy_alone_loses_its_file_to_an_attribute(tmp_path: Path) -> None:
    """Why attributes are checked: the reader can neither go on nor be deleted."""
    path = with_attribute(tmp_path / "x.nc", "fp")
    program = f"import scipy.io; scipy.io.netcdf_file({str(path)!r}, mmap=False)"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "AttributeError: 'bytes' object has no attribute 'read'" in answer.stderr
    assert "Exception ignored in: <function netcdf_file.close" in answer.stderr


@pytest.mark.parametrize("count", [2**31 - 1, -1])
def test_a_count_does_not_make_the_whole_file_be_read(count: int, tmp_path: Path) -> None:
    """A terabyte of zeros, which takes no place on disk: every dimension is called ''."""
    path = tmp_path / "x.nc"
    with path.open("wb") as stream:
        stream.write(b"CDF\x01" + bytes(4) + struct.pack(">3i", 10, 2**31 - 1, count))
        stream.truncate(2**40)
    with pytest.raises(FileError, match="more than 1 MiB of header"):
        read_connectomes(path)


def test_records_are_read_too(tmp_path: Path) -> None:
    with scipy.io.netcdf_file(tmp_path / "x.nc", "w") as file:
        for name, size in (("subject", None), ("u", 6), ("v", 6)):
            file.createDimension(name, size)
        file.createVariable("counts", "f8", ("subject", "u", "v"))[:] = COUNTS
    data = read_connectomes(tmp_path / "x.nc", subjects=IDS)
    np.testing.assert_array_equal(data.connectomes, TRUTH)


def test_values_beyond_the_end_of_the_file_are_refused(tmp_path: Path) -> None:
    path = SAMPLES["netcdf_stack"].make(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(FileError, match="damaged netCDF file"):
        read_connectomes(path)

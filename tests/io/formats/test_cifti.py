"""CIFTI files that are not a matrix of parcels by parcels, and values stored with a scale."""

import struct
from pathlib import Path

import nibabel
import numpy as np
import pytest

from connectome_files import SAMPLES, TRUTH
from stillome.exceptions import FileError
from stillome.io.connectomes import read_connectomes


@pytest.fixture
def pconn(tmp_path: Path) -> Path:
    return min(SAMPLES["cifti"].make(tmp_path).glob("*.pconn.nii"))


def change(path: Path, place: int, form: str, *values: float) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into(form, data, place, *values)
    path.write_bytes(data)


def test_scaled_values_are_read(pconn: Path) -> None:
    change(pconn, 176, "<2d", 2.0, 0.0)
    np.testing.assert_array_equal(read_connectomes(pconn).connectomes[0], 2 * TRUTH[0])


@pytest.mark.parametrize(
    ("place", "form", "value", "sentence"),
    [
        (504, "<i", 3001, "CIFTI of intent 3001, not parcels by parcels"),
        (56, "<q", 5, "matrix of .* for 6 parcels"),
        (56, "<q", 2**40, "matrix of .* for 6 parcels"),
        (168, "<q", 2**40, "damaged CIFTI file"),
        (544, "<i", 8, "damaged CIFTI file"),
    ],
    ids=["intent", "size", "huge size", "offset", "no description"],
)
def test_other_contents_are_refused(
    pconn: Path, place: int, form: str, value: int, sentence: str
) -> None:
    change(pconn, place, form, value)
    with pytest.raises(FileError, match=sentence):
        read_connectomes(pconn)


def test_nibabel_does_not_print_what_it_mends(
    pconn: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change(pconn, 348, "<i", 828047360)  # a code of the sform that is not valid
    nibabel.load(pconn)
    assert "sform_code 828047360 not valid" in caplog.text
    caplog.clear()
    np.testing.assert_array_equal(read_connectomes(pconn).connectomes[0], TRUTH[0])
    assert not caplog.text


def test_two_axes_of_different_parcels_are_refused(pconn: Path) -> None:
    data = pconn.read_bytes()
    pconn.write_bytes(data.replace(b'Dimension="0,1"', b'Dimension="0,0"'))
    with pytest.raises(FileError, match="damaged CIFTI file"):
        read_connectomes(pconn)

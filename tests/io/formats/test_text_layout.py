"""Adjusted connectomes in the layout of those that came in."""

import numpy as np
import pytest

from stillome.io.connectomes import read_connectomes
from stillome.io.formats.text_layout import layout_of
from stillome.io.write import write_connectomes

ROWS = [[0, 5, 2], [5, 0, 1], [2, 1, 0]]


def text(mark, form):
    return "\n".join(mark.join(format(v, form) for v in row) for row in ROWS) + "\n"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
@pytest.mark.parametrize("mark", [",", "\t", " ", ";", "  "])
@pytest.mark.parametrize("form", ["d", ".6f", ".18e"])
def test_separators_and_numbers_come_back(tmp_path, suffix, mark, form):
    source = tmp_path / "in"
    source.mkdir()
    for subject in ("A", "B"):
        (source / f"sub-{subject}.{suffix}").write_text(text(mark, form))
    out = write_connectomes(tmp_path / "out", read_connectomes(source))
    for subject in ("A", "B"):
        assert (out / f"sub-{subject}.{suffix}").read_text() == text(mark, form)


def test_numbers_of_no_common_layout_are_written_exactly(tmp_path):
    (tmp_path / "in").mkdir()
    values = np.array([[0, 0.1, 2], [0.1, 0, 1 / 3], [2, 1 / 3, 0]])
    for subject in ("A", "B"):
        rows = [" ".join(repr(float(v)) for v in row) for row in values]
        (tmp_path / "in" / f"sub-{subject}_sift2.csv").write_text("\n".join(rows))
    data = read_connectomes(tmp_path / "in")
    again = read_connectomes(write_connectomes(tmp_path / "out", data))
    assert (again.connectomes == values).all()
    assert layout_of(tmp_path / "out" / "sub-A_sift2.csv").mark == " "
    assert layout_of(tmp_path / "nowhere") is None

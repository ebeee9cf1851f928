"""Matrices as text: regular files are parsed fast, and to the same numbers as any other."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from stillome.exceptions import FileError
from stillome.io.formats.text_matrix import parse_matrix
from stillome.io.guarded_files import Item

NUMBERS = st.one_of(st.integers(0, 10**6), st.floats(-1e6, 1e6))
NAMES = st.text("abcxyz äé-", min_size=1, max_size=6).filter(
    lambda name: name.strip() and name.strip().lower() not in ("na", "nan")
)


@st.composite
def named_matrices(draw):
    n = draw(st.integers(2, 4))
    row = st.lists(NUMBERS, min_size=n, max_size=n)
    return draw(st.lists(NAMES, min_size=n, max_size=n)), draw(st.lists(row, min_size=1))


def parsed(text):
    return parse_matrix(Item("m.csv", Path("m.csv"), text.encode("utf-8")))


@given(named_matrices(), st.sampled_from([",", "\t", ";"]), st.sampled_from(["", "\n"]))
def test_numbers_under_names_are_read_as_with_names_beside_them(table, mark, end):
    """Names beside the rows need the parser of any table."""
    names, rows = table
    cells = [[repr(float(value)) for value in row] for row in rows]
    beside = [["", *names], *(["row", *row] for row in cells)]
    fast, any_table = (
        parsed("\n".join(mark.join(row) for row in text) + end)
        for text in ([names, *cells], beside)
    )
    assert_array_equal(fast.values, np.array(rows, float))
    assert_array_equal(any_table.values, fast.values)
    assert fast.columns == any_table.columns == tuple(name.strip() for name in names)
    assert fast.rows is None and set(any_table.rows) == {"row"}


@pytest.mark.parametrize("text", ["a,b\n1,2\n\n3,4\n", "# x\na,b\n1,2\n", "a,b,\n1,2,\n"])
def test_less_regular_tables_are_read_too(text):
    assert parsed(text).columns == ("a", "b")


def test_more_numbers_than_names_are_refused():
    with pytest.raises(FileError, match="2 names above 3 columns"):
        parsed("a,b\n1,2,3\n4,5,6\n")

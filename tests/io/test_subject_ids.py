import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stillome.exceptions import InputError
from stillome.io.subject_ids import ids_in_common, normalise_id, normalise_ids

names = st.text("ABCabc019_-", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("sub-A01", "A01"),
        ("A01", "A01"),
        ("sub-001", "001"),
        ("NA", "NA"),
        ("NDAR_INVabC1", "NDARINVabC1"),
        ("sub-NDARINVabC1", "NDARINVabC1"),
        ("sub-NDAR_INVabC1", "NDARINVabC1"),
        (" 100307 ", "100307"),
        ("MY_NDAR_INV", "MY_NDAR_INV"),
        ("Sub-A01", "Sub-A01"),
    ],
)
def test_one_spelling(written, normal):
    assert normalise_id(written) == normal


@settings(max_examples=80)
@given(names)
def test_a_subject_is_the_same_with_and_without_sub(name):
    bare = normalise_id(f"x{name}")
    assert normalise_id(f"sub-x{name}") == bare
    assert normalise_id(bare) == bare


@pytest.mark.parametrize("bad", ["", "  ", "sub-", "a\tb", "a\nb", 7, None])
def test_what_is_no_id(bad):
    with pytest.raises(InputError, match="id"):
        normalise_id(bad)


def test_e8_two_spellings_of_one_subject():
    sentence = "ids 'sub-A01' and 'A01' are the same subject after normalisation."
    with pytest.raises(InputError, match=re.escape(sentence)):
        normalise_ids(["sub-A01", "B", "A01"])
    with pytest.raises(InputError, match=r"t\.tsv: id 'A01' occurs more than once"):
        normalise_ids(["A01", "A01"], name="t.tsv")
    assert normalise_ids(["a", "A"]) == ["a", "A"]


def test_e10_nothing_in_common():
    sentence = "No ids in common: connectomes e.g. 'sub-NDARINVXX', table e.g. 'NDAR_INVYY'."
    with pytest.raises(InputError, match=re.escape(sentence)):
        ids_in_common(["sub-NDARINVXX"], ["NDAR_INVYY"])
    with pytest.raises(InputError, match=r"table e\.g\. none"):
        ids_in_common(["A"], [])


def test_common_ids_keep_the_order_of_the_left():
    assert ids_in_common(["sub-3", "1", "sub-2"], ["sub-1", "2", "3"]) == ["3", "1", "2"]

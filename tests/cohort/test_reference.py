import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillome.cohort.confound_coding import ConfoundCoding
from stillome.cohort.reference import resolve_reference
from stillome.exceptions import InputError

CODING = ConfoundCoding(("rms_mm", "fd_mm"), {"age": 10.0}, {"site": ("A", "B", "01")})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.0], [0, 0, 0, 0, 0]),
        ([], [0, 0, 0, 0, 0]),
        ([0.1, 0.2], [0.1, 0.2, 0, 0, 0]),
        ({"fd_mm": 0.3}, [0, 0.3, 0, 0, 0]),
        ({"fd_mm": "0.3", "site": "B"}, [0, 0.3, 0, 1, 0]),
        ({"site": "01"}, [0, 0, 0, 0, 1]),
        ({"site": "A", "age": 12}, [0, 0, 2, 0, 0]),
    ],
)
def test_numbers_are_for_motion_and_names_for_any_confound(given, expected):
    assert resolve_reference(CODING, given) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([0.1], r"1 value\(s\) for 2 confounds \(rms_mm, fd_mm\)"),
        ([0.1, np.inf], "expected finite numbers"),
        ({"rms_mm": "nan"}, "rms_mm nan; expected finite numbers"),
        ({"rms_mm": "low"}, "rms_mm 'low' is not a number"),
        ({"site": "C"}, "site 'C' is not among A, B, 01"),
        ({"sex": 1}, "no confound 'sex'; the model is fitted with rms_mm, fd_mm, age, site"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(given, says):
    with pytest.raises(InputError, match=says):
        resolve_reference(CODING, given)


@pytest.mark.parametrize("given", [[-0.1, 0.0], {"rms_mm": -0.1}, {"rms_mm": "-0.1"}])
def test_nobody_moves_less_than_not_at_all(given):
    with pytest.raises(InputError, match=r"rms_mm -0\.1 is negative.*at least 0"):
        resolve_reference(CODING, given)


def test_a_column_that_is_no_motion_may_be_negative():
    coding = ConfoundCoding(("tilt",), {"age": 10.0})
    assert resolve_reference(coding, {"tilt": -1, "age": 8}) == [-1.0, -2.0]


def test_without_motion_only_names_are_taken():
    coding = ConfoundCoding(levels={"site": ("A", "B")})
    assert resolve_reference(coding, {"site": "B"}) == [1.0]
    with pytest.raises(InputError, match="fitted without motion"):
        resolve_reference(coding, [0.1])


@given(st.lists(st.floats(0, 5), min_size=2, max_size=2))
def test_numbers_and_names_say_the_same(numbers):
    by_name = dict(zip(CODING.motion, numbers, strict=True))
    assert resolve_reference(CODING, numbers) == resolve_reference(CODING, by_name)

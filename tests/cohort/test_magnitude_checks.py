"""Sizes of counts and weights with which no method can compute are refused, in one sentence."""

import numpy as np
import pytest

from moving_people import MovingPeople
from stillome.cohort.validation import check_connectomes
from stillome.cohort.validation.magnitude_checks import check_alike, check_magnitude
from stillome.exceptions import InputError
from stillome.methods.registry import METHODS, make_method

PEOPLE = MovingPeople(40)


@pytest.mark.parametrize("value", [5e8, 5e9, 1e15])
def test_counts_that_no_tractography_gives_are_refused(value):
    X = PEOPLE.X.astype(float)
    X[:, 3] = value
    with pytest.raises(InputError, match="a fibre count is below 1e"):
        check_magnitude(X)
    check_magnitude(X + 0.25)  # weights of any unit


@pytest.mark.parametrize(("factor", "said"), [(1e-120, "near 1"), (1e120, r"by 1e\+12")])
def test_weights_whose_squares_are_no_numbers_are_refused(factor, said):
    with pytest.raises(InputError, match=said):
        check_magnitude((PEOPLE.X + 0.25) * factor)


@pytest.mark.parametrize("name", METHODS)
def test_one_damaged_count_does_not_decide_about_everybody(name):
    X = PEOPLE.X.copy()
    X[7, 3] = 99_000_000
    with pytest.raises(InputError, match=r"subject 7 has 9.9e\+07 .* leave out the subject"):
        make_method(name).fit(X, confounds=PEOPLE.motion)


@pytest.mark.parametrize("unit", [1.0, 1e-6])
@pytest.mark.parametrize("name", METHODS)
def test_one_damaged_weight_does_not_decide_about_everybody(name, unit):
    X = (PEOPLE.X + 0.25) * unit
    X[7, 3] = 1e9 * unit
    with pytest.raises(InputError, match=r"subject 7 has 1e\+\d* .* leave out the subject"):
        make_method(name).fit(X, confounds=PEOPLE.motion)


def test_subjects_with_ten_times_the_streamlines_are_accepted():
    X = PEOPLE.X.copy()
    X[::5] *= 10
    check_alike(X)


def test_weights_of_a_whole_subject_may_have_another_scale():
    X = PEOPLE.X + 0.25
    X[7] *= 1e9
    X[8] = 0
    check_alike(X)


def test_small_weights_must_be_symmetric_too():
    matrix = np.array([[0, 1, 2], [1, 0, 3], [2.5, 3, 0]])
    for unit in (1, 1e-9):
        with pytest.raises(InputError, match="not symmetric"):
            check_connectomes(unit * matrix[None])

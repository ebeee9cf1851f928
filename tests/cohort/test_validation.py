import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odd_inputs import (
    matrices,
    object_arrays,
    odd,
    odd_scalars,
    odd_tables,
    spoiled_matrices,
)
from stillome.cohort import validation
from stillome.cohort.confound_coding import ConfoundCoding
from stillome.cohort.validation import (
    aligned_table,
    as_floats,
    as_numbers,
    check_columns,
    check_confounds,
    check_connectomes,
    check_count,
    check_features,
    check_lengths,
    check_random_state,
    check_share,
    check_subject_ids,
    check_table,
    check_traits,
    n_regions_of,
    subject_positions,
)
from stillome.cohort.validation.confound_checks import check_trainable
from stillome.exceptions import ConfoundsError, InputError, StillomeError

ONE_ARGUMENT = {
    "as_floats": as_floats,
    "as_numbers": as_numbers,
    "check_columns": lambda value: check_columns(value, ["a"], "trait"),
    "check_confounds": check_confounds,
    "check_connectomes": check_connectomes,
    "check_count": lambda value: check_count(value, "n"),
    "check_features": check_features,
    "check_lengths": lambda value: check_lengths(value, 3),
    "check_random_state": check_random_state,
    "check_share": lambda value: check_share(value, "quantile"),
    "check_subject_ids": check_subject_ids,
    "check_table": lambda value: check_table(value, "motion"),
    "aligned_table": lambda value: aligned_table(value, ("A", "B"), "motion"),
    "check_traits": check_traits,
    "n_regions_of": n_regions_of,
    "subject_positions": lambda value: subject_positions(value, ["A", "B"]),
}


def test_every_public_function_is_put_to_the_odd_inputs():
    assert set(ONE_ARGUMENT) == set(validation.__all__)


@pytest.mark.parametrize("name", ONE_ARGUMENT)
@given(value=st.one_of(odd, odd_scalars, odd_tables))
def test_odd_input_is_taken_or_refused_in_a_sentence(name, value):
    try:
        ONE_ARGUMENT[name](value)
    except StillomeError as error:
        assert len(str(error)) > 20
        assert any(mark in str(error) for mark in (":", "=", "edges", "trait"))


@given(matrices())
def test_valid_connectomes_come_back_as_they_are(values):
    assert check_connectomes(values) is values


def test_nothing_is_copied_and_a_memory_map_stays_on_disk(tmp_path):
    np.save(tmp_path / "counts.npy", np.ones((3, 4, 4), dtype=np.int16))
    mapped = np.load(tmp_path / "counts.npy", mmap_mode="r")
    assert np.shares_memory(check_connectomes(mapped), mapped)


@given(spoiled_matrices())
def test_message_names_the_subject_and_the_edge(spoiled):
    values, subject, row, column = spoiled
    ids = [f"sub-{i}" for i in range(len(values))]
    regions = [f"region{i}" for i in range(values.shape[1])]
    with pytest.raises(InputError, match=rf"'sub-{subject}'.*region{row}/region{column};"):
        check_connectomes(values, subject_ids=ids, regions=regions)
    upper = values[:, *np.triu_indices(values.shape[1], k=1)]
    with pytest.raises(InputError, match=rf"subject {subject} .*\({row}, {column}\);"):
        check_connectomes(upper)


@given(matrices(dtype=np.int32), st.data())
def test_asymmetry_is_found_wherever_it_is(values, data):
    values = values.copy()
    subject = data.draw(st.integers(0, len(values) - 1))
    row, column = data.draw(st.permutations(range(values.shape[1])))[:2]
    values[subject, row, column] += 1
    with pytest.raises(InputError, match=rf"subject {subject} is not symmetric"):
        check_connectomes(values)


def test_the_place_is_right_beyond_the_first_slice(monkeypatch):
    monkeypatch.setattr("stillome.cohort.validation.connectome_checks._SLICE_BYTES", 200)
    values = np.zeros((50, 4, 4))
    values[37, 1, 2] = values[37, 2, 1] = -3
    with pytest.raises(InputError, match=r"subject 37 has -3 at edge \(1, 2\)"):
        check_connectomes(values)


@pytest.mark.parametrize("value", [np.nan, np.inf, -5.0])
def test_the_diagonal_is_not_looked_at(value):
    values = np.zeros((2, 3, 3))
    values[:, range(3), range(3)] = value
    assert check_connectomes(values) is values


def test_tiny_asymmetry_of_floats_is_rounding():
    values = np.full((1, 2, 2), 1000.0)
    values[0, 0, 1] += 1e-5
    assert check_connectomes(values) is values


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.zeros((2, 3, 4)), "3×4, expected square"),
        (np.zeros((3, 3, 3, 3)), r"expected \(n, V, V\)"),
        (np.zeros(3), "add a first axis"),
        (np.zeros((2, 4)), r"4 edges per subject is not V\(V-1\)/2"),
        (np.zeros((2, 1, 1)), "at least two"),
        (np.zeros((0, 3, 3)), "n_samples=0 subjects"),
        ([[1, 2, 3], [1, 2]], "same size"),
        (np.array([["1", "2", "3"]]), "expected real numbers"),
        (np.array([["1", "2", "3"]], dtype=object), "'1', which is not a number"),
        (np.array([[1, 2, np.complex64(3)]], dtype=object), "not a number"),
        (np.array([[1, 2, complex("nan")]], dtype=object), "not a number"),
        ([[1, 2, 10**400]], "not a number"),
        (np.array([[1j, 0, 0]]), "complex128"),
        (np.ma.masked_array([[1, 2, 3]], mask=[[0, 1, 0]]), "masked"),
    ],
)
def test_what_the_refusal_says(values, says):
    with pytest.raises(InputError, match=says):
        check_connectomes(values)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_regions": 68}, "3 regions; expected 68"),
        ({"min_subjects": 3}, "n_samples=2 subjects; at least 3"),
        ({"subject_ids": ["A"]}, "2 subjects but 1 subject ids"),
        ({"regions": ["x"]}, "3 regions but 1 region names"),
    ],
)
def test_sizes_are_compared_with_what_is_expected(options, says):
    with pytest.raises(InputError, match=says):
        check_connectomes(np.zeros((2, 3, 3)), **options)


def test_objects_that_are_numbers_are_taken():
    table = pd.DataFrame({"rms_mm": pd.array([1, None, 3], dtype="Int64")})
    np.testing.assert_array_equal(
        check_confounds(table, allow_missing=True), [[1.0], [np.nan], [3.0]]
    )


@pytest.mark.parametrize(
    ("values", "options", "says"),
    [
        ([0.1, np.nan], {}, "nan at subject 1, column 0"),
        ([0.1, np.inf], {"allow_missing": True}, "inf at subject 1"),
        ([[0.1, 2], [0.2, 2]], {}, "column 1 is the same for all 2 subjects"),
        ([0.1, 0.2], {"n_subjects": 3}, "2 rows for 3 subjects"),
        ([0.1, 0.2], {"n_confounds": 2}, "1 columns; the model was fitted with 2"),
        ([], {}, "expected"),
        (["much", "little"], {}, "expected real numbers"),
    ],
)
def test_confounds_are_refused_as_confounds(values, options, says):
    with pytest.raises(ConfoundsError, match=says):
        check_confounds(values, **options)


def test_one_new_subject_may_have_constant_confounds():
    assert check_confounds([0.3], allow_constant=True).shape == (1, 1)


def test_extreme_confounds_that_vary_are_no_constants():
    assert check_confounds([-1.7e308, 1.7e308]).shape == (2, 1)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1.0, np.inf], "infinite at subject 1"),
        ([1.0, 1.0], "do not vary"),
        ([1.0, np.nan], "1 known values"),
        (np.zeros((2, 2, 2)), "one row per subject"),
    ],
)
def test_traits_are_refused(values, says):
    with pytest.raises(InputError, match=says):
        check_traits(values)


@given(st.integers(2, 10**9))
def test_number_of_regions_is_exact_for_any_size(n_regions):
    assert n_regions_of(n_regions * (n_regions - 1) // 2) == n_regions
    with pytest.raises(InputError):
        n_regions_of(n_regions * (n_regions - 1) // 2 + 1 if n_regions > 2 else 2)


@given(object_arrays())
def test_objects_never_lose_their_imaginary_part_or_turn_from_text(array):
    if any(isinstance(value, str | bytes | complex) for value in array.flat):
        with pytest.raises(InputError):
            as_numbers(array)


def test_the_same_seed_gives_the_same_generator():
    first, second = check_random_state(5), check_random_state(5)
    assert first.integers(2**60) == second.integers(2**60)
    assert check_random_state(first) is first


@pytest.mark.parametrize("factor", [1000, -1000])
def test_one_value_in_another_unit_is_named(factor):
    motion = np.random.default_rng(0).lognormal(-1, 0.6, (50, 2))
    check_trainable(motion)
    motion[7, 1] *= factor
    with pytest.raises(ConfoundsError, match=r"at subject 7, column 1; .* another unit\?"):
        check_trainable(motion)
    coding = ConfoundCoding(("rms_mm", "rotation_rad"))
    with (
        pytest.raises(ConfoundsError, match=r"^'rotation_rad' of subject 'sub-7' is .* unit\?"),
        coding.naming([f"sub-{i}" for i in range(50)]),
    ):
        check_trainable(motion)


def test_large_motion_rare_sites_and_rare_outliers_are_no_other_unit():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        heavy = rng.lognormal(0, 1.2, 2000)
        rare = (np.arange(2000) == 7) * 1.0
        slices = rng.poisson(rng.lognormal(-1, 2, 2000))
        check_trainable(np.column_stack([heavy, rare, slices]))

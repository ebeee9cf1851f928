"""Sites, scanners and other columns as confounds: coded alike for everybody, or refused."""

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from stillome.cohort.confound_coding import MIN_AT_LEVEL, ConfoundCoding
from stillome.cohort.validation import check_confounds
from stillome.exceptions import (
    ConfoundsError,
    FileError,
    InputError,
    MissingConfoundError,
    StillomeWarning,
)

LEVELS = ["Aachen", "Bonn", "s=3", "ø"]


@st.composite
def subjects(draw):
    """Motion, and a number and a text column, of as many subjects as levels need, in any order."""
    n_levels = draw(st.integers(2, len(LEVELS)))
    site = [level for level in LEVELS[:n_levels] for _ in range(MIN_AT_LEVEL)]
    site += draw(st.lists(st.sampled_from([*LEVELS[:n_levels], None]), max_size=15))
    order = draw(st.permutations(range(len(site))))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    ids = [f"sub-{i}" for i in range(len(site))]
    motion = pd.DataFrame({"rms_mm": rng.gamma(2, 0.1, len(site))}, index=ids)
    others = pd.DataFrame(
        {
            "site": pd.Series([site[i] for i in order], dtype=object),
            "snr": rng.normal(20, 3, len(site)),
        }
    )
    return motion, others.set_index(motion.index)


@given(subjects())
def test_what_is_coded_can_be_read_back(tables):
    motion, others = tables
    coding = ConfoundCoding.fit(motion, others)
    coded = coding.encode(motion, others)
    assert tuple(coded.columns) == coding.names
    assert list(coded.index) == list(motion.index)
    back = coding.decode(coded)
    assert_array_equal(back["rms_mm"], motion["rms_mm"])
    np.testing.assert_allclose(back["snr"], others["snr"])
    known = others["site"].notna().to_numpy()
    assert_array_equal(back["site"].notna(), known)
    assert_array_equal(back["site"][known], others["site"][known])
    dummies = coded.filter(like="site=")
    assert_array_equal(dummies.isna().all(axis=1), ~known)
    assert set(np.unique(dummies[known])) == {0.0, 1.0}
    assert (dummies[known].sum(axis=1) <= 1).all()


@given(subjects(), st.randoms(use_true_random=False))
def test_the_order_of_subjects_and_who_else_is_there_do_not_matter(tables, random):
    motion, others = tables
    coding = ConfoundCoding.fit(motion, others)
    order = list(range(len(motion)))
    random.shuffle(order)
    assert ConfoundCoding.fit(motion.iloc[order], others.iloc[order]) == coding
    part = order[: random.randint(1, len(order))]
    found = coding.encode(motion.iloc[part], others.iloc[part])
    assert_frame_equal(found, coding.encode(motion, others).iloc[part])


@given(subjects())
def test_the_most_frequent_level_is_the_reference_and_coded_as_zero(tables):
    motion, others = tables
    coding = ConfoundCoding.fit(motion, others)
    sizes = others["site"].value_counts()
    first, *rest = coding.levels["site"]
    assert sizes[first] == sizes.max() and rest == sorted(rest)
    assert_array_equal(coding.reference({}), np.zeros(len(coding.names)))
    last = coding.reference({"site": rest[-1], "rms_mm": 0.25})
    assert last[0] == 0.25 and last[-1] == 1 and np.count_nonzero(last) == 2
    assert coding.said(last)["site"] == rest[-1]
    assert ConfoundCoding.from_json(coding.to_json()) == coding


SITES = ConfoundCoding(("rms_mm",), {"snr": 20.0}, {"site": ("B", "A"), "run": ("1", "2b")})
MOTION = pd.DataFrame({"rms_mm": [0.1, 0.2]}, index=["x", "y"])
OTHERS = pd.DataFrame({"site": ["A", "B"], "run": [1.0, np.nan], "snr": [20, 21]}, index=["x", "y"])


def test_columns_come_in_one_order_and_what_is_missing_is_unknown():
    assert SITES.names == ("rms_mm", "snr", "site=A", "run=2b")
    assert SITES.others == ("snr", "site", "run")
    nan = np.nan
    assert_array_equal(SITES.encode(MOTION, OTHERS), [[0.1, 0, 1, 0], [0.2, 1, 0, nan]])
    assert_array_equal(SITES.encode(None, OTHERS), [[nan, 0, 1, 0], [nan, 1, 0, nan]])


@pytest.mark.parametrize(
    ("others", "says"),
    [
        (OTHERS.assign(site=["A", "C"]), r"site 'C' of subject 'y'.*\(B, A\). Leave out"),
        (OTHERS.assign(snr=["much", "more"]), "not all numbers"),
        (OTHERS.drop(columns="site"), r"traits: no column 'site', .* it has \['run', 'snr'\]"),
        (None, r"traits: no column 'snr'"),
    ],
)
def test_what_the_fit_did_not_know_is_refused_in_one_sentence(others, says):
    with pytest.raises(ConfoundsError, match=says):
        SITES.encode(MOTION, others)


@pytest.mark.parametrize(
    ("site", "says"),
    [
        (["A"] * 20, "does not differ"),
        ([None] * 20, "missing for everybody"),
        (["A"] * 10 + ["A "] * 10, "does not differ"),
        ([1.5] * 20, "does not differ"),
        (["A"] * 11 + ["B"] * 9, "9 subjects have 'B', at least 10 .* join levels"),
    ],
)
def test_columns_of_which_nothing_can_be_learned_are_refused(site, says):
    with pytest.raises(ConfoundsError, match=says):
        ConfoundCoding.fit(pd.DataFrame({"rms_mm": np.arange(20.0)}), pd.DataFrame({"site": site}))


def test_categories_and_truth_values_of_a_table_are_taken():
    motion = pd.DataFrame({"rms_mm": np.arange(20.0)})
    others = pd.DataFrame({"site": pd.Categorical(["B"] * 10 + ["A"] * 10, ["B", "A", "C"])})
    others["new_coil"] = [True, False] * 10
    coding = ConfoundCoding.fit(motion, others)
    assert coding.names == ("rms_mm", "new_coil", "site=B")
    assert coding.encode(motion, others)["site=B"].sum() == 10


@pytest.mark.parametrize("values", [[1, 2], [0, 1], [False, True]])
def test_of_two_numbers_the_more_frequent_is_the_reference(values):
    site = [values[0]] * 10 + [values[1]] * 12
    motion = pd.DataFrame({"rms_mm": np.arange(22.0)})
    assert ConfoundCoding.fit(motion, pd.DataFrame({"site": site})).numbers == {"site": values[1]}


def test_long_numbers_that_are_names_stay_apart():
    serial = pd.Series([1234567] * 10 + [1234568] * 10 + ["HASH9"] * 10, dtype=object)
    motion = pd.DataFrame({"rms_mm": np.arange(30.0)})
    coding = ConfoundCoding.fit(motion, pd.DataFrame({"serial": serial}))
    assert coding.levels["serial"] == ("1234567", "1234568", "HASH9")
    new = pd.DataFrame({"serial": [1234568, 1234567]})
    assert coding.encode(motion[:2], new)["serial=1234568"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("change", "says"),
    [({"version": 2}, "Update"), ({"levels": [1]}, "damaged"), (None, "damaged")],
)
def test_a_coding_that_cannot_be_read_says_so(change, says):
    with pytest.raises(FileError, match=says):
        ConfoundCoding.from_json(None if change is None else SITES.to_json() | change)


def test_a_missing_confound_is_named_and_nothing_else_is():
    coding = ConfoundCoding(
        ("rms_mm",), {"snr": 20.0}, {"site": ("A", "B", "C"), "coil": ("x", "y")}
    )
    for column, name in enumerate(["rms_mm", "snr", "site", "site", "coil"]):
        values = np.zeros((2, 5))
        values[1, column] = np.nan
        said = rf"^'{name}' of subject 'b' is missing\. Fill it in"
        with pytest.raises(ConfoundsError, match=said), coding.naming(["a", "b"]):
            check_confounds(values)
        said = f"^age: nan at subject 1, column {column}"
        with pytest.raises(ConfoundsError, match=said), coding.naming(["a", "b"]):
            check_confounds(values, name="age")


def test_where_a_confound_is_missing_is_told_in_copies_too():
    with pytest.raises(MissingConfoundError) as caught:
        check_confounds([[0.1, 1], [np.nan, 0]])
    again = copy.copy(caught.value)
    assert str(again) == str(caught.value)
    assert (again.argument, again.row, again.column) == ("confounds", 1, 0)


def test_sites_nested_in_studies_are_told_and_further_levels_come_last():
    motion = pd.DataFrame({"rms_mm": np.linspace(0, 1, 60)})
    sites = np.repeat(["A", "B", "C"], 20)
    others = pd.DataFrame({"study": np.where(sites == "C", "two", "one"), "site": sites})
    with pytest.warns(StillomeWarning, match=r"site is nested in study: .* Leave out study\."):
        coding = ConfoundCoding.fit(motion, others)
    scanners = others[["site"]].assign(scanner=others["site"].str.lower())
    with pytest.warns(StillomeWarning, match=r"site and scanner divide .* alike") as told:
        ConfoundCoding.fit(motion, scanners)
    assert len(told) == 1
    assert coding.with_level("site", "D").names == (*coding.names, "site=D")
    with pytest.raises(InputError, match="'study' is not the last of the text columns"):
        coding.with_level("study", "three")
    with pytest.raises(InputError, match="site 'B' is among those fitted to"):
        coding.with_level("site", "B")
    new = others.iloc[:2].assign(site="Z")
    with pytest.warns(StillomeWarning, match="site 'Z' of 2 subjects is not among those fitted"):
        coded = coding.encode(motion.iloc[:2], new, unknown_levels=True)
    assert coded[["site=B", "site=C"]].isna().all(axis=None)
    assert coded["study=two"].tolist() == [0, 0]

"""Tables in another order, empty and identical connectomes: refused or told by every method."""

import numpy as np
import pandas as pd
import pytest

from moving_people import MovingPeople, V
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.validation.alignment import check_aligned
from stillome.cohort.validation.subject_twins import identical_subjects, twins_divided
from stillome.exceptions import InputError, StillomeWarning
from stillome.methods import make_method

N = 30
PEOPLE = MovingPeople(N, 0)
IDS = [f"S{i:02d}" for i in range(N)]
MOTION = pd.DataFrame({"rms_mm": PEOPLE.motion}, index=IDS)
X = pd.DataFrame(PEOPLE.X, index=IDS)
Y = pd.Series(PEOPLE.traits[:, 0], index=IDS)
METHODS = ["edgewise", "inv-fa"]


def matrices():
    return edges_to_matrices(PEOPLE.X)


def fitted(name):
    return make_method(name, n_components=2).fit(X, Y, confounds=MOTION)


@pytest.mark.parametrize("name", METHODS)
def test_a_table_in_another_order_is_refused(name):
    model, turned = fitted(name), MOTION[::-1]
    with pytest.raises(InputError, match=r"confounds: row 0 is 'S29', that of X is 'S00'\."):
        make_method(name).fit(X, confounds=turned)
    with pytest.raises(InputError, match=r"confounds\.loc\[y\.index\]"):
        make_method(name).fit(X.to_numpy(), Y, confounds=turned)
    with pytest.raises(InputError, match="covariates_to_keep: row 0"):
        make_method(name).fit(X, confounds=MOTION, covariates_to_keep=Y[::-1].to_frame())
    for use in (model.transform, model.adjust, model.predict):
        with pytest.raises(InputError, match="confounds: row 0 is"):
            use(X, confounds=turned)
        assert len(use(X, confounds=turned.loc[X.index])) == N


def test_what_has_no_index_or_another_kind_of_index_is_not_compared():
    check_aligned(X=X.to_numpy(), confounds=MOTION[::-1])
    check_aligned(X=X.reset_index(drop=True), confounds=MOTION[::-1])
    check_aligned(X=X, confounds=MOTION[:3])
    with pytest.raises(InputError, match="row 0 is 29"):
        check_aligned(X=X.reset_index(drop=True), y=Y.reset_index(drop=True)[::-1])


def test_a_cohort_refuses_tables_whose_index_says_another_order():
    counts = matrices()
    numbered = MOTION.reset_index(drop=True)
    assert Cohort(IDS, counts, motion=numbered).motion.index.tolist() == IDS
    for wrong in (numbered[::-1], MOTION[::-1], numbered.set_axis(range(100, 100 + N))):
        with pytest.raises(InputError, match=r"motion\.loc\[subject_ids\], or motion\.reset_index"):
            Cohort(IDS, counts, motion=wrong)
    hcp = Cohort(
        [str(100 + i) for i in range(N)], counts, motion=numbered.set_axis(range(100, 130))
    )
    assert hcp.motion.index[0] == "100"


@pytest.mark.parametrize("name", METHODS)
def test_an_empty_connectome_is_refused(name):
    model, empty = fitted(name), X.to_numpy().copy()
    empty[4] = 0
    with pytest.raises(InputError, match="X: subject 4 has no fibre on any edge"):
        make_method(name).fit(empty, confounds=MOTION)
    with pytest.raises(InputError, match="subject 4 has no fibre"):
        model.adjust(empty, confounds=MOTION)
    stack = matrices()
    stack[2] = 5 * np.eye(V, dtype=int)
    with pytest.raises(InputError, match="subject 2 has no fibre"):
        model.transform(stack, confounds=MOTION)


@pytest.mark.parametrize("name", METHODS)
def test_identical_subjects_are_told_and_refused_if_all_are(name):
    twice = X.to_numpy().copy()
    twice[7] = twice[3]
    with pytest.warns(StillomeWarning, match="subjects 3 and 7 have the same connectome"):
        make_method(name, n_components=2).fit(twice, confounds=MOTION)
    with pytest.raises(InputError, match="all 30 subjects have the same connectome"):
        make_method(name).fit(np.tile(twice[:1], (N, 1)), confounds=MOTION)


def test_few_counts_may_be_the_same_by_chance():
    assert identical_subjects(np.ones((3, 6), dtype=int)) == []
    assert identical_subjects(np.ones((3, 4, 4))) == []
    assert identical_subjects(np.ones((3, 15))) == [(0, 1, 2)]
    assert twins_divided([(0, 1, 2)]) == [(0, 1, 2)]
    assert twins_divided([(0, 1, 2)], ["f", "f", "f"]) == []


@pytest.mark.parametrize("name", METHODS)
def test_a_negative_reference_is_refused(name):
    with pytest.raises(InputError, match=r"reference=-0\.5 is negative; confound 0 was at least"):
        fitted(name).adjust(X, confounds=MOTION, reference=-0.5)
    centred = MOTION - MOTION.mean()
    model = make_method(name, n_components=2).fit(X, confounds=centred)
    assert model.adjust(X, confounds=centred, reference=-0.1).shape == X.shape


def test_a_cohort_gives_what_methods_take():
    site = ["A"] * 18 + ["B"] * 12
    cohort = Cohort(IDS, matrices(), motion=MOTION, traits=pd.DataFrame({"site": site}))
    assert cohort.X.shape == X.shape
    assert list(cohort.confounds()) == ["rms_mm"]
    confounds = cohort.confounds("site")
    assert list(confounds) == ["rms_mm", "site=B"] and list(confounds.index) == IDS
    assert confounds["site=B"].sum() == 12
    model = make_method("edgewise", n_components=2).fit(cohort.X, confounds=confounds)
    assert model.transform(cohort.X[:5], confounds=confounds[:5]).shape == (5, 2)

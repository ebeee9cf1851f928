"""Groups: families and scans of one person are never divided, and exchanged in a valid way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stillome.cohort.exchange import Shuffler
from stillome.cohort.groups import (
    design_effect,
    group_levels,
    grouped_parts,
    held_out,
    renumbered,
    two_halves,
)
from stillome.evaluate.prediction.folds import inner_split, make_folds
from stillome.exceptions import InputError


@st.composite
def families(draw):
    """Scans of people of families, in any order: family, person."""
    people = draw(st.lists(st.integers(0, 6), min_size=8, max_size=24))
    visits = draw(st.lists(st.integers(1, 3), min_size=len(people), max_size=len(people)))
    rows = [(f, p) for p, (f, n) in enumerate(zip(people, visits, strict=True)) for _ in range(n)]
    return np.array(draw(st.permutations(rows)))


@settings(max_examples=60, deadline=None)
@given(families(), st.integers(0, 99))
def test_no_family_is_on_both_sides_of_any_division(scans, seed):
    levels = group_levels(scans, len(scans))
    labels, rng = levels[:, 0], np.random.default_rng(seed)
    n_families = len(np.unique(labels))
    divisions = [
        two_halves(levels, len(scans)),
        held_out(rng.permutation(len(scans)), len(scans) // 4, levels),
    ]
    if n_families > 1:
        divisions += [
            (fold.train, fold.test) for fold in make_folds(len(scans), cv=2, groups=scans)
        ]
        divisions.append(grouped_parts(labels, 2, rng))
        everybody = np.arange(len(scans))
        divisions.append(inner_split(everybody, labels, share=0.3, random_state=seed))
    for one, other in divisions:
        assert not set(scans[one, 0]) & set(scans[other, 0])
        assert sorted([*one, *other]) == list(range(len(scans)))


@settings(max_examples=60, deadline=None)
@given(families(), st.integers(0, 99))
def test_a_permutation_gives_whole_people_their_visits_in_order(scans, seed):
    levels = group_levels(scans, len(scans))
    order = Shuffler(levels).draw(np.random.default_rng(seed))
    assert sorted(order) == list(range(len(scans)))
    for person in np.unique(scans[:, 1]):
        theirs = order[scans[:, 1] == person]
        assert len(set(scans[theirs, 1])) == 1  # all motion of a person is from one other person
        assert (np.diff(levels[theirs, 2]) == 1).all()
    for family in np.unique(scans[:, 0]):
        assert len(set(scans[order[scans[:, 0] == family], 0])) == 1


def test_families_are_exchanged_and_so_are_people_in_them():
    scans = np.array([[f, 2 * f + p] for f in range(3) for p in range(2) for _ in range(2)])
    orders = Shuffler(group_levels(scans, 12)).draw_many(3000, np.random.default_rng(0))
    found, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(found) == 6 * 2**3
    assert counts.min() > 0.5 * 3000 / 48
    assert (found[:, ::2] + 1 == found[:, 1::2]).all()


def test_visits_may_be_numbered_and_labels_do_not_matter():
    people = np.array(["B", "A", "B", "A"])
    late_first = group_levels(np.column_stack([people, people, [2, 1, 1, 2]]), 4)
    assert late_first[:, 2].tolist() == [1, 0, 0, 1]
    assert renumbered(late_first)[:, 0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([["Smith", "Ann"], ["Jones", "Ann"]], "person 'Ann' is in two groups"),
        ([None, "Jones"], "label is missing"),
        (["Smith"], "expected one label"),
        (np.zeros((2, 4)), "expected one label"),
    ],
)
def test_groups_that_contradict_themselves_are_refused(groups, told):
    with pytest.raises(InputError, match=told):
        group_levels(groups, 2)


def test_people_of_whom_no_two_have_as_many_scans_cannot_be_tested():
    people = np.repeat(["A", "B", "C"], [1, 2, 3])
    levels = group_levels(np.column_stack([people, people]), 6)
    with pytest.raises(InputError, match="nothing can be permuted"):
        Shuffler(levels).check_any()
    assert Shuffler(levels).draw(np.random.default_rng(0)).tolist() == list(range(6))


def test_the_design_effect_is_that_of_the_textbook():
    rng, n_people, n_visits, share = np.random.default_rng(0), 4000, 3, 0.6
    person = np.repeat(rng.standard_normal((n_people, 5)), n_visits, axis=0)
    rows = np.sqrt(share) * person + np.sqrt(1 - share) * rng.standard_normal(person.shape)
    levels = group_levels(np.repeat(np.arange(n_people), n_visits), len(rows))
    assert design_effect(rows, levels) == pytest.approx(1 + (n_visits - 1) * share, rel=0.03)
    assert design_effect(rows, None) == 1

"""Weights that are counts in a unit of the subject: their unit must not show how much one moved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from moving_people import MovingPeople
from stillome import InvFA, InvVAE
from stillome.cohort.subject_rows import SubjectRows
from stillome.methods.own_units import CountRows, OwnUnits, subject_units
from stillome.methods.storage import load_model
from stillome.simulate import simulate_communities

PEOPLE = MovingPeople(80)
COUNTS, MOTION = PEOPLE.X, PEOPLE.motion
TOTALS = COUNTS.sum(axis=1, keepdims=True)
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")


@given(st.floats(1e-9, 1e9), st.integers(0, 2**32 - 1))
def test_the_unit_of_a_subject_is_found_from_its_multiples(unit, seed):
    counts = np.random.default_rng(seed).poisson(3.0, (5, 60))
    counts[:, 0] = 1
    assert_allclose(subject_units(counts * unit), unit, rtol=1e-9)
    assert_allclose(subject_units((counts * unit).astype(np.float32)), unit, rtol=1e-6)


def test_numbers_without_a_unit_stay_weights():
    rng = np.random.default_rng(0)
    weights = rng.gamma(2.0, 1.0, (20, 60))
    assert np.isnan(subject_units(weights)).all()
    for values in (weights, np.round(weights, 2), COUNTS, COUNTS / 2):
        rows = SubjectRows(values)
        assert CountRows.found(rows) is rows
    mixed = COUNTS / TOTALS
    mixed[3] = rng.gamma(2.0, 1.0, COUNTS.shape[1])
    assert type(CountRows.found(SubjectRows(mixed))) is SubjectRows


def test_rows_give_counts_and_know_whose_unit_is_whose():
    rows = CountRows.found(SubjectRows(COUNTS / TOTALS))
    assert_array_equal(rows[:], COUNTS)
    some = rows.some(np.array([4, 9, 70]))
    assert_array_equal(some[1:], COUNTS[[9, 70]])
    assert_allclose(some.units, 1 / TOTALS[[4, 9, 70], 0])


def test_counts_divided_by_their_total_are_adjusted_as_counts():
    fitted = InvFA(4).fit(COUNTS, confounds=MOTION)
    divided = InvFA(4).fit(1e6 * COUNTS / TOTALS, confounds=MOTION)
    assert_allclose(
        divided.transform(1e6 * COUNTS / TOTALS, confounds=MOTION),
        fitted.transform(COUNTS, confounds=MOTION),
    )
    found = divided.adjust(1e6 * COUNTS / TOTALS, confounds=MOTION, interval=0.9)
    wanted = fitted.adjust(COUNTS, confounds=MOTION, interval=0.9)
    scale = 1e6 / wanted.connectomes.sum(axis=1, keepdims=True)
    for part in ("connectomes", "lower", "upper"):
        assert_allclose(getattr(found, part), getattr(wanted, part) * scale)
    drawn = divided.adjust(1e6 * COUNTS / TOTALS, confounds=MOTION, n_draws=2)
    assert_allclose(drawn.sum(axis=2), 1e6)
    synthetic = divided.sample(5, random_state=0).connectomes
    assert_allclose(synthetic.sum(axis=(1, 2)), 2e6)


def test_a_unit_of_the_person_is_kept_and_that_of_motion_is_not():
    rng = np.random.default_rng(3)
    volume = np.exp(0.2 * rng.standard_normal(80))
    slope = 0.5 * (MOTION - MOTION.mean())
    given_, counts = (
        COUNTS * (volume * np.exp(slope))[:, None],
        InvFA(4).fit(COUNTS, confounds=MOTION),
    )
    model = InvFA(4).fit(given_, confounds=MOTION)
    adjusted = model.adjust(given_, confounds=MOTION, reference=MOTION.mean())
    plain = counts.adjust(COUNTS, confounds=MOTION, reference=MOTION.mean())
    units = np.log(adjusted.sum(axis=1) / plain.sum(axis=1))
    assert np.corrcoef(units, np.log(volume))[0, 1] > 0.95
    assert abs(np.corrcoef(units, slope)[0, 1]) < 0.05
    assert_allclose(
        model.adjust(given_[:3], confounds=MOTION[:3], reference=MOTION.mean()), adjusted[:3]
    )


def test_nobody_reads_the_nuisance_of_section_4_from_its_smallest_weight():
    simulated = simulate_communities(200, n_regions=20, random_state=5)
    X, c = simulated.X, simulated.confounds[:, :1]
    model = InvFA(5).fit(X, confounds=c)
    adjusted = model.adjust(X, confounds=c)
    smallest = np.where(adjusted > 0, adjusted, np.inf).min(axis=1)
    assert np.ptp(smallest) < 1e-9 < np.ptp(np.where(X > 0, X, np.inf).min(axis=1))


def test_a_share_of_all_fibres_does_not_show_motion():
    X = COUNTS / TOTALS
    adjusted = InvFA(4).fit(X, confounds=MOTION).adjust(X, confounds=MOTION)

    def shown(values):
        smallest = np.where(values > 0, values, np.inf).min(axis=1)
        return abs(np.corrcoef(smallest, MOTION)[0, 1])

    assert shown(X) > 0.3
    assert shown(adjusted) < 0.22  # by chance in 80 subjects, p = 0.05


@pytest.mark.parametrize("make", [lambda: InvFA(4), lambda: InvVAE(4, max_epochs=2)])
def test_stored_models_and_unknown_motion_answer_too(make, tmp_path):
    X = COUNTS * np.exp(0.3 * MOTION)[:, None]
    model = make().fit(X, confounds=MOTION)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    unknown = np.where(np.arange(80) < 3, np.nan, MOTION)
    for confounds in (MOTION, unknown):
        assert_array_equal(
            again.adjust(X, confounds=confounds), model.adjust(X, confounds=confounds)
        )
    assert_allclose(model.reconstruct(X, confounds=MOTION).sum(), X.sum(), rtol=0.2)


@pytest.mark.parametrize("units", [1 / TOTALS, np.exp(0.3 * MOTION)[:, None]])
def test_who_is_at_the_reference_comes_back(units):
    X = COUNTS * units
    model = InvFA(4).fit(X, confounds=MOTION)
    adjusted = model.adjust(X, confounds=MOTION, reference=MOTION[5])
    assert_allclose(adjusted[5], X[5], rtol=1e-12)
    assert not np.allclose(adjusted[6], X[6], rtol=1e-3)


def test_without_units_nothing_is_found():
    assert not OwnUnits.none(2).found
    assert not InvFA(4).fit(COUNTS, confounds=MOTION).model_.own_units.found

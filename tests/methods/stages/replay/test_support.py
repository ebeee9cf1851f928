"""Which values a pipeline writes: floors, steps and ceilings are found, and then kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_allclose, assert_array_equal

from stillome.methods.stages.replay.support import Support, is_counted, lattice_step

N, E = 60, 200


def scans(seed: int = 0) -> np.ndarray:
    """Counts with many ones and twos, of subjects with few and with many fibres."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(0, 0.8, (N, 1))
    return rng.poisson(size * rng.gamma(0.5, 2 * np.exp(rng.uniform(-1, 7, E)), (N, E)))


def thresholded(counts: np.ndarray, least: np.ndarray | float) -> np.ndarray:
    return np.where(counts < least, 0, counts)


@pytest.mark.parametrize("floor", [1, 3, 5])
def test_the_smallest_count_is_the_floor(floor):
    counts = thresholded(scans(), floor)
    support = Support.find(counts, 1.0)
    assert support.floor == floor and not support.is_relative
    assert support.step == 1 and support.ceiling == np.inf
    assert_array_equal(support.floors(counts), np.full((N, 1), floor))


@pytest.mark.parametrize(
    ("name", "share"), [("of_largest", 0.002), ("of_largest", 0.01), ("of_total", 0.0003)]
)
def test_floors_relative_to_a_subject_are_found(name, share):
    counts = scans()
    whole = counts.max(axis=1) if name == "of_largest" else counts.sum(axis=1)
    # Compared with the total that is written in the end.
    counts = thresholded(counts, share * whole[:, None])
    support = Support.find(counts, 1.0)
    assert support.is_relative
    assert float(getattr(support, name)) == pytest.approx(share, rel=0.1)
    assert (support.of_largest == 0) or (support.of_total == 0)
    smallest = np.where(counts > 0, counts, np.inf).min(axis=1)
    floors = support.floors(counts)[:, 0]
    assert (floors <= smallest).all() and (floors >= 0.8 * share * whole).all()


def test_a_subject_of_another_pipeline_keeps_its_own_floor():
    support = Support.find(thresholded(scans(), 3), 1.0)
    counts = np.array([[0, 3, 8, 40], [1, 0, 9, 12], [0, 0, 7, 7], [0, 0, 0, 0]])
    assert support.floors(counts).ravel().tolist() == [3, 1, 3, 3]


@pytest.mark.parametrize("share", [0.0, 0.002])
def test_an_empty_subject_has_a_floor_that_is_a_number(share):
    counts = scans()
    counts = thresholded(counts, share * counts.max(axis=1, keepdims=True))
    counts[4] = 0
    support = Support.find(counts, 1.0)
    assert np.isfinite(support.floors(counts)).all() and (support.floors(counts) >= 1).all()
    assert_array_equal(support.floors(np.zeros((2, E))), np.full((2, 1), support.floor))


def test_no_fibres_at_all_are_no_floor():
    support = Support.find(np.zeros((5, 6), int), 1.0)
    assert (support.floor, support.step, support.ceiling) == (1, 1, np.inf)
    assert not support.is_relative


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (lambda counts: counts, 1.0),
        (lambda counts: 2 * counts, 2.0),
        (lambda counts: 40_000 * counts, 40_000.0),
        (lambda counts: counts / 2, 0.5),
        (lambda counts: counts / 3, 1 / 3),
        (lambda counts: (counts / 3).astype(np.float32), 1 / 3),
        (lambda counts: counts / 4, 0.25),
        (lambda counts: np.round(counts * np.pi, 1), 0.1),
        (lambda counts: np.round(counts * np.pi, 3), 0.001),
        (lambda counts: counts * np.pi, 0.0),
        (lambda counts: (counts * np.pi).astype(np.float32), 0.0),
        (lambda counts: 1e-6 * np.pi * counts, 0.0),
        (lambda counts: 1e-4 * counts, 0.0),
        (np.zeros_like, 1.0),
    ],
)
def test_the_step_of_the_values_is_found(make, step):
    values = make(np.minimum(scans(), 300))
    assert lattice_step(values) == pytest.approx(step)


def test_means_of_a_few_scans_are_counted_and_rounded_weights_are_not():
    counts = scans()
    assert is_counted(lattice_step(counts)) and is_counted(lattice_step(counts / 4))
    assert not is_counted(lattice_step(np.round(counts * np.pi, 1)))
    assert not is_counted(lattice_step(counts * np.pi))


@given(
    values=npst.arrays(np.int64, (3, 5), elements=st.integers(0, 2**19)),
    step=st.sampled_from([1.0, 2.0, 3.0, 0.5, 0.25, 0.1, 0.01]),
)
def test_all_values_are_multiples_of_the_step(values, step):
    table = values * step
    found = lattice_step(table)
    assert found > 0
    assert_allclose(np.round(table / found) * found, table, rtol=1e-9, atol=1e-9)


def test_where_values_pile_up_is_the_ceiling():
    counts = np.minimum(scans(), 255)
    assert Support.find(counts, 1.0).ceiling == 255
    assert Support.find(counts[:1], 1.0).ceiling == np.inf  # one subject shows no rule
    assert Support.find(np.full((6, 10), 3), 1.0).ceiling == 3


def test_floors_and_ceilings_are_in_the_unit_of_the_model():
    halves = thresholded(np.minimum(scans(), 90), 3) / 2
    support = Support.find(halves, 2.0)
    assert (support.floor, support.step, support.ceiling) == (3, 1, 90)


@given(
    values=npst.arrays(np.float64, (4, 6), elements=st.floats(0, 400)),
    step=st.sampled_from([0.0, 1.0, 0.5]),
)
def test_what_is_written_is_in_the_support(values, step):
    numbers = (3.0, 0.0, 0.0, 255.0, step)
    support = Support(*(np.array(number) for number in numbers))
    written = support.written(values, np.full((4, 1), 3.0))
    assert_array_equal(written == 0, values == 0)
    assert ((written == 0) | ((written >= 3) & (written <= 255))).all()
    if step:
        assert_array_equal(written % step, 0)
    inside = (values >= 3) & (values <= 255)
    assert (np.abs(written - values)[inside] <= step / 2).all()

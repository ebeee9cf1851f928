"""What a fit in memory keeps at a time: few tables, and one design."""

import weakref

import numpy as np
import pytest

from moving_people import MovingPeople
from stillome import InvFA
from stillome.counts.block_store import MemoryStore
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.replay import presence_fit

PEOPLE = MovingPeople(60)  # fewer than edges: otherwise factors have a table of their own
WITH_FLOOR = np.where(PEOPLE.X < 3, 0, PEOPLE.X)
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")


class Kept:
    """How many objects of a kind are there at a time; some count as less than one."""

    def __init__(self) -> None:
        self.now, self.most, self.n_made = 0.0, 0.0, 0

    def add(self, made: object, size: float = 1) -> None:
        self.now, self.n_made = self.now + size, self.n_made + 1
        self.most = max(self.most, self.now)
        weakref.finalize(made, self.remove, size)

    def remove(self, size: float) -> None:
        self.now -= size


def test_a_fit_keeps_two_tables_beside_the_connectomes(monkeypatch):
    tables, make = Kept(), MemoryStore.__init__

    def made(self, shape, blocks, dtype):
        make(self, shape, blocks, dtype)
        if dtype.kind != "u":  # as the connectomes themselves
            tables.add(self, dtype.itemsize / 4)

    monkeypatch.setattr(MemoryStore, "__init__", made)
    InvFA(3).fit(WITH_FLOOR, confounds=PEOPLE.motion)
    assert tables.n_made > 6  # rounds, with counts that are drawn in place of zeros
    assert tables.most == 2  # in single precision


def test_rounds_of_presence_keep_one_design(monkeypatch):
    designs, make = Kept(), EdgeDesign.with_individual
    fit_slopes, most = presence_fit._PresenceFit.improve_slopes, []

    def made(self, *loadings):
        columns = make(self, *loadings)
        designs.add(columns)
        return columns

    def improved(self, *arguments):
        designs.most = 0
        change = fit_slopes(self, *arguments)
        most.append(designs.most)
        return change

    monkeypatch.setattr(EdgeDesign, "with_individual", made)
    monkeypatch.setattr(presence_fit._PresenceFit, "improve_slopes", improved)
    InvFA(3).fit(WITH_FLOOR, confounds=PEOPLE.motion)
    assert len(most) > 2 and max(most) == 1


def test_factors_have_the_precision_of_the_residuals():
    rng = np.random.default_rng(0)
    signal = np.outer(rng.standard_normal(80), rng.standard_normal(60))
    residual = signal + 0.1 * rng.standard_normal((80, 60))
    double, single = (
        IndividualDifferences.find(residual.astype(dtype)).per_log_rate(
            np.full(60, 2.0), np.full(60, 0.01), 80
        )
        for dtype in (np.float64, np.float32)
    )
    assert single.loadings.dtype == single.reliability.dtype == np.float32
    assert np.abs(single.loadings - double.loadings).max() < 1e-5
    assert np.abs(single.reliability - double.reliability).max() < 1e-5

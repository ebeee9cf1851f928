"""Batches of subjects from a file: the same numbers as from memory, and never all of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from moving_people import MovingPeople
from stillome import InvVAE
from stillome.counts.edge_tables import EdgeTable
from stillome.exceptions import InputError
from stillome.methods.graph_vae import person_fit
from stillome.methods.graph_vae.stored_rows import StoredRows, parts_of, rows_of, some_rows

PEOPLE = MovingPeople(60)
X, MOTION = PEOPLE.X, PEOPLE.motion
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")


def in_file(counts: EdgeTable) -> EdgeTable:
    return replace(counts, plan=replace(counts.plan, on_disk=True))


def test_rows_in_a_file_are_those_in_memory():
    table = EdgeTable.of(X)
    kept, stored = rows_of(table), rows_of(in_file(table))
    assert isinstance(stored, StoredRows) and stored.shape == X.shape
    chosen = torch.tensor([5, 0, 59, 5])
    assert torch.equal(stored.index_select(0, chosen), kept.index_select(0, chosen))
    order = torch.arange(59, -1, -1)
    for some in (some_rows(stored, order), some_rows(kept, order)):
        assert torch.equal(some.index_select(0, chosen), kept.flip(0).index_select(0, chosen))
        assert_array_equal(np.concatenate(list(parts_of(some))), X[::-1])


@pytest.mark.parametrize("departures", [{}, {"decoder": "graph", "likelihood": "poisson"}])
def test_training_from_a_file_gives_the_same_bits(departures, monkeypatch, tmp_path):
    def fitted(folder):
        model = InvVAE(4, max_epochs=3, checkpoint_dir=tmp_path / folder, **departures)
        return model.fit(X, X[:, :2].astype(float), confounds=MOTION)

    kept = fitted("a")
    monkeypatch.setattr(person_fit, "rows_of", lambda counts: rows_of(in_file(counts)))
    stored = fitted("b")
    assert_array_equal(stored.transform(X, confounds=MOTION), kept.transform(X, confounds=MOTION))
    assert_array_equal(stored.adjust(X, confounds=MOTION), kept.adjust(X, confounds=MOTION))
    names = [sorted(p.name for p in (tmp_path / folder).iterdir()) for folder in "ab"]
    assert names[0] == names[1]  # so that a training goes on wherever its rows are


def test_little_memory_changes_rounding_errors_only(monkeypatch):
    taken = []
    monkeypatch.setattr(
        person_fit, "rows_of", lambda counts: taken.append(rows_of(counts)) or taken[-1]
    )
    kept, stored = (
        InvVAE(4, max_epochs=3, memory=memory).fit(X, confounds=MOTION) for memory in (None, 20_000)
    )
    assert [isinstance(rows, StoredRows) for rows in taken] == [False, False, True, True]
    found = (model.transform(X, confounds=MOTION) for model in (stored, kept))
    assert_allclose(*found, atol=1e-3)


def test_memory_is_a_number_of_bytes():
    with pytest.raises(InputError, match="memory='much'; expected a number of bytes"):
        InvVAE(memory="much").check_parameters()

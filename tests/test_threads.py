"""Linear algebra on one thread: inside a fit, and as it was before, afterwards."""

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from moving_people import MovingPeople
from stillome import InvFA
from stillome.methods.registry import make_method
from stillome.threads import one_thread

PEOPLE = MovingPeople(40)
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")


def most_threads() -> int:
    return max(pool["num_threads"] for pool in threadpool_info())


def test_one_thread_inside_and_as_many_as_before_afterwards():
    with threadpool_limits(2):
        with one_thread():
            assert most_threads() == 1
            with one_thread():
                assert most_threads() == 1
            assert most_threads() == 1
        assert most_threads() == 2


def test_as_many_as_before_after_an_error():
    with threadpool_limits(2):
        with pytest.raises(ZeroDivisionError), one_thread():
            _ = 1 / 0
        assert most_threads() == 2


def test_inv_fa_fits_on_one_thread():
    seen = []

    class Watched(InvFA):
        def _person(self, fit, model, counts):
            seen.append(most_threads())
            return model, False

    with threadpool_limits(2):
        Watched(3).fit(PEOPLE.X, confounds=PEOPLE.motion)
        assert most_threads() == 2
    assert seen == [1]


@pytest.mark.parametrize("preset", [{}, {"preset": "published"}])
def test_the_network_trains_on_one_thread(preset):
    seen = []
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        model = make_method("inv-vae", n_components=3, max_epochs=1, **preset)
        model.set_params(callback=lambda record: seen.append(torch.get_num_threads()))
        model.fit(PEOPLE.X, confounds=PEOPLE.motion)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen and np.all(np.array(seen) == 1)

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_inputs import odd_arrays, odd_lists
from stillome.exceptions import StillomeError
from stillome.simulate import (
    simulate_cohort,
    simulate_communities,
    simulate_extreme_motion,
    simulate_scans,
)

SMALL = {
    simulate_cohort: {"n_subjects": 8},
    simulate_scans: {"n_subjects": 8},
    simulate_communities: {"n_subjects": 4, "n_regions": 6},
    simulate_extreme_motion: {"n_networks": 2, "n_regions": 6},
}
ARGUMENTS = [
    (function, name) for function in SMALL for name in inspect.signature(function).parameters
]


def affordable(value):
    """Leave out sizes that are valid and would only take long."""
    return not isinstance(value, int | np.integer) or abs(int(value)) < 20


@pytest.mark.parametrize(("function", "name"), ARGUMENTS)
@settings(max_examples=40)
@given(value=st.one_of(odd_lists, odd_arrays).filter(affordable))
def test_an_odd_argument_is_taken_or_refused_by_its_name(function, name, value):
    try:
        simulated = function(**(SMALL[function] | {name: value}))
    except StillomeError as error:
        assert name in str(error)
    else:
        assert simulated.motion_free.shape == simulated.cohort.connectomes.shape

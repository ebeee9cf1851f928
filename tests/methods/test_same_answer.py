"""What must not matter to any method: dtype, byte order, unit, order of subjects and regions.

The published networks are trained in batches of subjects from drawn first weights, both by
position. So their answers depend on the order of subjects and regions; those of others do not.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from moving_people import MovingPeople
from stillome.cohort.edges import edges_to_matrices
from stillome.methods.registry import METHODS, make_method

pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")

NETWORKS = {"inv-vae", "gate"}
DTYPES = ["u1", "i1", ">u2", ">i4", "<u8", "f2", ">f4", ">f8", "g"]
PEOPLE = MovingPeople(48)
X, MOTION = np.minimum(PEOPLE.X, 120), PEOPLE.motion
WEIGHTS = PEOPLE.X * np.random.default_rng(1).lognormal(0, 0.2, PEOPLE.X.shape) * 0.37


def adjusted(name: str, connectomes, new, motion=MOTION[:40]) -> np.ndarray:
    """Return the adjusted connectomes of others, by a model of 40 subjects."""
    quick = {"max_epochs": 2, "preset": "published"} if name == "inv-vae" else {}
    quick |= {"max_epochs": 2} if name == "gate" else {}
    model = make_method(name, n_components=4, **quick).fit(connectomes, confounds=motion)
    return model.adjust(new, confounds=MOTION[40:])


@pytest.fixture(scope="module", params=list(METHODS))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def expected(name):
    return adjusted(name, X[:40].astype(float), X[40:].astype(float))


def test_every_dtype_gives_the_answer_of_64_bit_floats(name, expected):
    for dtype in DTYPES if name not in NETWORKS else ["u1", ">f4", "g"]:
        answer = adjusted(name, X[:40].astype(dtype), X[40:].astype(dtype))
        assert answer.dtype.isnative, dtype
        assert_allclose(answer, expected, rtol=1e-9, err_msg=dtype)


def test_order_of_the_training_subjects(name, expected, request):
    if name in NETWORKS:
        reason = "batches are drawn by position"
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    order = np.random.default_rng(0).permutation(40)
    answer = adjusted(name, X[:40][order], X[40:], MOTION[:40][order])
    assert_allclose(answer, expected, rtol=1e-6, atol=1e-9)


def test_order_of_the_regions(name, expected, request):
    if name in NETWORKS:
        reason = "first weights of a network are drawn by position"
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
    order = np.random.default_rng(0).permutation(12)
    turned = edges_to_matrices(X)[:, order][:, :, order]
    answer = adjusted(name, turned[:40], turned[40:])
    back = np.argsort(order)
    assert_allclose(answer[:, back][:, :, back], edges_to_matrices(expected), rtol=1e-4, atol=1e-6)


def test_one_and_two_threads_give_the_same_bits(name, expected):
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            again = adjusted(name, X[:40].astype(float), X[40:].astype(float))
        assert_array_equal(again, expected)


@pytest.mark.parametrize("unit", [2.0**20, 2.0**-20, 1e6, 1e-6])
def test_units_of_weights(name, unit):
    expected = adjusted(name, WEIGHTS[:40], WEIGHTS[40:])
    answer = adjusted(name, WEIGHTS[:40] * unit, WEIGHTS[40:] * unit) / unit
    assert_allclose(answer, expected, rtol=1e-6, atol=1e-9)

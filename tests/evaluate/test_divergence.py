import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal, kl_divergence

from stillome.evaluate.divergence import symmetric_kl
from stillome.exceptions import InputError


def latents(seed, n=6, units=4):
    rng = np.random.default_rng(seed)
    return rng.normal(3, 2, (n, units)), rng.uniform(0.05, 2, (n, units))


def test_it_is_the_mean_of_both_directions():
    (means, stds), (others, other_stds) = latents(0), latents(1, n=5)
    found = symmetric_kl(means, stds, others, other_stds)

    def gaussians(values, spreads):
        return Independent(Normal(torch.as_tensor(values), torch.as_tensor(spreads)), 1)

    p = gaussians(means[:, None], stds[:, None])
    q = gaussians(others[None], other_stds[None])
    expected = (kl_divergence(p, q) + kl_divergence(q, p)) / 2
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-9)


def test_among_themselves_it_is_symmetric_and_nothing_to_oneself():
    found = symmetric_kl(*latents(2))
    np.testing.assert_allclose(found, found.T, rtol=1e-9)
    assert (found.diagonal() == 0).all()
    assert (found[~np.eye(6, dtype=bool)] > 0).all()


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (([[0.0, 1.0]], [[1.0]]), "shape"),
        (([[0.0]], [[0.0]]), "not above 0"),
        (([[0.0]], [[1.0]], [[0.0]]), "both"),
        (([[0.0]], [[1.0]], [[0.0, 1.0]], [[1.0, 1.0]]), "one model"),
    ],
)
def test_what_is_no_pair_of_gaussians_is_refused(given, word):
    with pytest.raises(InputError, match=word):
        symmetric_kl(*given)

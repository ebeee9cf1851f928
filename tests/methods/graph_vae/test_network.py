import itertools

import numpy as np
import pytest
import torch

from network_samples import V, make_module, make_noise, make_subjects, seeded
from stillome.methods.graph_vae.equations import (
    kl_to_marginal,
    kl_to_prior,
    poisson_log_likelihood,
    reparameterise,
)
from stillome.methods.graph_vae.layers import neighbor_mask
from stillome.methods.graph_vae.network import Architecture, GraphVAEModule


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("c", [0, 1, 3])
def test_every_trainable_tensor_receives_a_gradient(layers: int, c: int) -> None:
    module = make_module(c=c, t=2, layers=layers)
    module.loss(make_subjects(7, c=c, t=2), make_noise(1, 7), 1.0).total.mean().backward()
    empty = [n for n, p in module.named_parameters() if p.grad is None or not p.grad.any()]
    assert empty == []


def test_baseline_and_dimension_weights_are_trained_and_saved() -> None:
    module = make_module()
    names = {"decoder.baseline", "decoder.free_weights", "log_sigma"}
    assert names <= set(dict(module.named_parameters()))
    assert names <= set(module.state_dict())
    assert (module.decoder.dimension_weights > 0).all()


@pytest.mark.parametrize("k", [1, 3, V, 11])
def test_latent_size_need_not_be_the_number_of_regions(k: int) -> None:
    loss = make_module(k=k).loss(make_subjects(5), make_noise(1, 5, k), 1.0)
    assert loss.total.shape == (5,)
    assert loss.posterior.mean.shape == (5, k)


def test_the_network_of_table_1_is_small() -> None:
    mask = torch.from_numpy(neighbor_mask(np.random.default_rng(0).random((68, 68)), 32, 5))
    module = GraphVAEModule(Architecture(68, (256,), 2, 1, 1), mask, seeded())
    assert sum(p.numel() for p in module.parameters()) < 1_000_000


def test_loss_is_the_equations_put_together() -> None:
    module, subjects, noise = make_module(t=0), make_subjects(6, t=0), make_noise(3, 6)
    loss = module.loss(subjects, noise, 2.0)
    posterior = module.inference(subjects.inputs)
    z = reparameterise(*posterior, noise)
    likelihood = torch.stack(
        [
            poisson_log_likelihood(subjects.counts, module.generative(each, subjects.confounds))
            for each in z
        ]
    ).mean(0)
    prior = kl_to_prior(*posterior).sum(1)
    marginal = kl_to_marginal(*posterior)
    torch.testing.assert_close(loss.nll, -likelihood)
    torch.testing.assert_close(loss.total, -(3 * likelihood - 2 * marginal - prior))


def test_half_the_batch_gives_the_same_loss_per_subject() -> None:
    module, subjects, noise = make_module(), make_subjects(6), make_noise(1, 6)
    whole = module.loss(subjects, noise, 1.0)
    part = module.loss(subjects.take(torch.arange(3)), noise[:, :3], 1.0)
    for name in ("nll", "kl", "trait_nll"):
        torch.testing.assert_close(getattr(part, name), getattr(whole, name)[:3])
    halves = []
    for rows in itertools.combinations(range(6), 3):
        chosen = torch.tensor(rows)
        halves.append(module.loss(subjects.take(chosen), noise[:, chosen], 1.0).total.mean())
    torch.testing.assert_close(torch.stack(halves).mean(), whole.total.mean())


def test_reconstruction_stays_when_the_invariance_weight_is_zero() -> None:
    module, subjects, noise = make_module(), make_subjects(6), make_noise(1, 6)
    loss = module.loss(subjects, noise, 0.0)
    torch.testing.assert_close(loss.total, loss.nll + loss.trait_nll + loss.kl)
    loss.total.mean().backward()
    assert module.decoder.baseline.grad.abs().sum() > 0


def test_the_encoder_does_not_see_the_confounds_and_the_decoder_does() -> None:
    module, subjects, noise = make_module(), make_subjects(6), make_noise(1, 6)
    moved = subjects._replace(confounds=subjects.confounds + 1)
    here, there = (module.loss(s, noise, 1.0) for s in (subjects, moved))
    assert torch.equal(here.posterior.mean, there.posterior.mean)
    assert not torch.allclose(here.nll, there.nll)


def test_traits_do_not_change_the_likelihood_of_counts() -> None:
    module, subjects, noise = make_module(), make_subjects(6), make_noise(1, 6)
    other = subjects._replace(traits=torch.full_like(subjects.traits, torch.nan))
    here, there = (module.loss(s, noise, 1.0) for s in (subjects, other))
    assert torch.equal(here.nll, there.nll)
    assert there.trait_nll.tolist() == [0.0] * 6


def test_the_average_subject_starts_as_the_mean_network() -> None:
    module = make_module()
    zero = torch.zeros(1, 4, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)
    rate = module.generative(*zero).exp()
    torch.testing.assert_close(rate, torch.full_like(rate, 5.0), rtol=1e-5, atol=0)


def test_building_a_network_leaves_the_global_generator_alone() -> None:
    before = torch.random.get_rng_state()
    make_module()
    assert torch.equal(before, torch.random.get_rng_state())

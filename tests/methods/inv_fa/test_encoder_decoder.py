"""FactorEncoder and decoder, against planted individual differences."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.methods.inv_fa.decoder import Decoder
from stillome.methods.inv_fa.decoder_fit import fit_decoder
from stillome.methods.inv_fa.encoder import encoder_input, fit_encoder
from stillome.methods.inv_fa.remaining import fit_association
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.basis import MotionBasis, MotionFunctions
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.effect import log_means
from stillome.methods.stages.motion_effect.effect_fit import fit_motion_effect

V, N, K = 20, 400, 3
E = V * (V - 1) // 2


class Planted:
    """Counts of subjects who differ by K factors, with fibres lost to motion."""

    def __init__(self, seed: int = 0, *, size: float = 0.3, correlation: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        log_motion = rng.standard_normal(N)
        self.factors = rng.standard_normal((N, K))
        self.factors[:, 0] = (
            correlation * log_motion + np.sqrt(1 - correlation**2) * self.factors[:, 0]
        )
        motion = np.exp(0.5 * log_motion)[:, None]
        basis = MotionBasis.fit(motion)
        self.motion = MotionFunctions.given(basis(motion), None)
        self.loadings = size * rng.standard_normal((K, E))
        self.level = rng.uniform(1, 5, E) - 0.3 * motion + self.factors @ self.loadings
        self.counts = rng.poisson(np.exp(self.level) * rng.gamma(20, 1 / 20, (N, E)))
        self.counts = self.counts.astype(np.float32)
        self.design = EdgeDesign.from_edges(log_means(self.counts), None, V)
        self.effect = fit_motion_effect(self.counts, self.motion.values, self.design)
        self.values = encoder_input(self.counts, self.effect, self.motion.values, whole=True)
        self.encoder = fit_encoder(self.values, self.motion, self.design, 8)
        self.latent = self.encoder.encode(self.values, self.motion.values)
        self.shares = basis.confound_shares

    def decode(self, counts: np.ndarray) -> Decoder:
        functions = self.motion.values
        return fit_decoder(counts, self.effect, functions, self.latent, self.shares)


@pytest.fixture(scope="module")
def planted() -> Planted:
    return Planted()


def explained(target: np.ndarray, by: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(by)), by])
    rest = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return 1 - rest.var(axis=0) / target.var(axis=0)


def test_input_of_counts_is_standard_at_any_motion(planted):
    quiet = planted.motion.values[:, 0] < 0
    for group in (quiet, ~quiet):
        assert_allclose(planted.values[group].mean(), 0, atol=0.1)
        assert_allclose(planted.values[group].std(), 1, atol=0.25)


def test_z_holds_the_factors_and_not_motion(planted):
    assert (explained(planted.factors, planted.latent) > 0.95).all()
    assert explained(planted.motion.values[:, :1], planted.latent)[0] < 0.03


def test_units_that_would_hold_noise_stay_empty(planted):
    used = planted.latent.std(axis=0) > 0
    assert K <= used.sum() < 8
    assert_allclose(planted.encoder.posterior_sd[~used], 1)
    # Mean and posterior variance make up the prior's.
    total = planted.latent.var(axis=0) + planted.encoder.posterior_sd**2
    assert_allclose(total[used], 1, atol=0.1)


def test_without_individual_differences_z_is_empty():
    alike = Planted(1, size=0.0)
    assert (alike.latent.var(axis=0) > 0.01).sum() <= 1


def test_the_correlation_of_z_with_motion_is_removed():
    correlated = Planted(2, correlation=0.7)
    assert explained(correlated.motion.values[:, :1], correlated.factors)[0] > 0.3
    assert explained(correlated.motion.values[:, :1], correlated.latent)[0] < 0.05


def test_associations_within_chance_are_left_in(planted):
    rng = np.random.default_rng(3)
    latent = rng.standard_normal((N, 20))
    slopes = fit_association(latent, planted.motion)
    raw = planted.motion.values.T @ latent / N
    assert np.linalg.norm(slopes) < 0.6 * np.linalg.norm(raw)
    strong = latent + 2 * planted.motion.values[:, :1]
    assert_allclose(fit_association(strong, planted.motion)[0], 2, atol=0.2)


def test_a_spread_of_z_that_grows_with_motion_is_levelled(planted):
    rng = np.random.default_rng(4)
    function = planted.motion.values[:, :1]
    factors = rng.standard_normal((N, 2)) * np.exp(0.5 * np.clip(function, -2, 2))
    values = (factors @ rng.standard_normal((2, E)) + rng.standard_normal((N, E))).astype(
        np.float32
    )
    encoder = fit_encoder(values, planted.motion, planted.design, 5)
    latent = encoder.encode(values, planted.motion.values)
    moved = np.abs(np.corrcoef(np.log(np.abs(factors)).T, function.T)[-1, :-1])
    left = np.abs(np.corrcoef(np.log(np.abs(latent[:, :2])).T, function.T)[-1, :-1])
    assert (moved > 0.2).all() and (left < 0.12).all()


def test_units_that_noise_makes_less_clear_are_as_spread_at_any_motion(planted):
    rng = np.random.default_rng(7)
    function = np.clip(planted.motion.values[:, 0], -2, 2)
    factors, loadings = rng.standard_normal((N, 25)), rng.standard_normal((25, E))
    seen = factors @ (np.geomspace(1, 0.15, 25)[:, None] * loadings)
    seen += np.exp(0.5 * function)[:, None] * rng.standard_normal((N, E))
    values = (seen / seen.std(axis=1, keepdims=True)).astype(np.float32)
    encoder = fit_encoder(values, planted.motion, planted.design, 30)
    clear, unclear = encoder.unit_scale[0, :5], encoder.unit_scale[0, 15:20]
    assert clear.max() < unclear.min() and clear.mean() < -0.05
    latent = encoder.encode(values, planted.motion.values)
    before = encoder.decoder_input(
        latent, np.zeros_like(planted.motion.values), planted.motion.values
    )
    slopes = [np.polyfit(function, np.log(np.abs(z[:, :10])), 1)[0] for z in (before, latent)]
    assert abs(slopes[1].mean()) < 0.3 * abs(slopes[0].mean())


def test_a_direction_whose_variance_changes_is_centred_too(planted):
    rng = np.random.default_rng(5)
    function = planted.motion.values[:, :1]
    factors = rng.standard_normal((N, 20))
    # One direction of twenty: stretched by motion, and moved by less than the chance of them all.
    stretched = factors[:, :1] * np.exp(0.6 * np.clip(function, -2, 2)) + 0.25 * function
    factors = np.hstack([stretched, factors[:, 1:]])
    values = (factors @ rng.standard_normal((20, E)) + rng.standard_normal((N, E))).astype(
        np.float32
    )
    encoder = fit_encoder(values, planted.motion, planted.design, 25)
    latent = encoder.encode(values, planted.motion.values)
    assert encoder.directions.shape[1] == 1
    moved, left = (
        abs(np.corrcoef((table @ encoder.directions)[:, 0], function[:, 0])[0, 1])
        for table in (
            encoder.decoder_input(latent, planted.motion.values, planted.motion.values),
            latent,
        )
    )
    assert moved > 0.12 and left < 0.06


def test_differences_are_not_mistaken_for_what_is_left_of_motion(planted):
    leaks = [_leakage_in_new_subjects(planted, seed) for seed in range(16)]
    assert np.mean(leaks) < 0.004


def _leakage_in_new_subjects(planted: Planted, seed: int) -> float:
    """Return R² of motion from z of new subjects, where every edge has an effect of its own."""
    rng = np.random.default_rng([seed, 6])
    effect, loadings = 0.1 * rng.standard_normal((1, E)), 0.2 * rng.standard_normal((2, E))

    def seen(functions: np.ndarray) -> np.ndarray:
        factors = rng.standard_normal((len(functions), 2)) @ loadings
        noise = rng.standard_normal((len(functions), E))
        return (functions[:, :1] @ effect + factors + noise).astype(np.float32)

    few = MotionFunctions.given(planted.motion.values[:80].astype(float), None)
    encoder = fit_encoder(seen(few.values), few, planted.design, 10)
    latent = encoder.encode(seen(planted.motion.values), planted.motion.values)
    used = latent[:, latent.std(axis=0) > 0]
    return float(explained(planted.motion.values[:, :1], used)[0]) - used.shape[1] / N


def test_decoded_rates_are_those_of_the_subject(planted):
    decoder = planted.decode(planted.counts)
    rates = decoder.log_rates(planted.effect, planted.motion.values, planted.latent)
    errors = (rates - planted.level).std(axis=0)
    spread = (planted.factors @ planted.loadings).std(axis=0)
    assert np.median(errors) < 0.4 * np.median(spread)
    assert abs((rates - planted.level).mean()) < 0.05
    assert_allclose(np.median(decoder.dispersion), 0.05, atol=0.025)


def test_empty_units_change_nothing_in_the_decoder(planted):
    active = planted.latent.any(axis=0)
    assert 0 < active.sum() < len(active)
    arguments = planted.counts, planted.effect, planted.motion.values
    whole, some, none = (
        fit_decoder(*arguments, latent, planted.shares)
        for latent in (planted.latent, planted.latent[:, active], np.zeros((N, 2)))
    )
    assert_allclose(whole.loadings[active], some.loadings, atol=1e-5)
    assert_allclose(whole.susceptibility[:, active], some.susceptibility, atol=1e-5)
    assert not whole.loadings[~active].any() and not whole.susceptibility[:, ~active].any()
    assert none.loadings.shape == (2, E) and not none.loadings.any()


def test_rare_edges_of_many_subjects_need_no_more_iterations(planted):
    rng = np.random.default_rng(8)
    functions = np.resize(planted.motion.values, (20 * N, planted.motion.values.shape[1]))
    latent = rng.standard_normal((len(functions), K))
    # Rates of rare edges follow z exponentially, and so does the weight of every subject.
    loadings = rng.choice([-0.7, 0.7], (K, E))
    effect = replace(planted.effect, baseline=np.full(E, -2.0))
    counts = rng.poisson(np.exp(effect.log_rates(functions) + latent @ loadings))
    iterations = Iterations()
    decoder = fit_decoder(counts, effect, functions, latent, planted.shares, iterations=iterations)
    assert iterations.n_iter["decoder"] <= 12
    assert_allclose(decoder.loadings, loadings, atol=0.15)
    assert_allclose(decoder.offset, 0, atol=0.2)


def test_weights_lose_the_effect_of_motion_by_division(planted):
    values = encoder_input(planted.counts, planted.effect, planted.motion.values, whole=False)
    moved = planted.motion.values @ planted.effect.slopes
    assert_allclose(np.expm1(values), planted.counts * np.exp(-moved), rtol=1e-3, atol=1e-3)


def test_edges_without_a_fibre_carry_no_weight(planted):
    counts = np.where(np.arange(E) < 5, 0, planted.counts).astype(np.float32)
    values = encoder_input(counts, planted.effect, planted.motion.values, whole=False)
    encoder = fit_encoder(values, planted.motion, planted.design, 8)
    assert np.isfinite(encoder.weights).all()
    assert_allclose(encoder.weights[:5], 0, atol=1e-12)

"""Signal and noise in a spectrum: random matrix theory against simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.methods.stages.motion_effect.spectrum import leading_factors, noise_median

SHAPES = [(150, 600), (600, 150), (300, 300)]


def centred_noise(shape: tuple[int, int], seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(shape)
    return noise - noise.mean(axis=0)


def with_spikes(shape: tuple[int, int], strengths: tuple[float, ...], seed: int):
    rng = np.random.default_rng(seed)
    subjects = rng.standard_normal((shape[0], len(strengths)))
    directions = np.linalg.qr(rng.standard_normal((shape[1], len(strengths))))[0]
    signal = subjects * np.sqrt(strengths) @ directions.T
    table = signal + rng.standard_normal(shape)
    return table - table.mean(axis=0), subjects, directions


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_noise_alone_has_no_signal(shape, seed):
    spectrum = leading_factors(3 * centred_noise(shape, seed), 20)
    assert spectrum.n_signal <= 1
    assert abs(spectrum.noise - 9) < 0.5
    assert (spectrum.reliability()[1:] == 0).all()


def test_dimensions_taken_out_before_do_not_count_as_noise():
    table = centred_noise((60, 600), 8)
    taken = np.linalg.qr(np.random.default_rng(9).standard_normal((60, 12)))[0]
    table = table - taken @ (taken.T @ table)
    assert leading_factors(table, 5, n_lost=13).noise > 1.05 * leading_factors(table, 5).noise


def test_a_table_that_has_lost_everything_has_no_signal():
    spectrum = leading_factors(np.zeros((10, 45)), 3, n_lost=10)
    assert spectrum.n_signal == 0 and np.isfinite(spectrum.noise)


@pytest.mark.parametrize("shape", SHAPES)
def test_planted_factors_are_found(shape):
    strengths = (60.0, 40.0, 25.0)
    table, subjects, _ = with_spikes(shape, strengths, 3)
    spectrum = leading_factors(table, 20)
    assert spectrum.n_signal == 3
    correlation = np.abs(np.corrcoef(spectrum.scores[:, :3].T, subjects.T)[:3, 3:])
    assert (correlation.diagonal() > 0.85).all()
    assert_allclose(spectrum.signal_variances()[:3], strengths, rtol=0.35)


@pytest.mark.parametrize("shape", SHAPES)
def test_reliability_is_the_squared_cosine_with_the_truth(shape):
    table, _, directions = with_spikes(shape, (50.0, 20.0), 4)
    spectrum = leading_factors(table, 5)
    found = table.T @ spectrum.scores[:, :2]
    found /= np.linalg.norm(found, axis=0)
    cosine = ((found.T @ directions) ** 2).sum(axis=1)
    assert_allclose(spectrum.reliability()[:2], cosine, atol=0.08)


@pytest.mark.parametrize("shape", SHAPES)
def test_both_sides_agree_with_the_singular_values(shape):
    table, _, _ = with_spikes(shape, (30.0, 10.0), 5)
    spectrum = leading_factors(table, 6)
    left, singular, _ = np.linalg.svd(table, full_matrices=False)
    assert_allclose(spectrum.variances, singular[:6] ** 2 / max(shape), rtol=1e-6)
    assert_allclose(np.abs((left[:, :6] * spectrum.scores).sum(axis=0)), 1, atol=1e-6)
    assert_allclose(spectrum.scores.T @ spectrum.scores, np.eye(6), atol=1e-6)


def test_a_table_of_constants_has_nothing_in_it():
    spectrum = leading_factors(np.zeros((30, 50)), 5)
    assert spectrum.n_signal == 0 and (spectrum.reliability() == 0).all()


@pytest.mark.parametrize("ratio", [0.05, 0.2, 0.5, 0.9, 1.0])
def test_median_of_noise_against_simulation(ratio):
    width = 800
    noise = np.random.default_rng(6).standard_normal((round(ratio * width), width))
    values = np.linalg.eigvalsh(noise @ noise.T / width)
    assert abs(noise_median(ratio) - np.median(values)) < 0.02


@pytest.mark.parametrize("n_copies", [2, 6])
def test_copies_of_a_few_subjects_have_as_many_factors_as_subjects_less_one(n_copies):
    one = np.random.default_rng(0).standard_normal((25, 300)).astype(np.float32)
    table = np.tile(one - one.mean(axis=0), (n_copies, 1))
    # The others are rounding errors of single precision.
    assert leading_factors(table, 60).n_signal == 24

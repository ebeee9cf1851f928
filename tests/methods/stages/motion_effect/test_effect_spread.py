"""Differing strengths of the motion effect: their spread is found, and none where there is none."""

import numpy as np
import pytest

from stillome.methods.stages.motion_effect.effect import MotionEffect
from stillome.methods.stages.motion_effect.effect_spread import fit_effect_spread

N, E = 600, 400


def scans(spread: float, seed: int = 0, n: int = N, persons: float = 0.2):
    """Counts, the average effect and functions of motion; strengths differ by `spread`."""
    rng = np.random.default_rng(seed)
    motion = rng.lognormal(0, 0.5, (n, 1))
    functions = (motion - motion.mean()) / motion.std()
    slopes, baseline = rng.normal(-0.25, 0.05, (1, E)), rng.uniform(1, 5, E)
    # The baseline is that of average motion, without motion it is higher.
    least = functions.min()
    strength = 1 + spread * rng.standard_normal((n, 1))
    log_rates = baseline + least * slopes + strength * ((functions - least) @ slopes)
    person = rng.standard_normal((n, 3)) @ rng.normal(0, persons, (3, E))
    counts = rng.poisson(np.exp(log_rates + person) * rng.gamma(10, 0.1, (n, E)))
    none = np.zeros(1)
    nothing, errors = np.zeros((1, E)), np.zeros((1, 0, E))
    effect = MotionEffect(baseline, slopes, np.full(E, 0.1), none, nothing, errors, none)
    return counts.astype(np.float32), effect, functions.astype(np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_no_spread_is_found_where_there_is_none(seed):
    assert fit_effect_spread(*scans(0.0, seed)) < 0.12


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spread", [0.3, 0.5])
def test_the_planted_spread_is_found(spread, seed):
    assert fit_effect_spread(*scans(spread, seed)) == pytest.approx(spread, abs=0.15)


def test_more_spread_is_more():
    found = [fit_effect_spread(*scans(spread, 1)) for spread in (0.0, 0.25, 0.5, 0.75)]
    assert (np.diff(found) > 0).all()


def test_it_stays_within_its_bound_and_finite():
    assert 0 < fit_effect_spread(*scans(3.0)) <= 1
    counts, effect, functions = scans(0.3)
    assert fit_effect_spread(counts[:2], effect, functions[:2]) == 0
    same = np.zeros_like(functions)
    assert fit_effect_spread(counts, effect, same) == 0
    assert np.isfinite(fit_effect_spread(np.zeros_like(counts), effect, functions))

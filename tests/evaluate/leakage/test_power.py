"""The smallest leakage that a certificate would have detected."""

import numpy as np
import pytest

from stillome.evaluate.leakage.power import smallest_detected, smallest_detected_in_latents

SIZES = (60, 300)
GIVEN = {"level": 0.01, "n_permutations": 200}


def divisions(n, rng, repeats=2):
    return [rng.permutation(np.arange(n) % 3) for _ in range(repeats)]


def people(n):
    """Counts as scanned and without motion, motion, and how subjects are divided."""
    rng = np.random.default_rng(6)
    motion = rng.gamma(2.0, 0.2, n)
    free = rng.poisson(30.0, (n, 21))
    raw = rng.binomial(free, np.exp(-motion)[:, None])
    return raw, free, motion, divisions(n, rng)


@pytest.fixture(scope="module")
def found():
    """The power in connectomes by the number of subjects."""
    return {
        n: smallest_detected([free] * 2, raw, motion, within=within, **GIVEN)
        for n, (raw, free, motion, within) in ((n, people(n)) for n in SIZES)
    }


def test_the_more_subjects_the_smaller_the_leakage_that_is_detected(found):
    assert 0 < found[300].share < 0.6 * found[60].share < 0.6
    assert 0 < found[300].r2 < found[60].r2


def test_what_adjusting_has_left_does_not_change_the_power_much(found):
    """Leakage is put into connectomes of other subjects, which have none."""
    raw, free, motion, within = people(300)
    left = np.expm1(np.log1p(free) + 0.3 * (np.log1p(raw) - np.log1p(free)))
    leaking = smallest_detected([left] * 2, raw, motion, within=within, **GIVEN)
    # 70 % of the effect was removed, so that the same effect is a larger share of that.
    assert found[300].share < leaking.share < 2 * found[300].share


def test_where_nothing_was_removed_there_is_no_effect_to_put_back():
    _, free, motion, within = people(60)
    assert np.isnan(smallest_detected([free] * 2, free, motion, within=within, **GIVEN).share)


def test_the_share_of_motion_in_z_that_is_detected_falls_with_the_number_of_subjects():
    shares = {}
    for n in SIZES:
        _, _, motion, within = people(n)
        latents = np.random.default_rng(n).standard_normal((n, 6))
        one = smallest_detected_in_latents([latents] * 2, motion, within=within, **GIVEN)
        # A probe reads less than there is, and at least part of it.
        assert 0 < one.r2 < one.share
        shares[n] = one.share
    assert 0 < shares[300] < 0.4 * shares[60] < 0.4


def test_motion_that_z_has_already_does_not_count():
    _, _, motion, within = people(300)
    latents = np.random.default_rng(300).standard_normal((300, 6))
    given = {"within": within, **GIVEN}
    clean = smallest_detected_in_latents([latents] * 2, motion, **given)
    leaking = latents + 2 * np.outer(motion, np.ones(6))
    assert 0.5 * clean.share < smallest_detected_in_latents([leaking] * 2, motion, **given).share


def test_the_same_seed_gives_the_same_power_and_features_on_any_scale(found):
    raw, free, motion, within = people(60)
    assert smallest_detected([free] * 2, raw, motion, within=within, **GIVEN) == found[60]
    latents = np.random.default_rng(1).standard_normal((60, 6))
    one, large = (
        smallest_detected_in_latents([scale * latents] * 2, motion, within=within, **GIVEN).share
        for scale in (1, 1000)
    )
    assert one == large


def test_empty_units_of_z_change_nothing():
    rng = np.random.default_rng(0)
    motion, Z = rng.gamma(2.0, 0.2, 200), rng.standard_normal((200, 6))
    # Rounding errors in units that hold nothing, as after a regression of zeros.
    empty = 1e-17 * rng.standard_normal((200, 5))
    power = smallest_detected_in_latents([Z], motion, level=0.01)
    with_empty = smallest_detected_in_latents([np.hstack([Z, empty])], motion, level=0.01)
    assert with_empty.share == pytest.approx(power.share, abs=0.03)
    assert with_empty.r2 < 0.2

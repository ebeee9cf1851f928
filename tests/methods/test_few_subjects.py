"""Few subjects, several confounds: a fit is refused, or unseen subjects keep their totals."""

import functools
import re

import numpy as np
import pytest

from stillome.exceptions import ConfoundsError
from stillome.methods import METHODS, make_method
from stillome.simulate import simulate_cohort

MEASURES = ["rms_mm", "translation_mm", "rotation_rad", "n_outlier_slices"]
REGIONS = np.random.default_rng(9).permutation(68)[:12]
N_UNSEEN = 60
LARGEST_FACTOR = 3.0  # or what it is where nothing is adjusted, if that is more
# SOG answers with what its components hold of a person, which is little with 12 subjects.
LARGEST = {"sog": 5.0}
NETWORKS = ("inv-vae", "gate")  # of torch; as published they decode, and extrapolate nothing


@functools.cache
def some_people(n: int, n_confounds: int, *, noise: bool, seed: int):
    """Return connectomes, confounds and motion-free connectomes of n and of unseen subjects."""
    simulated = simulate_cohort(n + N_UNSEEN, random_state=seed)
    cut = np.ix_(range(n + N_UNSEEN), REGIONS, REGIONS)
    motion = simulated.cohort.motion[MEASURES].to_numpy(float)
    if noise:
        rest = np.random.default_rng(seed).lognormal(size=(len(motion), n_confounds - 1))
        motion = np.column_stack([motion[:, 0], rest])
    return simulated.cohort.connectomes[cut], motion[:, :n_confounds], simulated.motion_free[cut]


def worst_factor(method: str, n: int, n_confounds: int, *, noise: bool, seed: int) -> float:
    """Return by what factor the total of an unseen subject is off, at the worst."""
    X, confounds, truth = some_people(n, n_confounds, noise=noise, seed=seed)
    model = make_method(method).fit(X[:n], confounds=confounds[:n])
    adjusted = model.adjust(X[n:], confounds=confounds[n:])
    factors = adjusted.sum((1, 2)) / truth[n:].sum((1, 2))
    return float(np.maximum(factors, 1 / factors).max())


@pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")
@pytest.mark.parametrize("method", [name for name in METHODS if name not in NETWORKS])
@pytest.mark.parametrize(
    ("n_confounds", "noise"), [(1, False), (2, False), (4, False), (5, True)], ids=str
)
def test_totals_of_unseen_subjects_are_kept_or_the_fit_refused(method, n_confounds, noise):
    for n in (12, 20, 50):
        used = n
        try:
            factor = worst_factor(method, n, n_confounds, noise=noise, seed=n)
        except ConfoundsError as refusal:
            enough = int(re.search(r"(\d+) would do", str(refusal))[1])
            assert enough > n
            used = enough
            factor = worst_factor(method, enough, n_confounds, noise=noise, seed=n)
        unadjusted = worst_factor("raw", used, n_confounds, noise=noise, seed=n)
        assert factor < max(LARGEST.get(method, LARGEST_FACTOR), unadjusted), (n, factor)


def test_sites_need_fewer_subjects_than_measures_of_motion():
    X, motion, _ = some_people(20, 1, noise=False, seed=0)
    sites = np.eye(5)[np.arange(len(X)) % 5, 1:]
    confounds = np.column_stack([motion, sites])
    make_method("edgewise").fit(X[:20], confounds=confounds[:20])
    with pytest.raises(ConfoundsError, match=r"12 subjects are too few .* 18 would do"):
        make_method("edgewise").fit(X[:12], confounds=confounds[:12])

"""Realistic cohorts: they look like the studies, leak motion, and their truth does not."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stillome.cohort.edges import matrices_to_edges
from stillome.counts.negative_binomial import nb_cdf, nb_pmf
from stillome.exceptions import InputError
from stillome.simulate import REGIMES, load_desikan_killiany, simulate_cohort
from stillome.simulate.population import features, susceptibility

N = 300


@pytest.fixture(scope="module", params=list(REGIMES))
def simulated(request):
    return simulate_cohort(N, request.param, random_state=11)


def rates_of(simulated):
    oracle = simulated.oracle
    return oracle.population.rates(oracle.regime, oracle.latents, oracle.motion)


def leakage(edges, target):
    probe = make_pipeline(StandardScaler(), RidgeCV(np.logspace(2, 7, 11)))
    folds = KFold(5, shuffle=True, random_state=0)
    return r2_score(target, cross_val_predict(probe, np.log1p(edges), target, cv=folds))


def motion_beyond_latents(simulated):
    """Log motion without what the latents say of it, which motion-free scans may rightly know."""
    motion = np.log(simulated.confounds[:, 0])
    known = np.column_stack([np.ones(N), simulated.latents])
    return motion - known @ np.linalg.lstsq(known, motion, rcond=None)[0]


def test_it_looks_like_a_study(simulated):
    X, means = simulated.X, simulated.X_free.mean(axis=0)
    assert X.dtype.kind == "i"
    assert simulated.motion_free.dtype == simulated.cohort.connectomes.dtype
    assert 0.2 < (X == 0).mean() < 0.5
    assert np.quantile(means, 0.05) < 0.1
    assert 1000 < means.max() < 50_000
    lengths = matrices_to_edges(simulated.cohort.lengths[None])[0]
    assert stats.spearmanr(means, lengths).statistic < -0.4
    # Wider than Poisson given the rates, which is what the negative binomial is for.
    rates = rates_of(simulated)
    busy = means > 20
    excess = (simulated.X_free - rates.free)[:, busy].var(axis=0) / rates.free[:, busy].mean(axis=0)
    assert np.median(excess) > 2


def test_motion_is_skewed_and_costs_fibres(simulated):
    motion = simulated.cohort.motion
    assert (motion >= 0).all().all()
    assert stats.skew(motion["rms_mm"]) > 0.5
    assert motion["rms_mm"].median() == pytest.approx(0.3, abs=0.04)
    for column in ("translation_mm", "rotation_rad", "n_outlier_slices"):
        assert stats.spearmanr(motion["rms_mm"], motion[column]).statistic > 0.5
    rates = rates_of(simulated)
    groups = simulated.cohort.motion_groups("rms_mm")
    kept = (rates.survival * np.exp(simulated.oracle.population.baseline)).sum(axis=1)
    cost = 1 - kept[groups.large].mean() / kept[groups.small].mean()
    assert cost == pytest.approx(0.28, abs=0.05)


def test_raw_data_leak_motion_and_the_truth_does_not(simulated):
    target = motion_beyond_latents(simulated)
    assert leakage(simulated.X, target) > 0.2
    assert leakage(simulated.X_free, target) < 0.05
    assert leakage(matrices_to_edges(simulated.oracle_adjust(1), check=False), target) < 0.05


def assert_follows(counts, mean, size):
    """Ask a sample of the edges, by randomised probability integral transforms."""
    rng, some = np.random.default_rng(0), slice(None, None, 19)
    counts, mean, size = (a[:, some] for a in np.broadcast_arrays(counts, mean, size))
    pit = nb_cdf(counts, mean, size) - rng.random(counts.shape) * nb_pmf(counts, mean, size)
    assert stats.kstest(pit.ravel(), "uniform").pvalue > 1e-3


def test_every_count_follows_its_law(simulated):
    rates = rates_of(simulated)
    assert_follows(simulated.X, rates.free * rates.survival, rates.size)
    assert_follows(simulated.X_free, rates.free, rates.free_size)
    drawn = matrices_to_edges(simulated.oracle_adjust(2), check=False)
    assert_follows(drawn, rates.free, rates.free_size)


def test_the_oracle_is_nearer_to_the_truth_than_the_raw_data(simulated):
    truth = np.log1p(simulated.X_free)
    drawn = np.log1p(matrices_to_edges(simulated.oracle_adjust(3), check=False))
    error = ((drawn - truth) ** 2).sum()
    assert error < 0.8 * ((np.log1p(simulated.X) - truth) ** 2).sum()
    assert error < 0.4 * ((truth - truth.mean(axis=0)) ** 2).sum()
    assert error > 0  # it does not know the noise


def test_traits_are_explained_as_recorded():
    simulated = simulate_cohort(3000, "thinning", n_traits=2, random_state=4)
    known = np.column_stack([np.ones(3000), simulated.latents])
    for name, values in simulated.cohort.traits.items():
        fitted = known @ np.linalg.lstsq(known, values, rcond=None)[0]
        assert r2_score(values, fitted) == pytest.approx(simulated.explained[name], abs=0.05)
        assert values.mean() == pytest.approx(100, abs=1.5)
        assert abs(np.corrcoef(values, simulated.confounds[:, 0])[0, 1]) < 0.06


def test_the_same_scan_without_motion():
    thinned = simulate_cohort(30, "thinning", random_state=1)
    assert (thinned.X_free >= thinned.X).all()
    assert (thinned.oracle_adjust(0) >= thinned.cohort.connectomes).all()
    # The same quantile of a larger law is never smaller either.
    lowered = simulate_cohort(30, "loglinear", random_state=1)
    assert (lowered.X_free >= lowered.X).all()


def test_confounded_traits_and_scans_know_of_motion():
    simulated = simulate_cohort(600, "confounded", random_state=8)
    motion = simulated.confounds[:, 0]
    for values in simulated.cohort.traits.to_numpy().T:
        assert np.corrcoef(values, motion)[0, 1] == pytest.approx(0.3, abs=0.1)
    # The truth rightly tells who moves more: a method should not be asked to hide that.
    assert leakage(simulated.X_free, np.log(motion)) > 0.1


def test_susceptibility_dose_and_noise():
    hit = susceptibility(np.random.default_rng(0).standard_normal((20_000, 20)))
    assert hit.min() > 0
    assert hit.mean() == pytest.approx(1, abs=0.01)
    assert hit.std() == pytest.approx(0.32, abs=0.03)
    dose = REGIMES["saturating"].dose(np.linspace(0.1, 2, 50))
    assert (np.diff(dose) > 0).all()
    assert (np.diff(dose, 2) < 0).all()
    noisy = rates_of(simulate_cohort(20, "heteroscedastic", random_state=8))
    assert (noisy.size < noisy.free_size).all()


def test_people_differ_nonlinearly():
    latents = np.random.default_rng(0).standard_normal((100_000, 20))
    values = features(latents)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(values.std(axis=0), 1, atol=0.02)
    population = simulate_cohort(2, random_state=0).oracle.population
    spread = (values[:5000] @ population.loadings).std(axis=0)
    assert 0.25 < np.quantile(spread, 0.05) < np.quantile(spread, 0.95) < 0.6


def test_same_seed_same_bits(simulated):
    name = next(key for key, value in REGIMES.items() if value is simulated.oracle.regime)
    first, again, other = (simulate_cohort(25, name, random_state=seed) for seed in (1, 1, 2))
    assert (first.X == again.X).all()
    assert (first.X_free == again.X_free).all()
    assert first.cohort.traits.equals(again.cohort.traits)
    assert first.cohort.motion.equals(again.cohort.motion)
    assert (first.oracle_adjust(3) == again.oracle_adjust(3)).all()
    assert (first.oracle_adjust(3) != first.oracle_adjust(4)).any()
    assert (first.X != other.X).any()


def test_abcd_moves_more():
    hcp, abcd = (
        simulate_cohort(800, "thinning", motion=study).cohort.motion for study in ("hcp", "abcd")
    )
    assert abcd["rms_mm"].median() > hcp["rms_mm"].median()
    assert stats.skew(abcd["rms_mm"]) > stats.skew(hcp["rms_mm"])


def test_region_table():
    regions = load_desikan_killiany()
    assert regions["name"].is_unique
    assert regions["hemisphere"].tolist() == ["L"] * 34 + ["R"] * 34
    assert (regions["x"][:34] < 0).all()
    assert (regions["x"][34:] > 0).all()
    assert regions.notna().all().all()


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_subjects": 0},
        {"n_subjects": "many"},
        {"n_subjects": True},
        {"regime": "quadratic"},
        {"regime": ["loglinear"]},
        {"n_traits": 0},
        {"motion": "ukb"},
        {"motion_cost": 0},
        {"motion_cost": float("nan")},
        {"motion_cost": "half"},
        {"random_state": 0.5},
    ],
)
def test_bad_arguments(arguments):
    with pytest.raises(InputError, match=f"{next(iter(arguments))}="):
        simulate_cohort(**{"n_subjects": 5, **arguments})


def test_bad_seed_of_the_oracle():
    with pytest.raises(InputError, match="random_state="):
        simulate_cohort(3).oracle_adjust("seed")

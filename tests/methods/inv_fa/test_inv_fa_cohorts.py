"""InvFA on cohorts whose truth is known: motion goes, the person and biology stay."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stillome.evaluate.fidelity import fidelity_r2
from stillome.evaluate.identity import identification_rate
from stillome.exceptions import InputError, StillomeWarning
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.simulate import simulate_cohort

N, N_BOUNDED = 300, 60


class Study:
    def __init__(self, regime: str) -> None:
        self.regime = regime
        self.simulated = simulate_cohort(N + 150, regime, random_state=5)
        self.X, self.motion = self.simulated.X[:N], self.simulated.confounds[:N]
        self.free = self.simulated.X_free[:N]
        self.new_X, self.new_motion = self.simulated.X[N:], self.simulated.confounds[N:]
        traits = self.simulated.cohort.traits.to_numpy()
        self.model = InvFA().fit(self.X, traits[:N], confounds=self.motion)
        self.adjusted = self.model.adjust(self.X, confounds=self.motion)
        some = slice(N_BOUNDED)
        self.bounded = self.model.adjust(self.X[some], confounds=self.motion[some], interval=0.9)


@pytest.fixture(scope="module", params=["thinning", "loglinear"])
def study(request) -> Study:
    return Study(request.param)


def readable(features: np.ndarray, target: np.ndarray) -> float:
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 5, 13)))
    folds = KFold(5, shuffle=True, random_state=0)
    return r2_score(target, cross_val_predict(ridge, features, target.ravel(), cv=folds))


def test_motion_is_in_the_scans_and_not_in_what_comes_out(study):
    assert readable(np.log1p(study.X), study.motion) > 0.3
    assert readable(np.log1p(study.adjusted), study.motion) < 0.05
    assert readable(study.model.transform(study.X, confounds=study.motion), study.motion) < 0.05


def test_motion_is_not_in_z_of_people_never_seen(study):
    known = study.model.transform(study.new_X, confounds=study.new_motion)
    unknown = np.full(len(known), np.nan)
    assert readable(known, study.new_motion) < 0.05
    assert readable(study.model.transform(study.new_X, confounds=unknown), study.new_motion) < 0.1


def test_the_scan_comes_nearer_to_the_one_without_motion(study):
    simulated = study.simulated
    reached = fidelity_r2(study.adjusted, study.free)
    oracle = fidelity_r2(simulated.oracle_adjust()[:N], simulated.motion_free[:N])
    assert reached > fidelity_r2(study.X, study.free)
    assert reached > 0.9 * oracle
    assert identification_rate(study.adjusted, study.free) > 0.99


def test_bounds_hold_the_truth_as_often_as_they_say(study):
    connectomes, lower, upper = study.bounded
    free = study.free[:N_BOUNDED]
    covered = ((lower <= free) & (free <= upper)).mean()
    inside = (lower <= connectomes) & (connectomes <= upper)
    # Where the count at the reference is nearly a function of the count seen, one fibre more or
    # less is the difference between holding too often and too seldom.
    assert 0.85 <= covered <= (0.97 if study.regime == "thinning" else 1)
    assert inside.mean() > 0.95


def test_the_latent_is_in_use(study):
    assert study.model.diagnostics_.active_units > 10
    predicted = study.model.predict(study.new_X, confounds=study.new_motion)
    traits = study.simulated.cohort.traits.to_numpy()[N:]
    correlations = [np.corrcoef(p, t)[0, 1] for p, t in zip(predicted.T, traits.T, strict=True)]
    assert np.mean(correlations) > 0.25


def test_inferred_motion_of_new_people_is_as_sure_as_it_says(study):
    inferred = study.model.infer_confounds(study.new_X)
    errors = inferred.mean - study.new_motion
    assert errors.std() < 0.5 * study.new_motion.std()
    assert 0.7 < errors.std() / inferred.sd[0, 0] < 1.4


class Ageing:
    """Fibres are lost with age and with motion, and the old move more."""

    def __init__(self, lean: float = 0.6, n: int = 300, n_edges: int = 120, seed: int = 6) -> None:
        rng = np.random.default_rng(seed)
        self.age = rng.standard_normal(n)
        self.motion = np.exp(0.5 * (lean * self.age + np.sqrt(1 - lean**2) * rng.normal(0, 1, n)))
        ageing = rng.normal(-0.15, 0.1, n_edges)
        person = rng.standard_normal((n, 3)) @ rng.normal(0, 0.3, (3, n_edges))
        level = rng.uniform(2, 5, n_edges) + person + self.age[:, None] * ageing
        self.X = rng.poisson(np.exp(level - 0.3 * self.motion[:, None]) * rng.gamma(20, 0.05))
        self.slopes = ageing

    def age_slopes(self, edges: np.ndarray) -> np.ndarray:
        return np.log1p(edges).T @ (self.age - self.age.mean()) / len(edges) / self.age.var()


def test_age_that_goes_with_motion_is_kept_when_told():
    errors, age_in_z = np.empty((5, 2)), np.empty((5, 2))
    for row, seed in enumerate(range(6, 11)):
        data = Ageing(seed=seed)
        for column, kept in enumerate((data.age, None)):
            model = InvFA(8).fit(data.X, confounds=data.motion, covariates_to_keep=kept)
            adjusted = model.adjust(data.X, confounds=data.motion)
            errors[row, column] = np.abs(data.age_slopes(adjusted) - data.slopes).mean()
            latent = model.transform(data.X, confounds=data.motion)
            age_in_z[row, column] = readable(latent, data.age)
    told, untold = errors.T
    assert told.mean() < 0.6 * untold.mean() and (told < untold).all()
    assert (age_in_z[:, 0] > age_in_z[:, 1]).all()


def test_age_that_is_motion_cannot_be_kept():
    data = Ageing(lean=0.99)
    with pytest.warns(StillomeWarning, match="can hardly be separated"):
        InvFA(4).fit(data.X, confounds=data.motion, covariates_to_keep=data.age)


def test_a_copy_with_another_weight_is_the_model_fitted_with_it(tmp_path):
    data = Ageing(n=90, n_edges=66)
    model = InvFA(6).fit(data.X, data.age, confounds=data.motion)
    loaded = InvFA.load(model.save(tmp_path / "model"))
    for weight in (0.0, 0.5):
        fitted = InvFA(6, invariance_weight=weight).fit(data.X, data.age, confounds=data.motion)
        for source in (model, loaded, fitted):
            copied = source.with_invariance_weight(weight, data.X, data.age, confounds=data.motion)
            assert copied.invariance_weight_ == copied.invariance_weight == weight
            for answer in ("transform", "predict", "adjust"):
                expected = getattr(fitted, answer)(data.X, confounds=data.motion)
                found = getattr(copied, answer)(data.X, confounds=data.motion)
                np.testing.assert_array_equal(found, expected)
    # From weight 0, too, and without a change to the model it is copied from.
    whole = fitted.with_invariance_weight(1, data.X, data.age, confounds=data.motion)
    found, expected = (one.transform(data.X, confounds=data.motion) for one in (whole, model))
    np.testing.assert_array_equal(found, expected)
    assert model.invariance_weight == model.invariance_weight_ == 1
    with pytest.raises(InputError, match="not the connectomes"):
        model.with_invariance_weight(0.5, data.X[::-1], confounds=data.motion)
    with pytest.raises(InputError, match=r"invariance_weight=2; expected a share from 0 to 1\."):
        model.with_invariance_weight(2, data.X, confounds=data.motion)

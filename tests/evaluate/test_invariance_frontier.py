"""The choice of the invariance weight on held-out subjects."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from moving_people import MovingPeople
from stillome.evaluate import invariance_frontier
from stillome.evaluate.invariance_frontier import (
    COLUMNS,
    WEIGHTS,
    choose_invariance_weight,
    smallest_passing,
)
from stillome.exceptions import ConfoundsError, InputError
from stillome.methods.graph_vae.inv_vae import InvVAE
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.linear.edgewise import EdgewiseRegression

DATA = MovingPeople(90)
X, MOTION, TRAITS = DATA.X, DATA.motion[:, None], DATA.traits


def frontier(passed, worst) -> pd.DataFrame:
    weights = np.linspace(0, 1, len(passed))
    return pd.DataFrame({"weight": weights, "passed": passed, "worst_r2": worst, "n_test": 100})


def test_the_smallest_weight_that_passes_is_chosen():
    assert smallest_passing(frontier([False, True, True], [0.3, 0.05, 0.01])) == 0.5
    assert smallest_passing(frontier([True, False, True], [0.3, 0.05, 0.01])) == 0.0


def test_without_one_that_passes_within_one_standard_error_of_the_best():
    none = [False, False, False]
    assert smallest_passing(frontier(none, [0.5, 0.12, 0.10])) == 0.5  # 0.10 + 2 √(0.1/100)
    assert smallest_passing(frontier(none, [0.5, 0.4, 0.1])) == 1.0
    assert smallest_passing(frontier(none, [0.2, 0.1, -0.1])) == 1.0


class Recorded(InvFA):
    """Remembers how many subjects it was fitted to."""

    fits: ClassVar[list] = []

    def fit(self, X, y=None, **given):
        Recorded.fits.append((np.asarray(X), y, given))
        return super().fit(X, y, **given)


@pytest.fixture
def certified(monkeypatch):
    """What the certificate was given, in order."""
    seen = []

    def recording(features, confounds, **given):
        seen.append(given | {"confounds": confounds})
        return leakage(features, confounds, **given)

    leakage = invariance_frontier.leakage_certificate
    monkeypatch.setattr(invariance_frontier, "leakage_certificate", recording)
    Recorded.fits = []
    return seen


def test_every_weight_is_tried_on_held_out_subjects():
    method = InvFA(6)
    found = choose_invariance_weight(method, X, TRAITS, confounds=MOTION)
    assert tuple(found.table.columns) == COLUMNS
    assert found.table["weight"].tolist() == list(WEIGHTS)
    assert (found.table["n_test"] == 27).all() and np.isfinite(found.table["trait_r"]).all()
    assert found.table["log_likelihood"].nunique() == len(WEIGHTS)
    assert found.weight == smallest_passing(found.table)
    assert method.get_params() == InvFA(6).get_params() and not hasattr(method, "model_")
    again = choose_invariance_weight(method, X, TRAITS, confounds=MOTION)
    pd.testing.assert_frame_equal(again.table, found.table)
    without = choose_invariance_weight(method, X, confounds=MOTION, random_state=1)
    assert without.table["trait_r"].isna().all()
    assert not without.table["log_likelihood"].equals(found.table["log_likelihood"])


def test_families_are_never_divided(certified):
    families = np.repeat(np.arange(30), 3)  # brothers and sisters stand side by side
    choose_invariance_weight(Recorded(4), X, confounds=MOTION, groups=families)
    tested = set(certified[0]["confounds"].ravel())
    fitted = set(Recorded.fits[0][2]["confounds"].ravel())
    of = dict(zip(MOTION.ravel(), families, strict=True))
    assert len(tested) + len(fitted) == 90
    assert not {of[c] for c in tested} & {of[c] for c in fitted}
    # Nor between the folds of the probes.
    named = [of[c] for c in certified[0]["confounds"].ravel()]
    pairs = set(zip(named, certified[0]["groups"][:, 0].tolist(), strict=True))
    assert len(pairs) == len(set(named)) == len(np.unique(certified[0]["groups"])) == 9


def test_the_factor_model_is_fitted_once(certified):
    found = choose_invariance_weight(Recorded(4), X, TRAITS, confounds=MOTION)
    assert len(Recorded.fits) == 1 and len(certified) == len(WEIGHTS)
    rows, y, given = Recorded.fits[0]
    half = InvFA(4, invariance_weight=0.5).fit(rows, y, confounds=given["confounds"])
    test = np.isin(MOTION.ravel(), certified[0]["confounds"].ravel())
    likelihood = half.log_likelihood(X[test], confounds=MOTION[test])
    assert found.table["log_likelihood"][2] == pytest.approx(likelihood, rel=1e-9)


def test_the_network_is_fitted_with_every_weight():
    quick = InvVAE(3, hidden=(8,), n_dimensions=2, n_neighbors=3, learning_rate=1e-2, max_epochs=8)
    found = choose_invariance_weight(quick, X, TRAITS[:, 0], confounds=MOTION)
    assert found.table["worst_r2"].nunique() > 1 and found.weight in WEIGHTS
    assert np.isfinite(found.table[["log_likelihood", "trait_r"]]).all(axis=None)


def test_subjects_without_confounds_are_left_out(certified):
    motion = MOTION.copy()
    motion[:20] = np.nan
    found = choose_invariance_weight(Recorded(4), X, confounds=motion)
    assert found.table["n_test"][0] + len(Recorded.fits[0][0]) == 70
    with pytest.raises(ConfoundsError, match="row"):
        choose_invariance_weight(InvFA(4), X, confounds=motion[:50])


def test_covariates_to_keep_reach_the_fit_and_the_probes(certified):
    age = MOTION.ravel() + np.random.default_rng(9).normal(0, MOTION.std(), 90)
    choose_invariance_weight(Recorded(4), X, confounds=MOTION, covariates_to_keep=age)
    assert Recorded.fits[0][2]["covariates_to_keep"].shape == (63, 1)
    test = np.isin(MOTION.ravel(), certified[0]["confounds"].ravel())
    assert_array_equal(np.sort(certified[0]["nuisance"].ravel()), np.sort(age[test]))


def test_too_few_to_hold_some_out():
    with pytest.raises(InputError, match=r"60 subjects in 60 groups are too few.*at least 67"):
        choose_invariance_weight(InvFA(4), X[:60], confounds=MOTION[:60])
    with pytest.raises(InputError, match="90 subjects in 1 groups are too few"):
        choose_invariance_weight(InvFA(4), X, confounds=MOTION, groups=np.ones(90))


@pytest.mark.parametrize("method", [EdgewiseRegression(), BaseEstimator(), None, "inv-fa"])
def test_methods_without_a_weight_are_refused(method):
    with pytest.raises(InputError, match="no parameter 'invariance_weight'"):
        choose_invariance_weight(method, X, confounds=MOTION)


def test_the_choice_does_not_depend_on_the_order_of_subjects():
    order = np.random.default_rng(1).permutation(len(X))
    families = np.arange(len(X)) // 2
    as_is = choose_invariance_weight(InvFA(4), X, confounds=MOTION, groups=families)
    permuted = choose_invariance_weight(
        InvFA(4), X[order], confounds=MOTION[order], groups=families[order]
    )
    pd.testing.assert_frame_equal(as_is.table, permuted.table)

"""Fits that look at a few subjects at a time: as many as 100,000 have bands in every block."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from moving_people import MovingPeople
from stillome import InvFA, InvVAE
from stillome.counts import block_plan

PEOPLE = MovingPeople(60)
SITE = {"covariates_to_keep": PEOPLE.site}
FAMILIES = {"groups": np.repeat(np.arange(30), 2)}
COHORTS = {
    "counts": (PEOPLE.X, {}),
    "floor": (np.where(PEOPLE.X < 3, 0, PEOPLE.X), {}),
    "weights": (PEOPLE.X * PEOPLE.grain, {}),
    "covariates": (PEOPLE.X_sites, SITE),
    "families": (PEOPLE.X, FAMILIES),
}
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")


def answers(model, X, more):
    model.fit(X, confounds=PEOPLE.motion, **more)
    return (
        model.model_.effect.slopes,
        model.transform(X, confounds=PEOPLE.motion),
        model.model_.decoder.dispersion,
        np.log1p(model.adjust(X, confounds=PEOPLE.motion)),
    )


@pytest.mark.parametrize("cohort", COHORTS)
@pytest.mark.parametrize("memory", [None, 20_000])
def test_bands_of_subjects_change_nothing_but_rounding_errors(cohort, memory, monkeypatch):
    same_in_bands(InvFA(4, memory=memory), *COHORTS[cohort], monkeypatch)


def test_the_network_has_the_same_answers_from_bands(monkeypatch):
    # Of so few people, two epochs would leave it where it starts: at inv-FA. Training makes
    # rounding errors larger.
    same_in_bands(InvVAE(4, max_epochs=20), *COHORTS["counts"], monkeypatch, tolerance=1e-4)


def same_in_bands(model, X, more, monkeypatch, tolerance=1e-5):
    whole = answers(model, X, more)
    monkeypatch.setattr(block_plan, "_BAND", 17)
    slopes, latent, dispersion, adjusted = zip(answers(model, X, more), whole, strict=True)
    for found, expected in (slopes, latent):
        assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
    # Dispersions stop as soon as their steps are small, with scans of families a step apart. Those
    # of weights have a part in common, which depends on the loadings of all edges.
    assert_allclose(*dispersion, rtol=1e-3, atol=1e-3 * dispersion[1].max())
    # A count where another one is as likely may be the next one.
    found, expected = adjusted
    assert (np.abs(found - expected) > 1e-2).mean() < 1e-3

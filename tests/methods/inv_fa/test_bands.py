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
        model.model_.decoder.dispersion,
        model.transform(X, confounds=PEOPLE.motion),
        np.log1p(model.adjust(X, confounds=PEOPLE.motion)),
    )


@pytest.mark.parametrize("cohort", COHORTS)
@pytest.mark.parametrize("memory", [None, 20_000])
def test_bands_of_subjects_change_nothing_but_rounding_errors(cohort, memory, monkeypatch):
    same_in_bands(InvFA(4, memory=memory), *COHORTS[cohort], monkeypatch)


def test_the_network_has_the_same_answers_from_bands(monkeypatch):
    same_in_bands(InvVAE(4, max_epochs=2), *COHORTS["counts"], monkeypatch)


def same_in_bands(model, X, more, monkeypatch):
    whole = answers(model, X, more)
    monkeypatch.setattr(block_plan, "_BAND", 17)
    *parameters, adjusted = zip(answers(model, X, more), whole, strict=True)
    for found, expected in parameters:
        assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    found, expected = adjusted
    # A count where another one is as likely may be the next one.
    assert (np.abs(found - expected) > 1e-2).mean() < 1e-2

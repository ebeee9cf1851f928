"""Longitudinal cohorts: who ages, who moves, and what of it is in the counts."""

import numpy as np
import pytest

from stillome.exceptions import InputError
from stillome.simulate import simulate_visits


def test_people_age_and_move_less_while_edges_change_as_they_should():
    simulated = simulate_visits(60, 3, random_state=1)
    cohort = simulated.cohort
    assert len(set(cohort.people)) == 60
    assert cohort.session_ids[:3] == ["1", "2", "3"]
    age, moved = (
        table.to_numpy().reshape(60, 3)
        for table in (cohort.traits["age"], np.log(cohort.motion["rms_mm"]))
    )
    assert np.allclose(np.diff(age, axis=1), 2)
    assert -0.3 < (moved[:, 2] - moved[:, 0]).mean() / 4 < 0
    assert np.corrcoef(moved[:, 0], moved[:, 2])[0, 1] > 0.25  # a person moves alike
    free = np.log1p(simulated.X_free.astype(float)).reshape(60, 3, -1)
    change = (free[:, 2] - free[:, 0]).mean(axis=0) / 4
    strong = simulated.X_free.mean(axis=0) > 20
    slope = np.polyfit(simulated.ageing[strong], change[strong], 1)
    assert slope[0] == pytest.approx(1, abs=0.15)
    assert abs(slope[1]) < 0.01


def test_the_same_seed_gives_the_same_visits_and_the_oracle_knows_them():
    first, second = (simulate_visits(10, random_state=3) for _ in range(2))
    assert (first.X == second.X).all()
    assert (first.oracle_adjust() >= first.cohort.connectomes).all()  # thinning only takes away


@pytest.mark.parametrize("wrong", [{"n_visits": 0}, {"regime": "confounded"}, {"ageing_share": 2}])
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(InputError):
        simulate_visits(5, **wrong)

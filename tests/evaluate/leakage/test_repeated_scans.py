"""Permutation tests of repeated scans: exact when people are exchanged as a whole."""

import numpy as np
import pandas as pd

from stillome.cohort.cohort import Cohort
from stillome.cohort.exchange import Shuffler
from stillome.evaluate import leakage_certificate, predict_trait
from stillome.evaluate.invariance_frontier import _split, _Subjects
from stillome.evaluate.leakage.probe_data import prepare_probes
from stillome.evaluate.leakage.probes import probe_ridge
from stillome.methods.registry import make_method

N_PEOPLE, N_VISITS = 30, 3
PERSON = np.repeat(np.arange(N_PEOPLE), N_VISITS)
BOTH = np.column_stack([PERSON, PERSON])


def scans(seed):
    """Features and motion that a person, and every visit, has of its own; not related."""
    rng = np.random.default_rng(seed)
    visit = np.tile(np.arange(N_VISITS), N_PEOPLE)[:, None]

    def drawn(width):
        person = rng.standard_normal((N_PEOPLE, width))[PERSON]
        return person + 0.3 * rng.standard_normal((len(PERSON), width)) + visit

    return drawn(6), drawn(1)


def p_value(features, motion, groups, seed):
    rng = np.random.default_rng(seed)
    # Folds keep people together in either case; only who is exchanged with whom differs.
    data = prepare_probes(features, motion, "features", None, BOTH, 5, rng)
    orders = Shuffler(np.arange(len(PERSON)) if groups is None else data.groups)
    found = probe_ridge(
        data.features, data.confounds, data.blocks, orders.draw_many(99, rng)
    ).scores[:, 0]
    return (found >= found[0]).mean()


def test_the_test_is_exact_by_people_and_not_by_scans():
    drawn = [scans(seed) for seed in range(80)]
    by_person = [p_value(*both, BOTH, seed) for seed, both in enumerate(drawn)]
    by_scan = [p_value(*both, None, seed) for seed, both in enumerate(drawn)]
    assert np.mean(np.array(by_scan) <= 0.05) > 0.3  # age moves both, and so does the person
    assert np.mean(np.array(by_person) <= 0.05) <= 0.1125  # the 99.5 % bound of 80 tests at 5 %


def test_motion_that_can_be_read_is_found_in_repeated_scans():
    features, motion = scans(0)
    certificate = leakage_certificate(
        features + motion, motion, groups=BOTH, n_permutations=199, random_state=0
    )
    assert not certificate.passed


def test_no_person_is_in_two_folds_or_on_both_sides_of_a_choice():
    rng = np.random.default_rng(0)
    counts = rng.poisson(9, size=(len(PERSON), 6, 6))
    cohort = Cohort(
        [f"{row:03d}" for row in range(len(PERSON))],
        np.triu(counts, 1) + np.swapaxes(np.triu(counts, 1), 1, 2),
        motion=pd.DataFrame({"rms_mm": rng.random(len(PERSON))}),
        traits=pd.DataFrame({"reading": rng.standard_normal(len(PERSON)), "person": PERSON}),
    )
    small = make_method("edgewise", n_components=2)
    for groups in ("person", BOTH):
        table = predict_trait(cohort, "reading", small, cv=3, groups=groups).sort_index()
        assert (table["fold"].groupby(PERSON).nunique() == 1).all()
    subjects = _Subjects(cohort.edges, rng.random((len(PERSON), 1)), None, None, BOTH)
    train, test = _split(subjects, 0)
    assert not set(train.labels) & set(test.labels)

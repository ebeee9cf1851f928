import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import pearsonr, ttest_rel

from stillome.evaluate.prediction.folds import inner_split, make_folds
from stillome.evaluate.prediction.statistics import corrected_paired_test, pearson_r
from stillome.exceptions import InputError


def test_without_overlap_the_corrected_test_is_the_paired_t_test():
    a, b = np.random.default_rng(0).standard_normal((2, 12))
    corrected, plain = corrected_paired_test(a, b, test_share=0.0), ttest_rel(a, b)
    assert_allclose([corrected.statistic, corrected.p_value], [plain.statistic, plain.pvalue])
    assert corrected_paired_test(a, b, test_share=0.25).p_value > plain.pvalue


def test_nothing_to_test_is_nan():
    assert np.isnan(corrected_paired_test([0.3, 0.4], [0.3, 0.4], test_share=0.25).p_value)
    assert np.isnan(corrected_paired_test([0.3], [0.1], test_share=0.25).p_value)
    with pytest.raises(InputError, match="one pair per fold"):
        corrected_paired_test([0.3], [0.1, 0.2], test_share=0.25)


def test_pearson_r_is_scipys_and_zero_where_nothing_varies():
    observed, predicted = np.random.default_rng(1).standard_normal((2, 30))
    observed[3] = np.nan
    known = ~np.isnan(observed)
    expected = pearsonr(observed[known], predicted[known]).statistic
    assert_allclose(pearson_r(observed, predicted), expected)
    assert pearson_r(observed, np.full(30, 0.1 + 0.2)) == 0.0
    assert np.isnan(pearson_r(observed[2:5], predicted[2:5]))


@settings(max_examples=100)
@given(st.integers(6, 60), st.integers(2, 5), st.integers(1, 3), st.integers(0, 1000))
def test_folds_divide_the_subjects_and_keep_groups_whole(n_subjects, cv, repeats, seed):
    groups = np.random.default_rng(seed).integers(n_subjects, size=n_subjects)
    if len(np.unique(groups)) < cv:
        with pytest.raises(InputError, match="cv="):
            make_folds(n_subjects, cv=cv, groups=groups)
        return
    folds = make_folds(n_subjects, cv=cv, repeats=repeats, groups=groups, random_state=seed)
    for repeat in range(repeats):
        tests = [fold.test for fold in folds if fold.repeat == repeat]
        assert_array_equal(np.sort(np.concatenate(tests)), np.arange(n_subjects))
    for fold in folds:
        assert not set(groups[fold.train]) & set(groups[fold.test])
        assert len(fold.train) + len(fold.test) == n_subjects


def test_folds_are_80_20_and_choices_90_10():
    folds = make_folds(1000, random_state=3)
    assert [len(fold.test) for fold in folds] == [200] * 5
    families = np.arange(1000) // 2
    fit, decide = inner_split(folds[0].train, families, share=0.1, random_state=0)
    assert_array_equal(np.sort(np.concatenate([fit, decide])), folds[0].train)
    assert not set(families[fit]) & set(families[decide])
    assert len(decide) == pytest.approx(80, abs=20)


def test_repeats_differ_and_seeds_agree():
    first, second = (
        fold.test for fold in make_folds(40, repeats=2, random_state=1) if fold.fold == 0
    )
    assert set(first) != set(second)
    assert_array_equal(make_folds(40, random_state=1)[0].test, first)

"""Claims of runs with several seeds: figures and verdicts by the interval over seeds."""

import shutil

import numpy as np
import pytest
from scipy import stats

from stillome.studies import claims, study
from stillome.studies.judged import above, below, held
from stillome.studies.over_seeds import over_seeds, over_seeds_in_words


def claim(verdict, *judged, published="0.5 [0.4, 0.6]", about=study.MODEL, why="Because."):
    return study.Claim(
        *(
            "Text.",
            "Section 1",
            "on it: r, a mean [95 %, jackknife]",
            published,
            "-1% to +2%",
            "0.3",
        ),
        verdict=verdict,
        why=why,
        about=about,
        judged=judged,
    )


def written(folder, seed, found, data=None):
    study.write_outcome(
        folder / str(seed) / "outliers",
        "outliers",
        lambda _: study.Outcome({}, {}, [found]),
        study.Options(seed=seed, data=data),
        command=f"run --seed {seed}",
    )
    return folder / str(seed)


def of_published(*values, rule=below, bound=0.75, verdict=study.FAILS):
    return [[claim(verdict, rule({study.AS_PUBLISHED: v}, bound))] for v in values]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.70, 0.71, 0.72), study.HOLDS),  # every seed alone failed: its interval was wide
        ((0.55, 0.72, 0.89), study.FAILS),  # the mean is below, the interval is not
        ((0.76, 0.77, 0.78), study.FAILS),
        ((0.5, np.nan, 0.5), study.FAILS),
    ],
)
def test_the_interval_over_seeds_decides(values, expected):
    assert over_seeds(of_published(*values))[0].verdict == expected


def test_a_verdict_on_real_data_is_the_worst_of_all_seeds():
    runs = of_published(0.1, 0.1, 0.1)
    runs[0] = [claim(study.HOLDS, below({study.AS_PUBLISHED: 0.1}, 0.75))]
    assert over_seeds(runs, simulated=False)[0].verdict == study.FAILS
    assert over_seeds(runs)[0].verdict == study.HOLDS


def test_every_seed_must_pass_a_test_that_says_yes_or_no():
    for answers, expected in (((1, 1, 1), study.HOLDS), ((1, 1, 0), study.FAILS)):
        runs = [[claim(study.HOLDS, held({study.AS_PUBLISHED: a}))] for a in answers]
        assert over_seeds(runs)[0].verdict == expected


def test_all_figures_of_a_claim_must_fulfil_their_bound():
    def run(share, found):
        figures = (above({study.INV_FA: share}, 0.5), above({study.INV_FA: found}, 0.5))
        return [claim(study.FAILS, *figures)]

    assert over_seeds([run(0.9, 1.0)] * 3)[0].verdict == study.ONLY_INV_FA
    assert over_seeds([run(0.9, 0.4)] * 3)[0].verdict == study.FAILS


def test_claims_about_gate_are_judged_by_gate():
    runs = [[claim(study.FAILS, above({study.GATE: 0.9}, 0.5), about=study.OF_GATE)]] * 3
    assert over_seeds(runs)[0].verdict == study.HOLDS


@pytest.mark.parametrize("undecided", [study.UNTESTABLE, study.NO_VERDICT])
def test_what_cannot_be_tested_stays_so(undecided):
    runs = of_published(0.1, 0.1, verdict=undecided)
    assert over_seeds(runs)[0].verdict == undecided


def test_without_figures_the_worst_seed_counts_and_the_page_says_so():
    joined = over_seeds([[claim(study.HOLDS)], [claim(study.FAILS)]])[0]
    assert joined.verdict == study.FAILS
    assert joined.why.endswith("By seed alone: holds, does not hold here.")


def test_figures_are_means_with_intervals_of_student_t():
    values = [0.50, 0.60, 0.70]
    text = over_seeds_in_words([f"{v:.2f} [0.10, 0.90]; unseen people {v:.2f}" for v in values])
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    expected = f"0.60 [{low:.2f}, {high:.2f}]"
    assert text == f"{expected}; unseen people {expected}"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("–", "–"), "–"),
        (("0.10, passes; unseen 1", "0.10, fails (p = 0.01); unseen 1"),
         "0.10, passes with 1 of 2 seeds; unseen 1"),
        (("0.10, fails (p = 2e-05)", "0.10, fails (p = 1e-03)"), "0.10, fails with every seed"),
        (("c = 0.5", "c = 0.9"), "c = 0.5 · c = 0.9"),
        (("none", "c = 0.9"), "none · c = 0.9"),
        (("−0.10 [−0.20, 0.00]", "−0.10 [−0.20, 0.00]"), "−0.10 [−0.10, −0.10]"),
        (("+5% to +10%", "+5% to +10%"), "+5% to +10%"),
        (("b0 of 2e-05 and x2", "b0 of 2e-05 and x2"), "b0 of 2e-05 and x2"),
    ],
)  # fmt: skip
def test_texts_of_seeds_become_one(texts, expected):
    assert over_seeds_in_words(texts) == expected


def test_sentences_keep_numbers_short_and_are_not_repeated():
    assert over_seeds_in_words(["A 0.10 of 5.", "A 0.30 of 5."], plain=True) == "A 0.20 of 5."
    assert over_seeds_in_words(["With x.", "With y."], plain=True) == "With x. (Of the first seed.)"


def test_one_page_of_three_seeds(tmp_path):
    values = {101: 0.4, 102: 0.5, 103: 0.6}
    folders = [
        written(
            tmp_path,
            seed,
            claim(
                study.FAILS,
                below({study.AS_PUBLISHED: v}, 0.9),
                published=f"{v:.2f} [0.10, 0.95]",
            ),
        )
        for seed, v in values.items()
    ]
    page = claims.page_of_folders(folders)
    assert "seed: 101, 102, 103" in page and "- Command: `run --seed SEED`" in page
    assert "| 0.50 [0.25, 0.75] |" in page and "**holds**" in page
    assert "| Text. (Section 1; on it) |" in page and "\n1. r, a mean. Because.\n" in page
    assert "| −1% to +2% |" in page  # no apostrophe
    assert "- Time: 0 minutes by the clock (outliers 0.0)" in page
    assert "| the paper's model | 1 | 0 | 0 | 0 | 0 | 1 |" in page
    shutil.copytree(folders[0] / "outliers", folders[0] / "traits")
    page = claims.page_of_folders(folders)
    assert "## outliers\n" in page and "## traits (seed 101)\n" in page


def test_one_seed_keeps_the_verdict_of_its_run(tmp_path):
    found = claim(study.FAILS, below({study.AS_PUBLISHED: 0.1}, 0.75))
    page = claims.page_of_folders([written(tmp_path, 7, found)])
    assert "| 0.5 [0.4, 0.6] |" in page and "**does not hold here**" in page

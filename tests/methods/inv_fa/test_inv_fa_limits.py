"""InvFA kept, damaged, with too little to learn from, and asked for what it cannot do."""

import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from moving_people import E, MovingPeople, N
from stillome.exceptions import (
    ConfoundsError,
    FileError,
    InputError,
    NotFittedError,
    StillomeWarning,
)
from stillome.methods.inv_fa.inv_fa import InvFA

DATA = MovingPeople()


@pytest.fixture(scope="module")
def fitted() -> InvFA:
    return InvFA(8).fit(DATA.X, DATA.traits, confounds=DATA.motion)


def test_a_kept_model_answers_with_the_same_bits(fitted, tmp_path):
    again = InvFA.load(fitted.save(tmp_path / "model"))
    for method in ("transform", "adjust", "predict", "reconstruct"):
        for confounds in (DATA.motion, np.full(N, np.nan)):
            assert_array_equal(
                getattr(again, method)(DATA.X, confounds=confounds),
                getattr(fitted, method)(DATA.X, confounds=confounds),
            )
    one, other = again.sample(4), fitted.sample(4)
    assert_array_equal(one.connectomes, other.connectomes)
    assert_array_equal(one.traits, other.traits)
    known = {"confounds": DATA.motion}
    assert again.log_likelihood(DATA.X, **known) == fitted.log_likelihood(DATA.X, **known)
    assert again.diagnostics_.kl == fitted.diagnostics_.kl
    assert again.invariance_weight_ == 1


def cut_arrays(folder):
    path = folder / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-9])


def lose_a_value(folder):
    path = folder / "model.json"
    header = json.loads(path.read_text())
    del header["state"]["n_regions_"]
    path.write_text(json.dumps(header))


def change_a_parameter(folder):
    path = folder / "model.json"
    header = json.loads(path.read_text())
    header["parameters"]["n_heads"] = 2
    path.write_text(json.dumps(header))


@pytest.mark.parametrize("damage", [cut_arrays, lose_a_value, change_a_parameter])
def test_a_damaged_folder_is_one_error(fitted, tmp_path, damage):
    folder = fitted.save(tmp_path / "model")
    damage(folder)
    with pytest.raises(FileError, match="damaged"):
        InvFA.load(folder)


@pytest.mark.parametrize("n", [12, 30])
@pytest.mark.parametrize("scale", [1, 0.37], ids=["counts", "weights"])
def test_small_cohorts(n, scale):
    X, motion = DATA.X[:n] * scale, DATA.motion[:n]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The latent has collapsed", StillomeWarning)
        model = InvFA().fit(X, DATA.traits[:n], confounds=motion)
    adjusted = model.adjust(X, confounds=motion, reference=float(np.median(motion)))
    assert np.isfinite(adjusted).all() and (adjusted >= 0).all()
    assert abs(np.log(adjusted.sum() / X.sum())) < 0.3
    assert np.isfinite(model.predict(X, confounds=np.full(n, np.nan))).all()


def test_edges_that_never_vary():
    X = DATA.X.copy()
    X[:, :5], X[:, 5:10] = 0, 4
    model = InvFA(8).fit(X, confounds=DATA.motion)
    adjusted = model.adjust(X, confounds=DATA.motion)
    assert adjusted[:, :5].mean() < 0.01
    assert abs(adjusted[:, 5:10].mean() - 4) < 1.5
    for unknown in (DATA.motion, np.full(N, np.nan)):
        assert np.isfinite(model.transform(X, confounds=unknown)).all()
        assert np.isfinite(model.log_likelihood(X, confounds=unknown))


@pytest.mark.parametrize(("value", "said"), [(0, "no fibre"), (3, "same connectome")])
def test_connectomes_that_are_all_the_same_are_refused(value, said):
    with pytest.raises(InputError, match=said):
        InvFA(8).fit(np.full((40, E), value), confounds=DATA.motion[:40])


def test_fibres_in_millions():
    X = DATA.X.astype(np.int64) * 40_000
    model = InvFA(8).fit(X, confounds=DATA.motion)
    adjusted = model.adjust(X, confounds=DATA.motion)
    strong = X.mean(axis=0) > 2e6
    change = np.log(adjusted[:, strong] + 1) - np.log(X[:, strong] + 1)
    assert strong.sum() > 5
    assert np.corrcoef(change.mean(axis=1), DATA.motion)[0, 1] > 0.9


def test_motion_far_from_any_seen_gives_numbers(fitted):
    with pytest.warns(StillomeWarning, match="Are the units the same"):
        adjusted = fitted.adjust(DATA.X, confounds=DATA.motion * 50)
    with pytest.warns(StillomeWarning, match="Are the units the same"):
        latent = fitted.transform(DATA.X, confounds=np.full(N, 1e6))
    assert (adjusted >= 0).all() and np.isfinite(latent).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"method": "encode"}, "method='encode'; expected 'counterfactual' or 'decode'"),
        ({"interval": 1.5}, "interval=1.5; expected a share above 0 and below 1"),
        ({"interval": "most"}, "interval='most'"),
        ({"n_draws": 0}, "n_draws=0; expected a whole number ≥ 1"),
        ({"method": "decode", "n_draws": 2}, "method='decode' draws nothing"),
        ({"method": "decode", "interval": 0.9}, "method='decode' draws nothing"),
        ({"reference": [0, 0]}, "reference: .* expected 1 finite value"),
        ({"random_state": -1}, "random_state=-1"),
        ({"confounds": DATA.motion[:3]}, "confounds: 3 rows for 120 subjects"),
    ],
)
def test_what_adjust_cannot_do_it_says(fitted, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        fitted.adjust(DATA.X, **({"confounds": DATA.motion} | arguments))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"invariance_weight": 2}, "invariance_weight=2; expected a share"),
        ({"invariance_weight": "much"}, "invariance_weight='much'"),
        ({"lengths": np.ones((3, 3))}, r"lengths: shape \(3, 3\)"),
        ({"random_state": "x"}, "random_state='x'"),
    ],
)
def test_settings_that_make_no_sense_are_named(parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        InvFA(**parameters).fit(DATA.X, confounds=DATA.motion)


def test_too_little_to_learn_from():
    with pytest.raises(InputError, match="9"):
        InvFA().fit(DATA.X[:9], confounds=DATA.motion[:9])
    with pytest.raises(ConfoundsError, match="known for 4 subjects"):
        InvFA().fit(DATA.X, confounds=np.where(np.arange(N) < 4, DATA.motion, np.nan))
    with pytest.raises(ConfoundsError, match="covariates_to_keep: 3 rows"):
        InvFA().fit(DATA.X, confounds=DATA.motion, covariates_to_keep=[1, 2, 3])
    without = InvFA(4).fit(DATA.X, confounds=DATA.motion)
    with pytest.raises(NotFittedError, match="fitted without traits"):
        without.predict(DATA.X, confounds=DATA.motion)
    assert without.sample(2).traits is None
    with pytest.raises(InputError, match="n_subjects=0"):
        without.sample(0)


@pytest.mark.parametrize(("n", "n_regions"), [(10, 2), (10, 6), (30, 5), (25, 9)])
@pytest.mark.parametrize("kind", ["counts", "floor", "weights"])
def test_everything_is_finite_in_tiny_cohorts(n, n_regions, kind):
    rng = np.random.default_rng(n + n_regions)
    motion = rng.lognormal(-1, 0.5, n)
    rates = np.exp(rng.uniform(0, 5, n_regions * (n_regions - 1) // 2) - 0.8 * motion[:, None])
    X = rng.poisson(rates)
    X = {"counts": X, "floor": np.where(X < 3, 0, X), "weights": X * np.pi}[kind]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=StillomeWarning)
        model = InvFA(5).fit(X, confounds=motion)
        answers = [
            model.adjust(X, confounds=motion),
            model.adjust(X, confounds=motion, n_draws=2),
            model.adjust(X, confounds=motion, method="decode"),
            model.sample(10).connectomes,
        ]
        if kind != "weights":
            answers += model.adjust(X, confounds=motion, interval=0.9)[1:]
    assert all(np.isfinite(answer).all() and (answer >= 0).all() for answer in answers)
    assert np.isfinite(model.log_likelihood(X, confounds=motion))


def test_few_empty_edges_do_not_empty_all_others_at_the_reference():
    """A few zeros say nothing of edges with hundreds of fibres, however far the reference is."""
    totals = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        motion = rng.lognormal(-1, 0.5, 30)
        X = rng.poisson(np.exp(rng.uniform(0, 5, 10) - 0.8 * motion[:, None]))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=StillomeWarning)
            adjusted = InvFA(4).fit(X, confounds=motion).adjust(X, confounds=motion)
        totals.append(np.log(adjusted.sum() / X.sum()))
    assert min(totals) > -0.2 and 0.1 < np.median(totals) < 0.7


def test_fibres_in_tens_of_millions_are_not_cut_off():
    rng = np.random.default_rng(0)
    base = DATA.X + 1
    X = rng.poisson(base * np.floor(9e7 / base.max()))  # from 1e8 on counts are refused
    few, many = (InvFA(6).fit(table, confounds=DATA.motion) for table in (base, X))
    small = few.adjust(base, confounds=DATA.motion, reference=0.2).sum() / base.sum()
    large = many.adjust(X, confounds=DATA.motion, reference=0.2).sum() / X.sum()
    drawn = many.adjust(X, confounds=DATA.motion, reference=0.2, n_draws=1).sum() / X.sum()
    assert large == pytest.approx(small, rel=0.1) and drawn == pytest.approx(small, rel=0.2)


@pytest.mark.parametrize("level", [50.0, 1e6])
def test_a_reference_far_outside_gives_numbers(fitted, level):
    with pytest.warns(StillomeWarning, match="outside"):
        answer = fitted.adjust(DATA.X, confounds=DATA.motion, reference=level, interval=0.9)
    assert all(np.isfinite(part).all() and (part >= 0).all() for part in answer)
    with pytest.warns(StillomeWarning, match="outside"):
        drawn = fitted.adjust(DATA.X, confounds=DATA.motion, reference=level, n_draws=1)
    assert np.isfinite(drawn).all()

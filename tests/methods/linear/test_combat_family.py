"""ComBat, CovBat and ComBat-GAM against `combatlearn`, of which only public parts are used."""

from pathlib import Path

import combatlearn
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import stillome
from stillome.exceptions import InputError, StillomeWarning
from stillome.methods.linear.combat import ComBat
from stillome.methods.linear.combat_gam import ComBatGAM, SmoothMotion
from stillome.methods.linear.covbat import CovBat
from stillome.methods.storage import load_model

N_TRAIN = 200


class Moving:
    """Motion costs fibres, more than linearly, and makes edges vary together."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        self.motion = rng.lognormal(-0.5, 0.6, 260)
        self.age = rng.standard_normal(260) + 0.5 * self.motion
        shaken = rng.standard_normal((260, 1)) * self.motion[:, None]
        level = rng.uniform(2, 4, 45) + 0.2 * shaken * rng.uniform(0.5, 1, 45)
        level += 0.1 * self.age[:, None] - 0.4 * self.motion[:, None] ** 1.5
        self.X = rng.poisson(np.exp(level))
        self.table = pd.DataFrame(np.log1p(self.X))
        cuts = np.quantile(self.motion[:N_TRAIN], [0.25, 0.5, 0.75])
        self.batch = pd.Series(np.digitize(self.motion, cuts))

    def harmonised_by(self, method: str, covariates: pd.DataFrame | None = None, **more):
        """What combatlearn, fitted to the training part, makes of everybody."""
        combat = combatlearn.ComBat(
            self.batch, continuous_covariates=covariates, method=method, **more
        )
        return combat.fit(self.table[:N_TRAIN]).transform(self.table).to_numpy()

    def train(self, values):
        return values[:N_TRAIN]


DATA = Moving()


def fitted(model, keep=None):
    kept = None if keep is None else keep[:N_TRAIN]
    return model.fit(DATA.X[:N_TRAIN], confounds=DATA.motion[:N_TRAIN], covariates_to_keep=kept)


def harmonised(model):
    return model._harmonised(DATA.table.to_numpy(), DATA.motion[:, None])


def test_combat_is_combatlearn_s():
    model = fitted(ComBat(n_batches=4))
    assert_allclose(harmonised(model), DATA.harmonised_by("fortin"), atol=1e-10)


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_covbat_is_combatlearn_s(share):
    model = fitted(CovBat(n_batches=4, variance_share=share))
    expected = DATA.harmonised_by("chen", covbat_cov_thresh=share)
    # combatlearn leaves aligned components with a variance of 1; here they keep their own.
    axes, center = model.aligned_components_, model.aligned_mean_
    scores = (expected - center) @ axes.T
    expected = expected + (scores * (model.score_sd_ - 1)) @ axes
    assert_allclose(harmonised(model), expected, atol=1e-8)
    left = (
        ComBat._harmonised(model, DATA.table.to_numpy(), DATA.motion[:, None]) - center
    ) @ axes.T
    ratio = (harmonised(model)[:N_TRAIN] - center) @ axes.T
    assert_allclose(ratio.std(axis=0), left[:N_TRAIN].std(axis=0), rtol=0.25)
    assert len(model.aligned_components_) == len(model.score_maps_.offsets[0]) > 1


def test_covbat_aligns_what_combat_leaves():
    """In the direction in which motion shakes all edges, batches have one variance."""

    def ratio(model):
        left = harmonised(model)[:N_TRAIN]
        scores = left @ np.linalg.svd(left - left.mean(axis=0))[2][0]
        spreads = [scores[DATA.batch[:N_TRAIN] == b].std() for b in range(4)]
        return max(spreads) / min(spreads)

    assert ratio(fitted(CovBat(n_batches=4))) < ratio(fitted(ComBat(n_batches=4))) - 0.05


def test_combat_gam_is_combatlearn_s_less_its_smooth_effect():
    model = fitted(ComBatGAM(n_batches=4, n_splines=8))
    motion = pd.DataFrame({"motion": DATA.motion})
    expected = DATA.harmonised_by("gam", motion, spline_df=8)
    # combatlearn keeps the smooth effect; here it is removed.
    assert_allclose(harmonised(model) + model._smooth(motion.to_numpy()), expected, atol=1e-8)


def test_combat_gam_removes_motion_within_batches_too():
    left = {}
    for kind in (ComBat, ComBatGAM):
        adjusted = fitted(kind(n_batches=4)).adjust(
            DATA.X[:N_TRAIN], confounds=DATA.motion[:N_TRAIN], reference=0.3
        )
        totals, top = np.log1p(adjusted).mean(axis=1), DATA.batch[:N_TRAIN] == 3
        left[kind] = abs(np.corrcoef(totals[top], DATA.motion[:N_TRAIN][top])[0, 1])
    assert left[ComBatGAM] < 0.3
    assert left[ComBat] > 0.6


@pytest.mark.parametrize("kind", [ComBat, CovBat, ComBatGAM])
def test_the_way_there_and_back_is_no_change(kind):
    model, log_edges, motion = (
        fitted(kind(n_batches=4)),
        DATA.table.to_numpy(),
        DATA.motion[:, None],
    )
    again = model._with_effect_of(model._harmonised(log_edges, motion), motion)
    assert_allclose(again, log_edges, atol=1e-10)


@pytest.mark.parametrize("kind", [ComBat, CovBat, ComBatGAM])
def test_a_saved_model_needs_no_combatlearn(kind, tmp_path, monkeypatch):
    model = fitted(kind(n_batches=4, n_components=5))
    place = model.save(tmp_path / "model")
    monkeypatch.setattr(combatlearn.core, "ComBatModel", None)
    loaded = load_model(place)
    for method in ("transform", "adjust"):
        answers = [getattr(m, method)(DATA.X, confounds=DATA.motion) for m in (model, loaded)]
        assert np.array_equal(*answers)


def test_no_private_part_of_combatlearn_is_named():
    room = Path(stillome.__file__).parent / "methods" / "linear"
    private = [name for name in vars(fitted(ComBat())) if name == "model_"]
    attributes = set(vars(combatlearn.core.ComBatModel().fit(DATA.table, batch=DATA.batch)))
    hidden = {name for name in attributes if name.startswith("_")}
    code = "".join(path.read_text() for path in room.glob("*.py"))
    assert len(hidden) > 5 and not private
    assert not [name for name in hidden if f".{name}" in code or f'"{name[1:]}"' in code]


def test_splines_of_ties_and_outside_the_range():
    values = np.append(np.zeros(60), np.linspace(0.1, 1, 40))[:, None]
    splines = SmoothMotion.fit(values, 8)
    inside = splines.of(np.array([[0.0], [1.0]]))
    assert_allclose(splines.of(np.array([[-5.0], [9.0]])), inside)
    assert np.isfinite(splines.of(values)).all()


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (CovBat(variance_share=1.5), r"variance_share=1\.5; expected a number between 0 and 1"),
        (ComBatGAM(n_splines=3), "n_splines=3"),
    ],
)
def test_what_cannot_be_is_refused(model, sentence):
    with pytest.raises(InputError, match=sentence):
        fitted(model)


def test_without_motion_combat_gam_is_combat():
    site = np.arange(260) % 3
    given = {"confounds": site.astype(float)}
    answers = [kind(n_components=4).fit(DATA.X, **given).adjust(DATA.X, **given) for kind in
               (ComBat, ComBatGAM)]  # fmt: skip
    assert_allclose(*answers, atol=1e-9)


@pytest.mark.parametrize("model", [ComBat, CovBat, ComBatGAM])
def test_more_batches_than_subjects_can_fill_are_told(model):
    with pytest.warns(StillomeWarning, match=r"n_batches=1000: \d+ are used"):
        fitted(model(n_batches=1000))

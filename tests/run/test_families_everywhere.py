"""No family is on both sides of any division: of a run, a comparison, or a choice of the weight.

Every model of the house learns and answers through two doors of the contract. What goes through
them is watched: whoever a model answers for was in its fit, or has no relative there.
"""

from pathlib import Path

import numpy as np
import pytest

from small_study import small_cohort, write_study
from stillome.cohort import exchange
from stillome.cohort.edges import matrices_to_edges
from stillome.evaluate import choose_invariance_weight, compare_methods
from stillome.evaluate.leakage import probe_data
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.trait_regression import TraitRegression
from stillome.pipeline import run_pipeline

pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")
COHORT = small_cohort(64)
FAMILY = {
    row.astype(np.float64).tobytes(): name
    for row, name in zip(
        matrices_to_edges(COHORT.connectomes), COHORT.traits["family"], strict=True
    )
}


def whose(X) -> set[tuple[bytes, str]]:
    """The scans and families in X; none where X holds something else, such as group means."""
    rows = (row.astype(np.float64).tobytes() for row in matrices_to_edges(np.asarray(X)))
    return {(row, FAMILY[row]) for row in rows if row in FAMILY}


class Watch:
    """Counts what went through each door, and refuses a family on both sides."""

    def __init__(self, monkeypatch) -> None:
        self.seen = dict.fromkeys(("fits", "unseen", "folds", "orders", "penalties"), 0)
        self.learned: dict[int, set[tuple[bytes, str]]] = {}
        self.kept: list[object] = []  # an id is that of one model only while the model exists
        learn, answer = ConnectomeMethod._training_data, ConnectomeMethod._new_rows
        blocks, shuffler, trait = (
            probe_data.fold_blocks,
            exchange.Shuffler.__init__,
            TraitRegression.fit,
        )

        def learning(model, X, y, confounds, kept=None, groups=None, **more):
            assert groups is not None, type(model).__name__
            self.seen["fits"] += 1
            self.kept.append(model)
            self.learned[id(model)] = whose(X)
            return learn(model, X, y, confounds, kept, groups, **more)

        def answering(model, X, confounds=None):
            self.judge(self.learned.get(id(model)), whose(X))
            return answer(model, X, confounds)

        def folding(within, labels, *given):
            found = blocks(within, labels, *given)
            for _, folds in found:
                self.seen["folds"] += 1
                for fold in folds:
                    assert not set(labels[fold]) & set(
                        labels[np.setdiff1d(np.concatenate(folds), fold)]
                    )
                    self.pairs(labels[fold])
            return found

        def shuffling(shuffled, levels):
            self.seen["orders"] += 1
            self.pairs(levels[:, 0])
            shuffler(shuffled, levels)

        def regressing(representation, traits, groups=None):
            self.seen["penalties"] += 1
            self.pairs(groups[:, 0])
            return trait(representation, traits, groups)

        monkeypatch.setattr(ConnectomeMethod, "_training_data", learning)
        monkeypatch.setattr(ConnectomeMethod, "_new_rows", answering)
        monkeypatch.setattr(probe_data, "fold_blocks", folding)
        monkeypatch.setattr(exchange.Shuffler, "__init__", shuffling)
        monkeypatch.setattr(TraitRegression, "fit", staticmethod(regressing))

    @staticmethod
    def pairs(labels) -> None:
        """Both members of every family of two are there, under one label."""
        assert (np.unique(labels, return_counts=True)[1] == 2).all()

    def judge(self, learned, used) -> None:
        if learned is None or used <= learned:  # None: read from its folder, which keeps nobody
            return
        self.seen["unseen"] += 1
        assert not {family for _, family in used} & {family for _, family in learned}


@pytest.fixture
def watch(monkeypatch):
    return Watch(monkeypatch)


def test_a_run_divides_no_family(watch, tmp_path: Path):
    settings = write_study(
        tmp_path / "study", group="family", method="edgewise", trait=("reading",)
    )
    run_pipeline(settings, tmp_path / "out", report=False)
    assert min(watch.seen.values()) > 0, watch.seen


def test_a_comparison_divides_no_family(watch):
    compare_methods(
        COHORT,
        "edgewise",
        "reading",
        "rms_mm",
        cv=3,
        groups="family",
        permutations=1,
        choices={"edgewise": {"n_components": [2, 4]}},
    )
    assert min(watch.seen.values()) > 0, watch.seen


def test_the_choice_of_the_weight_divides_no_family(watch):
    motion = COHORT.motion[["rms_mm"]].to_numpy()
    families = COHORT.traits["family"].to_numpy()
    choose_invariance_weight(InvFA(4), COHORT.edges, confounds=motion, groups=families)
    assert watch.seen["fits"] and watch.seen["unseen"] and watch.seen["orders"], watch.seen

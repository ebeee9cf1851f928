"""Every method has its report: named and described as what it is, whatever it can tell."""

import re
from functools import partial

import pytest

from method_kinds import ONE_OF_A_KIND
from small_study import write_study
from stillome.evaluate.leakage import probe_jobs
from stillome.methods.method_words import METHOD_WORDS, method_name
from stillome.methods.registry import METHODS
from stillome.persistence import read_json
from stillome.pipeline import run_pipeline
from stillome.report import figure_plans, figures, writing
from stillome.run.steps import certifying

PUBLISHED = "inv-vae, published"
FEW_EPOCHS = {
    "inv-vae": {"max_epochs": 3},
    PUBLISHED: {"preset": "published", "max_epochs": 3},
    "gate": {"max_epochs": 3},
}
# The figures of what methods differ in.
DRAWN = ("components", "leakage_cohort", "latent_units", "training", "trait_components", "traits")
VARIATIONAL = {"inv-vae", PUBLISHED, "gate"}


def test_every_method_has_its_words():
    assert set(METHOD_WORDS) == {*METHODS, PUBLISHED}
    for name, words in METHOD_WORDS.items():
        assert ("variational" in words.what + words.did) == (name in VARIATIONAL)
        assert words.name in words.did


@pytest.mark.filterwarnings("default::stillome.exceptions.StillomeWarning")
@pytest.mark.parametrize("name", [*ONE_OF_A_KIND, PUBLISHED])
def test_every_method_has_its_report(name, tmp_path, monkeypatch):
    plans = [plan for plan in figure_plans.PLANS if plan.name in DRAWN]
    monkeypatch.setattr(writing, "draw_figures", partial(figures.draw_figures, plans=plans))
    # How well probes read is not asked here.
    monkeypatch.setattr(certifying, "N_PERMUTATIONS", 200)
    monkeypatch.setattr(probe_jobs, "N_TREES", 10)
    settings = write_study(
        tmp_path / "study",
        40,
        trait=("reading",),
        method=name.split(",")[0],
        parameters=FEW_EPOCHS.get(name, {}),
        baselines=(),
    )
    out = run_pipeline(settings, tmp_path / "out")
    drawn = read_json(out / "figures" / "figures.json")
    assert drawn["left_out"] == {}
    assert {"components", "leakage_cohort", "traits"} <= set(drawn["figures"])
    page = re.sub(
        r"<(script|style|svg).*?</\1>", " ", (out / "report.html").read_text(), flags=re.S
    )
    paragraph = re.search(r'id="paragraph"><p>(.*?)</p>(.*?)</div>', page, flags=re.S)
    said, cited = paragraph[1], paragraph[2]
    assert METHOD_WORDS[name].did[1:40] in said.replace("&#39;", "'")
    assert METHOD_WORDS[name].of_counts in said
    assert "The stillome developers" in cited and "Zhang, Y., Liu, M." in cited
    assert all(reference[:12] in cited for reference in METHOD_WORDS[name].cites)
    assert f"adjusted by {method_name(name.split(',')[0])}" in page
    own = page.replace(
        "Motion-invariant variational auto-encoding of brain", ""
    )  # the paper's title
    assert ("variational" in own) == (name in VARIATIONAL)

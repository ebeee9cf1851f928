"""The page of claims says with which settings every column was made, and reads well."""

from dataclasses import replace

import pytest

from stillome.studies import claims, study
from stillome.studies.network_training import settings_in_words


@pytest.fixture
def page():
    row = study.Claim(
        *(
            "Motion is gone.",
            "Section 9",
            "simulated HCP, 9 subjects; by probes",
            "0.1",
            "0.2",
            "0.3",
        ),
        verdict=study.FAILS,
        why="It is not.",
    )
    return claims.claims_page({"traits": [row]}, study.manifest_of(study.Options(), command="x"))


def test_the_printed_settings_are_those_of_the_models():
    words = " ".join(settings_in_words().split())
    models = study.methods(study.Options())
    for name in (study.AS_PUBLISHED, study.CONVERGED, study.GATE, study.GATE_CONVERGED):
        told = models[name].get_params()
        assert told["hidden"] == (256,) and "256 hidden units" in words
        assert f"K = {told['n_components']}" in words
        assert f"M = {told['n_layers']} layers" in words
        assert f"R = {told['n_dimensions']}" in words
        assert f"k = {told['n_neighbors']} neighbours" in words
        assert f"(L = {told['n_samples']})" in words
        assert f"batch size {told['batch_size']}" in words
        assert f"{told['validation_fraction']:.0%}".replace("%", " %") in words
        assert told["gradient_clip"] is None and "no clipping of gradients" in words
        assert name in words
    published = models[study.AS_PUBLISHED].get_params()
    kinds = [published[k] for k in ("likelihood", "encoder_input", "motion_effect", "adjusting")]
    assert kinds == ["poisson", "log-counts", "concatenated", "decode"]
    assert published["invariance_weight"] == 1 and "λ = 1 " in words
    own = models[study.INV_FA].get_params()
    assert (own["n_components"], own["invariance_weight"]) == (68, 1)
    for choice in ("learning_rate 0.001 or 0.0003", "invariance_weight 0.1 or 1"):
        assert choice in words


def test_the_released_code_and_the_misprints_are_told_apart(page):
    for fact in (
        "a dense layer from V² to V² values follows ξ + ψ",
        "ξ and α are not trained",
        "counts are divided by 100",
        "Appendix D prints the pairwise Gaussian KL with one term exchanged",
        "equation (10) prints log p(y | z) without the factor 1 + λ and with the opposite sign",
    ):
        assert fact in page


def test_figures_stand_in_the_table_and_sentences_below_it(page):
    said = "Motion is gone. (Section 9; simulated HCP, 9 subjects)"
    assert f"| 1 | {said} | 0.1 | 0.2 | 0.3 | **does not hold here** |" in page
    assert "\n1. By probes. It is not.\n" in page


def test_a_column_without_figures_is_left_out_and_symbols_stay_small(page):
    assert "|  | claim | inv-VAE (published) | GATE | inv-FA | verdict |" in page
    row = study.Claim(
        *("Means agree.", "Section 9", "simulated HCP; r of means", "–", "–", "0.9 [0.8, 1.0]"),
        verdict=study.HOLDS,
        why="They do.",
    )
    told = study.manifest_of(study.Options(), command="x")
    page = claims.claims_page({"outliers": [row, replace(row, gate="0.1")]}, told)
    assert "|  | claim | GATE | inv-FA | verdict |" in page
    assert "\n1. r of means. They do.\n" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "usage"), (["CLAIMS.md"], "usage"), (["nowhere", "p.md"], "nowhere")],
)
def test_wrong_arguments_are_one_sentence_and_nothing_is_written(
    arguments, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        claims.main(arguments)
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())

"""The page and its figures: complete, safe, the same every time, for every kind of cohort."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from report.run_folders import HOSTILE_ID
from report.variants import (
    as_weights,
    bare,
    changed,
    with_many_regions,
    with_region_columns,
    with_regions,
)
from stillome.evaluate.words import number
from stillome.exceptions import FileError
from stillome.persistence import read_json
from stillome.report import write_report
from stillome.report.figure_plans import PLANS
from stillome.report.figures import draw_figures
from stillome.report.methods_text import methods_paragraph, references
from stillome.report.page import render

VARIANTS = {
    "bare": bare,
    "weights": as_weights,
    "no lobes": lambda folder: with_region_columns(folder, ["name", "hemisphere"]),
    "5 regions": lambda folder: with_regions(folder, [0, 1, 10, 11, 12], lengths=False),
    "400 regions": with_many_regions,
    "no slider": lambda folder: changed(folder, slider=None),
    "several measures removed": lambda folder: changed(
        folder, settings=replace(folder.settings, confounds=("rms_mm", "rotation_rad"))
    ),
}


class Ids(HTMLParser):
    """Collects ids and the targets of links inside the page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.targets = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag == "a":
            self.targets.append(attributes["href"].removeprefix("#"))


@pytest.fixture(scope="module")
def html(run_folder):
    return (run_folder / "report.html").read_text(encoding="utf-8")


def test_the_report_is_one_small_file(run_folder, html):
    assert (run_folder / "report.html").stat().st_size < 15e6
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)[^"']*""", html)
    assert "@import" not in html


def test_every_section_and_figure_is_there(run_folder, html):
    parsed = Ids(html)
    assert set(parsed.targets) <= set(parsed.ids)
    drawn = read_json(run_folder / "figures" / "figures.json")
    assert drawn["left_out"] == {}
    assert {plan.name for plan in PLANS} - set(drawn["figures"]) == {"frontier", "training"}
    for name in drawn["figures"]:
        # The slider shows the brain already.
        assert (f"figure-{name}" in parsed.ids) == (name != "glass_brain")
        assert (run_folder / "figures" / f"{name}.png").stat().st_size > 5000
        assert (run_folder / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_ids_are_unique(html):
    ids = Ids(html).ids
    assert len(ids) == len(set(ids))


def test_an_id_that_is_a_program_stays_text(html):
    assert HOSTILE_ID not in html
    assert "&lt;script&gt;alert" in html
    assert html.count("</script>") == 3


def test_the_numbers_of_the_run_are_in_the_words(html, folder):
    paragraph = re.search(r'id="paragraph">(.*?)</div>', html, flags=re.S)[1]
    assert "70 simulated subjects" in paragraph
    assert "Zhang, Y., Liu, M." in paragraph
    assert folder.header["command"] in html
    hashes = folder.header["provenance"]["Inputs"]
    assert len(hashes) == 72 and all(digest in html for digest in hashes.values())


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_kind_of_cohort_has_its_page(folder, variant):
    page = render(VARIANTS[variant](folder), [], {})
    assert len(page) < 15e6
    words = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", page, flags=re.S)
    assert not re.search(r"\b(nan|None|undefined|NaN)\b", words)


def test_the_law_of_counts_is_told_of_counts_only(folder):
    for found, expected in ((folder, True), (as_weights(folder), False)):
        assert ("hurdle model" in methods_paragraph(found)) == expected
        assert any("Mullahy" in reference for reference in references(found)) == expected


def test_sections_without_content_are_left_out(folder):
    ids = Ids(render(bare(folder), [], {})).ids
    assert "traits" not in ids
    assert "brain" not in ids


@pytest.mark.parametrize("variant", ["bare", "5 regions", "weights"])
def test_small_cohorts_have_their_figures(folder, variant):
    found = VARIANTS[variant](folder)
    drawn = {plan.name for plan in PLANS if plan.draw(found) is not None}
    assert {"motion_effects", "leakage_cohort", "components", "subject"} <= drawn
    for plan in PLANS:
        figure = plan.draw(found)
        if figure is not None:
            said = plan.seen(found, figure)
            assert not re.search(r"\b(nan|None|inf)\b|  ", said), said


def test_what_cannot_be_drawn_says_why(folder, tmp_path):
    summary = folder.comparison["summary"].iloc[:0]
    found = changed(folder, comparison=folder.comparison | {"summary": summary})
    plans = [plan for plan in PLANS if plan.name in ("traits", "latent_units")]
    pictures, left_out = draw_figures(found, tmp_path, plans=plans)
    assert [picture.name for picture in pictures] == ["latent_units"]
    assert "an empty table" in left_out["Trait prediction by method"]
    assert "an empty table" in render(found, pictures, left_out)


LEAKS = [
    ([], "motion", "motion", "is gone", "motion explains"),
    (["site"], "motion and site", "motion or site", "are gone", "motion and site explain"),
]


@pytest.mark.parametrize(("others", "sought", "read", "gone", "explained"), LEAKS)
def test_leakage_is_told_of_all_that_was_removed(
    folder, others, sought, read, gone, explained, tmp_path
):
    traits = folder.cohort.traits.assign(site=["A", "B"] * 35)
    found = changed(
        folder,
        cohort=replace(folder.cohort, traits=traits),
        settings=replace(folder.settings, other_confounds=tuple(others)),
    )
    plans = [plan for plan in PLANS if plan.name.startswith("leakage")]
    first, second = draw_figures(found, tmp_path, plans=plans)[0]
    assert first.title == f"What probes detect of {sought} in subjects who were not in the fit"
    for one in (first, second):
        assert f"predicts {sought} in subjects" in one.caption
        assert one.caption.count(f"Filled markers detect {read}; open") == 1
        assert re.search(rf"\d+ of \d+ probes detects? {read}, largest R²", one.caption)
    assert "(in-sample)" in second.caption
    page = render(found, [], {})
    assert f"Probes try to predict {sought} in subjects they have not seen" in page
    assert f"Where {sought} {gone}, none does better than with permuted {sought}." in page
    assert f"what {explained} of the trait" in page
    assert f"M{read[1:]} left" in page


def described(html):
    """The description of a figure for those who do not see it."""
    return re.search(r'(?:aria-label|alt)="([^"]*)"', html)[1]


def test_captions_and_descriptions_say_what_is_seen(folder, tmp_path):
    names = ("motion_effects", "group_differences", "qcsc", "components", "correction")
    plans = [plan for plan in PLANS if plan.name in names]
    unchanged = changed(folder, adjusted=np.asarray(folder.cohort.connectomes))
    for plan in plans:
        (one,), (other,) = (
            draw_figures(run, tmp_path, plans=[plan])[0] for run in (folder, unchanged)
        )
        assert one.caption != other.caption
        for words in (one.caption, described(one.html)):
            assert re.search(r"\d", words)
            assert "should" not in words
        assert described(one.html) != one.caption
    median = number(folder.motion_effects.qcsc.median_absolute)
    (qcsc,), _ = draw_figures(
        unchanged, tmp_path, plans=[plan for plan in plans if plan.name == "qcsc"]
    )
    assert f"median |r| is {median} as scanned and {median} after adjusting" in qcsc.caption


def test_what_shows_subjects_of_the_fit_says_so(folder):
    worded = {plan.name: plan.worded(folder).reads for plan in PLANS}
    told = {name for name, reads in worded.items() if "was fitted to these same subjects" in reads}
    # Raw data, subjects who were not in the fit, and what no subject is drawn in.
    others = {"motion_measures", "changed_edges", "leakage_unseen", "traits", "frontier"}
    assert set(worded) - told == others | {"training"}
    assert "fitted without them" in worded["leakage_unseen"]


def test_the_methods_text_names_the_traits_that_failed(folder):
    summary = folder.comparison["summary"].copy()
    trait = summary["trait"].iloc[0]
    text = methods_paragraph(folder)
    ours = summary[summary["method"] == "inv-fa"].iloc[0]
    found = f"inv-FA {number(ours.r_mean)} [{number(ours.r_low)}, {number(ours.r_high)}]"
    assert f"{trait}, {found}" in text and "as scanned " in text.split(found)[1]
    is_ours = summary["method"] == "inv-fa"
    summary.loc[is_ours, ["r_low", "n_subjects"]] = [-0.1, 41]
    summary.loc[summary["method"] == "edgewise", ["status", "reason"]] = ["failed", "too flat."]
    worse = changed(folder, comparison=folder.comparison | {"summary": summary})
    text = methods_paragraph(worse)
    assert f"inv-FA did not predict {trait} better than chance" in text
    assert f"Too small to be conclusive: {trait} (41 subjects); fewer than 60" in text
    assert f"edge-wise regression failed on {trait}: too flat." in text


def test_no_caption_says_what_should_be():
    assert [plan.name for plan in PLANS if "should" in plan.reads + plan.kind] == []


@pytest.mark.parametrize("lengths", [True, False])
def test_qcsc_is_by_length_only_where_lengths_are_known(folder, lengths):
    found = with_regions(folder, list(range(20)), lengths=lengths)
    (plan,) = [plan for plan in PLANS if plan.name == "qcsc"]
    figure = plan.draw(found)
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert len(labels) == (4 if lengths else 2)
    assert sum("fibre length" in label for label in labels) == (2 if lengths else 0)
    assert sum("consistency of the edge" in label for label in labels) == 2
    assert ("length (above)" in plan.seen(found, figure)) == lengths


def test_no_figure_is_shown_twice(html):
    figures = re.findall(r'<figure class="card" id="figure-([^"]*)"', html)
    assert len(figures) == len(set(figures))
    drawings = re.findall(r"<figure.*?</figure>", html, flags=re.S)
    assert len({re.sub(r'id="[^"]*"', "", one) for one in drawings}) == len(drawings)
    titles = re.findall(r"<figcaption><strong>(.*?)</strong>", html)
    assert len(titles) == len(set(titles)) == len(figures)


def test_every_flag_is_explained_with_its_threshold(html, folder):
    moved = np.log(folder.subjects["rms_mm"])
    spread = 1.4826 * np.median(np.abs(moved - moved.median()))
    assert f"rms (mm) above {np.exp(moved.median() + 3.5 * spread):.2g}<" in html
    assert "Thresholds are 3.5 robust standard deviations" in html
    for flag in ("moved much", "motion inferred", "unusual connectome", "few fibres"):
        assert f'<th scope="row">{flag}</th>' in html


def test_the_same_run_gives_the_same_bytes(folder, html):
    again = render(folder, [], {}, with_subjects=True)
    assert again == render(folder, [], {}, with_subjects=True)
    assert len(again) < len(html)


def test_an_earlier_report_is_not_replaced_unasked(run_folder, html):
    with pytest.raises(FileError, match="exists already"):
        write_report(run_folder)
    assert (run_folder / "report.html").read_text(encoding="utf-8") == html


def test_a_report_that_cannot_be_made_leaves_the_earlier_one(copied_run):
    before = (copied_run / "report.html").read_bytes()
    (copied_run / "fidelity.tsv").unlink()
    with pytest.raises(FileError, match=r"fidelity\.tsv"):
        write_report(copied_run, overwrite=True)
    assert (copied_run / "report.html").read_bytes() == before
    assert not list(copied_run.glob(".stillome-*"))

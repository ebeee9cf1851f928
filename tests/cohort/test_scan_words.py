"""Texts about subjects become texts about scans; names in markup, scripts and files stay."""

import pytest

from stillome.cohort.scan_words import in_scans


@pytest.mark.parametrize(
    "kept",
    [
        '<section id="subjects"><table class="subjects">',
        "{% if with_subjects %}{{ data.subjects.columns }}{% endif %}",
        "if (DATA.subjects) startTable(DATA.subjects); // .subjects th",
        "stillome report --with-subjects, --subjects=A, work/subjects/x, subjects.tsv",
        '<a href="#subjects">',
    ],
)
def test_names_stay(kept):
    assert in_scans(kept) == kept


@pytest.mark.parametrize(
    ("about_subjects", "about_scans"),
    [
        ('<g aria-label="Table of subjects">', '<g aria-label="Table of scans">'),
        ('<optgroup label="Subjects, by motion">', '<optgroup label="Scans, by motion">'),
        ("Subjects who were not in the fit", "People who were not in the fit"),
        ("subjects on whom a probe was not trained", "people on whom a probe was not trained"),
        ("a subject's edges", "a scan's edges"),
        ("More subjects are needed.", "More people are needed."),
    ],
)
def test_texts_speak_of_scans_or_people(about_subjects, about_scans):
    assert in_scans(about_subjects) == about_scans

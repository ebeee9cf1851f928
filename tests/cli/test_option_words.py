"""Sentences of the library, said in the options of the verb that runs."""

import re
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import stillome
from stillome.cli.app import app
from stillome.cli.option_words import in_options, speak_as


@pytest.fixture(autouse=True)
def nobody_speaks_afterwards():
    yield
    speak_as([])


def options_of(verb):
    return typer.main.get_command(app).commands[verb].params


@pytest.mark.parametrize(
    ("verb", "said", "expected"),
    [
        ("fit", "Pass measure=... to override.", "Pass --measure to override."),
        ("fit", "Give it with traits=...", "Give it with --traits."),
        ("fit", "Give traits=... Then fit.", "Give --traits. Then fit."),
        ("fit", "Choose atlas=.../measure=...", "Choose --atlas/--measure."),
        ("fit", "Leave out keep=..., or fill it in.", "Leave out --keep, or fill it in."),
        (
            "fit",
            "Use symmetrize='max', 'mean' or 'upper'.",
            "Use --symmetrize max, mean or upper.",
        ),
        ("inspect", "Pass axis=0, 1 or 2 for subjects.", "Pass --axis 0, 1 or 2 for subjects."),
        ("inspect", "edge_order='x'; expected 'upper'.", "--edge-order x; expected 'upper'."),
        ("run", "seed=-1; expected a whole number.", "--seed -1; expected a whole number."),
        ("run", "random_state=-1; expected 0.", "--seed -1; expected 0."),
        ("run", "n_jobs=0; expected 1.", "--jobs 0; expected 1."),
        (
            "run",
            "begun with confounds=rms_mm, site, not x.",
            "begun with --confound rms_mm, site, not x.",
        ),
        ("run", "begun with parameters=a=5, b=2, not c=1.", "begun with --set a=5, b=2, not c=1."),
        ("run", "reference=0.3 lies outside.", "--reference 0.3 lies outside."),
        ("run", "form='xlsx'; expected 'same'.", "--format xlsx; expected 'same'."),
        ("run", "covariates_to_keep=... goes.", "--keep goes."),
        ("run", "Pass overwrite=True.", "Pass --overwrite."),
        ("run", "Pass resume=True to go on.", "Pass --resume to go on."),
        ("run", "report=False draws nothing.", "--no-report draws nothing."),
        ("compare", "cv=9 with 4 subjects.", "--folds 9 with 4 subjects."),
        ("bids", "Give it with traits=...", "Give it with --participants."),
        ("bids", "Choose session=... or n_jobs=2.", "Choose --session-label or --n-procs 2."),
        # What is no option of the verb, a path, a column or a level stays as it is.
        ("transform", "Pass confounds=... to name them.", "Pass --motion to name them."),
        ("run", "n_components=0; expected 1.", "n_components=0; expected 1."),
        ("run", "/data/measure=count/a.csv: empty.", "/data/measure=count/a.csv: empty."),
        ("run", "confounds ['session=B'] differ.", "confounds ['session=B'] differ."),
        ("run", "--set measure=2: expected more.", "--set measure=2: expected more."),
    ],
)
def test_a_sentence_names_options(verb, said, expected):
    speak_as(options_of(verb))
    assert in_options(said) == expected


@given(st.text(st.sampled_from("ab =.,;:'\"()[]/-_\n\\"), max_size=40))
def test_text_without_known_names_stays(text):
    speak_as(options_of("run"))
    assert in_options(text) == text


@given(
    st.sampled_from(["measure", "atlas", "labels", "session"]),
    st.sampled_from(["...", "'x'", '"a b"', "3", "-0.5", "None"]),
    st.text("abc ,;", max_size=10),
    st.text("abc", min_size=1, max_size=10),
)
def test_a_known_name_becomes_its_option_wherever_it_stands(name, value, before, after):
    speak_as(options_of("run"))
    said = in_options(f"{before} {name}={value} {after}")
    assert said.startswith(f"{before} --{name}") and said.endswith(after)
    assert f"{name}=" not in said
    assert in_options(said) == said


@pytest.mark.parametrize("room", ["cohort", "run"])
def test_the_library_names_no_option(room):
    for file in (Path(stillome.__file__).parent / room).rglob("*.py"):
        text = re.sub(r">>> .*|^    stillome .*", "", file.read_text(), flags=re.M)
        if file.name == "settings.py":  # which returns the command that asks for a run
            text = text[: text.index("def command_line")]
        assert re.search(r"[ (`]--[a-z]", text) is None, file

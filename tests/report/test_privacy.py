"""By default a report can be shown to anybody: no id, and nothing of a single subject."""

import base64
import json
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from report.run_folders import HOSTILE_ID
from report.variants import changed
from stillome.cli.app import main
from stillome.cohort.edges import edge_indices
from stillome.cohort.motion_groups import MotionGroups
from stillome.persistence import read_json, write_json
from stillome.pipeline import report_step
from stillome.plot.region_order import region_order
from stillome.report import writing
from stillome.report.figure_plans import PLANS
from stillome.report.figures import draw_figures
from stillome.report.page import render
from stillome.report.privacy import hider
from stillome.run import RunFolder, command_line
from stillome.run.parallel import Workers
from stillome.run.run_files import ID


@pytest.fixture(scope="module")
def telling(folder):
    """The run with ids that can be looked for, in every place where an id may stand."""
    n = folder.cohort.n_subjects
    ids = [f"NDARINV{7919 * (i + 1):07d}" for i in range(n)]
    cohort = folder.cohort
    named = replace(
        cohort,
        subject_ids=tuple(ids),
        motion=cohort.motion.set_axis(ids),
        traits=cohort.traits.set_axis(ids),
    )
    slider = folder.slider
    keys = [*slider.keys[: slider.n_groups], *ids[: len(slider.keys) - slider.n_groups]]
    summary = folder.comparison["summary"].copy()
    summary.loc[0, ["status", "reason"]] = ["failed", f"{ids[3]} has a trait of infinity"]
    summary.loc[0, ["r_mean", "r_sd", "r_min", "r_max"]] = np.nan
    inputs = {f"/data/sub-{one}/sub-{one}_connectome.csv": f"{i:064x}" for i, one in enumerate(ids)}
    return changed(
        folder,
        cohort=named,
        latents=folder.latents,
        graph_measures=folder.graph_measures,
        subjects=folder.subjects.assign(**{ID: ids}),
        slider=replace(slider, keys=tuple(keys)),
        dropped=pd.DataFrame(
            {
                ID: ["NDARINV-GONE", "NDARINV-AWAY"],
                "reason": ["sub-NDARINV-GONE_connectome.csv cannot be read", "no motion"],
            }
        ),
        certificate_notes=folder.certificate_notes
        | {"notes": [f"The motion of sub-{ids[5]} and {ids[6]} was inferred."]},
        comparison=folder.comparison | {"summary": summary},
        settings=replace(
            folder.settings,
            connectomes=tuple(inputs),
            subjects=tuple(ids),
            lengths=f"/data/{ids[0]}/lengths.csv",
        ),
        header=folder.header
        | {
            "command": f"stillome run --connectomes /data/sub-{ids[1]}",
            "provenance": {"Inputs": inputs},
        },
    )


@pytest.fixture(scope="module")
def public(telling, tmp_path_factory):
    """The page that anybody may see, with all its figures."""
    pictures, left_out = draw_figures(telling, tmp_path_factory.mktemp("public"))
    left_out["A figure"] = f"{telling.cohort.subject_ids[9]}: no connectome"
    return render(telling, pictures, left_out)


@pytest.fixture
def few_figures(monkeypatch):
    """Figures take longest, and of most of them nothing is asked here."""
    plans = [plan for plan in PLANS if plan.name in ("subject", "latent_units")]
    monkeypatch.setattr(writing, "draw_figures", partial(draw_figures, plans=plans))


def data_of(html):
    return json.loads(re.search(r'id="report-data">(.*?)</script>', html, flags=re.S)[1])


def lists_in(content):
    if isinstance(content, dict):
        content = list(content.values())
    elif isinstance(content, list):
        yield content
    if isinstance(content, list):
        for one in content:
            yield from lists_in(one)


def test_no_id_is_on_the_page(telling, public):
    ids = [*telling.cohort.subject_ids, *telling.dropped[ID]]
    assert [one for one in ids if one in public] == []
    assert "NDARINV" not in public
    assert "/data/" not in public
    # Of the names of files, one reason keeps what is no id.
    assert re.findall(r"\S*_connectome\.csv", public) == ["hidden)_connectome.csv"]
    # A reason, two in a note, a remark, a figure, and the methods text.
    assert public.count("(id hidden)") == 6


def test_ids_are_there_when_asked_for(telling, tmp_path):
    one = [plan for plan in PLANS if plan.single]
    pictures, left_out = draw_figures(telling, tmp_path, with_subjects=True, plans=one)
    html = render(telling, pictures, left_out, with_subjects=True)
    assert "figure-subject" in html
    ids = [*telling.cohort.subject_ids, *telling.dropped[ID]]
    assert [one for one in ids if one not in html] == []
    assert "(id hidden)" not in html
    assert "This page shows single subjects" in html


def test_the_page_says_that_it_can_be_shared_and_how_subjects_are_added(public):
    words = re.sub(r"<[^>]+>", "", public)
    assert "This page can be shared: it holds no ids" in words
    assert "stillome report run --with-subjects --overwrite" in words


def test_no_values_of_single_subjects_are_in_the_data_of_the_page(telling, public):
    data = data_of(public)
    assert data["subjects"] is None
    n = telling.cohort.n_subjects
    assert [values for values in lists_in(data) if len(values) == n] == []
    slider = data["slider"]
    assert len(slider["keys"]) == slider["groups"] == telling.slider.n_groups
    shape = (len(slider["keys"]), len(slider["references"]) + 1, -1)
    packed = np.frombuffer(base64.b64decode(slider["packed"]), "<u2").reshape(shape)
    shown = (packed / 65535.0) ** 2 * slider["largest"]
    order = region_order(telling.cohort.regions)
    rows, columns = edge_indices(len(order))
    for matrices in (telling.cohort.connectomes, telling.adjusted):
        edges = np.asarray(matrices)[:, order[rows], order[columns]].astype(float)
        distance = np.abs(shown.reshape(-1, 1, len(rows)) - edges[None]).max(axis=2)
        assert distance.min() > 10


def test_no_row_of_the_table_of_subjects_is_in_the_text(telling, public):
    words = re.sub(r"<script.*?</script>|<svg.*?</svg>|<img[^>]*>", " ", public, flags=re.S)
    pairs = telling.subjects[["fibres_raw", "fibres_adjusted"]].to_numpy()
    written = [[f"{value:,.0f}" for value in pair] for pair in pairs]
    numbers = set(re.findall(r"[\d,.]*\d", words))
    assert len(numbers) > 100
    assert [pair for pair in written if numbers.issuperset(pair)] == []


def test_flags_are_counted_not_named(telling, public):
    n_moved = int(telling.subjects["flags"].str.contains("moved much").sum())
    row = re.search(r"moved much</th><td>(.*?)</td><td class=\"number\">(\d+)</td>", public)
    assert int(row[2]) == n_moved
    assert "rms (mm) above" in row[1]


def test_no_figure_shows_one_subject(telling, public):
    assert 'id="figure-subject"' not in public
    assert [plan.name for plan in PLANS if plan.single] == ["subject"]


def test_means_of_very_few_subjects_are_left_out(folder, tmp_path):
    effects = folder.motion_effects
    groups = MotionGroups(np.array([0, 1]), np.array([2, 3, 4]), 0.1, 0.5)
    few = changed(folder, motion_effects=replace(effects, groups=groups))
    plans = [plan for plan in PLANS if plan.ends]
    assert {plan.name for plan in plans} == {"changed_edges", "group_differences"}
    pictures, left_out = draw_figures(few, tmp_path, plans=plans)
    assert pictures == [] and len(left_out) == 2
    assert all("fewer than 3 subjects" in reason for reason in left_out.values())
    told = "The edges that motion changes most"
    assert told not in render(few, [], {})
    assert told in render(few, [], {}, with_subjects=True)
    assert len(draw_figures(few, tmp_path, plans=plans, with_subjects=True)[0]) == 2


@pytest.mark.parametrize(
    ("ids", "text", "shown"),
    [
        (["7"], "7 of 10 probes; subject 7; sub-7.csv", "7 of 10 probes; subject X; X.csv"),
        (["0012"], "0012: 0.0012 and 10,0012", "X: 0.0012 and 10,0012"),
        (["100307"], "100307_dwi, 1100307, sub-100307", "X_dwi, 1100307, X"),
        (["A1", "A1-B"], "A1-B, A1, A12, xA1", "X, X, A12, xA1"),
        ([HOSTILE_ID], f"see {HOSTILE_ID}.", "see X."),
    ],
)
def test_ids_are_hidden_and_numbers_stay(ids, text, shown):
    assert hider(ids)(text).replace("(id hidden)", "X") == shown


def test_report_asks_for_subjects_each_time(copied_run, few_figures):
    page, first = copied_run / "report.html", RunFolder(copied_run).cohort.subject_ids[1]
    cell = f'"{first}"'
    assert main(["report", str(copied_run), "--with-subjects", "--overwrite", "--quiet"]) == 0
    assert cell in page.read_text("utf-8")
    assert main(["report", str(copied_run), "--overwrite", "--quiet"]) == 0
    assert cell not in page.read_text("utf-8")


def test_a_run_with_subjects_has_them_in_its_report(copied_run, few_figures):
    header = read_json(copied_run / "run.json")
    header["settings"]["with_subjects"] = True
    write_json(copied_run / "run.json", header)
    folder = RunFolder(copied_run)
    assert command_line(folder.settings, "out").endswith("--with-subjects --out out")
    (copied_run / "report.html").unlink()
    report_step(folder, Workers(1))
    html = (copied_run / "report.html").read_text("utf-8")
    assert f'"{folder.cohort.subject_ids[1]}"' in html and "figure-subject" in html


def test_the_people_of_scans_are_hidden_too():
    hide = hider(["A01_ses-1", "A01_ses-2"])
    shown = hide("sub-A01/ses-1: A01_ses-2 is left out")
    assert shown == "(id hidden)/ses-1: (id hidden) is left out"

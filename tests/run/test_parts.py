"""The parts of a run that can be looked at alone."""

import itertools
import shlex
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillome.cli.given_words import parameters_of
from stillome.cohort.confound_choice import choose_confounds
from stillome.exceptions import FileError, InputError, StillomeWarning
from stillome.run import RunFolder, RunSettings, command_line
from stillome.run.parallel import run_jobs
from stillome.run.settings import check_same, from_json, to_json
from stillome.run.steps.listing import flag_subjects
from stillome.run.steps.sliding import choose_references, choose_shown

VALUES = st.none() | st.booleans() | st.sampled_from(["auto", "5", "None", "it's", "a b", "x=y"])
NAMES = st.text("abc _'$", min_size=1, max_size=5).map(lambda text: "x" + text)


@given(
    st.builds(
        RunSettings,
        connectomes=st.lists(NAMES, min_size=1, max_size=2),
        motion=st.lists(NAMES, min_size=1, max_size=2),
        confounds=st.lists(NAMES, max_size=2),
        baselines=st.sampled_from([(), ("edgewise",), ("sog", "combat")]),
        parameters=st.dictionaries(
            st.sampled_from(["n_components", "invariance_weight"]),
            st.integers(0, 9) | st.floats(0, 1) | VALUES | st.lists(VALUES, max_size=2),
        ),
        reference=st.sampled_from([(0.0,), (0.25, 1.0), {"rms_mm": 0.1, "site": "B"}]),
        seed=st.integers(0, 99),
        repeats=st.integers(0, 3),
        atlas=st.none() | NAMES,
        subjects=st.lists(NAMES, max_size=2),
    )
)
def test_settings_survive_the_file_and_the_command_line(settings):
    assert from_json(to_json(settings)) == settings
    check_same(settings, settings, "out")
    words = shlex.split(command_line(settings, "out"))
    assert words[:2] == ["stillome", "run"] and words[-2:] == ["--out", "out"]
    pairs = list(zip(words[2::2], words[3::2], strict=True))
    assert tuple(v for k, v in pairs if k == "--connectomes") == settings.connectomes
    assert tuple(v for k, v in pairs if k == "--subject") == settings.subjects
    assert dict(pairs).get("--atlas") == settings.atlas
    told = [v for k, v in pairs if k == "--set"]
    assert RunSettings(connectomes="c", motion="m", parameters=parameters_of(told)).parameters == (
        settings.parameters
    )
    named = [v for k, v in pairs if k == "--reference"]
    numbers = settings.reference if isinstance(settings.reference, tuple) else ()
    assert tuple(float(v) for v in named if "=" not in v) == (numbers if numbers != (0.0,) else ())
    assert [v for v in named if "=" in v] == ([] if numbers else ["rms_mm=0.1", "site=B"])


def test_a_run_with_sites_is_continued_by_the_command_that_began_it():
    given = {"connectomes": ("c",), "motion": ("m",), "traits": ("t",)}
    begun = RunSettings(**given, confounds=("rms_mm",), other_confounds=("site",))
    for asked in (("site",), ("site", "rms_mm"), ("rms_mm", "site")):
        check_same(RunSettings(**given, confounds=asked), begun, "out")
    for asked in (("rms_mm",), ("fd_mm", "site"), ("site", "scanner")):
        with pytest.raises(InputError, match="was begun with confounds="):
            check_same(RunSettings(**given, confounds=asked), begun, "out")
    words = command_line(begun, "out")
    assert "--confound rms_mm" in words and "--confound site" in words
    assert from_json(to_json(begun)) == begun


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"method": "magic"}, "no method 'magic'"),
        ({"baselines": ("magic",)}, "no method 'magic'"),
        ({"motion": ()}, "needs connectomes and motion"),
        ({"trait": ("reading",)}, "traits=..."),
        ({"traits": ("table.tsv",)}, "trait=..."),
        ({"traits": ("t.tsv",), "trait": ("age",), "keep": ("age",)}, "both predicted and kept"),
        ({"traits": ("t.tsv",), "keep": ("age",), "confounds": ("age",)}, "both removed and kept"),
        ({"other_confounds": ("site",)}, "traits=..."),
        ({"seed": -1}, "seed=-1"),
        ({"seed": True}, "seed=True"),
        ({"repeats": -1}, "repeats=-1"),
        ({"reference": (float("nan"),)}, "finite"),
        ({"reference": ("low",)}, "expected numbers"),
        ({"reference": ()}, "nothing; expected finite"),
        ({"parameters": {"hidden": {1, 2}}}, "is a set; expected a number, text"),
        ({"form": "xlsx"}, "form='xlsx'"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(change, says):
    with pytest.raises(InputError) as refused:
        RunSettings(**({"connectomes": ("c",), "motion": ("m",)} | change))
    assert says in str(refused.value)


def test_a_header_changed_by_hand_is_one_sentence(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        from_json({"connectomes": ["c"], "motion": ["m"], "magic": 1})
    with pytest.raises(FileError, match="is missing"):
        RunFolder(tmp_path).header  # noqa: B018
    for content, says in (
        ('{"format": "x"}', "not that of a stillome run"),
        ('{"format": "stillome-run", "version": 9, "settings": {}}', "run format 9"),
    ):
        (tmp_path / "run.json").write_text(content)
        with pytest.raises(FileError, match=says):
            RunFolder(tmp_path).header  # noqa: B018


@given(
    st.lists(st.floats(0, 9, allow_subnormal=False), min_size=3, max_size=30, unique=True),
    st.sampled_from([0.0, 0.3, 20.0]),
)
def test_levels_grow_from_none_and_hold_the_reference(motion, reference):
    levels = choose_references(np.array(motion), reference)
    assert (np.diff(levels) > 0).all()
    assert levels[0] == 0.0
    assert reference in levels
    assert len(levels) <= 11
    assert levels[-1] == max(*motion, reference)


@given(st.integers(2, 60), st.integers(0, 5))
def test_those_shown_are_spread_from_least_to_most_motion(n, seed):
    motion = np.random.default_rng(seed).random(n)
    shown = choose_shown(motion, np.arange(n), [str(i) for i in range(n)])
    n_groups = 4 if n >= 9 else 1
    singles = [int(entry.members[0]) for entry in shown[n_groups:]]
    assert len(singles) == min(n, 12)
    assert motion[singles].tolist() == sorted(motion[singles])
    assert motion[singles[0]] == motion.min() and motion[singles[-1]] == motion.max()
    assert [entry.key for entry in shown[n_groups:]] == [str(i) for i in singles]
    assert [entry.group for entry in shown] == [True] * n_groups + [False] * len(singles)
    thirds = [motion[entry.members] for entry in shown[1:n_groups]]
    assert all(
        low.max() <= high.min() and len(low) >= 3 for low, high in itertools.pairwise(thirds)
    )


def test_of_a_large_group_some_stand_for_all_and_the_label_says_so():
    motion = np.random.default_rng(0).lognormal(size=1000)
    everybody, least, _, most, *_ = choose_shown(
        motion, np.arange(1000), [str(i) for i in range(1000)]
    )
    assert everybody.key == "all subjects (64 of 1,000)"
    assert len(everybody.members) == len(set(everybody.members)) == 64
    assert motion[everybody.members].mean() == pytest.approx(motion.mean(), rel=0.1)
    assert least.key == "third with the least motion (64 of 334)"
    assert motion[most.members].min() >= np.quantile(motion, 0.66)


def test_each_flag_is_raised_by_what_it_names():
    rng = np.random.default_rng(1)
    edges = np.log1p(rng.poisson(rng.uniform(5, 50, 60), (50, 60)))
    motion, change = np.linspace(0.2, 0.4, 50)[:, None], np.linspace(8, 12, 50)
    assert flag_subjects(motion, np.expm1(edges), change) == [""] * 50
    motion[0], motion[1] = 5.0, np.nan
    edges[2] = rng.permutation(edges[2])
    edges[3] = np.log1p(np.round(np.expm1(edges[3]) / 4))
    change[4] = 80.0
    flags = flag_subjects(motion, np.expm1(edges), change)
    assert flags[0] == "moved much"
    assert flags[1] == "motion inferred"
    assert flags[2] == "unusual connectome"
    assert "few fibres" in flags[3]
    assert flags[4] == "changed much"
    assert flags[5:] == [""] * 45


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_answer_in_order_and_warn_once(n_jobs):
    done = []
    tables = [
        pd.DataFrame({name: [0, 1], "rotation_rad": [0.0, 0.1]})
        for name in ("rms_mm", "fd_mm", "rms_mm")
    ]
    with pytest.warns(StillomeWarning, match="Motion is measured by") as said:
        answers = run_jobs(
            [partial(choose_confounds, table) for table in tables],
            n_jobs=n_jobs,
            progress=lambda *parts: done.append(parts),
        )
    assert answers == [("rms_mm",), ("fd_mm",), ("rms_mm",)]
    assert done == [(1, 3), (2, 3), (3, 3)]
    assert len(said) == 2

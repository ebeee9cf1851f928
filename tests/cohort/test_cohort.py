import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from odd_inputs import matrices, odd, odd_lists, odd_scalars, odd_tables
from stillome.cohort.cohort import Cohort
from stillome.exceptions import FileError, InputError, StillomeError

STRANGE_IDS = [
    "001",
    "1",
    "NA",
    "n/a",
    "1e5",
    "nan",
    "None",
    "TRUE",
    "é–脳 🧠",
    'a"b',
    " x ",
    "-0",
    "#1",
]

printable = st.characters(exclude_categories=["C", "Zl", "Zp"], exclude_characters="\xa0")
texts = st.text(printable, min_size=1, max_size=6).filter(lambda t: t.strip() and t.isprintable())
# "n/a" in a text column is how a missing value is written, so it cannot be a value as well.
cells = st.text(printable, max_size=6).filter(lambda text: text != "n/a")


def small_cohort(n_subjects=20, n_regions=4, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.poisson(20, (n_subjects, n_regions, n_regions)), k=1)
    return Cohort(
        [f"sub-{i:03d}" for i in range(n_subjects)],
        upper + upper.swapaxes(1, 2),
        motion=pd.DataFrame({"rms_mm": rng.gamma(2, 0.1, n_subjects)}),
        traits=pd.DataFrame({"age": rng.normal(10, 1, n_subjects), "site": ["01", "02"] * 10}),
        lengths=np.full((n_regions, n_regions), 40.0),
    )


def assert_same(first, second):
    assert first.subject_ids == second.subject_ids
    assert first.connectomes.dtype == second.connectomes.dtype
    np.testing.assert_array_equal(first.connectomes, second.connectomes)
    for name in ("motion", "traits", "regions"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name), check_exact=True)
    assert (first.lengths is None) == (second.lengths is None)
    if first.lengths is not None:
        np.testing.assert_array_equal(first.lengths, second.lengths)


@st.composite
def cohorts(draw):
    values = draw(matrices())
    n_subjects, n_regions, _ = values.shape
    columns = st.one_of(
        npst.arrays(np.float64, n_subjects),
        npst.arrays(np.float32, n_subjects),
        npst.arrays(np.int64, n_subjects),
        npst.arrays(np.bool_, n_subjects),
        st.lists(st.one_of(st.none(), cells), min_size=n_subjects, max_size=n_subjects).map(
            lambda cell: pd.Series(cell, dtype="str").array
        ),
    )
    tables = st.dictionaries(texts, columns, max_size=3).map(pd.DataFrame)
    names = draw(st.lists(texts, min_size=n_regions, max_size=n_regions))
    return Cohort(
        draw(st.lists(texts, min_size=n_subjects, max_size=n_subjects, unique=True)),
        values,
        motion=draw(tables),
        traits=draw(tables),
        regions=pd.DataFrame({"name": names}),
        lengths=draw(st.none() | st.just(np.full((n_regions, n_regions), 0.1 + 0.2))),
    )


@settings(max_examples=60)
@given(cohort=cohorts())
def test_any_cohort_is_read_back_exactly(cohort, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cohorts") / "cohort"
    cohort.save(folder)
    assert_same(Cohort.load(folder), cohort)


def test_strange_ids_stay_what_they_are(tmp_path):
    cohort = Cohort(STRANGE_IDS, np.zeros((len(STRANGE_IDS), 2, 2), dtype=np.uint8))
    cohort.save(tmp_path / "cohort")
    assert Cohort.load(tmp_path / "cohort").subject_ids == tuple(STRANGE_IDS)


def test_codes_and_missing_values_stay_what_they_are(tmp_path):
    traits = pd.DataFrame({"site": ["001", None], "iq": [np.nan, 101.0], "note": ["", "NA"]})
    Cohort(["A", "B"], np.zeros((2, 2, 2)), traits=traits).save(tmp_path / "cohort")
    back = Cohort.load(tmp_path / "cohort").traits
    assert back["site"].iloc[0] == "001"
    assert back["note"].tolist() == ["", "NA"]
    assert back.isna().to_numpy().tolist() == [[False, True, False], [True, False, False]]


def test_memory_mapped_connectomes_stay_on_disk_and_work(tmp_path):
    cohort = small_cohort()
    cohort.save(tmp_path / "cohort")
    mapped = Cohort.load(tmp_path / "cohort", memory_map=True)
    base = mapped.connectomes
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert_same(mapped.select([3, 1]), cohort.select([3, 1]))
    np.testing.assert_array_equal(mapped.edge_means(), cohort.edge_means())


def test_the_folder_is_the_documented_one(tmp_path):
    small_cohort().save(tmp_path / "cohort")
    assert {path.name for path in (tmp_path / "cohort").iterdir()} == {
        "cohort.json", "connectomes.npy", "lengths.npy", "motion.tsv", "traits.tsv", "regions.tsv",
    }  # fmt: skip
    header = json.loads((tmp_path / "cohort" / "cohort.json").read_text())
    assert (header["format"], header["version"]) == ("stillome-cohort", 1)
    assert (tmp_path / "cohort" / "motion.tsv").read_text().startswith("participant_id\trms_mm\n")


def test_an_earlier_cohort_is_kept_unless_told(tmp_path):
    small_cohort(seed=0).save(tmp_path / "cohort")
    with pytest.raises(FileError, match="exists already"):
        small_cohort(seed=1).save(tmp_path / "cohort")
    assert_same(Cohort.load(tmp_path / "cohort"), small_cohort(seed=0))
    small_cohort(seed=1).save(tmp_path / "cohort", overwrite=True)
    assert_same(Cohort.load(tmp_path / "cohort"), small_cohort(seed=1))


def test_a_strangers_folder_is_never_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileError, match="holds other things"):
        small_cohort().save(tmp_path, overwrite=True)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("name", ["cohort.json", "connectomes.npy", "motion.tsv", "regions.tsv"])
@settings(max_examples=60)
@given(place=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_folder_is_read_or_refused(tmp_path_factory, name, place, byte, cut):
    folder = tmp_path_factory.getbasetemp() / "damaged"
    if not folder.exists():
        small_cohort().save(folder)
    content = (folder / name).read_bytes()
    place %= min(len(content), 400)
    damaged = content[:place] if cut else content[:place] + bytes([byte]) + content[place + 1 :]
    try:
        (folder / name).write_bytes(damaged)
        for memory_map in (False, True):
            try:
                Cohort.load(folder, memory_map=memory_map)
            except FileError as error:
                assert "damaged" in str(error)
    finally:
        (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"format": "other"}, "not a saved stillome cohort"),
        ({"format": "stillome-cohort", "version": 2}, "Update stillome"),
        ({"format": "stillome-cohort", "version": 1}, "does not say what the columns hold"),
    ],
)
def test_foreign_and_later_folders_are_refused(tmp_path, header, says):
    (tmp_path / "cohort.json").write_text(json.dumps(header))
    with pytest.raises(FileError, match=says):
        Cohort.load(tmp_path)


def test_a_missing_folder_is_named():
    with pytest.raises(FileError, match="nowhere"):
        Cohort.load("nowhere")


def test_pickled_arrays_are_refused(tmp_path):
    small_cohort().save(tmp_path / "cohort")
    np.save(tmp_path / "cohort" / "connectomes.npy", np.array([{}], dtype=object))
    with pytest.raises(FileError, match=r"connectomes\.npy"):
        Cohort.load(tmp_path / "cohort")


@settings(max_examples=200)
@given(
    ids=st.one_of(st.just(["A", "B"]), odd_lists),
    connectomes=st.one_of(st.just(np.zeros((2, 3, 3))), odd),
    motion=st.one_of(st.just(pd.DataFrame()), odd_tables),
    regions=st.one_of(st.just(pd.DataFrame()), odd_tables),
    lengths=st.one_of(st.none(), odd),
)
def test_odd_cohorts_are_made_or_refused_in_a_sentence(ids, connectomes, motion, regions, lengths):
    try:
        cohort = Cohort(ids, connectomes, motion=motion, regions=regions, lengths=lengths)
    except StillomeError as error:
        assert len(str(error)) > 20
    else:
        assert cohort.n_subjects == len(cohort.motion) == len(cohort.traits)
        assert len(cohort.regions) == cohort.n_regions


@given(value=st.one_of(odd, odd_scalars), other=odd_scalars)
def test_odd_questions_are_answered_or_refused_in_a_sentence(value, other):
    cohort = small_cohort()
    questions = [
        lambda: cohort.select(value),
        lambda: cohort.edge_means(value),
        lambda: cohort.split(test_size=value),
        lambda: cohort.split(random_state=other),
        lambda: cohort.motion_groups(value),
        lambda: cohort.motion_groups("rms_mm", quantile=value),
        lambda: cohort.group_difference("rms_mm", quantile=other),
    ]
    for question in questions:
        try:
            question()
        except StillomeError as error:
            assert len(str(error)) > 20


def test_the_cohort_cannot_be_changed():
    with pytest.raises(AttributeError):
        small_cohort().subject_ids = ()


def test_select_takes_ids_positions_and_masks():
    cohort = small_cohort()
    mask = np.zeros(20, dtype=bool)
    mask[[2, 5]] = True
    by_id = cohort.select(["sub-002", "sub-005"])
    assert_same(by_id, cohort.select([2, 5]))
    assert_same(by_id, cohort.select(mask))
    assert cohort.select(["sub-005", "sub-002"]).subject_ids == ("sub-005", "sub-002")
    np.testing.assert_array_equal(by_id.connectomes, cohort.connectomes[[2, 5]])
    assert by_id.traits["age"].tolist() == cohort.traits["age"].iloc[[2, 5]].tolist()


@pytest.mark.parametrize(
    ("subjects", "says"),
    [
        (["nobody"], "no subject 'nobody'"),
        ([20], "outside 0…19"),
        (np.array([2**64 - 1], dtype=np.uint64), "outside"),
        ([True, False], "mask of 2 for 20"),
        (np.zeros(20, dtype=bool), "selects none"),
        ([0, 0], "occurs twice"),
        ([], "at least one"),
    ],
)
def test_select_says_what_is_wrong(subjects, says):
    with pytest.raises(InputError, match=says):
        small_cohort().select(subjects)


@given(share=st.floats(0.05, 0.95), seed=st.integers(0, 1000))
def test_split_divides_everybody_once_and_repeatably(share, seed):
    cohort = small_cohort()
    assume(0 < round(20 * share) < 20)
    train, test = cohort.split(test_size=share, random_state=seed)
    assert sorted(train.subject_ids + test.subject_ids) == sorted(cohort.subject_ids)
    assert test.n_subjects == round(20 * share)
    assert cohort.split(test_size=share, random_state=seed)[1].subject_ids == test.subject_ids


def test_another_seed_splits_otherwise():
    splits = {small_cohort().split(random_state=seed)[1].subject_ids for seed in range(5)}
    assert len(splits) > 1


def test_motion_groups_are_the_two_ends():
    moved = np.arange(101.0)
    cohort = Cohort(
        [str(i) for i in range(101)],
        np.zeros((101, 2, 2)),
        motion=pd.DataFrame({"rms_mm": moved[::-1]}),
    )
    groups = cohort.motion_groups("rms_mm", quantile=0.1)
    assert (groups.low_cutoff, groups.high_cutoff) == (10.0, 90.0)
    assert groups.small.tolist() == list(range(90, 101))
    assert groups.large.tolist() == list(range(11))


def test_subjects_without_motion_are_in_neither_group():
    moved = np.r_[np.arange(20.0), np.nan, np.inf]
    cohort = Cohort(
        [str(i) for i in range(22)], np.zeros((22, 2, 2)), motion=pd.DataFrame({"rms_mm": moved})
    )
    groups = cohort.motion_groups("rms_mm")
    assert not {20, 21} & {*groups.small.tolist(), *groups.large.tolist()}


def test_group_difference_is_large_minus_small():
    counts = np.zeros((40, 2, 2))
    counts[:, 0, 1] = counts[:, 1, 0] = np.arange(40)
    cohort = Cohort(
        [str(i) for i in range(40)], counts, motion=pd.DataFrame({"rms_mm": np.arange(40.0)})
    )
    groups = cohort.motion_groups("rms_mm")
    expected = np.mean(groups.large) - np.mean(groups.small)
    assert cohort.group_difference("rms_mm")[0, 1] == expected > 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"motion": pd.DataFrame({"rms_mm": [0.1]})}, "1 rows for 2 subjects"),
        ({"motion": pd.DataFrame({"rms_mm": [0.1, 0.2]}, index=["B", "A"])}, "same order"),
        ({"motion": pd.DataFrame([[0.1], [0.2]])}, "column name 0"),
        ({"traits": pd.DataFrame({"participant_id": ["A", "B"]})}, "kept for the index"),
        ({"traits": pd.DataFrame({"born": pd.to_datetime(["2001-01-01"] * 2)})}, "Convert it"),
        ({"regions": pd.DataFrame({"x": [0, 1]})}, "no column 'name'"),
        ({"regions": pd.DataFrame({"name": ["a"]})}, "2 regions but 1 region names"),
        ({"lengths": [[0, -1], [-1, 0]]}, "lengths: negative"),
        ({"lengths": [[0.0]]}, r"expected \(2, 2\)"),
        ({"subject_ids": "AB"}, "expected a list of ids"),
        ({"subject_ids": [1, 2]}, "expected text"),
        ({"subject_ids": ["A", "A"]}, "occurs twice"),
        ({"subject_ids": ["A\t", "B"]}, "holds a tab"),
        ({"subject_ids": ["A", "\ud800"]}, "other mark"),
        ({"connectomes": np.zeros((2, 3))}, "not edge vectors"),
    ],
)
def test_cohorts_say_what_does_not_fit(options, says):
    fitting = {"subject_ids": ["A", "B"], "connectomes": np.zeros((2, 2, 2))}
    with pytest.raises(InputError, match=says):
        Cohort(**(fitting | options))


def test_a_path_is_given_back(tmp_path):
    assert small_cohort().save(tmp_path / "a" / "cohort") == Path(tmp_path / "a" / "cohort")

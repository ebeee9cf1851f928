import gzip
import re

import numpy as np
import pandas as pd
import pytest

import motion_samples as samples
from stillome.exceptions import FileError, InputError, StillomeWarning
from stillome.io.motion.abcd import read_abcd_motion
from stillome.io.tables.phenotypes import read_table, read_traits

BASELINE, LATER = "baseline_year_1_arm_1", "2_year_follow_up_y_arm_1"
SCORE = "nihtbx_picvocab_agecorrected"


def tsv(path, *rows):
    return samples.write(path, "\n".join("\t".join(row) for row in rows) + "\n")


def test_bids_participants_keep_their_ids_as_text(tmp_path):
    path = tsv(
        tmp_path / "participants.tsv",
        ["participant_id", "age", "sex", "site", "group"],
        ["sub-001", "10", "M", "007", "NA"],
        ["sub-NA", "n/a", "n/a", "012", "EU"],
        ["sub-1e5", "12.5", "F", "100", "NA"],
    )
    table = read_table(path)
    assert table.index.tolist() == ["001", "NA", "1e5"]
    assert table.index.name == "participant_id"
    assert table["age"].tolist()[::2] == [10.0, 12.5] and np.isnan(table["age"].iloc[1])
    assert table["sex"].isna().tolist() == [False, True, False]
    assert table["site"].tolist() == ["007", "012", "100"]
    # 'NA' among words is a word.
    assert table["group"].tolist() == ["NA", "EU", "NA"]


def test_na_among_numbers_is_missing(tmp_path):
    path = samples.write(tmp_path / "t.csv", "id,a,b,c\n1,NA,1_000,\n2,3,2,\n")
    table = read_table(path)
    assert np.isnan(table["a"].iloc[0]) and table["a"].iloc[1] == 3
    assert table["b"].tolist() == ["1_000", "2"]
    assert table["c"].isna().all()


def test_numbers_keep_every_bit(tmp_path):
    values = np.random.default_rng(0).normal(size=50)
    body = "".join(f"s{i},{value!r}\n" for i, value in enumerate(values.tolist()))
    table = read_table(samples.write(tmp_path / "t.csv", "id,x\n" + body))
    assert np.array_equal(table["x"], values)


def test_abcd_4_with_its_row_of_descriptions(tmp_path):
    rows = [("NDAR_INVAA01", BASELINE, "104.0"), ("NDAR_INVAA02", BASELINE, "")]
    path = samples.abcd4(tmp_path / "abcd_tbss01.txt", rows, [SCORE], ["Picture Vocabulary"])
    table = read_table(path)
    assert table.index.tolist() == ["NDARINVAA01", "NDARINVAA02"]
    assert table[SCORE].iloc[0] == 104 and np.isnan(table[SCORE].iloc[1])
    assert list(table.columns) == ["sex", SCORE]
    assert table.attrs["descriptions"][SCORE] == "Picture Vocabulary"
    assert table.attrs["id_column"] == "src_subject_id"


def test_abcd_5_and_6_and_hcp(tmp_path):
    five = samples.write(
        tmp_path / "nc_y_nihtb.csv", f"src_subject_id,eventname,{SCORE}\nNDAR_INVA,{BASELINE},99\n"
    )
    six = samples.write(
        tmp_path / "six.tsv",
        "participant_id\tsession_id\tnc_y_nihtb__picvcb__agecor_score\nsub-A\tses-00A\t98\n",
    )
    hcp = samples.write(tmp_path / "hcp.csv", "Subject,PicVocab_AgeAdj\n100307,119.9\n")
    assert read_table(five)[SCORE].to_dict() == {"NDARINVA": 99.0}
    assert read_table(six).iloc[:, 0].to_dict() == {"A": 98.0}
    assert read_table(hcp)["PicVocab_AgeAdj"].to_dict() == {"100307": 119.9}


def test_e9_events_are_chosen_never_guessed(tmp_path):
    rows = [(f"NDAR_INV{i:02d}", BASELINE, str(100 + i)) for i in range(10)]
    rows.append(("NDAR_INV00", LATER, "150"))
    path = samples.abcd4(tmp_path / "t.txt", rows, [SCORE])
    sentence = f"{path}: 11 rows for 10 subjects (several events). Choose session=..., one of"
    with pytest.raises(InputError, match=re.escape(sentence)):
        read_table(path)
    assert len(read_table(path, session=BASELINE)) == 10
    assert read_table(path, session=LATER)[SCORE].to_dict() == {"NDARINV00": 150.0}
    with pytest.raises(InputError, match="no session 'x'; it has"):
        read_table(path, session="x")


def test_sessions_with_or_without_their_prefix(tmp_path):
    path = tsv(
        tmp_path / "t.tsv",
        ["participant_id", "session_id", "x"],
        ["sub-1", "ses-01", "5"],
        ["sub-1", "ses-02", "6"],
    )
    assert read_table(path, session="02")["x"].tolist() == [6]
    assert read_table(path, session="ses-01")["x"].tolist() == [5]


def test_e8_two_spellings_of_one_subject(tmp_path):
    path = tsv(tmp_path / "t.tsv", ["participant_id", "x"], ["sub-A01", "1"], ["A01", "2"])
    sentence = "ids 'sub-A01' and 'A01' are the same subject after normalisation."
    with pytest.raises(FileError, match=re.escape(sentence)):
        read_table(path)


def test_sentinels_are_named_and_left(tmp_path):
    path = tsv(
        tmp_path / "t.tsv", ["id", "x", "y"], ["a", "-999", "1"], ["b", "777", "2"], ["c", "5", "3"]
    )
    with pytest.warns(StillomeWarning, match=r"-999 in 'x' \(1×\), 777 in 'x' \(1×\)"):
        table = read_table(path)
    assert table["x"].tolist() == [-999, 777, 5]
    table = read_table(path, missing_values=[-999, 777])
    assert table["x"].isna().tolist() == [True, True, False]
    assert read_table(path, columns=["y"])["y"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("age,sex\n1,M\n", "no column of subject ids"),
        ("participant_id,age\n", "no row below the header"),
        ("participant_id,age\na,1,2\n", "row 2 has 3 cells; the header has 2"),
        ("participant_id,age,age\na,1,2\n", "'age' occurs more than once"),
        ("participant_id,age\n,1\n", "subject 1 has no id"),
        ("participant_id,age\nn/a,1\n", "subject 1 has no id"),
        ('participant_id,age\n"a,1\n', "cannot be read as a table"),
        ("participant_id,age\na,1\na,2\n", "2 rows for 1 subjects; 'a' occurs more than once"),
        ("", "empty"),
    ],
)
def test_what_is_no_table(tmp_path, content, sentence):
    path = samples.write(tmp_path / "t.csv", content)
    with pytest.raises((FileError, InputError), match=sentence):
        read_table(path)


def test_columns_and_ids_by_name(tmp_path):
    path = samples.write(tmp_path / "t.csv", "who;score\nsub-a;1\n")
    assert read_table(path, id_column="who")["score"].to_dict() == {"a": 1}
    with pytest.raises(InputError, match=r"no column 'scor'; it has \['score'\]"):
        read_table(path, id_column="who", columns=["scor"])
    with pytest.raises(FileError, match="'whom' or the like"):
        read_table(path, id_column="whom")


def test_gzipped_with_byte_order_mark_and_an_unnamed_index(tmp_path):
    content = "\ufeff,Subject,x\r\n0,001,2\r\n"
    path = samples.write(tmp_path / "t.csv.gz", gzip.compress(content.encode()))
    assert read_table(path).to_dict("index") == {"001": {"x": 2.0}}


@pytest.fixture
def bids(tmp_path):
    tsv(
        tmp_path / "participants.tsv",
        ["participant_id", "age", "sex"],
        ["sub-A", "10", "M"],
        ["sub-B", "n/a", "F"],
    )
    tsv(
        tmp_path / "phenotype/nihtb.tsv",
        ["participant_id", "session_id", "reading", "age"],
        ["sub-B", "ses-01", "101", "11"],
        ["sub-C", "ses-01", "95", "12"],
    )
    return tmp_path


def test_traits_of_a_bids_folder_are_joined(bids):
    table = read_traits(bids)
    assert table.index.tolist() == ["A", "B", "C"]
    assert table["age"].tolist() == [10, 11, 12]
    assert np.isnan(table["reading"].iloc[0]) and table["reading"].tolist()[1:] == [101, 95]
    assert pd.isna(table["sex"].iloc[2])
    assert len(table.attrs["source"]) == 2


def test_traits_chosen_by_name(bids):
    table = read_traits(bids, columns=["reading", "sex"], session="01")
    assert list(table.columns) == ["reading", "sex"]
    with pytest.raises(InputError, match="no column 'iq'"):
        read_traits(bids, columns=["iq"])


def test_traits_that_contradict_or_share_nobody(bids):
    other = tsv(bids / "o.tsv", ["participant_id", "age"], ["sub-A", "99"])
    with pytest.raises(InputError, match="column 'age' contradicts another table"):
        read_traits([bids / "participants.tsv", other])
    strangers = tsv(bids / "s.tsv", ["participant_id", "iq"], ["sub-X", "99"])
    with pytest.raises(InputError, match=r"No ids in common: .* e\.g\. 'A', .* e\.g\. 'X'"):
        read_traits([bids / "participants.tsv", strangers])
    with pytest.raises(FileError, match=r"neither participants\.tsv nor phenotype"):
        read_traits(bids / "phenotype")
    with pytest.raises(InputError, match="no table given"):
        read_traits([])


@pytest.mark.parametrize(
    "columns",
    [
        ["dmri_dti_meanmotion", "dmri_dti_meantrans", "dmri_dti_meanrot"],
        ["dmri_meanmotion", "dmri_meantrans", "dmri_meanrot"],
        [f"mr_y_qc__mot__dmri__{what}_mean" for what in ("mot", "trans", "rot")],
    ],
)
def test_abcd_motion_of_every_release(tmp_path, columns):
    rows = [("NDAR_INVA", BASELINE, "1.1", "0.4", "0.3"), ("NDAR_INVB", BASELINE, "", "", "")]
    path = samples.abcd4(tmp_path / "t.txt", rows, columns)
    with pytest.warns(StillomeWarning, match="meanrot taken as degrees|rot_mean taken as degrees"):
        table = read_abcd_motion(path)
    assert table.loc["NDARINVA"].tolist() == pytest.approx([1.1, 0.4, np.deg2rad(0.3)])
    assert table.loc["NDARINVB"].isna().all()
    in_radians = read_abcd_motion(path, rotation_unit="rad")
    assert in_radians["rotation_rad"].iloc[0] == 0.3


def test_abcd_motion_in_the_unit_that_is_described(tmp_path):
    columns = ["dmri_dti_meanmotion", "dmri_dti_meanrot"]
    for words, expected in (("in degrees", np.deg2rad(0.3)), ("in radians", 0.3)):
        path = samples.abcd4(
            tmp_path / "t.txt",
            [("NDAR_INVA", BASELINE, "1.1", "0.3")],
            columns,
            ["Average framewise displacement in mm", f"Average rotation {words}"],
        )
        assert read_abcd_motion(path)["rotation_rad"].iloc[0] == pytest.approx(expected)


def test_abcd_motion_that_is_none(tmp_path):
    with pytest.raises(FileError, match="none of ABCD's motion columns"):
        read_abcd_motion(samples.write(tmp_path / "t.csv", "src_subject_id,x\nA,1\n"))
    for value, sentence in (("abc", "not a number"), ("-1", "is -1 for subject 'A'")):
        path = samples.write(tmp_path / "t.csv", f"src_subject_id,dmri_meanmotion\nA,{value}\n")
        with pytest.raises(InputError, match=sentence):
            read_abcd_motion(path)

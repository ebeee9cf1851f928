import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interruptible import start
from stillome.exceptions import FileError, InputError
from stillome.persistence import (
    check_replaceable,
    column_dtypes,
    read_array,
    read_json,
    read_table,
    write_json,
    write_table,
    written_aside,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_only_when_the_block_is_done(tmp_path):
    with written_aside(tmp_path / "a.txt") as aside:
        aside.write_text("new")
        assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "a.txt").read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failing_block_leaves_everything_as_it_was(tmp_path, overwrite):
    if overwrite:
        (tmp_path / "a.txt").write_text("old")
    before = names(tmp_path)
    with (
        pytest.raises(ZeroDivisionError),
        written_aside(tmp_path / "a.txt", overwrite=overwrite) as aside,
    ):
        aside.write_text("half")
        1 / 0  # noqa: B018
    assert names(tmp_path) == before
    assert not overwrite or (tmp_path / "a.txt").read_text() == "old"


KILLED = """
import sys, time
from stillome.persistence import written_aside
with written_aside(sys.argv[1], overwrite=True, marker="header.json") as aside:
    aside.mkdir()
    (aside / "half").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_killed_process_leaves_nothing_half_written(tmp_path, signal_number, earlier):
    target = tmp_path / "result"
    if earlier:
        target.mkdir()
        (target / "header.json").write_text("{}")
    process = start(
        *(sys.executable, "-c", KILLED, str(target)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout.readline() == b"writing\n"
    process.send_signal(signal_number)
    process.stdout.close()
    assert process.wait(20) != 0
    assert target.exists() == earlier
    assert not earlier or names(target) == ["header.json"]
    if signal_number == signal.SIGINT:
        assert names(tmp_path) == (["result"] if earlier else [])


def test_what_appears_meanwhile_is_not_overwritten(tmp_path):
    with pytest.raises(FileError, match="exists already"), written_aside(tmp_path / "a") as aside:
        aside.write_text("mine")
        (tmp_path / "a").write_text("theirs")
    assert (tmp_path / "a").read_text() == "theirs"


def test_a_folder_is_replaced_only_if_it_holds_the_marker(tmp_path):
    folder = tmp_path / "result"
    folder.mkdir()
    check_replaceable(folder, overwrite=True)  # empty
    (folder / "header.json").write_text("{}")
    with pytest.raises(FileError, match="holds other things"):
        check_replaceable(folder, overwrite=True)
    with written_aside(folder, overwrite=True, marker="header.json") as aside:
        aside.mkdir()
        (aside / "new").touch()
    assert names(folder) == ["new"]
    assert names(tmp_path) == ["result"]


def test_a_link_is_followed_and_kept(tmp_path):
    (tmp_path / "data.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("data.txt")
    with written_aside(tmp_path / "link.txt", overwrite=True) as aside:
        aside.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "data.txt").read_text() == "new"


@pytest.mark.parametrize("path", ["/", ".", "a\0b", "x" * 5000, "/proc/nothing/here"])
def test_impossible_places_are_refused_in_a_sentence(path):
    with pytest.raises(FileError), written_aside(path, overwrite=True) as aside:
        aside.write_text("")


def test_a_file_in_the_way_of_the_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="file"), written_aside(tmp_path / "file" / "a") as aside:
        aside.write_text("")


@given(st.binary(max_size=80))
def test_any_bytes_are_json_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "odd.json"
    path.write_bytes(content)
    try:
        assert isinstance(read_json(path), dict)
    except FileError as error:
        assert "odd.json" in str(error)


@pytest.mark.parametrize("content", ["[1]", "1" * 5000, "[" * 100_000, "{"])
def test_other_json_is_refused(tmp_path, content):
    (tmp_path / "odd.json").write_text(content)
    with pytest.raises(FileError, match=r"odd\.json"):
        read_json(tmp_path / "odd.json")


def test_json_keeps_what_it_is_given(tmp_path):
    content = {"name": "é脳", "values": [1, 2.5, None]}
    write_json(tmp_path / "a.json", content)
    assert read_json(tmp_path / "a.json") == content


@given(st.binary(max_size=200).map(lambda rest: b"\x93NUMPY\x01\x00" + rest))
def test_any_bytes_are_an_array_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "odd.npy"
    path.write_bytes(content)
    for memory_map in (False, True):
        try:
            assert isinstance(read_array(path, memory_map=memory_map), np.ndarray)
        except FileError as error:
            assert "odd.npy" in str(error)


def test_a_zip_with_the_wrong_name_is_no_array(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.zeros(2))
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    with pytest.raises(FileError, match=r"a\.npy"):
        read_array(tmp_path / "a.npy")


@given(st.lists(st.floats(), min_size=1, max_size=20))
def test_floats_in_tables_keep_every_bit(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "table.tsv"
    table = pd.DataFrame({"value": values}, dtype=np.float64)
    write_table(path, table)
    back = read_table(path, dtypes=column_dtypes(table))["value"].to_numpy()
    np.testing.assert_array_equal(back, table["value"].to_numpy())
    assert (np.signbit(back) == np.signbit(table["value"]))[~np.isnan(back)].all()


@pytest.mark.parametrize(
    ("content", "dtypes"),
    [
        ("", {"a": "text"}),
        ("b\n1\n", {"a": "text"}),
        ("a\nmany\n", {"a": "int64"}),
        ("a\n99999999999999999999\n", {"a": "int64"}),
        ("a\n1\n", {"a": "object"}),
        ("a\n1\n", {"a": "no dtype"}),
        ("a\n1\n", {"a": 3}),
    ],
)
def test_another_table_than_the_saved_one_is_refused(tmp_path, content, dtypes):
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(FileError, match=r"a\.tsv"):
        read_table(tmp_path / "a.tsv", dtypes=dtypes)


def test_columns_that_cannot_be_written_exactly_are_refused():
    with pytest.raises(InputError, match="'when' holds datetime64"):
        column_dtypes(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}))

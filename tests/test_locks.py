"""Locks on folders, and what is left by processes that were killed."""

import subprocess
import sys
import textwrap

import pytest

from stillome import locks
from stillome.persistence import written_aside

HOLD = """
    import sys, time
    from pathlib import Path
    from stillome.locks import holder_beside, lock
    place = Path(sys.argv[1])
    with holder_beside(place / "result") as holder:
        (holder / "half").write_text("half")
        lock(place)
        print(holder, flush=True)
        time.sleep(60)
"""


@pytest.fixture
def another(tmp_path):
    """Another process that writes beside `tmp_path / "result"` and has locked `tmp_path`."""
    command = [sys.executable, "-c", textwrap.dedent(HOLD), str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    holder = process.stdout.readline().strip()
    yield process, tmp_path / holder
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_folder_is_locked_while_its_process_lives(another, tmp_path):
    process, _ = another
    assert locks.lock(tmp_path) is None
    process.kill()
    process.wait()
    handle = locks.lock(tmp_path)
    assert handle is not None and handle >= 0
    locks.unlock(handle)


def test_what_is_written_aside_stays_while_its_process_lives_and_is_swept_after(another, tmp_path):
    process, holder = another
    with written_aside(tmp_path / "other") as aside:
        aside.write_text("whole")
    assert (holder / "half").exists()
    process.kill()
    process.wait()
    with written_aside(tmp_path / "third") as aside:
        aside.write_text("whole")
    assert not holder.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "third"]


def test_a_result_that_was_moved_by_a_process_that_was_killed_is_put_back(tmp_path):
    moved = tmp_path / ".stillome-killed" / "result.old"
    moved.mkdir(parents=True)
    (moved / "data").write_text("precious")
    locks.sweep(tmp_path)
    assert (tmp_path / "result" / "data").read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir()] == ["result"]


def test_folders_are_exchanged_and_the_old_one_is_gone_after(tmp_path):
    for text in ("first", "second"):
        with written_aside(tmp_path / "result", overwrite=True, marker="data") as aside:
            aside.mkdir()
            (aside / "data").write_text(text)
    assert (tmp_path / "result" / "data").read_text() == "second"
    assert [p.name for p in tmp_path.iterdir()] == ["result"]


def test_a_folder_with_nothing_but_litter_can_be_used(tmp_path):
    (tmp_path / "out" / ".stillome-killed").mkdir(parents=True)
    with written_aside(tmp_path / "out", overwrite=True, marker="data") as aside:
        aside.mkdir()
        (aside / "data").write_text("new")
    assert (tmp_path / "out" / "data").read_text() == "new"

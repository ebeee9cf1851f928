"""Damaged files: one sentence or a sound result, always, quickly and in little memory."""

import resource
import shutil
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from connectome_files import SAMPLES
from io_samples import damageable, sound
from mutations import MUTATIONS, rewrite
from stillome.exceptions import StillomeError, StillomeWarning
from stillome.io.connectomes import read_connectomes

N_MUTATIONS = 500
SECONDS = 5
MEBIBYTES = 1024


@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_files_are_refused_or_read_soundly(name: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(sum(name.encode()))
    target, files = damageable(name, tmp_path)
    originals = [file.read_bytes() for file in files]
    answered = refused = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(N_MUTATIONS):
        mutate = MUTATIONS[int(generator.integers(0, len(MUTATIONS)))]
        which = int(generator.integers(0, len(files)))
        rewrite(files[which], mutate(originals[which], generator))
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StillomeWarning)
            try:
                data = read_connectomes(target, **SAMPLES[name].arguments)
            except StillomeError as error:
                refused += 1
                assert str(error).strip()
            else:
                answered += 1
                assert sound(data)
        assert time.process_time() - started < SECONDS
        rewrite(files[which], originals[which])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEBIBYTES
    assert refused > N_MUTATIONS // 10
    assert answered + refused == N_MUTATIONS


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_no_file_is_refused(name: str, tmp_path: Path) -> None:
    path, _ = damageable(name, tmp_path)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    arguments = SAMPLES[name].arguments
    with pytest.raises(StillomeError, match="no such file"):
        read_connectomes(path, **arguments)
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(StillomeError, match="a link to a missing file"):
        read_connectomes(path, **arguments)
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(StillomeError, match="cannot be opened"):
        read_connectomes(path, **arguments)
    path.unlink()
    path.mkdir()
    with pytest.raises(StillomeError, match="no connectome files"):
        read_connectomes(path, **arguments)

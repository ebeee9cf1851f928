"""Every reader, 500 damaged files each: an answer of the right kind, or a StillomeError."""

import gzip
import time
import warnings
import zlib

import numpy as np
import pandas as pd
import pytest

import motion_samples as samples
from mutations import rewrite
from stillome.exceptions import StillomeError, StillomeWarning
from stillome.io.motion import fsl
from stillome.io.motion.abcd import read_abcd_motion
from stillome.io.motion.itk_transforms import mat_kind, read_itk_transform
from stillome.io.motion.qsiprep import read_image_qc, read_qsiprep_confounds
from stillome.io.motion.summary import read_motion
from stillome.io.tables.phenotypes import read_table, read_traits

N_MUTATIONS = 500
POISON = (b"nan", b"inf", b"-inf", b"1e999", b"-1", b"\xff\xfe", b"\0", b"\xc3", b'"', b"\n\n")
POISON += (b"n/a", b"9" * 400, b"\r", b"\x1f\x8b", b"[" * 3000, "\u2028".encode(), b"0x10", b"1_0")


def mutated(content, rng):
    """Damage a file in one of the ways in which files are damaged."""
    place, other = sorted(rng.integers(0, len(content) + 1, size=2))
    match rng.integers(0, 9):
        case 0:
            return content[:place]
        case 1:
            damaged = bytearray(content)
            for at in rng.integers(0, len(content), size=rng.integers(1, 6)):
                damaged[at] ^= 1 << int(rng.integers(0, 8))
            return bytes(damaged)
        case 2:
            old, new = rng.choice([b"\t", b",", b";", b" ", b"\n", b".", b":"], 2)
            return content.replace(bytes(old), bytes(new))
        case 3 | 4:
            poison = POISON[rng.integers(0, len(POISON))]
            return content[:place] + poison + content[min(place + len(poison), other) :]
        case 5:
            return content[:place] + content[other:]
        case 6:
            return content[:other] + content[place:]
        case 7:
            return content[:place] + rng.bytes(8) + content[place:]
    return rng.choice([0, 1]) * b"\n" if place % 2 else gzip.compress(content)[: place + 9]


def is_floats(values, ndim):
    return values.dtype == np.float64 and values.ndim == ndim and not np.isinf(values).any()


def is_table(table):
    assert isinstance(table, pd.DataFrame)
    return len(table) > 0 and all(isinstance(subject, str) and subject for subject in table.index)


def parameters():
    return samples.movement_parameters(np.random.default_rng(0), 4)


def make_confounds(path):
    return samples.qsiprep_confounds(path, parameters(), [np.nan, 0.1, 0.2, 0.3])


def make_abcd(path):
    rows = [("NDAR_INVA", "baseline", "1.1", "0.3"), ("NDAR_INVB", "baseline", "0.9", "")]
    columns = ["dmri_dti_meanmotion", "dmri_dti_meanrot"]
    return samples.abcd4(path, rows, columns, ["Displacement in mm", "Rotation in degrees"])


def make_participants(path):
    return samples.write(path, "participant_id\tage\tsite\nsub-001\t10\ts1\nsub-NA\tn/a\ts2\n")


def make_rms(path):
    return samples.write(path, samples.lines(samples.movement_rms(np.random.default_rng(1), 4)))


READERS = {
    "x.eddy_movement_rms": (fsl.read_eddy_movement_rms, make_rms, lambda a: is_floats(a, 2)),
    "x.eddy_parameters": (
        fsl.read_eddy_parameters,
        lambda path: samples.eddy_parameters(path, parameters()),
        lambda a: is_floats(a, 2) and a.shape[1] == 6,
    ),
    "x.eddy_outlier_map": (
        fsl.read_eddy_outlier_map,
        lambda path: samples.outlier_map(path, np.eye(4, 3, dtype=int)),
        lambda a: is_floats(a, 2),
    ),
    "x.eddy_outlier_report": (
        fsl.read_eddy_outlier_report,
        lambda path: samples.outlier_report(path, [(3, 6), (1, 7)]),
        lambda table: list(table.columns) == ["slice", "scan", "stdev"],
    ),
    "qc.json": (
        fsl.read_eddy_quad,
        samples.quad_json,
        lambda quad: all(np.isnan(value) or value >= 0 for value in quad),
    ),
    "flirt.mat": (fsl.read_flirt_matrix, samples.flirt, lambda a: a.shape == (4, 4)),
    "mcf.par": (
        fsl.read_mcflirt_parameters,
        lambda path: samples.write(path, samples.lines(parameters()[:, [3, 4, 5, 0, 1, 2]])),
        lambda a: is_floats(a, 2) and a.shape[1] == 6,
    ),
    "mcf_rel.rms": (
        fsl.read_mcflirt_rms,
        lambda path: samples.write(path, "0.1\n0.25\n0.5\n"),
        lambda a: is_floats(a, 1) and not (a < 0).any(),
    ),
    "itk.txt": (read_itk_transform, samples.itk_text, lambda a: is_floats(a, 2)),
    "ants.mat": (read_itk_transform, samples.ants_affine, lambda a: is_floats(a, 2)),
    "kind.mat": (mat_kind, samples.ants_affine, {"flirt", "itk", "matlab", "unknown"}.__contains__),
    "confounds.tsv": (
        read_qsiprep_confounds,
        make_confounds,
        lambda table: is_floats(table.to_numpy(), 2),
    ),
    "image_qc.tsv": (
        read_image_qc,
        lambda path: samples.image_qc(path, {"sub-A": 0.25, "sub-B": 0.5}),
        lambda table: is_table(table) and not (table["mean_fd"] < 0).any(),
    ),
    "abcd.txt": (
        read_abcd_motion,
        make_abcd,
        lambda table: is_table(table) and is_floats(table.to_numpy(), 2),
    ),
    "participants.tsv": (read_table, make_participants, is_table),
    "phenotype.tsv": (lambda path: read_traits(path.parent), make_participants, is_table),
    "sub-A.eddy_movement_rms": (read_motion, make_rms, is_table),
    "sub-A_confounds.tsv": (lambda path: read_motion(path.parent), make_confounds, is_table),
}


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(tmp_path, name):
    read, make, is_right = READERS[name]
    path = make(tmp_path / ("participants.tsv" if name == "phenotype.tsv" else name))
    assert is_right(read(path))
    whole = path.read_bytes()
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    refused = 0
    for number in range(N_MUTATIONS):
        damaged = mutated(whole, rng)
        rewrite(path, damaged)
        started = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StillomeWarning)
            try:
                answer = read(path)
            except StillomeError as error:
                refused += 1
                assert str(error), number
            else:
                assert is_right(answer), (number, damaged)
        assert time.monotonic() - started < 5
    # Some damage cannot be seen; most of it is.
    assert name == "kind.mat" or refused > 0.25 * N_MUTATIONS


@pytest.mark.parametrize("name", READERS)
def test_folders_empty_files_and_nothing(tmp_path, name):
    read, _, is_right = READERS[name]
    with pytest.raises(StillomeError):
        read(tmp_path / "nowhere" / name)
    (tmp_path / name).mkdir()
    with pytest.raises(StillomeError):
        read(tmp_path / name)
    empty = samples.write(tmp_path / "empty" / name, "")
    if name in ("x.eddy_outlier_report", "kind.mat"):
        assert is_right(read(empty))
    else:
        with pytest.raises(StillomeError):
            read(empty)


def test_a_table_that_unpacks_to_gigabytes_is_refused(tmp_path):
    packed = gzip.compress(b"0 0\n" * 2**25, compresslevel=1)
    path = samples.write(tmp_path / "x.eddy_movement_rms", packed)
    with pytest.raises(StillomeError):
        fsl.read_eddy_movement_rms(path)

"""The sentences E1 to E8 of the connectome readers, each raised by a real file."""

import re
from pathlib import Path

import numpy as np
import pytest

from connectome_files import COUNTS, IDS, LENGTHS, NAMES, SAMPLES, TRUTH
from stillome.exceptions import FileError, InputError, StillomeWarning
from stillome.io.connectomes import read_connectomes


def save(path: Path, matrix: np.ndarray) -> Path:
    np.savetxt(path, matrix, fmt="%.10g", delimiter=",")
    return path


def test_e1_names_the_size(tmp_path: Path) -> None:
    path = save(tmp_path / "sub-01.csv", np.ones((5, 6)))
    with pytest.raises(FileError, match=rf"^{path}: matrix is 5×6, expected square\.$"):
        read_connectomes(path)


def test_e1_for_the_vector_that_tck2connectome_can_write(tmp_path: Path) -> None:
    path = save(tmp_path / "sub-01.csv", np.arange(15)[None])
    with pytest.raises(FileError, match="matrix is 1×15, expected square"):
        read_connectomes(path)


def test_e2_names_the_odd_subject(tmp_path: Path) -> None:
    for i, subject in enumerate(IDS):
        save(tmp_path / f"sub-{subject}.csv", COUNTS[i] if i != 2 else COUNTS[i][:5, :5])
    sentence = (
        f"{tmp_path / 'sub-A03.csv'}: 5 regions; the other 3 subjects have 6. "
        "Give labels=... or exclude the subject."
    )
    with pytest.raises(FileError, match=re.escape(sentence)):
        read_connectomes(tmp_path)


def test_e3_names_the_worst_edge(tmp_path: Path) -> None:
    matrix = TRUTH[0].copy()
    matrix[1, 5] += 9
    path = save(tmp_path / "sub-01.csv", matrix)
    sentence = (
        f"{path}: neither symmetric nor triangular (max |A−Aᵀ|=9 at lh-cuneus/rh-fusiform). "
        "Use symmetrize='max', 'mean' or 'upper'."
    )
    with pytest.raises(FileError, match=re.escape(sentence)):
        read_connectomes(path, labels=NAMES)


@pytest.mark.parametrize(
    ("how", "expected"), [("max", 12.0), ("mean", 7.5), ("upper", 12.0), ("lower", 3.0)]
)
def test_symmetrize_answers_e3(tmp_path: Path, how: str, expected: float) -> None:
    path = save(tmp_path / "sub-01.csv", np.array([[0, 12, 1], [3, 0, 2], [1, 2, 0]]))
    found = read_connectomes(path, symmetrize=how).connectomes[0]
    assert found[0, 1] == found[1, 0] == expected
    assert found[1, 2] == 2


def test_symmetrize_knows_its_words(tmp_path: Path) -> None:
    path = save(tmp_path / "sub-01.csv", TRUTH[0])
    with pytest.raises(InputError, match="symmetrize='sum'"):
        read_connectomes(path, symmetrize="sum")


@pytest.mark.parametrize("value", [-3.0, np.nan])
def test_e4_names_the_place(tmp_path: Path, value: float) -> None:
    matrix = TRUTH[0].copy()
    matrix[1, 3] = matrix[3, 1] = value
    path = save(tmp_path / "sub-01.csv", matrix)
    sentence = f"{path}: negative or NaN at (1,3); fibre counts must be ≥ 0."
    with pytest.raises(FileError, match=re.escape(sentence)):
        read_connectomes(path)


@pytest.mark.parametrize(
    ("name", "matrix", "kind"),
    [
        ("sub-01_meanlength.csv", TRUTH[0], "lengths"),
        ("sub-01.csv", LENGTHS[0], "lengths"),
        ("sub-01.csv", np.cos(np.add.outer(np.arange(6), np.arange(6))), "correlations"),
        ("sub-01.csv", TRUTH[0] / 5000, "normalised densities"),
        ("sub-01_sc_normalized.csv", TRUTH[0], "normalised densities"),
    ],
)
def test_e5_says_what_it_looks_like(
    tmp_path: Path, name: str, matrix: np.ndarray, kind: str
) -> None:
    path = save(tmp_path / name, matrix)
    sentence = (
        rf"^{re.escape(str(path))}: looks like {kind}, not counts \(.+\)\. Pass measure=\.\.\. to"
    )
    with pytest.raises(FileError, match=sentence):
        read_connectomes(path)
    if kind != "correlations":
        found = read_connectomes(path, measure="count").connectomes[0]
        np.testing.assert_allclose(found, matrix * ~np.eye(6, dtype=bool))


def test_e5_for_the_matrices_of_a_stack(tmp_path: Path) -> None:
    np.save(tmp_path / "stack.npy", LENGTHS)
    with pytest.raises(FileError, match="looks like lengths, not counts"):
        read_connectomes(tmp_path / "stack.npy", subjects=IDS)


def test_e6_lists_the_matrices_of_a_file(tmp_path: Path) -> None:
    folder = SAMPLES["qsirecon"].make(tmp_path)
    sentence = (
        r"sub-A01_ses-1_connectivity\.mat holds several matrices: "
        r"\[Toy6/radius2_count, Toy6_ext/radius2_count\]\. Choose atlas=... or measure=...\."
    )
    with pytest.raises(FileError, match=sentence):
        read_connectomes(folder)


def test_e6_lists_the_patterns_of_a_folder(tmp_path: Path) -> None:
    for i, subject in enumerate(IDS):
        save(tmp_path / f"sub-{subject}_desc-aal_connectome.csv", COUNTS[i])
        save(tmp_path / f"sub-{subject}_desc-toy_connectome.csv", COUNTS[i] * 2)
    sentence = (
        f"{tmp_path} holds several matrices: [*_desc-aal_connectome.csv, "
        "*_desc-toy_connectome.csv]. Choose atlas=... or measure=...."
    )
    with pytest.raises(FileError, match=re.escape(sentence)):
        read_connectomes(tmp_path)
    np.testing.assert_array_equal(read_connectomes(tmp_path, atlas="toy").connectomes, TRUTH * 2)


def test_a_measure_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    folder = SAMPLES["qsiprep"].make(tmp_path)
    with pytest.raises(FileError, match="no matrix of that atlas or measure; it holds"):
        read_connectomes(folder, measure="number_of_ghosts")


class Dangerous:
    """Leaves a trace if it is ever unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return exec, ("import pathlib; pathlib.Path('unpickled').touch()", "")


@pytest.mark.parametrize("name", ["net.gpickle", "net.pkl", "sub-01.csv", "stack.npy", "model.zip"])
def test_e7_refuses_pickles_without_opening_them(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pickle
    import zipfile

    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    if name.endswith(".npy"):
        np.save(path, np.array([Dangerous()], dtype=object), allow_pickle=True)
    elif name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model/data.pkl", pickle.dumps(Dangerous()))
    else:
        path.write_bytes(pickle.dumps(Dangerous()))
    sentence = f"{path} contains pickled Python objects, which can run code. Re-save as .npz."
    with pytest.raises(FileError, match=f"^{re.escape(sentence)}$"):
        read_connectomes(path)
    assert not (tmp_path / "unpickled").exists()


def test_e7_for_objects_in_an_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", counts=np.array([Dangerous(), None], dtype=object))
    with pytest.raises(FileError, match="contains pickled Python objects"):
        read_connectomes(tmp_path / "x.npz")


def test_e8_names_both_spellings(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", counts=COUNTS[:2], subject_ids=np.array(["sub-A01", "A01"]))
    sentence = "ids 'sub-A01' and 'A01' are the same subject after normalisation."
    with pytest.raises(InputError, match=re.escape(sentence)):
        read_connectomes(tmp_path / "x.npz")


def test_pairs_listed_twice_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "edges.tsv"
    path.write_text("source\ttarget\tweight\n1\t2\t5\n1\t2\t6\n2\t3\t1\n")
    with pytest.raises(FileError, match="pair 1/2 is listed twice"):
        read_connectomes(path)


def test_a_region_without_fibres_is_named_with_its_subjects(tmp_path: Path) -> None:
    matrices = TRUTH.copy()
    matrices[2, 3, :] = matrices[2, :, 3] = 0
    np.savez(tmp_path / "x.npz", counts=matrices, subject_ids=IDS, labels=NAMES)
    with pytest.warns(StillomeWarning, match="region 'rh-bankssts' has no fibre in A03"):
        read_connectomes(tmp_path / "x.npz")

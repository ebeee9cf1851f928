"""What users may say about files, and how folders are understood."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from connectome_files import COUNTS, IDS, NAMES, SAMPLES, TRUE_LENGTHS, TRUTH
from stillome.cohort.cohort import Cohort
from stillome.exceptions import FileError, InputError, StillomeError, StillomeWarning
from stillome.io.connectomes import read_connectomes
from stillome.io.region_names import desikan_killiany


def save(path: Path, matrix: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, matrix, fmt="%.10g", delimiter=",")
    return path


def test_a_glob_a_list_and_a_folder_are_the_same(tmp_path: Path) -> None:
    folder = SAMPLES["mrtrix_blanks"].make(tmp_path)
    whole = read_connectomes(folder)
    pattern = read_connectomes(f"{folder}/*.txt")
    listed = read_connectomes(sorted(folder.glob("*.txt")))
    for data in (pattern, listed):
        assert data.subject_ids == whole.subject_ids == IDS
        np.testing.assert_array_equal(data.connectomes, whole.connectomes)


def test_a_pattern_that_fits_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no file fits this pattern"):
        read_connectomes(f"{tmp_path}/*.csv")


def test_other_tables_in_the_folder_are_passed_over(tmp_path: Path) -> None:
    folder = SAMPLES["mrtrix"].make(tmp_path)
    (folder / "participants.tsv").write_text("participant_id\tage\nsub-A01\t10\n")
    for subject in IDS:
        weights = folder / f"sub-{subject}" / "tractogram" / f"sub-{subject}_weights.csv"
        save(weights, np.random.default_rng(0).random((1, 50)))
    data = read_connectomes(folder)
    np.testing.assert_array_equal(data.connectomes, TRUTH)
    assert any("participants.tsv: passed over" in note for note in data.notes)


def test_one_cut_off_file_among_good_ones_is_not_passed_over(tmp_path: Path) -> None:
    folder = SAMPLES["mrtrix_blanks"].make(tmp_path)
    path = folder / f"{IDS[1]}.txt"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    with pytest.raises(FileError, match=r"A02.txt: matrix is 5×6, expected square"):
        read_connectomes(folder)


def test_counts_are_preferred_over_weights_and_measures_can_be_chosen(tmp_path: Path) -> None:
    folder = SAMPLES["qsiprep"].make(tmp_path)
    assert read_connectomes(folder).measure == "radius2_count"
    weights = read_connectomes(folder, measure="sift_radius2_count")
    np.testing.assert_allclose(weights.connectomes, TRUTH / 3)
    assert any("not integer: SIFT2-weighted?" in note for note in weights.notes)
    lengths = read_connectomes(folder, measure="length")
    np.testing.assert_allclose(lengths.connectomes, TRUE_LENGTHS)


CMP3 = {
    "number_of_fibers": COUNTS[0],
    "fiber_length_mean": TRUE_LENGTHS[0],
    "fiber_length_std": TRUE_LENGTHS[0] / 9,
    "fiber_proportion": COUNTS[0] / COUNTS[0].sum(),
    "fiber_density": COUNTS[0] / 70,
    "normalized_fiber_density": COUNTS[0] / 7000,
    "FA_mean": COUNTS[0] / 1000,
    "own_measure": COUNTS[0] * 2,
}


@pytest.mark.parametrize("form", ["mat", "tsv"])
def test_the_only_fibre_count_of_a_file_is_taken_and_that_is_said(
    form: str, tmp_path: Path
) -> None:
    path = tmp_path / f"sub-A01_conndata-network_connectivity.{form}"
    if form == "mat":
        nodes = {"dn_name": np.array(NAMES, dtype=object)}
        scipy.io.savemat(path, {"sc": CMP3, "nodes": nodes})
    else:
        lines = ["\t".join(["source", "target", *CMP3])]
        for a, b in zip(*np.triu_indices(6), strict=True):
            cells = [str(a + 1), str(b + 1), *(str(values[a, b]) for values in CMP3.values())]
            lines.append("\t".join(cells))
        path.write_text("\n".join(lines))
    data = read_connectomes(path)
    np.testing.assert_array_equal(data.connectomes[0], TRUTH[0])
    assert data.lengths is not None
    np.testing.assert_allclose(data.lengths, TRUE_LENGTHS[0])
    (said,) = [note for note in data.notes if "as the fibre count" in note]
    assert said.startswith("took 'number_of_fibers' as the fibre count, not [fiber_proportion, ")
    assert "length" not in said
    density = read_connectomes(path, measure="fiber_density")
    assert not any("as the fibre count" in note for note in density.notes)


def test_two_fibre_counts_are_asked_about(tmp_path: Path) -> None:
    content = {"sc": {"number_of_fibers": COUNTS[0], "streamline_count": COUNTS[0]}, "nodes": {}}
    scipy.io.savemat(tmp_path / "sub-A01.mat", content)
    sentence = r"\[number_of_fibers, streamline_count\]. Choose atlas=... or measure=...."
    with pytest.raises(FileError, match=sentence):
        read_connectomes(tmp_path / "sub-A01.mat")


def test_atlas_names_may_hold_underscores(tmp_path: Path) -> None:
    folder = SAMPLES["qsirecon"].make(tmp_path)
    data = read_connectomes(folder, atlas="Toy6_ext")
    assert data.source.atlas == "Toy6_ext"
    np.testing.assert_array_equal(data.connectomes, TRUTH * 2)


def test_several_sessions_are_scans_unless_one_is_chosen(tmp_path: Path) -> None:
    for session, factor in (("one", 1), ("two", 2)):
        for i, subject in enumerate(IDS):
            name = f"sub-{subject}/ses-{session}/sub-{subject}_ses-{session}_connectome.csv"
            save(tmp_path / name, COUNTS[i] * factor)
    scans = read_connectomes(tmp_path)
    assert scans.subject_ids == tuple(f"{one}_ses-{s}" for one in IDS for s in ("one", "two"))
    np.testing.assert_array_equal(scans.connectomes[1::2], TRUTH * 2)
    np.testing.assert_array_equal(read_connectomes(tmp_path, session="two").connectomes, TRUTH * 2)
    with pytest.raises(FileError, match="session 'three'"):
        read_connectomes(tmp_path, session="three")


def test_regions_are_aligned_by_label(tmp_path: Path) -> None:
    data = read_connectomes(SAMPLES["labelled"].make(tmp_path))
    assert any("aligned by label" in note for note in data.notes)
    reverse = read_connectomes(tmp_path, labels=NAMES[::-1])
    assert list(reverse.regions["name"]) == list(NAMES[::-1])
    np.testing.assert_array_equal(reverse.connectomes, TRUTH[:, ::-1, ::-1])


def test_labels_choose_regions_and_say_which_is_missing(tmp_path: Path) -> None:
    path = SAMPLES["hdf5_stack"].make(tmp_path)
    some = read_connectomes(path, labels=["rh-cuneus", "lh-cuneus"])
    np.testing.assert_array_equal(some.connectomes, TRUTH[:, [4, 1]][:, :, [4, 1]])
    with pytest.raises(FileError, match="no region 'lh-insula' among its 6"):
        read_connectomes(path, labels=["lh-insula", "lh-cuneus"])


def test_labels_drop_the_unassigned_row(tmp_path: Path) -> None:
    for i, subject in enumerate(IDS):
        extra = np.pad(np.triu(COUNTS[i]), ((1, 0), (1, 0)), constant_values=0)
        extra[0] = 9
        save(tmp_path / f"sub-{subject}.csv", extra)
    with pytest.warns(StillomeWarning, match="row and column 0 left out"):
        data = read_connectomes(tmp_path, labels=NAMES)
    np.testing.assert_array_equal(data.connectomes, TRUTH)
    np.savez(tmp_path / "x.npz", counts=np.pad(COUNTS, ((0, 0), (1, 0), (1, 0))), subject_ids=IDS)
    np.testing.assert_array_equal(
        read_connectomes(tmp_path / "x.npz", labels=NAMES).connectomes, TRUTH
    )


@pytest.mark.parametrize("text", ["{}", "name\n{}", "#No. Label\n{numbered}"])
def test_labels_from_files(tmp_path: Path, text: str) -> None:
    numbered = "\n".join(f"{i + 1} {name} 1 2 3 0" for i, name in enumerate(NAMES))
    labels = tmp_path / "labels.txt"
    labels.write_text(text.format("\n".join(NAMES), numbered=numbered) + "\n")
    path = save(tmp_path / "sub-A01.csv", COUNTS[0])
    assert list(read_connectomes(path, labels=labels).regions["name"]) == list(NAMES)


def test_the_regions_of_desikan_and_killiany_are_known_whatever_their_order(
    tmp_path: Path,
) -> None:
    names = [name.removeprefix("ctx-") for name in desikan_killiany()["name"]]
    alphabetical = sorted(names)
    counts = np.random.default_rng(0).poisson(20, (68, 68))
    counts = np.triu(counts, 1) + np.triu(counts, 1).T
    np.savez(tmp_path / "x.npz", counts=counts[None], ids=["a"], labels=alphabetical)
    data = read_connectomes(tmp_path / "x.npz")
    assert any("from entry 6 on" in note for note in data.notes)
    fusiform = data.regions.set_index("name").loc["lh-fusiform"]
    assert fusiform["hemisphere"] == "L"
    assert fusiform["x"] == -35.9
    reordered = read_connectomes(tmp_path / "x.npz", labels="dk68")
    order = [alphabetical.index(name) for name in names]
    np.testing.assert_array_equal(reordered.connectomes[0], counts[np.ix_(order, order)])


def test_psc_regions_are_chosen_by_label_not_by_slice(tmp_path: Path) -> None:
    counts = np.triu(np.random.default_rng(1).poisson(20, (87, 87)) + 1, 1)
    scipy.io.savemat(tmp_path / "100307_cm_count_raw.mat", {"cm": counts})
    data = read_connectomes(tmp_path / "100307_cm_count_raw.mat", labels="dk68")
    assert data.subject_ids == ("100307",)
    assert data.n_regions == 68
    np.testing.assert_array_equal(data.connectomes[0], (counts + counts.T)[19:, 19:])


def test_dipy_keeps_row_0_if_the_labels_name_it(tmp_path: Path) -> None:
    np.save(tmp_path / "sub-A01.npy", COUNTS[0].astype(np.int64))
    data = read_connectomes(tmp_path / "sub-A01.npy", labels=NAMES)
    np.testing.assert_array_equal(data.connectomes[0], TRUTH[0])


def test_subjects_are_given_chosen_and_ordered(tmp_path: Path) -> None:
    stack = SAMPLES["npy_stack"].make(tmp_path)
    with pytest.raises(FileError, match=r"4 matrices without subject ids\. Pass subjects="):
        read_connectomes(stack)
    with pytest.raises(FileError, match=r"subjects=\.\.\. has 2 ids"):
        read_connectomes(stack, subjects=["a", "b"])
    ids = tmp_path / "ids.txt"
    ids.write_text("participant_id\n" + "\n".join(f"sub-{subject}" for subject in IDS))
    assert read_connectomes(stack, subjects=ids).subject_ids == IDS
    folder = tmp_path / "folder"
    chosen = read_connectomes(SAMPLES["mrtrix"].make(folder), subjects=["sub-A03", "A01"])
    assert chosen.subject_ids == ("A03", "A01")
    np.testing.assert_array_equal(chosen.connectomes, TRUTH[[2, 0]])
    assert len(chosen.source.files) == 2
    with pytest.raises(InputError, match="no connectome of 'A99'"):
        read_connectomes(folder, subjects=["A99"])


def test_the_axis_of_subjects_is_asked_for_when_it_cannot_be_told(tmp_path: Path) -> None:
    cube = np.concatenate([COUNTS, COUNTS[:2]])
    np.save(tmp_path / "cube.npy", np.moveaxis(cube, 0, 2))
    ids = list("abcdef")
    with pytest.raises(FileError, match="Pass axis="):
        read_connectomes(tmp_path / "cube.npy", subjects=ids)
    data = read_connectomes(tmp_path / "cube.npy", subjects=ids, axis=2)
    np.testing.assert_array_equal(data.connectomes[:4], TRUTH)
    assert read_connectomes(tmp_path / "cube.npy", subjects=ids, axis=-1).n_subjects == 6
    with pytest.raises(FileError, match="axis=7 does not leave a square"):
        read_connectomes(tmp_path / "cube.npy", subjects=ids, axis=7)


@pytest.mark.parametrize("order", ["upper", "lower"])
def test_numbered_edges_need_an_order(tmp_path: Path, order: str) -> None:
    upper = order == "upper"
    rows, columns = np.triu_indices(6, 1) if upper else np.tril_indices(6, -1)
    np.save(tmp_path / "edges.npy", COUNTS[:, rows, columns])
    with pytest.raises(FileError, match="15 edges fit 6 regions, but their order is not known"):
        read_connectomes(tmp_path / "edges.npy", subjects=IDS)
    data = read_connectomes(tmp_path / "edges.npy", subjects=IDS, edge_order=order)
    np.testing.assert_array_equal(data.connectomes, TRUTH)
    with pytest.raises(InputError, match="edge_order='sideways'"):
        read_connectomes(tmp_path / "edges.npy", subjects=IDS, edge_order="sideways")


def test_labels_say_whether_edges_include_the_diagonal(tmp_path: Path) -> None:
    rows, columns = np.triu_indices(6)
    np.save(tmp_path / "edges.npy", COUNTS[:, rows, columns])
    data = read_connectomes(tmp_path / "edges.npy", subjects=IDS, edge_order="upper", labels=NAMES)
    np.testing.assert_array_equal(data.connectomes, TRUTH)


def test_isolated_nodes_are_kept_when_another_subject_has_them(tmp_path: Path) -> None:
    header = "source\ttarget\tnumber_of_fibers\n"
    (tmp_path / "sub-1_connectivity.tsv").write_text(header + "1\t2\t5\n2\t4\t1\n1\t3\t2\n")
    (tmp_path / "sub-2_connectivity.tsv").write_text(header + "1\t2\t7\n1\t5\t3\n")
    with pytest.warns(StillomeWarning, match="has no fibre"):
        data = read_connectomes(tmp_path)
    assert list(data.regions["name"]) == ["1", "2", "3", "4", "5"]
    assert data.connectomes[1][0, 4] == data.connectomes[1][4, 0] == 3
    with pytest.warns(StillomeWarning, match=r"region '.' has no fibre in [12]"):
        named = read_connectomes(tmp_path, labels=list("abcde"))
    np.testing.assert_array_equal(named.connectomes, data.connectomes)


def test_gzipped_matrices_of_any_name(tmp_path: Path) -> None:
    path = save(tmp_path / "sub-A01_connectome.csv", COUNTS[0])
    packed = tmp_path / "packed" / "sub-A01_connectome.csv.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(read_connectomes(packed).connectomes[0], TRUTH[0])


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    target = save(tmp_path / "annex" / "XYZ", COUNTS[0])
    link = tmp_path / "sub-A01_connectome.csv"
    link.symlink_to(target)
    np.testing.assert_array_equal(read_connectomes(link).connectomes[0], TRUTH[0])


def test_a_saved_cohort_is_connectomes_too(tmp_path: Path) -> None:
    Cohort(list(IDS), TRUTH).save(tmp_path / "cohort")
    data = read_connectomes(tmp_path / "cohort")
    assert data.source.producer == "stillome cohort"
    np.testing.assert_array_equal(data.connectomes, TRUTH)


def test_network_measures_are_no_matrix(tmp_path: Path) -> None:
    path = tmp_path / "sub-A01.network_measures.txt"
    path.write_text("density\t0.5\nclustering_coeff_average(binary)\t0.7\n")
    with pytest.raises(FileError, match="network measures, not a matrix"):
        read_connectomes(path)


def test_three_kinds_of_mat_are_told_apart(tmp_path: Path) -> None:
    flirt = tmp_path / "flirt.mat"
    flirt.write_text("1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n")
    with pytest.raises(FileError, match="not recognised"):
        read_connectomes(flirt)
    ants = tmp_path / "0GenericAffine.mat"
    content = {"AffineTransform_double_3_3": np.zeros((12, 1)), "fixed": np.zeros((3, 1))}
    scipy.io.savemat(ants, content, format="4")
    with pytest.raises(FileError, match="an ANTs transform, not a connectome"):
        read_connectomes(ants)


@pytest.mark.parametrize("path", [None, 5, b"bytes", "", "a\0b", []])
def test_odd_paths_are_refused(path: object) -> None:
    with pytest.raises(StillomeError):
        read_connectomes(path)  # type: ignore[arg-type]

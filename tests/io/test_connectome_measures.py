"""What a producer's name for a matrix means: counts, weights, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from connectome_files import COUNTS, IDS, NAMES
from stillome.exceptions import FileError
from stillome.io.connectome_measures import kind_of
from stillome.io.connectomes import read_connectomes
from stillome.io.inspection import inspect_path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("radius2_count", "count"),
        ("sift_radius2_count", "weight"),
        ("sift_invnodevol_radius2_count", "weight"),
        ("invnodevol_radius2_count", "weight"),
        ("sub-01_desc-aal_sift2fbc.csv", "weight"),
        ("connectome_sift2_fbc_10M.csv", "weight"),
        ("fibre_bundle_capacity", "weight"),
        ("mean_FA", "average"),
        ("sub-01_gfa.csv", "average"),
        ("connectome_mean_MD_10M.csv", "average"),
        ("qa", "average"),
        ("AD_sub-01_sift2.csv", "weight"),
        ("sc_normalized.npy", "density"),
        ("vol.npy", "volume"),
        ("radius2_meanlength", "length"),
    ],
)
def test_the_kind_of_a_measure(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def qsirecon(folder: Path, scale: float, *measures: str) -> Path:
    for subject, counts in zip(IDS, COUNTS, strict=True):
        matrices = {f"atlas_Toy_{name}_connectivity": counts * scale for name in measures}
        names = {
            "atlas_Toy_region_ids": np.arange(1, 7),
            "atlas_Toy_region_labels": np.array(NAMES, dtype=object),
        }
        place = folder / f"sub-{subject}" / "dwi" / f"sub-{subject}_connectivity.mat"
        place.parent.mkdir(parents=True)
        scipy.io.savemat(place, names | matrices)
    return folder


@pytest.mark.parametrize("name", ["sift_invnodevol_radius2_count", "sift2_fbc"])
def test_weights_of_a_known_producer_are_read_by_default(tmp_path: Path, name: str) -> None:
    # Divided by volumes, all of them are far below 1.
    data = read_connectomes(qsirecon(tmp_path, 1e-5, name, "radius2_meanlength"))
    assert data.measure == name
    np.testing.assert_allclose(data.connectomes, read_symmetric(COUNTS) * 1e-5)


def test_counts_are_still_taken_before_weights(tmp_path: Path) -> None:
    folder = qsirecon(tmp_path, 1, "sift_invnodevol_radius2_count", "radius2_count")
    assert read_connectomes(folder).measure == "radius2_count"
    assert read_connectomes(folder, measure="weight").measure == "sift_invnodevol_radius2_count"


def read_symmetric(counts: np.ndarray) -> np.ndarray:
    upper = np.triu(counts, 1)
    return upper + np.swapaxes(upper, 1, 2)


@pytest.mark.parametrize("measure", [None, "mean_FA", "count", "weight", "fa"])
def test_averages_along_streamlines_are_refused_with_the_reason(
    tmp_path: Path, measure: str | None
) -> None:
    for subject, counts in zip(IDS, COUNTS, strict=True):
        np.savetxt(tmp_path / f"sub-{subject}_mean_FA.csv", counts / 7000, delimiter=",")
    with pytest.raises(FileError, match=r"an average along streamlines; .* undefined, not 0"):
        read_connectomes(tmp_path, measure=measure)
    described = inspect_path(tmp_path / f"sub-{IDS[0]}_mean_FA.csv")
    assert described.facts["measure"] == "an average along streamlines"
    assert "undefined, not 0" in described.warnings[0]


def test_whole_numbers_are_no_averages_if_the_user_says_so(tmp_path: Path) -> None:
    for subject, counts in zip(IDS, COUNTS, strict=True):
        np.savetxt(tmp_path / f"sub-{subject}_AD.csv", counts, delimiter=",", fmt="%d")
    with pytest.raises(FileError, match="average along streamlines"):
        read_connectomes(tmp_path)
    assert read_connectomes(tmp_path, measure="count").n_subjects == len(IDS)

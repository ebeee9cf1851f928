"""Whether every hand-made sample decodes to its truth: connectomes, motion, phenotypes.

Usage: python benchmarks/check_samples.py [FOLDER], by default ../shared/samples.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from stillome.exceptions import StillomeError, StillomeWarning
from stillome.io.connectomes import read_connectomes
from stillome.io.inspection import inspect_path
from stillome.io.motion.fsl import read_eddy_movement_rms, read_flirt_matrix, read_mcflirt_matrices
from stillome.io.motion.itk_transforms import read_itk_transform
from stillome.io.motion.rigid import rigid_displacements
from stillome.io.motion.summary import read_motion
from stillome.io.tables.phenotypes import read_table

MEASURES = {"counts": None, "weights": None, "lengths": "length"}
FILES = {
    "mrtrix3/sub-A01_count_upper.csv": "counts",
    "mrtrix3/sub-A01_count_upper.tsv": "counts",
    "mrtrix3/sub-A01_count_upper.txt": "counts",
    "mrtrix3/sub-A01_count_symmetric_zerodiag.csv": "counts",
    "mrtrix3/sub-A01_keep_unassigned.csv": "counts",
    "mrtrix3/sub-A01_sift2_upper.csv": "weights",
    "mrtrix3/sub-A01_meanlength_symmetric.csv": "lengths",
    "mrtrix3/sub-A01_stat_edge_min_nan.csv": "lengths",
    "qsirecon/derivatives/qsirecon-MRtrix3_act-HSVS": "counts",
    "bids_relmat": "counts",
}


def without_diagonal(matrices: np.ndarray) -> np.ndarray:
    return matrices * ~np.eye(matrices.shape[-1], dtype=bool)


def check_connectomes(folder: Path) -> list[tuple[str, bool]]:
    truth = np.load(folder / "TRUTH.npz")
    subjects = [str(subject) for subject in truth["subjects"]]
    results = []

    def compare(title: str, path: str, name: str, **arguments: str | None) -> None:
        data = read_connectomes(folder / path, **arguments)
        rows = [subjects.index(subject) for subject in data.subject_ids]
        expected = without_diagonal(truth[name][rows])
        same = np.allclose(data.connectomes, expected, rtol=0, atol=1e-9)
        if data.lengths is not None and len(rows) == 1:
            same &= np.allclose(data.lengths, without_diagonal(truth["lengths"][rows[0]]))
        if "region-001" not in set(data.regions["name"]):
            same &= list(data.regions["name"]) == list(truth["labels"])
        results.append((title, bool(same)))

    for path, name in FILES.items():
        compare(path, path, name, measure=MEASURES[name])
    recon = "qsirecon/derivatives/qsirecon-"
    for measure, name in (("sift_radius2_count", "weights"), ("radius2_meanlength", "lengths")):
        compare(f"{recon}MRtrix3 {measure}", f"{recon}MRtrix3_act-HSVS", name, measure=measure)
    for measure, name in (("count_pass", "counts"), ("mean_length_end", "lengths")):
        compare(f"{recon}DSIStudio {measure}", f"{recon}DSIStudio", name, measure=measure)
    whole = read_connectomes(folder / "mrtrix3/sub-A01_desikan68_upper.csv", labels="dk68")
    raw = np.loadtxt(folder / "mrtrix3/sub-A01_desikan68_upper.csv", delimiter=",")
    expected = without_diagonal(raw + np.triu(raw, 1).T)
    results.append(
        ("mrtrix3/sub-A01_desikan68_upper.csv", np.array_equal(whole.connectomes[0], expected))
    )
    return results


def check_motion(folder: Path) -> list[tuple[str, bool]]:
    truth = np.load(folder / "TRUTH_motion.npz")
    results = []
    table = read_motion(folder / "eddy")
    for subject in table.index:
        expected = truth[f"rms_{subject}"]
        path = folder / "eddy" / f"sub-{subject}" / f"sub-{subject}.eddy_movement_rms"
        same = np.allclose(read_eddy_movement_rms(path), expected)
        same &= np.isclose(table.loc[subject, "rms_mm"], expected[1:, 1].mean())
        results.append((f"eddy/{path.name}", bool(same)))
    transforms = folder / "transforms"
    flirt = read_flirt_matrix(transforms / "flirt_rigid.mat")
    results.append(("transforms/flirt_rigid.mat", np.allclose(flirt, truth["A4"], atol=1e-6)))
    same = np.allclose(flirt[:3, 3], truth["t"], atol=1e-6)
    results.append(("transforms/flirt_rigid.mat, translation", same))
    frames = read_mcflirt_matrices(transforms / "mcflirt.mat")
    results.append(("transforms/mcflirt.mat", np.allclose(frames[-1], truth["A4"], atol=1e-5)))
    _, angle = rigid_displacements(truth["A4"][None])
    for name in ("itk_affine.txt", "ants_0GenericAffine.mat"):
        found = read_itk_transform(transforms / name)
        same = np.isclose(rigid_displacements(found[None])[1], angle, atol=1e-5)
        results.append((f"transforms/{name}, rotation", bool(same)))
    return results


def check_the_rest(folder: Path) -> list[tuple[str, bool]]:
    """Everything else must at least be recognised for what it is."""
    results = []
    for path in ("qsiprep", "abcd4/abcd_dti_p101.txt", "transforms/mcflirt.par"):
        results.append((f"inspect {path}", bool(inspect_path(folder / path).facts)))
    traits = read_table(folder / "abcd4" / "abcd_tbss01.txt", session="baseline_year_1_arm_1")
    results.append(("abcd4/abcd_tbss01.txt", len(traits) == traits.index.nunique() > 1))
    ids = list(read_table(folder / "bids_pheno" / "participants.tsv").index)
    results.append(("bids_pheno/participants.tsv", all(isinstance(name, str) for name in ids)))
    return results


def main() -> int:
    default = Path(__file__).resolve().parents[2] / "shared" / "samples"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    wrong = 0
    parts: tuple[Callable[[Path], list[tuple[str, bool]]], ...] = (
        check_connectomes,
        check_motion,
        check_the_rest,
    )
    for part in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StillomeWarning)
            try:
                results = part(folder)
            except StillomeError as error:
                results = [(f"{part.__name__}: {error}", False)]
        for title, same in results:
            print(f"{'same ' if same else 'WRONG'}  {title}")
            wrong += not same
    print(f"{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())

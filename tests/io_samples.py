"""Sample files to be damaged, and what every result of reading one keeps."""

from pathlib import Path

import numpy as np

from connectome_files import SAMPLES


def damageable(name: str, folder: Path) -> tuple[Path, list[Path]]:
    """Make a sample; return what is read, and the files in it that are to be damaged."""
    made = SAMPLES[name].make(folder)
    if made.suffix == ".zarr":
        return made, sorted(p for p in made.rglob("*") if p.is_file())
    if made.is_file():
        return made, [made]
    files = sorted(p for p in made.rglob("*") if p.is_file() and "gpickle" not in p.name)
    subject = [p for p in files if "01" in str(p.relative_to(folder)) and "dataset" not in p.name]
    preferred = [p for p in subject or files if "length" not in p.name and p.name != "len.npy"]
    return preferred[0], preferred[:1]


def sound(data: object) -> bool:
    """Whether a result keeps its promises, whatever the file was."""
    matrices = np.asarray(data.connectomes)  # type: ignore[attr-defined]
    diagonal = np.einsum("nii->ni", matrices)
    return bool(
        matrices.ndim == 3
        and matrices.dtype.kind in "iuf"
        and np.isfinite(matrices).all()
        and (matrices >= 0).all()
        and np.array_equal(matrices, np.swapaxes(matrices, 1, 2))
        and not diagonal.any()
        and len(data.subject_ids) == len(matrices)  # type: ignore[attr-defined]
        and len(data.regions) == matrices.shape[1]  # type: ignore[attr-defined]
    )

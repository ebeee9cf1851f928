"""Small files that claim to be huge, and honest large ones, by name: for the limits of reading."""

import base64
import itertools
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

N_REGIONS = 6
_COUNTS = np.triu(np.random.default_rng(0).poisson(9, (N_REGIONS, N_REGIONS)), 1)
COUNTS = _COUNTS + _COUNTS.T


def graphml(path: Path, n_nodes: int = 8_000) -> None:
    nodes = "".join(f'<node id="{i}"/>' for i in range(n_nodes))
    path.write_text(
        '<graphml><key id="d1" for="edge" attr.name="number_of_fibers" attr.type="int"/>'
        f'<graph>{nodes}<edge source="0" target="1"><data key="d1">5</data></edge></graph>'
        "</graphml>"
    )


def edge_list(path: Path, far: int = 8_000) -> None:
    path.write_text(f"source,target,weight\n1,2,5\n1,{far},7\n")


def edge_list_of_subjects(path: Path, n: int = 60, far: int = 1_000) -> None:
    lines = [f"s{i},1,{far},7" for i in range(n)]
    path.write_text("\n".join(["subject,source,target,weight", *lines]) + "\n")


def gifti(path: Path, size: int = 10_000) -> None:
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(bytes(4 * size)) for _ in range(size)) + packer.flush()
    path.write_text(
        '<GIFTI Version="1.0"><DataArray DataType="NIFTI_TYPE_FLOAT32" Dimensionality="2" '
        f'Dim0="{size}" Dim1="{size}" Encoding="GZipBase64Binary" Endian="LittleEndian">'
        f"<Data>{base64.b64encode(packed).decode()}</Data></DataArray></GIFTI>"
    )


def zarr_of_single_values(path: Path, shape: tuple[int, ...] = (1, 100, 100)) -> None:
    """A store with one file for every number."""
    folder = path / "connectomes"
    folder.mkdir(parents=True)
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    array = {"zarr_format": 2, "shape": shape, "chunks": [1] * len(shape), "dtype": "<f8"}
    array |= {"compressor": None, "fill_value": 0, "order": "C", "filters": None}
    (folder / ".zarray").write_text(json.dumps(array))
    for place in itertools.product(*map(range, shape)):
        (folder / ".".join(map(str, place))).write_bytes(bytes(8))


def zarr_by_claim(path: Path) -> None:
    """A store without a single chunk whose metadata claim a stack of single values."""
    zarr_of_single_values(path, (1, 1, 1))
    file = path / "connectomes" / ".zarray"
    claimed = json.loads(file.read_text()) | {"shape": [2_000, 2_000, 2_000]}
    file.write_text(json.dumps(claimed))


def hdf5_by_claim(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("connectomes", (3, 12_000, 12_000), "f8", chunks=(1, 500, 500))
        file["subject_ids"] = np.array([b"a", b"b", b"c"])


def hdf5_ids_by_claim(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["connectomes"] = np.stack([COUNTS] * 3)
        file.create_dataset("subject_ids", (9_000_000,), "S200", chunks=(1_000,))


def mat5(path: Path, size: int = 6_000) -> None:
    import scipy.io

    scipy.io.savemat(path, {"connectivity": np.zeros((size, size), "u1")}, do_compression=True)


def npz(path: Path, size: int = 4_500) -> None:
    matrix = np.zeros((size, size), "u1")
    matrix[:2, :2] = [[0, 5], [5, 0]]
    np.savez_compressed(path, connectomes=matrix)


def csv_matrix(path: Path, size: int = 2_500) -> None:
    row = ",".join(["0"] * size)
    path.write_text("\n".join([row] * size) + "\n")


def named_csv_matrix(path: Path, size: int = 1_500) -> None:
    row = ",".join(["0.5"] * size)
    rows = [",".join(f"region {i}" for i in range(size)), *[row] * size]
    path.write_text("\n".join(rows) + "\n")


def wide_table(path: Path, n: int = 50, n_regions: int = 200) -> None:
    pairs = [f"r{i}__r{j}" for i in range(n_regions) for j in range(i + 1, n_regions)]
    rows = [f"s{i}," + ",".join(["3"] * len(pairs)) for i in range(n)]
    path.write_text("\n".join(["subject_id," + ",".join(pairs), *rows]) + "\n")


def table_of_a_million_columns(path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(10**6))
    path.write_text(f"participant_id,{names}\na{',1' * 10**6}\n")


def archive(path: Path, size: int = 2_500) -> None:
    row = " ".join(["0"] * size)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("weights.txt", "\n".join([row] * size))


def large_stack(path: Path) -> None:
    np.save(path, np.zeros((500, 300, 300), "u2"))


def folder_of_matrices(path: Path, n: int = 300, size: int = 200) -> None:
    path.mkdir()
    row = " ".join(["3"] * size)
    text = "\n".join([row] * size)
    for i in range(n):
        (path / f"sub-{i:03d}_connectome.csv").write_text(text)


HUGE: dict[str, Callable[[Path], None]] = {
    "sub-01.graphml": graphml,
    "edges.csv": edge_list,
    "edges_of_subjects.csv": edge_list_of_subjects,
    "sub-01_full-connectome.shape.gii": gifti,
    "single_values.zarr": zarr_of_single_values,
    "claimed.zarr": zarr_by_claim,
    "claimed.h5": hdf5_by_claim,
    "claimed_ids.h5": hdf5_ids_by_claim,
    "sub-01.mat": mat5,
    "sub-01.npz": npz,
    "sub-01_connectome.csv": csv_matrix,
    "sub-02_named.csv": named_csv_matrix,
    "wide.csv": wide_table,
    "million.csv": table_of_a_million_columns,
    "tvb.zip": archive,
    "large.npy": large_stack,
    "many_files": folder_of_matrices,
}

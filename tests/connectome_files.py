"""Small files true to what each tool writes, made with other libraries than stillome's writers."""

import gzip
import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import h5py
import nibabel
import numpy as np
import scipy.io
import zarr

IDS = ("A01", "A02", "A03", "A04")
NAMES = ("lh-bankssts", "lh-cuneus", "lh-fusiform", "rh-bankssts", "rh-cuneus", "rh-fusiform")
N_REGIONS = len(NAMES)


def _made() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(7)
    upper = np.triu(generator.poisson(30, size=(len(IDS), N_REGIONS, N_REGIONS)))
    upper[:, 2, 4] = 0
    counts = (upper + np.swapaxes(np.triu(upper, 1), 1, 2)).astype(float)
    spread = np.triu(generator.uniform(40, 90, size=counts.shape).round(4))
    lengths = (spread + np.swapaxes(np.triu(spread, 1), 1, 2)) * (counts > 0)
    return counts, lengths


COUNTS, LENGTHS = _made()
# What a reader answers: the diagonal is always emptied.
TRUTH = COUNTS * ~np.eye(N_REGIONS, dtype=bool)
TRUE_LENGTHS = LENGTHS * ~np.eye(N_REGIONS, dtype=bool)


class Sample(NamedTuple):
    """One producer: how its files are made, how they are read, and what they tell."""

    producer: str
    make: Callable[[Path], Path]
    named: bool = False
    lengths: bool = False
    arguments: Mapping[str, Any] = MappingProxyType({})


def _per_subject(folder: Path, pattern: str, write: Callable[[Path, int], None]) -> Path:
    for i, subject in enumerate(IDS):
        place = folder / pattern.format(subject)
        place.parent.mkdir(parents=True, exist_ok=True)
        write(place, i)
    return folder


def _text(path: Path, matrix: np.ndarray, mark: str = ",", **more: Any) -> None:
    np.savetxt(path, matrix, fmt="%.17g", delimiter=mark, **more)


def mrtrix(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        _text(path, np.triu(COUNTS[i]))
        _text(path.with_name(path.name.replace("connectome", "meanlength")), LENGTHS[i])

    return _per_subject(folder, "sub-{0}/connectome/sub-{0}_desc-toy_connectome.csv", write)


def mrtrix_blanks(folder: Path) -> Path:
    return _per_subject(
        folder, "{0}.txt", lambda p, i: _text(p, COUNTS[i], " ", header="mrtrix_version: 3.0.4")
    )


def uk_biobank(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        text = "\n".join(",".join(f"{v:g}" for v in row) for row in COUNTS[i])
        path.write_bytes(gzip.compress(text.encode()))

    for i in range(len(IDS)):
        place = folder / f"100000{i}_31020_2_0"
        place.mkdir(parents=True)
        write(place / "connectome_streamline_count_10M.csv.gz", i)
    return folder


def qsiprep(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        _save_atlases(path, "", i, ("toy_atlas",))

    return _per_subject(folder, "sub-{0}/dwi/sub-{0}_space-T1w_connectivity.mat", write)


def qsirecon(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        _save_atlases(path, "atlas_", i, ("Toy6", "Toy6_ext"))

    return _per_subject(folder, "sub-{0}/ses-1/dwi/sub-{0}_ses-1_connectivity.mat", write)


def _save_atlases(path: Path, prefix: str, i: int, atlases: tuple[str, ...]) -> None:
    content: dict[str, Any] = {"command": "tck2connectome"}
    for atlas in atlases:
        content[f"{prefix}{atlas}_region_ids"] = np.arange(1, N_REGIONS + 1)[None]
        content[f"{prefix}{atlas}_region_labels"] = np.array(NAMES, dtype=object)[None]
        scale = 1 if atlas == atlases[0] else 2
        for measure, values in (
            ("radius2_count", COUNTS[i] * scale),
            ("sift_radius2_count", COUNTS[i] / 3),
            ("sift_invnodevol_radius2_count", COUNTS[i] / 3000),
            ("radius2_meanlength", LENGTHS[i]),
        ):
            content[f"{prefix}{atlas}_{measure}_connectivity"] = values
    scipy.io.savemat(path, content, long_field_names=True, do_compression=i % 2 == 0)


def dsi_studio(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        joined = np.frombuffer(("\n".join(NAMES) + "\n").encode(), dtype=np.uint8)
        content = {
            "connectivity": COUNTS[i],
            "name": joined[None],
            "atlas": np.frombuffer(b"toy", dtype=np.uint8)[None],
        }
        scipy.io.savemat(path, content, format="4")

    return _per_subject(folder, "sub-{0}.tt.gz.toy.count.end.connectivity.mat", write)


def dsi_studio_2026(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        content = {
            "number of tracts r2r": COUNTS[i],
            "mean length(mm) r2r": LENGTHS[i],
            "fa r2r": COUNTS[i] / 1000,
        }
        parts = []
        for name, values in content.items():
            title = name.encode() + b"\0"
            parts.append(struct.pack("<5i", 0, N_REGIONS, N_REGIONS, 0, len(title)) + title)
            parts.append(values.tobytes(order="F"))
        joined = "\n".join(NAMES).encode()
        parts.append(struct.pack("<5i", 50, 1, len(joined), 0, 5) + b"name\0" + joined)
        path.write_bytes(b"".join(parts))

    return _per_subject(folder, "sub-{0}.connectivity.mat", write)


def connectogram(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        sums = "\t".join(f"{v:g}" for v in COUNTS[i].sum(0))
        lines = [f"data\tdata\t{sums}\t", "data\tdata\t" + "\t".join(NAMES) + "\t"]
        for name, row in zip(NAMES, COUNTS[i], strict=True):
            lines.append(f"{row.sum():g}\t{name}\t" + "\t".join(f"{v:g}" for v in row) + "\t")
        path.write_text("\n".join(lines) + "\n")

    return _per_subject(folder, "sub-{0}.connectogram.txt", write)


def cmp3_tsv(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        lines = ["source\ttarget\tnumber_of_fibers\tfiber_length_mean"]
        for a, b in zip(*np.nonzero(np.triu(COUNTS[i])), strict=True):
            lines.append(f"{a + 1}\t{b + 1}\t{COUNTS[i][a, b]:g}\t{LENGTHS[i][a, b]}")
        path.write_text("\n".join(lines) + "\n")

    name = "sub-{0}/dwi/sub-{0}_conndata-network_connectivity.tsv"
    return _per_subject(folder, name, write)


def cmp3_mat(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        scipy.io.savemat(
            path,
            {
                "sc": {"number_of_fibers": COUNTS[i], "fiber_length_mean": LENGTHS[i]},
                "nodes": {"dn_name": np.array(NAMES, dtype=object), "dn_hemi": np.arange(6)},
            },
        )
        path.with_suffix(".gpickle").write_bytes(b"\x80\x04cposix\nsystem\n.")

    name = "sub-{0}/dwi/sub-{0}_conndata-network_connectivity.mat"
    return _per_subject(folder, name, write)


def cmp3_graphml(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        lines = [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
            '<key id="d0" for="node" attr.name="dn_name" attr.type="string"/>',
            '<key id="d1" for="edge" attr.name="number_of_fibers" attr.type="double"/>',
            '<graph edgedefault="undirected">',
        ]
        for a, name in enumerate(NAMES):
            lines.append(f'<node id="{a + 1}"><data key="d0">{name}</data></node>')
        for a, b in zip(*np.nonzero(np.triu(COUNTS[i])), strict=True):
            value = f'<data key="d1">{COUNTS[i][a, b]}</data>'
            lines.append(f'<edge source="{a + 1}" target="{b + 1}">{value}</edge>')
        path.write_text("\n".join([*lines, "</graph></graphml>"]))

    return _per_subject(folder, "sub-{0}_conndata-network_connectivity.graphml", write)


def connectoflow(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        np.save(path, COUNTS[i])
        np.save(path.with_name("len.npy"), LENGTHS[i])
        np.save(path.with_name("sc_edge_normalized.npy"), COUNTS[i] / 1000)

    return _per_subject(folder, "{0}/Compute_Connectivity/sc.npy", write)


def dipy(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        np.save(path, np.pad(COUNTS[i], ((1, 0), (1, 0)), constant_values=9).astype(np.int64))

    return _per_subject(folder, "sub-{0}_M.npy", write)


def psc(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        scipy.io.savemat(path, {"cm": np.triu(COUNTS[i], 1)})

    return _per_subject(folder, "{0}_cm_count_raw.mat", write)


def micapipe(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        array = nibabel.gifti.GiftiDataArray(
            np.triu(COUNTS[i]).astype(np.float32), datatype="NIFTI_TYPE_FLOAT32"
        )
        nibabel.save(nibabel.gifti.GiftiImage(darrays=[array]), path)

    return _per_subject(folder, "sub-{0}_atlas-toy_desc-iFOD2_full-connectome.shape.gii", write)


def relmat_dense(folder: Path) -> Path:
    _relmat_sidecars(folder)
    return _per_subject(
        folder,
        "sub-{0}/dwi/sub-{0}_seg-Toy6_meas-streamlineCount_relmat.dense.tsv",
        lambda p, i: _text(p, COUNTS[i], "\t"),
    )


def relmat_sparse(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        lines = [f"{a}\t{b}\t{COUNTS[i][a, b]:g}" for a in range(6) for b in range(a, 6)]
        path.write_text("row\tcolumn\tvalue\n" + "\n".join(lines) + "\n")

    _relmat_sidecars(folder)
    name = "sub-{0}/dwi/sub-{0}_seg-Toy6_meas-streamlineCount_relmat.sparse.tsv"
    return _per_subject(folder, name, write)


def relmat_h5(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        with h5py.File(path, "w") as file:
            file["relmat"] = COUNTS[i]

    _relmat_sidecars(folder)
    name = "sub-{0}/dwi/sub-{0}_seg-Toy6_meas-streamlineCount_relmat.h5"
    return _per_subject(folder, name, write)


def _relmat_sidecars(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dataset_description.json").write_text(json.dumps({"Name": "toy"}))
    stated = {"RelationshipMeasure": "streamline count", "Directed": False, "Weighted": True}
    (folder / "seg-Toy6_meas-streamlineCount_relmat.json").write_text(json.dumps(stated))
    lines = [f"{i}\tToy6\t{1001 + i}\t{name}" for i, name in enumerate(NAMES)]
    header = "matrix_index\tnode_file\tnode_index\tlabel"
    (folder / "seg-Toy6_nodeindices.tsv").write_text("\n".join([header, *lines]) + "\n")


def npy_stack(folder: Path) -> Path:
    np.save(folder / "stack.npy", COUNTS)
    return folder / "stack.npy"


def npz_stack(folder: Path) -> Path:
    np.savez(
        folder / "stack.npz",
        counts=np.moveaxis(COUNTS, 0, 2),
        subjects=np.array(IDS),
        labels=np.array(NAMES),
        mean_length=LENGTHS.mean(0),
    )
    return folder / "stack.npz"


def hdf5_stack(folder: Path) -> Path:
    with h5py.File(folder / "stack.h5", "w") as file:
        file.create_dataset("data/connectomes", data=COUNTS.astype(np.uint16), compression="gzip")
        file.create_dataset("data/subject_ids", data=list(IDS), dtype=h5py.string_dtype())
        file.create_dataset("data/regions", data=[name.encode() for name in NAMES])
    return folder / "stack.h5"


def netcdf_stack(folder: Path) -> Path:
    with scipy.io.netcdf_file(folder / "stack.nc", "w", mmap=False) as file:
        for name, size in (("subject", 4), ("u", 6), ("v", 6), ("width", 3)):
            file.createDimension(name, size)
        file.createVariable("counts", "f8", ("subject", "u", "v"))[:] = COUNTS
        characters = np.array(IDS, dtype="S3").view("S1").reshape(4, 3)
        file.createVariable("subject_ids", "c", ("subject", "width"))[:] = characters
        file.history = "written by a test"
    return folder / "stack.nc"


def zarr_stack(folder: Path, version: int = 2) -> Path:
    group = zarr.open_group(str(folder / "stack.zarr"), mode="w", zarr_format=version)
    array = group.create_array("connectomes", shape=COUNTS.shape, dtype="f8", chunks=(2, 6, 6))
    array[...] = COUNTS
    numbers = group.create_array("subject_ids", shape=(4,), dtype="i8")
    numbers[...] = np.array([101, 102, 103, 104])
    return folder / "stack.zarr"


def zarr3_stack(folder: Path) -> Path:
    return zarr_stack(folder, version=3)


def mat_stack(folder: Path) -> Path:
    content = {
        "connectomes": np.moveaxis(COUNTS, 0, 2),
        "subject_ids": np.array(IDS, dtype=object),
        "regions": np.array(NAMES, dtype=object),
    }
    scipy.io.savemat(folder / "stack.mat", content)
    return folder / "stack.mat"


def mat73_stack(folder: Path) -> Path:
    path = folder / "stack73.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        stack = file.create_dataset("connectomes", data=COUNTS)  # MATLAB's (V, V, n), reversed
        stack.attrs["MATLAB_class"] = np.bytes_("double")
        for name, texts in (("subject_ids", IDS), ("regions", NAMES)):
            references = []
            for number, text in enumerate(texts):
                codes = np.array([ord(c) for c in text], dtype=np.uint16)[:, None]
                cell = file.create_dataset(f"#refs#/{name}{number}", data=codes)
                cell.attrs["MATLAB_class"] = np.bytes_("char")
                references.append(cell.ref)
            cells = file.create_dataset(name, (1, len(texts)), dtype=h5py.ref_dtype)
            cells[0, :] = references
            cells.attrs["MATLAB_class"] = np.bytes_("cell")
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 "
    with path.open("r+b") as stream:
        stream.write(header.ljust(124) + struct.pack("<H", 0x0200) + b"IM")
    return path


def cifti(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        voxels = np.empty(N_REGIONS, dtype=object)
        nothing = np.empty(N_REGIONS, dtype=object)
        for a in range(N_REGIONS):
            voxels[a], nothing[a] = np.array([[a, 0, 0]]), {}
        axis = nibabel.cifti2.ParcelsAxis(
            np.array(NAMES, dtype=object), voxels, nothing, np.eye(4), (6, 1, 1), {}
        )
        image = nibabel.cifti2.Cifti2Image(COUNTS[i].astype(np.float32), (axis, axis))
        image.update_headers()
        image.nifti_header.set_intent("ConnParcels")
        nibabel.save(image, path)

    return _per_subject(folder, "sub-{0}_counts.pconn.nii", write)


def edge_list(folder: Path) -> Path:
    lines = ["subject,source,target,count"]
    for i, subject in enumerate(IDS):
        for a, b in zip(*np.nonzero(np.triu(COUNTS[i])), strict=True):
            lines.append(f"{subject},{NAMES[b]},{NAMES[a]},{COUNTS[i][a, b]:g}")
    (folder / "edges.csv").write_text("\n".join(lines) + "\n")
    return folder / "edges.csv"


def wide_named(folder: Path) -> Path:
    rows, columns = np.triu_indices(N_REGIONS, 1)
    header = [f"{NAMES[a]}__{NAMES[b]}" for a, b in zip(rows, columns, strict=True)]
    lines = ["\t".join(["participant_id", "site", *header])]
    for i, subject in enumerate(IDS):
        values = [f"{v:g}" for v in COUNTS[i][rows, columns]]
        lines.append("\t".join([f"sub-{subject}", "x", *values]))
    (folder / "wide.tsv").write_text("\n".join(lines) + "\n")
    return folder / "wide.tsv"


def wide_numbered(folder: Path) -> Path:
    rows, columns = np.tril_indices(N_REGIONS, -1)
    lines = [",".join(["id", *(f"edge_{k}" for k in range(len(rows)))])]
    for i, subject in enumerate(IDS):
        lines.append(",".join([subject, *(f"{v:g}" for v in COUNTS[i][rows, columns])]))
    (folder / "numbered.csv").write_text("\n".join(lines) + "\n")
    return folder / "numbered.csv"


def tvb(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        def block(matrix: np.ndarray) -> str:
            return "\n".join(" ".join(f"{v:.17g}" for v in row) for row in matrix)

        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("weights.txt", block(COUNTS[i]))
            archive.writestr("tract_lengths.txt", block(LENGTHS[i]))
            archive.writestr("centres.txt", "\n".join(f"{name} 1.0 2.0 3.0" for name in NAMES))

    return _per_subject(folder, "sub-{0}.zip", write)


def zipped_csv(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i, subject in enumerate(IDS):
            text = "\n".join(",".join(f"{v:g}" for v in row) for row in COUNTS[i])
            archive.writestr(f"out/sub-{subject}_connectome.csv", text)
    return folder / "all.zip"


def labelled(folder: Path) -> Path:
    def write(path: Path, i: int) -> None:
        order = np.roll(np.arange(N_REGIONS), i)  # every subject in another order
        lines = ["," + ",".join(NAMES[a] for a in order)]
        for a in order:
            lines.append(",".join([NAMES[a], *(f"{v:g}" for v in COUNTS[i][a, order])]))
        path.write_text("\n".join(lines) + "\n")

    return _per_subject(folder, "sub-{0}_matrix.csv", write)


SAMPLES: dict[str, Sample] = {
    "mrtrix": Sample("MRtrix3", mrtrix, lengths=True),
    "mrtrix_blanks": Sample("MRtrix3", mrtrix_blanks),
    "uk_biobank": Sample("UK Biobank", uk_biobank),
    "qsiprep": Sample("QSIRecon", qsiprep, named=True, lengths=True),
    "qsirecon": Sample("QSIRecon", qsirecon, named=True, lengths=True, arguments={"atlas": "Toy6"}),
    "dsi_studio": Sample("DSI Studio", dsi_studio, named=True),
    "dsi_studio_2026": Sample("DSI Studio", dsi_studio_2026, named=True, lengths=True),
    "connectogram": Sample("DSI Studio connectogram", connectogram, named=True),
    "cmp3_tsv": Sample("Connectome Mapper 3", cmp3_tsv, lengths=True),
    "cmp3_mat": Sample("Connectome Mapper 3 (MAT)", cmp3_mat, named=True, lengths=True),
    "cmp3_graphml": Sample("Connectome Mapper 3 (GraphML)", cmp3_graphml, named=True),
    "connectoflow": Sample("connectoflow", connectoflow, lengths=True),
    "dipy": Sample("DIPY", dipy),
    "psc": Sample("PSC", psc),
    "micapipe": Sample("micapipe", micapipe),
    "relmat_dense": Sample("BIDS relmat", relmat_dense, named=True),
    "relmat_sparse": Sample("BIDS relmat", relmat_sparse, named=True),
    "relmat_h5": Sample("BIDS relmat", relmat_h5, named=True),
    "npy_stack": Sample("NumPy .npy", npy_stack, arguments={"subjects": list(IDS)}),
    "npz_stack": Sample("NumPy .npz", npz_stack, named=True),
    "hdf5_stack": Sample("HDF5 stack", hdf5_stack, named=True),
    "netcdf_stack": Sample("netCDF stack", netcdf_stack),
    "zarr_stack": Sample("zarr stack", zarr_stack),
    "zarr3_stack": Sample("zarr stack", zarr3_stack),
    "mat_stack": Sample("MAT stack", mat_stack, named=True),
    "mat73_stack": Sample("MAT 7.3 stack", mat73_stack, named=True),
    "cifti": Sample("CIFTI pconn", cifti, named=True),
    "edge_list": Sample("edge list", edge_list, named=True),
    "wide_named": Sample("wide table", wide_named, named=True),
    "wide_numbered": Sample("wide table", wide_numbered, arguments={"edge_order": "lower"}),
    "tvb": Sample("The Virtual Brain", tvb, named=True, lengths=True),
    "zipped_csv": Sample("MRtrix3", zipped_csv),
    "labelled": Sample("labelled matrix", labelled, named=True),
}

"""Which tool wrote a file, from its content."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stillome.exceptions import FileError
from stillome.io.clean import pickled
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats import (
    bids_relmat,
    cifti,
    connectome_mapper,
    dsi_studio,
    edge_lists,
    gifti,
    hdf5,
    matfiles,
    mrtrix,
    netcdf,
    numpy_stacks,
    psc,
    qsirecon,
    tvb,
    wide_tables,
    zarr_store,
)
from stillome.io.guarded_files import ZIP_MAGIC, Item, member_names

_PICKLES = (".gpickle", ".pkl", ".pickle", ".p", ".joblib", ".pt", ".pth")


@dataclass(frozen=True)
class Format:
    """One kind of file: how it is recognised, and how it is read."""

    name: str
    recognises: Callable[[Item, bytes], bool]
    read: Callable[[Item], Contents]


# The first that recognises a file reads it: specific names first, plain numbers last.
FORMATS: tuple[Format, ...] = (
    Format(bids_relmat.PRODUCER, bids_relmat.recognises, bids_relmat.read),
    Format("MAT file", matfiles.recognises, matfiles.read),
    Format(hdf5.PRODUCER, hdf5.recognises, hdf5.read),
    Format(netcdf.PRODUCER, netcdf.recognises, netcdf.read),
    Format(numpy_stacks.NPY, numpy_stacks.recognises_npy, numpy_stacks.read_npy),
    Format(tvb.PRODUCER, tvb.recognises, tvb.read),
    Format(numpy_stacks.NPZ, numpy_stacks.recognises_npz, numpy_stacks.read_npz),
    Format(cifti.PRODUCER, cifti.recognises, cifti.read),
    Format(gifti.PRODUCER, gifti.recognises, gifti.read),
    Format(
        connectome_mapper.GRAPHML,
        connectome_mapper.recognises_graphml,
        connectome_mapper.read_graphml,
    ),
    Format(
        dsi_studio.CONNECTOGRAM,
        dsi_studio.recognises_connectogram,
        dsi_studio.read_connectogram,
    ),
    Format(edge_lists.PRODUCER, edge_lists.recognises, edge_lists.read),
    Format(wide_tables.PRODUCER, wide_tables.recognises, wide_tables.read),
    Format(mrtrix.PRODUCER, mrtrix.recognises, mrtrix.read),
    Format(mrtrix.LABELLED, mrtrix.recognises_labelled, mrtrix.read),
)

# Who wrote it, to how it is written again.
WRITERS: dict[str, Callable[[Path, Holding], None]] = {
    mrtrix.PRODUCER: mrtrix.write,
    mrtrix.UK_BIOBANK: mrtrix.write,
    mrtrix.LABELLED: mrtrix.write_labelled,
    qsirecon.PRODUCER: qsirecon.write,
    dsi_studio.PRODUCER: dsi_studio.write,
    dsi_studio.CONNECTOGRAM: dsi_studio.write_connectogram,
    connectome_mapper.PRODUCER: connectome_mapper.write,
    connectome_mapper.GRAPHML: connectome_mapper.write_graphml,
    connectome_mapper.EDGE_LIST: edge_lists.write,
    edge_lists.PRODUCER: edge_lists.write,
    psc.PRODUCER: psc.write,
    numpy_stacks.CONNECTOFLOW: numpy_stacks.write_npy,
    numpy_stacks.DIPY: numpy_stacks.write_dipy,
    numpy_stacks.NPY: numpy_stacks.write_npy,
    numpy_stacks.NPZ: numpy_stacks.write_npz,
    gifti.PRODUCER: gifti.write,
    cifti.PRODUCER: cifti.write,
    bids_relmat.PRODUCER: bids_relmat.write,
    hdf5.PRODUCER: hdf5.write,
    netcdf.PRODUCER: netcdf.write,
    zarr_store.PRODUCER: zarr_store.write,
    matfiles.PRODUCER: matfiles.write,
    matfiles.PRODUCER_73: matfiles.write_73,
    wide_tables.PRODUCER: wide_tables.write,
    tvb.PRODUCER: tvb.write,
}


class UnrecognisedError(FileError):
    """A file that is not a connectome of a known tool."""


def recognise(item: Item) -> Format | None:
    """Return the format of a file, by its content first; None if it is not a connectome.

    Raises
    ------
    FileError
        If the file is a pickle (E7), or cannot be opened.
    """
    if item.payload is None and item.path.is_dir():
        if bids_relmat.recognises(item, b""):
            return FORMATS[0]
        store = zarr_store.is_store(item.path)
        return Format(zarr_store.PRODUCER, lambda _i, _h: True, zarr_store.read) if store else None
    head = item.head()
    if _is_pickle(item, head):
        raise pickled(item.label)
    return next((form for form in FORMATS if form.recognises(item, head)), None)


def read_contents(item: Item) -> Contents:
    """Read whatever matrices one file holds.

    Raises
    ------
    FileError
        If it is not recognised, damaged, or a pickle.
    """
    form = recognise(item)
    if form is None and item.payload is None and item.path.is_file() and not item.head():
        raise UnrecognisedError(f"{item.label}: an empty file. Write it again, or download it.")
    if form is None:
        raise UnrecognisedError(
            f"{item.label}: not recognised as a connectome of any known tool. "
            "Save it as a matrix of numbers (.csv) or a stack (.npy, .h5)."
        )
    try:
        return form.read(item)
    except MemoryError as error:
        raise FileError(
            f"{item.label}: does not fit into the memory of this machine ({error})."
        ) from error


def _is_pickle(item: Item, head: bytes) -> bool:
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return True
    if head.startswith(ZIP_MAGIC):
        return any(name.lower().endswith(".pkl") for name in member_names(item))
    return item.name.endswith(_PICKLES)

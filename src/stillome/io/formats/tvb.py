"""The Virtual Brain: a zip of `weights.txt`, `tract_lengths.txt` and `centres.txt`."""

import zipfile
from pathlib import Path, PurePosixPath

import numpy as np

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.text_matrix import format_number, parse_matrix
from stillome.io.guarded_files import ZIP_MAGIC, Item, archive_members, member_names

PRODUCER = "The Virtual Brain"


def recognises(item: Item, head: bytes) -> bool:
    """Whether the archive holds ``weights.txt``."""
    if not head.startswith(ZIP_MAGIC):
        return False
    return any(PurePosixPath(name).name.lower() == "weights.txt" for name in member_names(item))


def read(item: Item) -> Contents:
    """Read weights and lengths with the names of the regions.

    Raises
    ------
    FileError
        If the parts do not fit together.
    """
    parts = {member.name: member for member in archive_members(item)}
    regions = None
    if "centres.txt" in parts:
        lines = [line.split() for line in parts["centres.txt"].text().splitlines() if line.strip()]
        regions = tuple(line[0] for line in lines)
    holdings = []
    for name, measure in (("weights.txt", "weights"), ("tract_lengths.txt", "tract_lengths")):
        if name in parts:
            values = parse_matrix(parts[name]).values
            if regions is not None and len(values) != len(regions):
                raise FileError(
                    f"{item.label}: {len(regions)} centres for {len(values)} rows of {name}."
                )
            holdings.append(Holding(values, measure=measure, regions=regions))
    return Contents(PRODUCER, tuple(holdings))


def write(path: Path, holding: Holding) -> None:
    """Write weights and, so that the regions keep their names, centres at the origin."""
    values = np.asarray(holding.values)
    names = holding.regions or tuple(f"region-{i + 1:03d}" for i in range(len(values)))
    weights = "\n".join(" ".join(format_number(v) for v in row) for row in values.tolist())
    centres = "\n".join(f"{name.replace(' ', '_')} 0 0 0" for name in names)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights.txt", weights + "\n")
        archive.writestr("centres.txt", centres + "\n")

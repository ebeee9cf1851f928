"""Where results may be written: looked at before the work, not after."""

from pathlib import Path


def check_table(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a table that is not named ``.tsv``, or that stands there already.

    Raises
    ------
    FileError, InputError
    """
    from stillome.io.motion.motion_table import sidecar_of
    from stillome.persistence import check_replaceable

    for place in (path, sidecar_of(path)):
        check_replaceable(place, overwrite=overwrite)

"""Parts of a step that takes hours, kept as they are made: a run that is stopped continues there.

A run is continued with the same settings, inputs and version only, so that the parts fit together.
"""

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.exceptions import FileError
from stillome.persistence import read_json, write_json, written_aside
from stillome.run.folder import RunFolder

_PARTS = "work/certifying"


def place_of_part(folder: RunFolder, name: str) -> Path:
    """Return the folder in which a part of the step is kept until the step is done."""
    return folder.path.absolute() / _PARTS / name  # workers may have been started elsewhere


def remove_parts(folder: RunFolder) -> None:
    """Remove all parts, since the step is done."""
    shutil.rmtree(folder.path / _PARTS, ignore_errors=True)


def kept_certificate(place: Path, make: Callable[[], LeakageCertificate]) -> LeakageCertificate:
    """Return the certificate that an earlier run kept in a folder, or make it and keep it.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "part")
    >>> table = pd.DataFrame({"r2": [0.1], "n_subjects": [64]}, index=pd.Index(["svr"]))
    >>> made = kept_certificate(place, lambda: LeakageCertificate(table, 0.05, 64))
    >>> kept = kept_certificate(place, lambda: 1 / 0)
    >>> kept.table.equals(made.table), kept.level, kept.n_subjects
    (True, 0.05, 64)
    """
    file = place / "certificate.json"
    with contextlib.suppress(FileError, KeyError, TypeError, ValueError):  # not there, or not whole
        return _from_json(read_json(file))
    found = make()
    with written_aside(file, overwrite=True) as aside:
        write_json(aside, _to_json(found))
    return found


def _to_json(found: LeakageCertificate) -> dict[str, Any]:
    rows = found.table.to_dict("split")  # JSON keeps every bit of a float, and NaN
    return {"level": found.level, "n_subjects": found.n_subjects, **rows}


def _from_json(content: dict[str, Any]) -> LeakageCertificate:
    probes = pd.Index(content["index"], name="probe")
    table = pd.DataFrame(content["data"], index=probes, columns=content["columns"])
    return LeakageCertificate(table, content["level"], content["n_subjects"])

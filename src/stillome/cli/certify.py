"""`stillome certify`: whether motion can still be predicted from features or connectomes."""

import warnings
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from stillome.cli.console import heading, steps, table
from stillome.cli.file_options import reads_files
from stillome.cli.options import Confound, Dropped, Group, Overwrite, Quiet, Seed
from stillome.cli.outputs import check_table
from stillome.exceptions import InputError, StillomeWarning

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from stillome.cohort.confound_choice import Removed
    from stillome.evaluate.leakage.certificate_record import LeakageCertificate
    from stillome.run.study_files import StudyFiles
    from stillome.run.subject_tables import SubjectTables

LEAKS = 3


class Kind(StrEnum):
    """What is certified."""

    auto = "auto"
    features = "features"
    connectomes = "connectomes"


class Found(NamedTuple):
    """Features as they were read: whose they are, and from which files."""

    subject_ids: tuple[str, ...]
    features: "NDArray[Any]"  # (n, p), or (n, V, V) for counts
    kind: Literal["features", "counts"]
    files: tuple[str, ...]


class Sought(NamedTuple):
    """What the probes look for in features, of the subjects that have everything."""

    subject_ids: list[str]
    confounds: "NDArray[np.float64]"  # (n, C)
    nuisance: "NDArray[np.float64] | None"  # (n, Q)
    groups: "NDArray[Any] | None"  # (n,)


@reads_files(without=["connectomes", "lengths"])
def certify(
    features: Annotated[
        str, typer.Argument(help="A table of latents, or connectomes (folder, file or pattern).")
    ],
    files: "StudyFiles",
    confound: Confound = None,
    against: Annotated[
        str | None, typer.Option(help="The raw connectomes, to say how much there was to remove.")
    ] = None,
    group: Group = None,
    nuisance: Annotated[
        list[str] | None,
        typer.Option(help="A column of the traits (age) that may link features and motion."),
    ] = None,
    kind: Annotated[Kind, typer.Option(help="What FEATURES are, if that is unclear.")] = Kind.auto,
    permutations: Annotated[int, typer.Option(min=1, help="Permutations of motion.")] = 500,
    level: Annotated[float, typer.Option(help="Chance of a false alarm over all probes.")] = 0.05,
    out: Annotated[Path | None, typer.Option(help="A table for what every probe found.")] = None,
    seed: Seed = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help=f"End with exit code {LEAKS} if motion can be read.")
    ] = False,
    dropped: Dropped = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Let probes try to predict motion from held-out subjects' features, and say what they found.

    Ridge, kernel regression, trees and distance correlation; for connectomes also zeros, summary
    numbers, graph measures and regions. Each has a permutation test. A leak is a result and no
    error: the exit code is 0 either way, unless --strict is given.

    Example: stillome certify latents.tsv --motion motion.tsv --against counts
    """
    from stillome.cohort.confound_choice import check_apart, choose_removed
    from stillome.cohort.confound_coding import in_words
    from stillome.evaluate.leakage.certificate import leakage_certificate
    from stillome.run.study_files import read_tables
    from stillome.run.subject_tables import join_or_say

    if out is not None:
        check_table(out, overwrite=overwrite)
    check_apart(confound or (), keep=nuisance or (), group=group)
    columns = [*(nuisance or ()), *([group] if group else ())]
    tables = read_tables(files, columns if columns or confound else None, confound or ())
    assert tables.motion is not None  # the option must be given
    removed = choose_removed(tables.motion, tables.traits, confound or ())
    with steps(3 if against else 2, quiet=quiet) as step:
        step("Reading")
        found = {features: read_features(features, kind, files)}
        held = found[features].subject_ids
        # Rows of subjects without features are not asked for.
        tables = tables.of(held)
        kept, _ = join_or_say(held, tables, dropped=dropped, overwrite=overwrite)
        sought = look_for(kept, tables, removed, nuisance or (), group)
        if against is not None:
            found[against] = read_features(against, Kind.connectomes, files)
        certificates: list[LeakageCertificate] = []
        for place, one in found.items():
            step(f"Probing {place}")
            certificates.append(
                leakage_certificate(
                    features_of(one, sought.subject_ids),
                    sought.confounds,
                    kind=one.kind,
                    nuisance=sought.nuisance,
                    groups=sought.groups,
                    n_permutations=permutations,
                    level=level,
                    random_state=seed,
                    progress=step.progress,
                )
            )
    certificate = certificates[0]
    words = in_words(removed.others)
    sentence = certificate.sentence(Path(features).name, *certificates[1:], confounds=words) + "."
    if out is not None:
        read = [*tables.files, *(file for one in found.values() for file in one.files)]
        _write(out, dict(zip(found, certificates, strict=True)), sentence, read, seed, overwrite)
    if not quiet:
        print(heading("What every probe found"))
        print(table(_printed(certificate)))
    print(sentence)
    if strict and not certificate.passed:
        raise typer.Exit(LEAKS)


def read_features(place: str, kind: Kind, files: "StudyFiles") -> Found:
    """Read a table of features, or connectomes."""
    import numpy as np

    from stillome.io.tables.phenotypes import read_table
    from stillome.run.study_files import read_matrices

    if kind is Kind.features or (kind is Kind.auto and is_feature_table(place)):
        values = read_table(place, session=files.session)
        if files.subjects:
            missing = next((one for one in files.subjects if one not in values.index), None)
            if missing is not None:
                raise InputError(f"{place}: no row of {missing!r}. Leave it out of subjects=...")
            values = values.loc[list(files.subjects)]
        matrix = values.to_numpy(dtype=np.float64, na_value=np.nan) if _numeric(values) else None
        if matrix is None:
            raise InputError(f"{place}: a column of it holds text; features must be numbers.")
        return Found(tuple(values.index), matrix, "features", (place,))
    data = read_matrices(files, [place])
    return Found(data.subject_ids, np.asarray(data.connectomes), "counts", data.source.files)


def is_feature_table(place: str) -> bool:
    """Whether this is a table with one row per subject whose columns are not edges."""
    from stillome.io.formats import wide_tables
    from stillome.io.formats.text_matrix import first_cells
    from stillome.io.guarded_files import open_item
    from stillome.io.subject_ids import ID_COLUMNS

    if not Path(place).is_file():
        return False
    item = open_item(place)
    head = item.head()
    cells = first_cells(head)
    named = bool(cells) and cells[0].lower() in ID_COLUMNS
    return named and not wide_tables.recognises(item, head)


def look_for(
    subject_ids: Sequence[str],
    tables: "SubjectTables",
    removed: "Removed",
    nuisance: Sequence[str],
    group: str | None,
) -> Sought:
    """Return confounds, nuisance and groups of the subjects whose confounds are all known.

    Raises
    ------
    InputError
        If the confounds of nobody are known, or a column cannot be used.
    """
    from stillome.cohort.validation import check_columns

    assert tables.motion is not None
    known = tables.motion.loc[list(subject_ids), list(removed.motion)].notna().all(axis=1)
    if tables.traits is not None:
        known &= tables.traits.loc[list(subject_ids), list(removed.others)].notna().all(axis=1)
    ids = [subject for subject in subject_ids if known[subject]]
    if not ids:
        names = " and ".join([*removed.motion, *removed.others])
        raise InputError(f"Nobody has {names}. Choose others with confounds=...")
    if len(ids) < len(subject_ids):
        warnings.warn(
            f"{len(subject_ids) - len(ids)} of {len(subject_ids)} subjects are left out: not all "
            "of their confounds are known.",
            StillomeWarning,
            stacklevel=2,
        )
    motion = tables.motion.loc[ids]
    traits = None if tables.traits is None else tables.traits.loc[ids]
    coding = removed.coding(motion, traits)
    return Sought(
        ids,
        check_columns(coding.encode(motion, traits), coding.names, "confound"),
        check_columns(traits, nuisance, "nuisance") if traits is not None and nuisance else None,
        traits[group].to_numpy(dtype=object) if traits is not None and group else None,
    )


def features_of(found: Found, subject_ids: Sequence[str]) -> "NDArray[Any]":
    """Return the features of these subjects, in their order.

    Raises
    ------
    InputError
        If one of them has no features.
    """
    import numpy as np

    places = {subject: i for i, subject in enumerate(found.subject_ids)}
    missing = next((subject for subject in subject_ids if subject not in places), None)
    if missing is not None:
        raise InputError(f"against=...: no connectome of {missing!r}. Give those of all subjects.")
    return found.features[np.array([places[subject] for subject in subject_ids])]


def _numeric(values: "pd.DataFrame") -> bool:
    return values.shape[1] == values.select_dtypes("number").shape[1] > 0


def _printed(certificate: "LeakageCertificate") -> "pd.DataFrame":
    import pandas as pd

    found = certificate.table
    columns = {
        "probe": list(found.index),
        "R²": found["r2"].map("{:.3f}".format).to_list(),
        "95 % interval": [
            "–" if pd.isna(low) else f"{low:.3f} to {high:.3f}"
            for low, high in zip(found["low"], found["high"], strict=True)
        ],
        "by chance": found["null_95"].map("{:.3f}".format).to_list(),
        "p (Holm)": found["p_holm"].map("{:.2g}".format).to_list(),
    }
    if found["auc"].notna().any():
        columns["AUC"] = found["auc"].map("{:.2f}".format).replace("nan", "–").to_list()
    return pd.DataFrame(columns)


def _write(
    out: Path,
    certificates: "dict[str, LeakageCertificate]",
    sentence: str,
    files: Sequence[str],
    seed: int,
    overwrite: bool,
) -> None:
    """Write one row per probe and kind of features, the sentence in the sidecar."""
    import pandas as pd

    from stillome.io.write import provenance
    from stillome.persistence import write_json, write_table, written_aside

    rows = [
        one.table.reset_index().assign(features=place, passed=(~one.reads).to_list())
        for place, one in certificates.items()
    ]
    found = pd.concat(rows, ignore_index=True)
    found = found[["features", *(name for name in found.columns if name != "features")]]
    level = next(iter(certificates.values())).level
    content = {"Description": "what probes read of motion", "Sentence": sentence, "Level": level}
    with written_aside(out, overwrite=overwrite) as aside:
        write_table(aside, found)
    with written_aside(out.with_suffix(".json"), overwrite=overwrite) as aside:
        write_json(aside, content | provenance(inputs=dict.fromkeys(files), random_state=seed))

"""`stillome certify`: whether anything can still read motion from features or connectomes."""

import warnings
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from stillome.cli.console import heading, steps, table
from stillome.cli.inputs import Files, Tables, numbers, read_tables
from stillome.cli.options import (
    Confound,
    Group,
    Labels,
    Motion,
    Overwrite,
    Quiet,
    Seed,
    Session,
    Traits,
)
from stillome.cli.outputs import check_table
from stillome.exceptions import InputError, StillomeWarning

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from stillome.evaluate.leakage.certificate import LeakageCertificate
    from stillome.run.removed import Removed

LEAKS = 3


class Kind(StrEnum):
    """What is certified."""

    auto = "auto"
    features = "features"
    connectomes = "connectomes"


class Probed(NamedTuple):
    """Features of subjects, with what the probes look for in them."""

    features: "NDArray[Any]"  # (n, p), or (n, V, V) for counts
    kind: Literal["features", "counts"]
    confounds: "NDArray[np.float64]"  # (n, C)
    nuisance: "NDArray[np.float64] | None"  # (n, Q)
    groups: "NDArray[Any] | None"  # (n,)


def certify(
    features: Annotated[
        str, typer.Argument(help="A table of latents, or connectomes (folder, file or pattern).")
    ],
    motion: Motion,
    confound: Confound = None,
    against: Annotated[
        str | None, typer.Option(help="The raw connectomes, to say how much there was to remove.")
    ] = None,
    traits: Traits = None,
    group: Group = None,
    nuisance: Annotated[
        list[str] | None,
        typer.Option(help="A column of --traits (age) that may link features and motion."),
    ] = None,
    kind: Annotated[Kind, typer.Option(help="What FEATURES are, if that is unclear.")] = Kind.auto,
    permutations: Annotated[int, typer.Option(min=1, help="Permutations of motion.")] = 500,
    level: Annotated[float, typer.Option(help="Chance of a false alarm over all probes.")] = 0.05,
    out: Annotated[Path | None, typer.Option(help="A table for what every probe found.")] = None,
    seed: Seed = 0,
    labels: Labels = None,
    session: Session = None,
    strict: Annotated[
        bool, typer.Option("--strict", help=f"End with exit code {LEAKS} if motion can be read.")
    ] = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Let probes try to read motion from held-out subjects' features, and say what they found.

    Ridge, kernel regression, trees, distance correlation and, for connectomes, the pattern of
    zeros, each with a permutation test. A leak is a result and no error: the exit code is 0 either
    way, unless --strict is given.

    Example: stillome certify latents.tsv --motion motion.tsv --against counts
    """
    from stillome.cohort.confound_coding import in_words
    from stillome.evaluate.leakage.certificate import leakage_certificate
    from stillome.run.removed import check_apart

    if out is not None:
        check_table(out, overwrite=overwrite)
    columns = [*(nuisance or ()), *([group] if group else ())] or None
    tables = read_tables(Files([], motion, traits, columns, confound or (), session=session))
    removed = choose(tables, confound)
    check_apart(removed.others, keep=nuisance or (), group=group)
    with steps(3 if against else 2, quiet=quiet) as step:
        step("Reading")
        found = {features: read_features(features, kind, labels, session)}
        ids = subjects_with_all(found[features], tables, removed)
        if against is not None:
            found[against] = read_features(against, Kind.connectomes, labels, session)
        certificates: list[LeakageCertificate] = []
        for place, held in found.items():
            step(f"Probing {place}")
            probed = join(held, ids, tables, removed, nuisance or (), group)
            certificates.append(
                leakage_certificate(
                    probed.features,
                    probed.confounds,
                    kind=probed.kind,
                    nuisance=probed.nuisance,
                    groups=probed.groups,
                    n_permutations=permutations,
                    level=level,
                    random_state=seed,
                    progress=step.progress,
                )
            )
    certificate = certificates[0]
    sought = in_words(removed.others)
    sentence = certificate.sentence(Path(features).name, *certificates[1:], confounds=sought) + "."
    if out is not None:
        files = [*tables.files, *(file for held in found.values() for file in held.files)]
        _write(out, dict(zip(found, certificates, strict=True)), sentence, files, seed, overwrite)
    if not quiet:
        print(heading("What every probe found"))
        print(table(_printed(certificate)))
    print(sentence)
    if strict and not certificate.passed:
        raise typer.Exit(LEAKS)


class Found(NamedTuple):
    """Features as they were read: whose they are, and from which files."""

    subject_ids: tuple[str, ...]
    features: "NDArray[Any]"
    kind: Literal["features", "counts"]
    files: tuple[str, ...]


def read_features(place: str, kind: Kind, labels: str | None, session: str | None) -> Found:
    """Read a table of features, or connectomes."""
    import numpy as np

    from stillome.io.connectomes import read_connectomes
    from stillome.io.tables.phenotypes import read_table

    if kind is Kind.features or (kind is Kind.auto and is_feature_table(place)):
        values = read_table(place, session=session)
        matrix = values.to_numpy(dtype=np.float64, na_value=np.nan) if _numeric(values) else None
        if matrix is None:
            raise InputError(f"{place}: a column of it holds text; features must be numbers.")
        return Found(tuple(values.index), matrix, "features", (place,))
    data = read_connectomes(place, labels=labels, session=session)
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


def choose(tables: Tables, confounds: Sequence[str] | None) -> "Removed":
    """Return the columns of motion and traits that the probes look for."""
    from stillome.run.removed import choose_removed

    assert tables.motion is not None  # the option must be given
    return choose_removed(tables.motion, tables.traits, confounds or ())


def subjects_with_all(found: Found, tables: Tables, removed: "Removed") -> list[str]:
    """Return who has features, motion and traits, and say how many do not.

    Raises
    ------
    InputError
        If nobody has all of them.
    """
    from stillome.io.cohorts import join_subjects

    assert tables.motion is not None
    kept = join_subjects(found.subject_ids, tables.motion, tables.traits).kept
    known = tables.motion.loc[kept, list(removed.motion)].notna().all(axis=1)
    if tables.traits is not None:
        known &= tables.traits.loc[kept, list(removed.others)].notna().all(axis=1)
    kept = [subject for subject in kept if known[subject]]
    if not kept:
        names = " and ".join([*removed.motion, *removed.others])
        raise InputError(f"Nobody has {names}. Choose another --confound.")
    if len(kept) < len(found.subject_ids):
        warnings.warn(
            f"{len(found.subject_ids) - len(kept)} of {len(found.subject_ids)} subjects lack "
            "motion or traits and are left out.",
            StillomeWarning,
            stacklevel=2,
        )
    return kept


def join(
    found: Found,
    subject_ids: Sequence[str],
    tables: Tables,
    removed: "Removed",
    nuisance: Sequence[str],
    group: str | None,
) -> Probed:
    """Bring features, motion and traits of these subjects together.

    Raises
    ------
    InputError
        If one of them has no features.
    """
    import numpy as np

    assert tables.motion is not None
    places = {subject: i for i, subject in enumerate(found.subject_ids)}
    missing = next((subject for subject in subject_ids if subject not in places), None)
    if missing is not None:
        raise InputError(f"--against: no connectome of {missing!r}. Give those of all subjects.")
    ids = list(subject_ids)
    motion, traits = tables.motion.loc[ids], None
    if tables.traits is not None:
        traits = tables.traits.loc[ids]
    coding = removed.coding(motion, traits)
    return Probed(
        found.features[np.array([places[subject] for subject in ids])],
        found.kind,
        numbers(coding.encode(motion, traits), coding.names, "confound"),
        numbers(traits, nuisance, "nuisance") if traits is not None and nuisance else None,
        traits[group].to_numpy(dtype=object) if traits is not None and group else None,
    )


def _numeric(values: "pd.DataFrame") -> bool:
    return values.shape[1] == values.select_dtypes("number").shape[1] > 0


def _printed(certificate: "LeakageCertificate") -> "pd.DataFrame":
    import pandas as pd

    found = certificate.table
    return pd.DataFrame(
        {
            "probe": list(found.index),
            "R²": found["r2"].map("{:.3f}".format).to_list(),
            "by chance": found["null_95"].map("{:.3f}".format).to_list(),
            "p (Holm)": found["p_holm"].map("{:.2g}".format).to_list(),
        }
    )


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
        one.table.reset_index().assign(
            features=place, passed=one.table["p_holm"].gt(one.level).to_list()
        )
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

"""`stillome certify`: whether motion can still be predicted from features or connectomes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.certify_inputs import (
    Found,
    Kind,
    Sought,
    features_of,
    look_for,
    read_features,
)
from stillome.cli.console import heading, steps, table
from stillome.cli.file_options import reads_files
from stillome.cli.options import Confound, Dropped, Group, Overwrite, Quiet, Seed
from stillome.cli.outputs import check_table

if TYPE_CHECKING:
    import pandas as pd

    from stillome.evaluate.leakage.certificate_record import LeakageCertificate
    from stillome.evaluate.leakage.power import Power
    from stillome.run.study_files import StudyFiles

LEAKS = 3
# In more subjects little would be missed, and measuring how little takes longer than the probes.
_MOST_FOR_POWER = 2000


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
    permutations: Annotated[
        int, typer.Option(min=1, max=10**6, help="Permutations of motion.")
    ] = 500,
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
    error: the exit code is 0 either way, unless --strict is given. How much would have been
    detected is told of latents, and of connectomes with --against.

    Example: stillome certify latents.tsv --motion motion.tsv --against counts
    """
    from stillome.cohort.confound_choice import check_apart, choose_removed
    from stillome.cohort.confound_coding import in_words
    from stillome.evaluate.leakage.certificate import leakage_certificate
    from stillome.evaluate.verdict_power import power_told
    from stillome.run.study_files import read_tables
    from stillome.run.subject_tables import join_or_say

    if out is not None:
        check_table(out, overwrite=overwrite)
    check_apart(confound or (), keep=nuisance or (), group=group)
    columns = [*(nuisance or ()), *([group] if group else ())]
    with steps(4 if against else 3, quiet=quiet) as step:
        step("Reading")
        found = {features: read_features(features, kind, files)}
        held = found[features].subject_ids
        wanted = columns if columns or confound else None
        tables = read_tables(files.for_scans(held), wanted, confound or ()).of_scans(held)
        assert tables.motion is not None  # the option must be given
        removed = choose_removed(tables.motion, tables.traits, confound or ())
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
        step("Measuring the power")
        power = _power(list(found.values()), sought, certificates[0], permutations, seed)
    certificate = certificates[0]
    words = in_words(removed.others)
    sentence = certificate.sentence(Path(features).name, *certificates[1:], confounds=words) + "."
    sentence += f" {power_told(*power, removed=words)}" if any(power) else ""
    if out is not None:
        read = [*tables.files, *(file for one in found.values() for file in one.files)]
        _write(out, dict(zip(found, certificates, strict=True)), sentence, read, seed, overwrite)
    if not quiet:
        print(heading("What every probe found"))
        print(table(_printed(certificate)))
    print(sentence)
    if strict and not certificate.passed:
        raise typer.Exit(LEAKS)


def _power(
    found: Sequence[Found],
    sought: Sought,
    certificate: "LeakageCertificate",
    n_permutations: int,
    seed: int,
) -> "tuple[Power | None, Power | None]":
    """Return the smallest leakage that is detected, in connectomes or in latents.

    In connectomes only where there are raw ones as well; nothing for thousands of subjects.
    """
    from stillome.evaluate.leakage.power import smallest_detected, smallest_detected_in_latents

    given: dict[str, Any] = {
        "level": certificate.level / len(certificate.table),
        "nuisance": sought.nuisance,
        "groups": sought.groups,
        "n_permutations": n_permutations,
        "random_state": seed,
    }
    values = [features_of(one, sought.subject_ids) for one in found]
    if len(sought.subject_ids) > _MOST_FOR_POWER:
        return None, None
    if found[0].kind == "features":
        return None, smallest_detected_in_latents(values[:1], sought.confounds, **given)
    if len(values) == 1:
        return None, None
    return smallest_detected(values[:1], values[1], sought.confounds, **given), None


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
    if certificate.sampled():
        columns["subjects"] = found["n_subjects"].map("{:,}".format).to_list()
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

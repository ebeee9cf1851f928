"""`stillome compare`: several methods on the same folds, traits and probes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.console import complain, heading, steps, table
from stillome.cli.inputs import Files, Inputs, numbers, read_subjects
from stillome.cli.options import (
    Atlas,
    Confound,
    Connectomes,
    Dropped,
    Group,
    Jobs,
    Labels,
    Measure,
    Motion,
    Overwrite,
    Quiet,
    Seed,
    Session,
    Subjects,
    Symmetrize,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from stillome.evaluate.compare.comparison import ComparisonResult

HEADER = "comparison.json"


def compare(
    connectomes: Connectomes,
    motion: Motion,
    traits: Annotated[list[str], typer.Option(help="Tables of subjects (participants.tsv).")],
    trait: Annotated[
        list[str], typer.Option(help="A column of --traits to predict; repeat for several.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for the tables.")],
    method: Annotated[
        list[str] | None, typer.Option(help="inv-fa, gate, combat …; by default all of them.")
    ] = None,
    confound: Confound = None,
    group: Group = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts, each the test part once.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="How often folds are drawn anew.")] = 1,
    permutations: Annotated[
        int, typer.Option(min=0, help="Repeat all with shuffled traits so many times.")
    ] = 0,
    components: Annotated[int, typer.Option(min=1, help="Size of every representation.")] = 68,
    leakage: Annotated[bool, typer.Option(help="Measure the motion that is left.")] = True,
    jobs: Jobs = 2,
    seed: Seed = 0,
    labels: Labels = None,
    truth: Annotated[
        str | None, typer.Option(help="Motion-free connectomes of a simulation, for fidelity.")
    ] = None,
    atlas: Atlas = None,
    measure: Measure = None,
    symmetrize: Symmetrize = None,
    session: Session = None,
    subjects: Subjects = None,
    dropped: Dropped = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods by cross-validation: trait prediction, motion left, motion-free fidelity.

    Writes folds.tsv (every fold), summary.tsv (mean, sd, smallest and largest r), tests.tsv
    (paired tests) and a figure. A method that fails is reported as failed; the others go on.

    Example: stillome compare --connectomes counts --motion motion.tsv --traits participants.tsv
    --trait reading --method inv-fa --method edgewise --out comparison
    """
    from stillome.evaluate import compare_methods
    from stillome.persistence import written_aside
    from stillome.run.removed import check_apart, choose_removed

    names = list(dict.fromkeys(trait))
    # A folder that cannot be written is refused here, before hours of fitting.
    with (
        written_aside(out, overwrite=overwrite, marker=HEADER) as aside,
        steps(3, quiet=quiet) as step,
    ):
        step("Reading")
        read = read_subjects(
            Files(
                connectomes,
                motion,
                traits,
                columns=[*names, *([group] if group else [])],
                confounds=confound or (),
                labels=labels,
                atlas=atlas,
                measure=measure,
                symmetrize=symmetrize,
                session=session,
                subjects=subjects,
                dropped=dropped,
                overwrite=overwrite,
            )
        )
        removed = choose_removed(read.cohort.motion, read.cohort.traits, confound or ())
        check_apart(removed.others, trait=names, group=group)
        confounds = [*removed.motion, *removed.others]
        numbers(read.cohort.traits, names, "trait")
        motion_free = _read_truth(truth, labels, read)
        step("Comparing")
        result = compare_methods(
            read.cohort,
            list(dict.fromkeys(method)) if method else None,
            names,
            confounds,
            cv=folds,
            repeats=repeats,
            groups=group,
            n_components=components,
            motion_free=motion_free,
            probe=leakage,
            permutations=permutations,
            n_jobs=jobs,
            random_state=seed,
            progress=step.progress,
        )
        step("Writing")
        told = {"traits": names, "confounds": confounds, "folds": folds, "repeats": repeats}
        _write(aside, result, told | {"permutations": permutations}, read.files, seed)
    for row in result.summary.itertuples():
        if row.reason:
            complain(f"Note: {row.method} failed on {row.trait}: {row.reason}")
    if quiet:
        print(out)
        return
    print(heading(f"Trait prediction, {read.cohort.n_subjects} subjects, {folds} folds"))
    print(table(_printed(result.summary)))
    print(heading("\nResults"))
    print(f"  {out}")


def _read_truth(truth: str | None, labels: str | None, read: Inputs) -> "NDArray[Any] | None":
    import numpy as np

    from stillome.io.connectomes import read_connectomes

    if truth is None:
        return None
    wanted = list(read.cohort.subject_ids)
    return np.asarray(read_connectomes(truth, labels=labels, subjects=wanted).connectomes)


def _write(
    folder: Path,
    result: "ComparisonResult",
    settings: dict[str, Any],
    files: tuple[str, ...],
    seed: int,
) -> None:
    from stillome.io.write import provenance
    from stillome.persistence import write_json, write_table
    from stillome.plot.style import save_figure
    from stillome.plot.trait_bars import plot_trait_prediction

    tables = {"folds": result.folds, "summary": result.summary, "tests": result.tests}
    if len(result.null):
        tables["null"] = result.null
    folder.mkdir()
    for name, values in tables.items():
        write_table(folder / f"{name}.tsv", values)
    save_figure(plot_trait_prediction(result.summary), folder / "trait_prediction")
    header = {"Description": "comparison of methods", "Settings": settings}
    write_json(folder / HEADER, header | provenance(inputs=files, random_state=seed))


def _printed(summary: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    def shown(name: str) -> "pd.Series[str]":
        return summary[name].map(lambda value: "n/a" if pd.isna(value) else f"{value:.2f}")

    return pd.DataFrame(
        {
            "method": summary["method"],
            "trait": summary["trait"],
            "r": shown("r_mean"),
            "sd": shown("r_sd"),
            "motion in z": shown("leakage_z"),
            "motion in A*": shown("leakage_adjusted"),
            "status": summary["status"],
        }
    )

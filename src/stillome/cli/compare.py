"""`stillome compare`: several methods on the same folds, traits and probes."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.cluster_option import runs_on_cluster
from stillome.cli.console import complain, heading, steps, table
from stillome.cli.file_options import reads_files
from stillome.cli.fit_inputs import read_to_fit
from stillome.cli.given_words import parameters_by_method
from stillome.cli.options import (
    Confound,
    Dropped,
    Group,
    Jobs,
    Keep,
    Overwrite,
    Quiet,
    Seed,
    Set,
    TraitsNeeded,
    Truth,
)
from stillome.exceptions import InputError, MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

    from stillome.evaluate.compare.comparison import ComparisonResult
    from stillome.methods.contract import ConnectomeMethod
    from stillome.run.study_files import StudyFiles

HEADER = "comparison.json"


@runs_on_cluster
@reads_files(traits=TraitsNeeded)
def compare(
    files: "StudyFiles",
    trait: Annotated[
        list[str], typer.Option(help="A column of the traits to predict; repeat for several.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for the tables.")],
    method: Annotated[
        list[str] | None,
        typer.Option(help="inv-fa, inv-vae, combat, raw …; by default all of them."),
    ] = None,
    settings: Set = None,
    confound: Confound = None,
    keep: Keep = None,
    group: Group = None,
    folds: Annotated[
        int, typer.Option(min=2, max=1000, help="Parts, each the test part once.")
    ] = 5,
    repeats: Annotated[
        int, typer.Option(min=1, max=1000, help="How often folds are drawn anew.")
    ] = 1,
    permutations: Annotated[
        int, typer.Option(min=0, max=1000, help="Repeat all with shuffled traits so many times.")
    ] = 0,
    components: Annotated[
        int, typer.Option(min=1, max=10**6, help="Size of every representation.")
    ] = 68,
    leakage: Annotated[bool, typer.Option(help="Measure the motion that is left.")] = True,
    jobs: Jobs = 2,
    seed: Seed = 0,
    truth: Truth = None,
    dropped: Dropped = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods by cross-validation: trait prediction, motion left, motion-free fidelity.

    Writes folds.tsv (every fold), summary.tsv (mean r with its interval, sd, smallest and largest
    r), tests.tsv (paired tests) and a figure. A method that fails is reported as failed; the others
    go on. --set NAME=VALUE sets a parameter of every method that has it, --set METHOD.NAME=VALUE of
    one.

    Example: stillome compare --connectomes counts --motion motion.tsv --traits participants.tsv
    --trait reading --method inv-fa --method edgewise --out comparison
    """
    from stillome.cohort.confound_choice import check_apart
    from stillome.cohort.kept_covariates import kept_covariates
    from stillome.cohort.validation import check_columns
    from stillome.evaluate import compare_methods
    from stillome.evaluate.prediction.trait_sizes import check_trait_sizes
    from stillome.persistence import written_aside
    from stillome.run.study_files import read_truth

    names, kept = list(dict.fromkeys(trait)), list(dict.fromkeys(keep or ()))
    check_apart(confound or (), trait=names, keep=kept, group=group)
    methods = methods_of(method, settings, components, seed)
    # A folder that cannot be written is refused here, before hours of fitting.
    with (
        written_aside(out, overwrite=overwrite, marker=HEADER) as aside,
        steps(3, quiet=quiet) as step,
    ):
        step("Reading")
        given = (files, [*names, *kept], confound, group, methods.values())
        read, removed = read_to_fit(*given, dropped=dropped, overwrite=overwrite)
        cohort = read.cohort
        confounds = [*removed.motion, *removed.others]
        check_columns(cohort.traits, names, "trait")
        check_trait_sizes(cohort.traits, names)
        kept_covariates(cohort.traits, kept)
        asked: dict[str, Any] = {"keep": kept} if kept else {}
        step("Comparing")
        result = compare_methods(
            cohort,
            methods,
            names,
            confounds,
            cv=folds,
            repeats=repeats,
            groups=group,
            motion_free=read_truth(truth or (), cohort, files.labels),
            probe=leakage,
            permutations=permutations,
            n_jobs=jobs,
            random_state=seed,
            progress=step.progress,
            **asked,
        )
        step("Writing")
        told = {"traits": names, "confounds": confounds, "keep": kept, "folds": folds}
        told |= {"repeats": repeats, "permutations": permutations, "set": settings or []}
        _write(aside, result, told, read.files, seed)
    for row in result.summary.itertuples():
        if row.reason:
            complain(f"Note: {row.method} failed on {row.trait}: {row.reason}")
    if quiet:
        print(out)
        return
    from stillome.cohort.scan_words import rows_counted

    who = rows_counted(cohort.subject_ids)
    print(heading(f"Trait prediction, {who}, {folds} folds"))
    print(table(_printed(result.summary)))
    print(heading("\nResults"))
    print(f"  {out}")


def methods_of(
    names: list[str] | None, settings: list[str] | None, n_components: int, seed: int
) -> "dict[str, ConnectomeMethod]":
    """Return the methods to compare, each with its parameters.

    Raises
    ------
    InputError
        If there is no such method or parameter, or a value is left open.
    """
    from stillome.methods import METHODS
    from stillome.run.method_parameters import AUTO, WEIGHT, new_method

    chosen = list(dict.fromkeys(names)) if names else _installed(METHODS)
    methods = {}
    for name, parameters in parameters_by_method(settings, chosen).items():
        if parameters.get(WEIGHT) == AUTO:
            raise InputError(
                f"--set {WEIGHT}={AUTO}: a comparison needs one weight for all folds. "
                "Give a number."
            )
        methods[name] = new_method(name, {"n_components": n_components} | parameters, seed=seed)
    return methods


def _installed(methods: "Mapping[str, type[ConnectomeMethod]]") -> list[str]:
    """Return the methods whose packages are there, and say which are left out."""
    found = []
    for name in methods:
        try:
            methods[name]().check_parameters()
        except MissingExtraError as error:
            complain(f"Note: {name} is left out. {error}")
        else:
            found.append(name)
    return found


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

    from stillome.evaluate.prediction.trait_sizes import size_remark

    def shown(name: str) -> "pd.Series[str]":
        return summary[name].map(lambda value: "n/a" if pd.isna(value) else f"{value:.2f}")

    interval = shown("r_low").str.cat(shown("r_high"), sep=" to ")
    columns = {
        "method": summary["method"],
        "trait": summary["trait"],
        "r": shown("r_mean"),
        "95 % interval": interval.where(summary["r_low"].notna(), "n/a"),
        "motion in z": shown("leakage_z"),
        "motion in A*": shown("leakage_adjusted"),
    }
    if summary["fidelity"].notna().any():
        columns["fidelity"] = shown("fidelity")
    small = [size_remark(n) for n in summary["n_subjects"]]
    failed = summary["status"] != "ok"
    columns["status"] = summary["status"].where(failed | (pd.Series(small) == ""), small)
    return pd.DataFrame(columns)
